"""Data frames as tables."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa

from kgtable.errors import EmptyTableError, UsageError
from kgtable.tables.model import Context, Grid, Row, Source
from kgtable.tables.reading.columnar import batch_rows, header_row
from kgtable.tables.text import number_text, value_text


def grid_from_frame(frame: Any, id: str = "frame", context: Context | None = None) -> Grid:
    """The grid of a data frame: pandas, or any that has `to_arrow` (polars) or is a pyarrow table.

    The column names make the first row (one row a level where there are several); an index that
    is not a mere running number makes the first columns; missing values are empty cells.

    Raises `EmptyTableError` for a frame without columns, `UsageError` for what is no frame.

    >>> grid_from_frame(pd.DataFrame({"a": [1.0, None], "b": ["x", "y"]})).rows
    (('a', 'b'), ('1', 'x'), ('', 'y'))
    """
    if isinstance(frame, pd.DataFrame):
        rows, levels = tuple(_pandas_rows(frame)), frame.columns.nlevels
    else:
        rows, levels = tuple(_arrow_rows(frame)), 1
    width = max(map(len, rows), default=0)
    if width == 0:
        raise EmptyTableError("the data frame has no columns.", path=id, hint="Give one with columns.")
    digest = hashlib.sha256(json.dumps(rows).encode()).hexdigest()
    source = Source(id, sha256=digest, media_type="application/vnd.apache.arrow.stream")
    header = frozenset((level, column) for level in range(levels) for column in range(width))
    return Grid(id, source, rows, width, context=context or Context(), header_cells=header)


def _arrow_rows(frame: Any) -> Iterator[Row]:
    table = frame.to_arrow() if hasattr(frame, "to_arrow") else frame
    if not isinstance(table, pa.Table):
        raise UsageError(f"{type(frame).__name__} is no data frame.", hint="Give a pandas or polars one.")
    yield header_row(table.schema)
    for batch in table.to_batches():
        yield from batch_rows(batch)


def _pandas_rows(frame: pd.DataFrame) -> Iterator[Row]:
    columns = [_texts(frame.iloc[:, number]) for number in range(frame.shape[1])]
    labels: list[Any] = frame.columns.tolist()
    names: list[tuple[Any, ...]] = [name if frame.columns.nlevels > 1 else (name,) for name in labels]
    if not _is_running_number(frame.index):
        levels = [frame.index.get_level_values(level) for level in range(frame.index.nlevels)]
        columns = [*(_texts(pd.Series(level)) for level in levels), *columns]
        blank = ("",) * (frame.columns.nlevels - 1)
        names = [*((*blank, name) for name in frame.index.names), *names]
    for level in range(frame.columns.nlevels):
        yield tuple(value_text(name[level]) for name in names)
    yield from zip(*columns, strict=True)


def _is_running_number(index: pd.Index[Any]) -> bool:
    return isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1 and index.name is None


def _texts(column: pd.Series[Any]) -> list[str]:
    if str(column.dtype) in ("float32", "float16"):
        return [number_text(float(str(value))) for value in column.to_numpy()]
    missing = column.isna().tolist()
    values = column.tolist()
    return ["" if gone else value_text(value) for value, gone in zip(values, missing, strict=True)]
