"""What the index needs of each table: texts with their places, kept for the next build."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgtable.building.generations import Generation
from kgtable.graph.store import EmbeddedStore, TripleStore
from kgtable.graph.terms import CSVW, DCTERMS, KGT, RDFS, Namespaces, literal_text
from kgtable.index.corpus import NONE

_CONTEXT = ("heading", "before", "after", "paragraph")
_Term = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple


@dataclass(slots=True)
class TableContent:
    """A table's texts. Rows and columns are grid positions; cells come by row, then column.

    `columns` holds name and predicate (full IRI) of each column. `rows` maps a body row to its label
    and to its group's row (None for neither). Of a cell, `printed` is the text as it stands in the
    table, `lexical` the lexical form of a typed literal where that differs, `number` whether it is a
    quantity, `header` whether it stands above the body.
    """

    id: str
    title: str = ""
    caption: str = ""
    label_column: int = 0
    heading: list[str] = field(default_factory=list)
    around: list[str] = field(default_factory=list)
    columns: list[tuple[str, str]] = field(default_factory=list)
    rows: dict[int, tuple[str | None, int | None]] = field(default_factory=dict)
    cells: list[tuple[int, int, str, str | None, bool, bool]] = field(default_factory=list)

    def to_json(self) -> str:
        """The content as JSON text."""
        # `asdict` would copy every cell first, which took half the time of indexing a changed folder.
        content = {each.name: getattr(self, each.name) for each in fields(self)}
        return json.dumps(content, ensure_ascii=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> TableContent:
        """What `to_json` wrote."""
        content: dict[str, Any] = json.loads(text)
        content["rows"] = {int(row): (label, group) for row, (label, group) in content["rows"].items()}
        content["columns"] = [(name, predicate) for name, predicate in content["columns"]]
        content["cells"] = [tuple(cell) for cell in content["cells"]]
        return cls(**content)


def read_content(store: TripleStore, id: str, names: Namespaces) -> TableContent:
    """The content of the table with this id; empty where the graph holds no such table."""
    reader = _Reader(names.table_iri(id))
    reader.read(store.graph(names.table_iri(id)))
    return reader.content(id)


class _Reader:
    """Sorts the triples of one table by what their subject is: the table, a column, a row, a cell, a text."""

    def __init__(self, iri: str) -> None:
        self._start = len(iri) + 1
        self._row_prefix = f"{iri}/row/"
        self._table: dict[str, str] = {}
        self._columns: dict[int, dict[str, str]] = {}
        self._rows: dict[int, dict[str, str]] = {}
        self._objects: dict[int, list[tuple[str, str | None]]] = {}
        self._texts: dict[tuple[int, int], str] = {}
        self._headers: set[tuple[int, int]] = set()
        self._around: dict[str, dict[int, str]] = {name: {} for name in _CONTEXT}

    def read(self, triples: Iterable[ox.Triple]) -> None:
        for triple in triples:
            subject, predicate, found = triple.subject, triple.predicate.value, triple.object
            assert isinstance(subject, ox.NamedNode)
            kind, *place = subject.value[self._start :].split("/")
            if kind == "cell":
                self._read_cell(place, predicate, found)
            elif kind == "row":
                self._read_row(int(place[0]), predicate, found)
            elif kind == "column":
                self._columns.setdefault(int(place[0]), {})[predicate] = _text(found)
            elif kind == "":
                self._table[predicate] = _text(found)
            elif kind in self._around and predicate == f"{KGT}text":
                self._around[kind][int(place[0])] = _text(found)

    def _read_cell(self, place: list[str], predicate: str, found: _Term) -> None:
        if predicate == f"{KGT}text":
            self._texts[int(place[0]), int(place[1])] = _text(found)
        elif isinstance(found, ox.NamedNode) and found.value == f"{KGT}HeaderCell":
            self._headers.add((int(place[0]), int(place[1])))

    def _read_row(self, row: int, predicate: str, found: _Term) -> None:
        if predicate in (f"{RDFS}label", f"{KGT}group"):
            self._rows.setdefault(row, {})[predicate] = _text(found)
        elif not predicate.startswith(KGT):
            literal = _text(found) if isinstance(found, ox.Literal) else None
            self._objects.setdefault(row, []).append((predicate, literal))

    def content(self, id: str) -> TableContent:
        columns = self._columns
        width = max(columns, default=-1) + 1
        named = [columns.get(index, {}) for index in range(width)]
        numbers = {column.get(f"{KGT}predicate", ""): index for index, column in enumerate(named)}
        cells: dict[tuple[int, int], tuple[int, int, str, str | None, bool, bool]] = {}
        for row, column in self._headers:
            cells[row, column] = row, column, self._texts.get((row, column), ""), None, False, True
        for row, objects in self._objects.items():
            for predicate, literal in objects:
                index = numbers.get(predicate)
                if index is None:
                    continue
                printed = self._texts.get((row, index))
                text = printed if printed is not None else literal or ""
                lexical = literal if literal != text else None
                cells[row, index] = row, index, text, lexical, literal is None, False
        return TableContent(
            id=id,
            title=self._table.get(f"{DCTERMS}title", ""),
            caption=self._table.get(f"{KGT}caption", ""),
            label_column=int(self._table.get(f"{KGT}labelColumn", "0")),
            heading=_in_order(self._around["heading"]),
            around=[text for name in _CONTEXT[1:] for text in _in_order(self._around[name])],
            columns=[
                (column.get(f"{CSVW}titles", ""), column.get(f"{KGT}predicate", "")) for column in named
            ],
            rows={row: self._row(row) for row in sorted(self._rows.keys() | self._objects.keys())},
            cells=[cells[place] for place in sorted(cells)],
        )

    def _row(self, row: int) -> tuple[str | None, int | None]:
        found = self._rows.get(row, {})
        group = found.get(f"{KGT}group")
        return found.get(f"{RDFS}label"), int(group[len(self._row_prefix) :]) if group else None


def _text(term: _Term) -> str:
    if isinstance(term, ox.Literal):
        return literal_text(term.value, term.datatype.value)
    return str(term.value) if isinstance(term, ox.NamedNode) else ""


def _in_order(texts: dict[int, str]) -> list[str]:
    return [texts[place] for place in sorted(texts)]


FILE = "contents.sqlite"

LONGEST_TEXT = 128
"""Word pieces of a table's text that are embedded; more of them cost time and gain nothing measurable."""

CHUNK = 32
"""Tables a worker process reads in one go."""

_PIECE = re.compile(r"[^\W\d_]{1,6}|\d{1,2}|[^\w\s]|_")


def table_text(content: TableContent) -> str:
    """What a table's vector stands for: title, headings, column names and as many first rows as fit."""
    named = ". ".join(filter(None, (content.title, *content.heading, content.caption)))
    parts = [f"{named}. " if named else "", ", ".join(name for name, _ in content.columns if name), "."]
    row = NONE
    for at, _, text, _, _, header in content.cells[: 4 * LONGEST_TEXT]:
        if not header:
            parts.append(("; " if at != row != NONE else ", " if at == row else " ") + text)
            row = at
    text = " ".join("".join(parts).split())
    pieces = list(islice(_PIECE.finditer(text), LONGEST_TEXT))
    return text[: pieces[-1].end()] if pieces else text


def keep_contents(
    generation: Generation, ids: Sequence[str], previous: Path | None, workers: int, folder: Path
) -> Iterator[TableContent]:
    """The contents of the tables in order, each written into the index folder on the way.

    Those of unchanged tables come from the previous index.
    """
    with closing(sqlite3.connect(folder / FILE)) as database, database:
        database.execute("CREATE TABLE contents (id TEXT PRIMARY KEY, content TEXT NOT NULL)")
        for content, text in _read_or_known(generation, ids, previous, workers):
            database.execute("INSERT INTO contents VALUES (?, ?)", (content.id, text))
            yield content


def _read_or_known(
    generation: Generation, ids: Sequence[str], previous: Path | None, workers: int
) -> Iterator[tuple[TableContent, str]]:
    """Contents with their JSON text."""
    if previous is None:
        yield from ((content, content.to_json()) for content in _read(generation, ids, workers))
        return
    changed = {*generation.changes.added, *generation.changes.changed}
    with closing(sqlite3.connect(previous / FILE)) as database:
        held = {id for (id,) in database.execute("SELECT id FROM contents")} - changed
        fresh = _read(generation, [id for id in ids if id not in held], workers)
        for id in ids:
            if id in held:
                row = database.execute("SELECT content FROM contents WHERE id = ?", (id,)).fetchone()
                yield TableContent.from_json(row[0]), row[0]
            else:
                content = next(fresh)
                yield content, content.to_json()


def are_kept(folder: Path) -> bool:
    """Whether an index folder holds contents; raises `sqlite3.Error` where they are missing or damaged."""
    with closing(sqlite3.connect(f"{(folder / FILE).absolute().as_uri()}?mode=ro", uri=True)) as database:
        return database.execute("SELECT 1 FROM contents").fetchone() is not None


def _read(generation: Generation, ids: Sequence[str], workers: int) -> Iterator[TableContent]:
    read = partial(_read_tables, generation.store_path, generation.base)
    chunks = [ids[start : start + CHUNK] for start in range(0, len(ids), CHUNK)]
    if workers < 2 or len(chunks) < 2:
        for chunk in chunks:
            yield from read(chunk)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for contents in pool.map(read, chunks):
            yield from contents


def _read_tables(store_path: Path, base: str, ids: Sequence[str]) -> list[TableContent]:
    names = Namespaces(base)
    store = EmbeddedStore(store_path, names.prefixes)
    return [read_content(store, id, names) for id in ids]
