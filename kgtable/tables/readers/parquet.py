"""Parquet, Feather and Arrow files in batches, and data frames as tables."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from kgtable.errors import EmptyTableError, MissingExtraError, NoTableError, UnreadableTableError, UsageError
from kgtable.tables.discovery import TableFile
from kgtable.tables.limits import ReadLimits, check_extent, unreadable
from kgtable.tables.model import Context, Grid, Row, Source
from kgtable.values.text import number_text, sound_text, value_text

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
except ImportError as error:
    raise MissingExtraError("Reading Parquet, Feather and Arrow files", "parquet") from error

BATCH = 8_192
_CELL_BYTES = 8
"""Assumed bytes of a cell if the size of a packed file says little about its table."""
_FAULTS = (pa.ArrowException, OSError, ValueError, ArithmeticError, KeyError, RecursionError)
_INDEX_NAME = re.compile(r"__index_level_\d+__")
_DAMAGED = "Get a complete copy of the file."


def read_columnar(file: TableFile, limits: ReadLimits) -> list[Grid]:
    """The one table of a Parquet, Feather or Arrow file; row 0 holds the column names.

    Raises `TableError` if the file is damaged, has no columns, or is beyond the limits.
    """
    rows = ColumnarRows(file)
    try:
        with rows.batches() as (schema, batches):
            width = len(schema.names)
            check_extent(file, limits, 1, width, width)
            packed = file.path.stat().st_size
            height = size = 0
            for batch in batches:
                height += batch.num_rows
                size += sum(map(_text_size, batch.columns))
                _check_unpacked(file, limits, packed, height * width, size)
    except _FAULTS as error:
        raise unreadable(file, error, _DAMAGED) from error
    if width == 0:
        raise NoTableError("it has no columns.", path=file.relative, hint="Put a table into it.")
    large = height * width * _CELL_BYTES > limits.stream_above
    source = Source(file.relative, media_type=file.media_type)
    header = frozenset((0, column) for column in range(width))
    held = replace(rows, count=height + 1) if large else tuple(rows)
    return [Grid(file.id, source, held, width, header_cells=header)]


def _check_unpacked(file: TableFile, limits: ReadLimits, packed: int, cells: int, size: int) -> None:
    """Raises `UnreadableTableError` for more cells or text than a sound file of its size has."""
    many = cells > limits.max_cells and cells * _CELL_BYTES > packed * limits.max_ratio
    if many or cells > limits.max_cells * 100:
        raise UnreadableTableError(
            f"{packed:,} bytes unpack to more than {cells:,} cells.",
            path=file.relative,
            hint="Split it, or raise the limits.",
        )
    if size > limits.max_unpacked and size > packed * limits.max_ratio:
        raise UnreadableTableError(
            f"{packed:,} bytes unpack to more than {size:,} bytes of text.",
            path=file.relative,
            hint="Split it, or raise the limits.",
        )


def _text_size(column: pa.Array) -> int:
    """Bytes of the texts that a column becomes, repeated ones counted each time."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = _lengths(column.dictionary)
    return 0 if lengths is None else int(pc.sum(lengths.take(column.indices)).as_py() or 0)


def _lengths(values: pa.Array) -> pa.Array | None:
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return pc.cast(pc.binary_length(values), pa.int64())
    if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
        return pc.cast(pc.binary_length(values), pa.int64())
    return None


@dataclass(frozen=True, slots=True)
class ColumnarRows:
    """The rows of a columnar file, read from it again on each walk, a batch at a time."""

    file: TableFile
    count: int = 0

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Row]:
        try:
            with self.batches() as (schema, batches):
                yield header_row(schema)
                for batch in batches:
                    yield from batch_rows(batch)
        except _FAULTS as error:
            raise unreadable(self.file, error, _DAMAGED) from error

    @contextmanager
    def batches(self) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
        """The schema and the record batches of the file."""
        with pa.OSFile(str(self.file.path), "rb") as stream:
            start = stream.read(6)
            stream.seek(0)
            if start.startswith(b"PAR1"):
                schema = pq.read_schema(stream)
                stream.seek(0)
                # as dictionaries, texts that repeat are held once
                parquet = pq.ParquetFile(stream, read_dictionary=_text_columns(schema))
                yield schema, parquet.iter_batches(batch_size=BATCH)
            elif start == b"ARROW1":
                reader = pa.ipc.open_file(stream)
                yield reader.schema, (reader.get_batch(n) for n in range(reader.num_record_batches))
            else:
                reader = pa.ipc.open_stream(stream)
                yield reader.schema, iter(reader)


def _text_columns(schema: pa.Schema) -> list[str]:
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return [field.name for field in schema if any(is_kind(field.type) for is_kind in kinds)]


def header_row(schema: pa.Schema) -> Row:
    """The column names; an unnamed index of a stored data frame has none."""
    return tuple("" if _INDEX_NAME.fullmatch(name) else sound_text(name) for name in schema.names)


def batch_rows(batch: pa.RecordBatch) -> Iterator[Row]:
    """The rows of a batch as texts. Raises `pa.ArrowException` or `ValueError` for damaged data."""
    batch.validate(full=True)
    columns = [_texts(column) for column in batch.columns]
    return iter(zip(*columns, strict=True))


def _texts(column: pa.Array) -> list[str]:
    kind = column.type
    if pa.types.is_dictionary(kind) and _lengths(column.dictionary) is not None:
        texts = _texts(column.dictionary)
        return ["" if index is None else texts[index] for index in column.indices.to_pylist()]
    if pa.types.is_float32(kind) or pa.types.is_float16(kind):
        values = column.to_numpy(zero_copy_only=False)
        empty = column.is_null().to_pylist()
        return ["" if gone else _float_text(float(str(value))) for value, gone in zip(values, empty, strict=True)]
    if pa.types.is_float64(kind):
        return ["" if value is None else _float_text(value) for value in column.to_pylist()]
    try:
        return [value_text(value) for value in column.to_pylist()]
    except (ValueError, ArithmeticError):
        return [value_text(value) for value in column.cast(pa.string()).to_pylist()]


def _float_text(value: float) -> str:
    return number_text(value) or NOT_A_NUMBER


NOT_A_NUMBER = "NaN"
"""The text of a value that a file stores as no number, apart from one that it does not store."""


def grid_from_frame(frame: Any, id: str = "frame", context: Context | None = None) -> Grid:
    """The grid of a data frame: pandas, or any that has `to_arrow` (polars) or is a pyarrow table.

    The column names make the first row (one row a level where there are several); an index that
    is not a mere running number makes the first columns; missing values are empty cells.

    Raises `EmptyTableError` for a frame without columns, `UsageError` for what is not a frame.

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
        raise UsageError(f"{type(frame).__name__} is not a data frame.", hint="Pass a pandas or polars frame.")
    yield header_row(table.schema)
    for batch in table.to_batches():
        yield from batch_rows(batch)


def _pandas_rows(frame: pd.DataFrame) -> Iterator[Row]:
    columns = [_cell_texts(frame.iloc[:, number]) for number in range(frame.shape[1])]
    labels: list[Any] = frame.columns.tolist()
    names: list[tuple[Any, ...]] = [name if frame.columns.nlevels > 1 else (name,) for name in labels]
    if not _is_running_number(frame.index):
        levels = [frame.index.get_level_values(level) for level in range(frame.index.nlevels)]
        columns = [*(_cell_texts(pd.Series(level)) for level in levels), *columns]
        blank = ("",) * (frame.columns.nlevels - 1)
        names = [*((*blank, name) for name in frame.index.names), *names]
    for level in range(frame.columns.nlevels):
        yield tuple(value_text(name[level]) for name in names)
    yield from zip(*columns, strict=True)


def _is_running_number(index: pd.Index[Any]) -> bool:
    return isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1 and index.name is None


def _cell_texts(column: pd.Series[Any]) -> list[str]:
    if str(column.dtype) in ("float32", "float16"):
        return [number_text(float(str(value))) for value in column.to_numpy()]
    missing = column.isna().tolist()
    values = column.tolist()
    return ["" if gone else value_text(value) for value, gone in zip(values, missing, strict=True)]
