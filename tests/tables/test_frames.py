from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from kgtable.errors import EmptyTableError, UsageError
from kgtable.tables.model import Context
from kgtable.tables.readers.parquet import grid_from_frame


def test_a_frame_of_many_types() -> None:
    frame = pd.DataFrame(
        {
            "i": [1, 2],
            "f": np.array([0.1, np.nan], dtype="float32"),
            "d": pd.to_datetime(["2024-01-01", None]),
            "n": pd.array([None, 3], dtype="Int64"),
            "c": pd.Categorical(["u", "v"]),
            "o": [[1, 2], {"a": dt.date(2024, 1, 1)}],
            "s": ["x", None],
        }
    )
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


def test_repeated_and_odd_names() -> None:
    frame = pd.DataFrame([[1, 2, 3]], columns=["a", "a", 2019])
    assert grid_from_frame(frame).rows == (("a", "a", "2019"), ("1", "2", "3"))


def test_arrow_tables_and_what_turns_into_them() -> None:
    class Frame:
        def to_arrow(self) -> pa.Table:
            return pa.table({"a": [1, None]})

    assert (
        grid_from_frame(Frame()).rows == grid_from_frame(Frame().to_arrow()).rows == (("a",), ("1",), ("",))
    )


def test_the_hash_tells_frames_apart() -> None:
    first, second = (grid_from_frame(pd.DataFrame({"a": [value]})) for value in (1, 2))
    assert first.source.sha256 != second.source.sha256


def test_a_frame_without_columns_and_what_is_no_frame() -> None:
    with pytest.raises(EmptyTableError):
        grid_from_frame(pd.DataFrame())
    with pytest.raises(UsageError, match="list"):
        grid_from_frame([[1]])
