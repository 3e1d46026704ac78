from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgtable.errors import NoTableError, TableError, UnreadableTableError
from kgtable.tables.limits import ReadLimits
from tests.tables.readers.files import read_all, read_one


def test_several_tables_in_an_object(tmp_path: Path) -> None:
    first, second = read_all(tmp_path / "t.json", '{"title": "T", "x/y": [{"a": 1}], "z": [{"b": 2}]}')
    assert (first.id, second.id) == ("t#x/y", "t#z")
    assert first.context.title == second.context.title == "T"


def test_tables_within_objects_are_named_by_their_keys(tmp_path: Path) -> None:
    content = '{"title": "T", "out": {"caption": "C", "a": [{"x": 1}], "b": {"x": [1], "y": [2]}, "c": [{"z": 3}]}}'
    first, columns, second = read_all(tmp_path / "t.json", content)
    assert (first.id, columns.id, second.id) == ("t#out.a", "t#out.b", "t#out.c")
    assert (first.context.title, first.context.caption) == ("T", "C")


@pytest.mark.parametrize(
    "content", ["{}", "[]", "5", '{"a": 1}', '"x"', "[1, 2]", '[{"a": 1}, 2]', "[[]]", '{"a": {"b": [1]}}']
)
def test_json_without_records(tmp_path: Path, content: str) -> None:
    with pytest.raises(NoTableError, match=r"t\.json"):
        read_one(tmp_path / "t.json", content)


@pytest.mark.parametrize(
    ("content", "words"), [("[{", "line 1"), ("[" * 100_000, "deep"), ('[{"a": \n 01}]', "line 2")]
)
def test_broken_json(tmp_path: Path, content: str, words: str) -> None:
    with pytest.raises(UnreadableTableError, match=words):
        read_one(tmp_path / "t.json", content)


def test_repeated_keys_are_noticed(tmp_path: Path) -> None:
    grid = read_one(tmp_path / "t.json", '[{"a": 1, "a": 2}]')
    assert grid.rows == (("a",), ("2",))
    assert ["'a'" in notice.message for notice in grid.notices] == [True]


def test_a_broken_line_is_noticed_with_its_number(tmp_path: Path) -> None:
    grid = read_one(tmp_path / "t.jsonl", '{"a": 1}\n\n{"a"\n{"b": 2}\n')
    assert grid.rows == (("a", "b"), ("1", ""), ("", "2"))
    assert ["line 3" in notice.message for notice in grid.notices] == [True]


def test_long_json_lines_are_streamed(tmp_path: Path) -> None:
    content = "".join(json.dumps({"n": n, f"k{n % 3}": "x"}) + "\n" for n in range(1_000))
    grid = read_one(tmp_path / "t.jsonl", content, ReadLimits(stream_above=100))
    assert grid.streamed
    assert tuple(grid.rows) == tuple(grid.rows) == read_one(tmp_path / "t.jsonl", content).rows


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(JSON, st.sampled_from(["t.json", "t.jsonl"]))
def test_any_json_gives_grids_or_a_table_error(tmp_path: Path, document: object, name: str) -> None:
    try:
        grids = read_all(tmp_path / name, json.dumps(document))
    except TableError:
        return
    for grid in grids:
        assert grid.width == max(map(len, grid.rows)) > 0


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=80), st.sampled_from(["t.json", "t.ndjson"]))
def test_any_bytes_give_grids_or_a_table_error(tmp_path: Path, content: bytes, name: str) -> None:
    try:
        read_all(tmp_path / name, b'[{"a":' + content)
    except TableError:
        return


def test_lone_surrogates_are_replaced(tmp_path: Path) -> None:
    assert read_one(tmp_path / "t.json", '[{"a\\ud800": "\\udfff"}]').rows == (("a\ufffd",), ("\ufffd",))
