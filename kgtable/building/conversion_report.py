"""The report of a conversion, and the progress of a build."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeAlias

from kgtable.building.catalogue import DocumentRecord, FileRecord, TableRecord
from kgtable.graph.tally import Tally
from kgtable.tables.model import Notice, spreadsheet_reference

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with a stage's name, how many of its files, rows or megabytes are done, and how many there are."""


def silent(stage: str, done: int, total: int) -> None:
    """No-op progress."""


@dataclass(frozen=True)
class ConversionReport:
    """Report of a conversion, for people (`to_text`) and programs (`to_json`)."""

    files: tuple[FileRecord, ...]
    notices: tuple[Notice, ...] = ()
    tally: Tally = field(default_factory=Tally)

    @classmethod
    def of(cls, files: Iterable[FileRecord], notices: Sequence[Notice] = ()) -> ConversionReport:
        """Build the report from the records of all files."""
        report = cls(tuple(files))
        for table in report.tables:
            report.tally.add(Tally.from_json(table.tally))
        records = (record for file in report.files for record in (*file.tables, file.document) if record is not None)
        return replace(report, notices=(*notices, *(notice for record in records for notice in record.notices)))

    @property
    def tables(self) -> tuple[TableRecord, ...]:
        """Every table that was converted."""
        return tuple(table for file in self.files for table in file.tables)

    @property
    def documents(self) -> tuple[DocumentRecord, ...]:
        """The text of every file that has any."""
        return tuple(file.document for file in self.files if file.document is not None)

    @property
    def errors(self) -> tuple[str, ...]:
        """One message for each file that could not be read."""
        return tuple(file.error for file in self.files if file.error is not None)

    @property
    def summary(self) -> str:
        """Tables, files and cells in one line, such as ``9 tables from 7 files (3 not read), 71,400 cells``."""
        tables, files, unread = len(self.tables), len(self.files), len(self.errors)
        return (
            f"{tables:,} table{'s' * (tables != 1)} from {files:,} file{'s' * (files != 1)}"
            f"{f' ({unread:,} not read)' if unread else ''}, {self.tally.cells:,} cells"
        )

    def to_json(self) -> dict[str, Any]:
        """The whole report as JSON values."""
        counts = self.tally.to_json()
        return {
            "tables": [_table_json(table) for table in self.tables],
            "documents": [_document_json(text) for text in self.documents],
            "cells": counts["kinds"],
            "untyped_in_typed_columns": counts["untyped"],
            "units": counts["units"],
            "scales": counts["scales"],
            "errors": list(self.errors),
            "notices": [_notice_json(notice) for notice in self.notices],
        }

    def json_text(self) -> str:
        """The whole report as JSON, with a line for each table, document and notice."""
        parts = []
        for name, value in self.to_json().items():
            if isinstance(value, list):
                lines = ",\n".join(json.dumps(item, ensure_ascii=False) for item in value)
                text = f"[\n{lines}\n]" if value else "[]"
            else:
                text = json.dumps(value, ensure_ascii=False)
            parts.append(f"{json.dumps(name)}: {text}")
        return "{\n" + ",\n".join(parts) + "\n}\n"

    def to_text(self) -> str:
        """The report as lines to read."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        counts = self.tally.to_json()
        yield self.summary
        if self.documents:
            passages = sum(text.passages for text in self.documents)
            numbers = sum(text.quantities for text in self.documents)
            yield f"text of {len(self.documents):,} files: {passages:,} passages with {numbers:,} quantities"
        yield from _counts("cells by kind", counts["kinds"])
        if self.tally.untyped:
            yield f"  of the text cells, {self.tally.untyped:,} are in columns of numbers or dates"
        yield from _nested_counts("units", counts["units"])
        yield from _nested_counts("scales", counts["scales"])
        if self.errors:
            yield f"{len(self.errors):,} files could not be read:"
            yield from (f"  {error}" for error in self.errors)
        if self.notices:
            yield f"{len(self.notices):,} notices:"
            yield from (f"  {notice}" for notice in self.notices)


def _counts(title: str, counts: dict[str, int]) -> Iterator[str]:
    if counts:
        yield f"{title}: " + ", ".join(f"{name} {count:,}" for name, count in counts.items())


def _nested_counts(title: str, counts: dict[str, dict[str, int]]) -> Iterator[str]:
    if not counts:
        return
    yield f"{title}:"
    for name, sources in counts.items():
        found = ", ".join(f"{count:,} from {source or 'no source'}" for source, count in sources.items())
        yield f"  {name}: {found}"


def _table_json(table: TableRecord) -> dict[str, Any]:
    return {
        "id": table.id,
        "path": table.path,
        "sheet": table.sheet,
        "rows": table.rows,
        "columns": table.width,
        "cells": table.cells,
        "quads": table.quads,
    }


def _document_json(text: DocumentRecord) -> dict[str, Any]:
    names = ("id", "path", "pages", "paragraphs", "passages", "quantities", "quads")
    return {name: getattr(text, name) for name in names}


def _notice_json(notice: Notice) -> dict[str, Any]:
    place = None
    if notice.row is not None and notice.column is not None:
        place = spreadsheet_reference(notice.row, notice.column)
    return asdict(notice) | {"cell": place}
