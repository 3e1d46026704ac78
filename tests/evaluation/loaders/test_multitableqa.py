from __future__ import annotations

from pathlib import Path

import pytest

from kgtable.errors import BenchmarkError
from kgtable.evaluation.benchmark import Benchmark
from kgtable.evaluation.loaders import load_dataset
from tests.evaluation.loaders.distributions import (
    lines,
    multitableqa,
    write,
)


@pytest.mark.parametrize(
    ("name", "label", "answers", "fact"),
    [
        ("sqa", '["13", "S01"]', ("13", "S01"), None),
        ("hybridqa", "Jerry", ("Jerry",), None),
        ("hybridqa", "[sic", ("[sic",), None),
        ("tabfact", 0, ("0",), 0),
        ("tabfact", "1", ("1",), 1),
    ],
)
def test_labels_of_each_kind(
    tmp_path: Path, name: str, label: object, answers: tuple[str, ...], fact: int | None
) -> None:
    part = {"source_table_idx": 3, "table_idx": 1, "caption": "", "table": {"header": ["a"], "rows": [["b"]]}}
    write(tmp_path / name / f"{name}_table.jsonl", lines(part))
    write(
        tmp_path / name / f"{name}_query.jsonl", lines({"query": "?", "label": label, "source_table_idx": 3})
    )
    write(tmp_path / name / f"{name}_example_query.jsonl", lines({"example_query": "a leak"}))
    assert load_dataset("multitableqa", tmp_path, tmp_path / "out") == 1
    (question,) = Benchmark(tmp_path / "out").questions(name)
    assert (question.answers, question.extra.get("label")) == (answers, fact)


def test_a_source_table_that_no_part_has_is_named(tmp_path: Path) -> None:
    multitableqa(tmp_path)
    write(tmp_path / "wtq_query.jsonl", lines({"query": "?", "label": ["12"], "source_table_idx": 9}))
    with pytest.raises(BenchmarkError, match="names the source table 9"):
        load_dataset("multitableqa", tmp_path, tmp_path / "out")
