from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgtable.errors import TableError, UnreadableTableError
from kgtable.tables.limits import ReadLimits
from kgtable.tables.model import Context
from kgtable.tables.readers.parquet import grid_from_frame
from tests.tables.readers.files import parquet_bytes, read_all, read_one

TABLE = pa.table(
    {
        "i": pa.array([1, None], pa.int8()), "f": pa.array([0.1, 2.0], pa.float32()), "s": ["x", " y "],
        "d": [dt.date(2024, 1, 2), None], "m": pa.array([Decimal("1.50"), None]), "l": [[1, 2], None],
        "t": pa.array([0, 1], pa.timestamp("ns")), "b": [True, False],
    }
)  # fmt: skip
ROWS = (
    ("i", "f", "s", "d", "m", "l", "t", "b"),
    ("1", "0.1", "x", "2024-01-02", "1.50", "[1,2]", "1970-01-01", "TRUE"),
    ("", "2", " y ", "", "", "", "1970-01-01T00:00:00.000000001", "FALSE"),
)


def arrow(table: pa.Table, *, stream: bool = False) -> bytes:
    content = io.BytesIO()
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(content, table.schema) as writer:
        writer.write_table(table)
    return content.getvalue()


def feather(table: pa.Table) -> bytes:
    content = io.BytesIO()
    pa.feather.write_feather(table, content)
    return content.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.parquet", parquet_bytes(TABLE)), ("t.feather", feather(TABLE)), ("t.arrow", arrow(TABLE)),
        ("s.arrow", arrow(TABLE, stream=True)),
    ],
)  # fmt: skip
def test_values_become_text(tmp_path: Path, name: str, content: bytes) -> None:
    assert read_one(tmp_path / name, content).rows == ROWS


def test_a_long_file_is_streamed(tmp_path: Path) -> None:
    table = pa.table({"n": list(range(20_000)), "s": ["x"] * 20_000})
    grid = read_one(tmp_path / "t.parquet", parquet_bytes(table), ReadLimits(stream_above=1_000))
    assert grid.streamed
    assert tuple(grid.rows) == (("n", "s"), *((str(n), "x") for n in range(20_000)))


def test_repeated_names_and_stored_indexes(tmp_path: Path) -> None:
    table = pa.table([pa.array([1]), pa.array([2]), pa.array([3])], names=["a", "a", "__index_level_0__"])
    assert read_one(tmp_path / "t.arrow", arrow(table)).rows == (("a", "a", ""), ("1", "2", "3"))


def test_too_many_cells(tmp_path: Path) -> None:
    with pytest.raises(UnreadableTableError, match="cells"):
        read_one(tmp_path / "t.parquet", parquet_bytes(TABLE), ReadLimits(max_cells=0))


@pytest.mark.parametrize("content", [b"", b"PAR1", b"ARROW1", b"PAR1" + b"\0" * 100 + b"PAR1", b"a,b\n1,2\n"])
def test_damaged_files_are_clear_errors(tmp_path: Path, content: bytes) -> None:
    for name in ("t.parquet", "t.feather"):
        with pytest.raises(UnreadableTableError, match=r"the file cannot be read") as raised:
            read_one(tmp_path / name, content)
        assert raised.value.hint


CONTENTS = [parquet_bytes(TABLE), arrow(TABLE)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.sampled_from(CONTENTS))
def test_damaged_bytes_give_a_grid_or_a_table_error(tmp_path: Path, data: st.DataObject, sound: bytes) -> None:
    content = bytearray(sound)
    for position in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=6)):
        content[position] = data.draw(st.integers(0, 255))
    try:
        grids = read_all(tmp_path / "t.arrow", bytes(content))
    except TableError:
        return
    assert len(grids) == 1


def test_a_frame_of_many_types() -> None:
    frame = pd.DataFrame(
        {
            "i": [1, 2], "f": np.array([0.1, np.nan], dtype="float32"), "d": pd.to_datetime(["2024-01-01", None]),
            "n": pd.array([None, 3], dtype="Int64"), "c": pd.Categorical(["u", "v"]),
            "o": [[1, 2], {"a": dt.date(2024, 1, 1)}], "s": ["x", None],
        }
    )  # fmt: skip
    grid = grid_from_frame(frame, "t", Context(title="T"))
    assert grid.rows == (
        ("i", "f", "d", "n", "c", "o", "s"),
        ("1", "0.1", "2024-01-01", "", "u", "[1,2]", "x"),
        ("2", "", "", "3", "v", '{"a":"2024-01-01"}', ""),
    )
    assert grid.id == "t"
    assert grid.context.title == "T"
    assert grid.header_cells == {(0, column) for column in range(7)}


def test_an_index_that_says_something_makes_columns() -> None:
    frame = pd.DataFrame({"v": [1]}, index=pd.Index(["Cloud"], name="segment"))
    assert grid_from_frame(frame).rows == (("segment", "v"), ("Cloud", "1"))


def test_levels_of_column_names_make_rows() -> None:
    frame = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("A", "x"), ("A", "y")]), index=["r"])
    grid = grid_from_frame(frame)
    assert grid.rows == (("", "A", "A"), ("", "x", "y"), ("r", "1", "2"))
    assert (1, 2) in grid.header_cells


def test_arrow_tables_and_what_turns_into_them() -> None:
    class Frame:
        def to_arrow(self) -> pa.Table:
            return pa.table({"a": [1, None]})

    assert grid_from_frame(Frame()).rows == grid_from_frame(Frame().to_arrow()).rows == (("a",), ("1",), ("",))


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_not_a_number_is_apart_from_nothing(tmp_path: Path, kind: pa.DataType) -> None:
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(pa.table({"a": pa.array([1.5, float("nan"), None], type=kind)}), path)
    assert tuple(read_one(path).rows) == (("a",), ("1.5",), ("NaN",), ("",))
