"""Contents of a generation's tables, for its index: from files that conversion wrote, or decoded from the store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import IO

from kgtable.building.generations import Generation
from kgtable.graph.store import EmbeddedStore
from kgtable.graph.table_content import PART_ROWS, ContentRow, TableContent
from kgtable.graph.table_source import TableReader
from kgtable.graph.terms import Namespaces
from kgtable.storage import storage_errors


class ContentWriter:
    """Writes the content of one table, or of a share of its rows, to a part file as its rows arrive."""

    def __init__(self, content: TableContent, out: IO[str], *, with_head: bool) -> None:
        self._content, self._out, self._with_head = content, out, with_head
        self._rows: list[ContentRow] = []

    def add(self, rows: Iterable[ContentRow]) -> None:
        """Append rows."""
        for row in rows:
            self._rows.append(row)
            if len(self._rows) >= PART_ROWS:
                self.flush()

    def flush(self) -> None:
        """Write what has been added; to be called once more after the last row."""
        content = replace(self._content, rows=tuple(self._rows))
        for text in content.to_parts(with_head=self._with_head):
            with storage_errors("the contents of the tables"):
                self._out.write(f"{json.dumps(content.id)}\t{text}\n")
        self._rows.clear()
        self._with_head = False


class PartFiles:
    """The contents of tables in part files of `ContentWriter`, given in the order of the rows."""

    def __init__(self, paths: Iterable[Path] = ()) -> None:
        self._paths = paths

    def get(self, id: str) -> TableContent | None:
        """The content of a table, its rows read on iteration; None if no file has it. Raises `OSError`."""
        places = self._places.get(id)
        return None if places is None else TableContent.from_parts(id, map(_part_at, places))

    @cached_property
    def _places(self) -> dict[str, list[tuple[Path, int]]]:
        """The file and the first byte of each part of each table."""
        found: dict[str, list[tuple[Path, int]]] = {}
        for path in self._paths:
            start = 0
            with path.open("rb") as lines:
                for line in lines:
                    found.setdefault(json.loads(line.partition(b"\t")[0]), []).append((path, start))
                    start += len(line)
        return found


def _part_at(place: tuple[Path, int]) -> str:
    path, start = place
    with path.open("rb") as lines:
        lines.seek(start)
        return lines.readline().partition(b"\t")[2].decode("ascii")


def read_contents(generation: Generation, ids: Sequence[str]) -> Iterator[TableContent]:
    """The contents of the tables in order: while the generation is built those of converted tables as they were
    written, all others from the store. Raises `OSError`."""
    names = Namespaces(generation.base)
    reader: TableReader | None = None
    for id in ids:
        content = generation.fresh(id)
        if content is None:
            reader = reader or TableReader(EmbeddedStore(generation.store_path, names.prefixes), names)
            content = reader.content(id)
        yield content
