"""Parquet, Feather and Arrow files, in batches: a long one is never held whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from kgtable.errors import NoTableError, UnreadableTableError
from kgtable.tables.limits import Limits
from kgtable.tables.model import Grid, Row, Source
from kgtable.tables.reading.content import unreadable
from kgtable.tables.text import number_text, sound_text, value_text
from kgtable.tables.walk import TableFile

BATCH = 8_192
_CELL_BYTES = 8
"""Bytes a cell is taken for when the size of a packed file says little about its table."""
_FAULTS = (pa.ArrowException, OSError, ValueError, ArithmeticError, KeyError, RecursionError)
_INDEX_NAME = re.compile(r"__index_level_\d+__")
_DAMAGED = "Get a complete copy of the file."


def read_columnar(file: TableFile, limits: Limits) -> list[Grid]:
    """The one table of a Parquet, Feather or Arrow file; row 0 holds the column names.

    Raises `TableError` where the file is damaged, has no columns, or is beyond the limits.
    """
    rows = ColumnarRows(file)
    try:
        with rows.batches() as (schema, batches):
            width = len(schema.names)
            height = 0
            for batch in batches:
                height += batch.num_rows
                if height * width > limits.max_cells * 100:
                    raise UnreadableTableError(
                        f"it has more than {limits.max_cells * 100:,} cells.",
                        path=file.relative,
                        hint="Split it, or raise the limits.",
                    )
    except _FAULTS as error:
        raise unreadable(file, error, _DAMAGED) from error
    if width == 0:
        raise NoTableError("it has no columns.", path=file.relative, hint="Put a table into it.")
    large = height * width * _CELL_BYTES > limits.stream_above
    source = Source(file.relative, media_type=file.media_type)
    header = frozenset((0, column) for column in range(width))
    return [Grid(file.id, source, rows if large else tuple(rows), width, header_cells=header)]


@dataclass(frozen=True, slots=True)
class ColumnarRows:
    """The rows of a columnar file, read from it anew on each walk, a batch at a time."""

    file: TableFile

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
                parquet = pq.ParquetFile(stream)
                yield parquet.schema_arrow, parquet.iter_batches(batch_size=BATCH)
            elif start == b"ARROW1":
                reader = pa.ipc.open_file(stream)
                yield reader.schema, (reader.get_batch(n) for n in range(reader.num_record_batches))
            else:
                reader = pa.ipc.open_stream(stream)
                yield reader.schema, iter(reader)


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
    if pa.types.is_float32(kind) or pa.types.is_float16(kind):
        values = column.to_numpy(zero_copy_only=False)
        return [number_text(float(str(value))) for value in values]
    try:
        return [value_text(value) for value in column.to_pylist()]
    except (ValueError, ArithmeticError):
        return [value_text(value) for value in column.cast(pa.string()).to_pylist()]
