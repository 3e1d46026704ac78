from __future__ import annotations

from pathlib import Path

import pytest

from kgtable.errors import ConfigError, KgtableError, UsageError
from kgtable.evaluation.evaluated_systems import System, systems
from kgtable.evaluation.run_plan import read_grid


def test_a_grid_is_the_product_of_its_lists_where_they_apply(tmp_path: Path) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(
        'methods = ["hybrid", "bm25", "zero-shot"]\nformats = ["csv", "html"]\n'
        'prompts = ["context-first"]\nmodels = ["m1", "m2"]\nanswers = true\nk = 300\n'
    )
    grid = read_grid(file)
    assert [system.name for system in grid.systems] == [
        "hybrid/context-first/m1",
        "hybrid/context-first/m2",
        "bm25/csv/context-first/m1",
        "bm25/csv/context-first/m2",
        "bm25/html/context-first/m1",
        "bm25/html/context-first/m2",
        "zero-shot/m1",
        "zero-shot/m2",
    ]
    assert grid.options == {"k": 300, "answers": True}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("methods = [", "not readable as TOML"),
        ('method = "bm25"', "no entry 'method'"),
        ('methods = "bm25"', "no list of names"),
        ('methods = ["bm26"]', "no method 'bm26'"),
        ('methods = ["bm25"]\nformats = ["pdf"]', "no table format 'pdf'"),
        ('methods = ["bm25"]\nprompts = ["p"]', "no prompt setting 'p'"),
        ('methods = ["bm25"]\nlimit = true', "wrong type"),
        ("methods = []", "nothing to evaluate"),
    ],
)
def test_what_a_grid_cannot_hold(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "grid.toml").write_text(text)
    with pytest.raises(KgtableError, match=message):
        read_grid(tmp_path / "grid.toml")


def test_an_absent_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"grid\.toml"):
        read_grid(tmp_path / "grid.toml")


def test_embeddings_are_for_dense_alone() -> None:
    assert systems(("bm25", "dense"), embeddings=("minilm",)) == (
        System("bm25"),
        System("dense", embedding="minilm"),
    )
    with pytest.raises(UsageError):
        systems(("dense",), presentations=("poem",))
