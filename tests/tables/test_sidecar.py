from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.tables.model import Context
from kgtable.tables.sidecar import merge_contexts, read_sidecar


def read(tmp_path: Path, content: object) -> tuple[Context, list[str]]:
    path = tmp_path / "t.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    context, notices = read_sidecar(path, "t.json")
    return context, [notice.code for notice in notices]


def test_what_surrounds_a_table(tmp_path: Path) -> None:
    content = {
        "title": "Report",
        "heading": ["Notes", "Segments"],
        "caption": "in millions",
        "textAbove": "above",
        "post_text": ["after 1", "after 2"],
        "paragraphs": [{"text": "one"}, "two"],
        "header_rows": 2,
    }
    assert read(tmp_path, content) == (
        Context(
            "Report", ("Notes", "Segments"), "in millions", ("above",), ("after 1", "after 2"), ("one", "two")
        ),
        [],
    )


def test_a_single_heading(tmp_path: Path) -> None:
    assert read(tmp_path, {"heading": "H"})[0].heading == ("H",)


@pytest.mark.parametrize("content", ["{", "[1]", "null", "", "[" * 100_000, '"x"'])
def test_a_broken_sidecar_gives_a_notice(tmp_path: Path, content: str) -> None:
    assert read(tmp_path, content) == (Context(), ["sidecar"])


def test_a_field_of_the_wrong_kind_costs_only_itself(tmp_path: Path) -> None:
    assert read(tmp_path, {"title": 5, "caption": "c"}) == (Context(caption="c"), ["sidecar"])


def test_lone_surrogates_are_replaced(tmp_path: Path) -> None:
    assert read(tmp_path, '{"title": "a\\ud800b"}')[0].title == "a\ufffdb"


def test_a_missing_sidecar_gives_a_notice(tmp_path: Path) -> None:
    _, [notice] = read_sidecar(tmp_path / "none.json", "none.json")
    assert "none.json" in str(notice)


@given(st.binary(max_size=200))
def test_any_bytes_are_survived(content: bytes) -> None:

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.json")
        path.write_bytes(content)
        assert isinstance(read_sidecar(path, "t.json")[0], Context)


def test_merging_takes_each_field_from_the_first_that_has_it() -> None:
    merged = merge_contexts(Context(title="a"), Context(title="b", caption="c"))
    assert merged == Context(title="a", caption="c")
