"""The catalogue of a generation: the files and tables it was made from, in one SQLite file."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from itertools import starmap
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from kgtable.errors import GraphNotFoundError, GraphVersionError
from kgtable.graph.terms import Namespaces
from kgtable.storage import PARTS, differing, storage_errors
from kgtable.tables.model import Meaning, MeasureKind, Notice, Role

if TYPE_CHECKING:
    from kgtable.ontology.column_stats import ColumnFact

_SCHEMA = """
CREATE TABLE files (
    path TEXT PRIMARY KEY, id TEXT NOT NULL, digest TEXT NOT NULL, settings TEXT NOT NULL,
    error TEXT, location TEXT NOT NULL
);
CREATE TABLE stamps (path TEXT PRIMARY KEY REFERENCES files (path), stamp TEXT NOT NULL);
CREATE TABLE tables (
    id TEXT PRIMARY KEY, path TEXT NOT NULL REFERENCES files (path), position INTEGER NOT NULL,
    sheet TEXT, number INTEGER NOT NULL, media_type TEXT NOT NULL, sha256 TEXT NOT NULL,
    title TEXT NOT NULL, rows INTEGER NOT NULL, width INTEGER NOT NULL, cells INTEGER NOT NULL,
    quads INTEGER NOT NULL, facts TEXT NOT NULL, tally TEXT NOT NULL, notices TEXT NOT NULL
);
CREATE TABLE documents (
    id TEXT PRIMARY KEY, path TEXT NOT NULL REFERENCES files (path), media_type TEXT NOT NULL,
    sha256 TEXT NOT NULL, title TEXT NOT NULL, pages INTEGER, paragraphs INTEGER NOT NULL,
    passages INTEGER NOT NULL, quantities INTEGER NOT NULL, quads INTEGER NOT NULL, tally TEXT NOT NULL,
    notices TEXT NOT NULL
);
CREATE INDEX tables_by_path ON tables (path, position);
"""

MOST_NEAR = 3
"""Number of similar ids suggested for an unknown one."""


@dataclass(frozen=True)
class TableRecord:
    """One table of the graph: where it came from, its size, and what the conversion counted.

    `path` is relative to the folder that was given, `rows` all rows of the grid, `cells` the
    non-empty ones; `tally` is a `kgtable.graph.tally.Tally` as JSON.
    """

    id: str
    path: str
    sheet: str | None
    number: int
    media_type: str
    sha256: str
    title: str
    rows: int
    width: int
    cells: int
    quads: int
    facts: tuple[ColumnFact, ...] = ()
    tally: Mapping[str, Any] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()

    @property
    def members(self) -> int:
        """The rows that programs and SQL count: no header, total, note, heading or blank row; all rows if unknown."""
        return int(self.tally["rows"].get("member", 0)) if "rows" in self.tally else self.rows

    @property
    def totals(self) -> int:
        """The rows that are totals of others, statistics or changes."""
        return int(self.tally.get("rows", {}).get("total", 0))


def counted_rows(members: int, totals: int) -> str:
    """The number of rows for people.

    >>> counted_rows(1, 0), counted_rows(1190, 2)
    ('1 row', '1,190 rows, 2 totals')
    """
    counts = {"row": members} | ({"total": totals} if totals else {})
    return ", ".join(f"{count:,} {name}{'' if count == 1 else 's'}" for name, count in counts.items())


def missing_table(id: str, known: Iterable[str]) -> GraphNotFoundError:
    """The error for a table that is not in the graph, with similar ids: for a file, those of its sheets."""
    ids = list(known)
    near = [one for one in ids if one.partition("#")[0] == id] or get_close_matches(id, ids)
    hint = f"Did you mean {' or '.join(map(repr, near[:MOST_NEAR]))}?" if near else "kgtable info lists the tables."
    return GraphNotFoundError(f"The graph holds no table {id[:200]!r}.", hint=hint)


@dataclass(frozen=True)
class DocumentRecord:
    """The text of a file in the graph: where it came from, its size, and what the conversion counted."""

    id: str
    path: str
    media_type: str
    sha256: str
    title: str
    pages: int | None
    paragraphs: int
    passages: int
    quantities: int
    quads: int
    tally: Mapping[str, Any] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True)
class FileRecord:
    """One file that was read, its tables, and the error if it could not be read.

    `digest` changes with the file's content and its sidecar, `settings` with everything else that decides
    how it is converted; `location` is the file's absolute path, `stamp` what the file system said of it
    (`kgtable.tables.discovery.file_stamp`).
    """

    path: str
    id: str
    digest: str
    settings: str
    location: str
    tables: tuple[TableRecord, ...] = ()
    error: str | None = None
    document: DocumentRecord | None = None
    stamp: str = ""

    @property
    def is_read(self) -> bool:
        """Whether anything of the file is in the graph."""
        return bool(self.tables) or self.document is not None


@dataclass(frozen=True)
class Changes:
    """Ids of the tables that a build added, changed or removed; `unchanged` counts the others."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: int = 0

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


class Catalogue:
    """The files and tables of one generation, in the order they were read."""

    def __init__(self, files: Iterable[FileRecord] = ()) -> None:
        self.files = {file.path: file for file in files}

    @property
    def tables(self) -> dict[str, TableRecord]:
        """Every table by its id."""
        return {table.id: table for file in self.files.values() for table in file.tables}

    @property
    def documents(self) -> dict[str, DocumentRecord]:
        """Every document's text by its id."""
        return {file.document.id: file.document for file in self.files.values() if file.document is not None}

    def graphs(self, names: Namespaces) -> list[str]:
        """The names of the graphs of all tables and documents."""
        return [*map(names.table_iri, self.tables), *map(names.document_iri, self.documents)]

    def facts(self) -> Iterator[ColumnFact]:
        """The statistics of every column."""
        for table in self.tables.values():
            yield from table.facts

    def changes_since(self, before: Catalogue) -> Changes:
        """The tables added, changed and removed since an earlier catalogue."""
        old, new = before._versions(), self._versions()
        return Changes(
            added=tuple(sorted(new.keys() - old.keys())),
            changed=tuple(sorted(id for id in new.keys() & old.keys() if old[id] != new[id])),
            removed=tuple(sorted(old.keys() - new.keys())),
            unchanged=sum(old[id] == new[id] for id in new.keys() & old.keys()),
        )

    def unchanged_since(self, path: Path) -> tuple[set[str], set[str]]:
        """The ids of the tables, and of the documents, that were made from the same files with the same settings as
        in an earlier catalogue, which is read from its file; none if that is missing or damaged.
        """
        try:
            old_tables, old_documents = _saved_versions(path)
        except GraphVersionError:
            return set(), set()
        new_documents = {
            file.document.id: (file.path, file.digest, file.settings)
            for file in self.files.values()
            if file.document is not None
        }
        return _equal(old_tables, self._versions()), _equal(old_documents, new_documents)

    def _versions(self) -> dict[str, tuple[str, str, str]]:
        return {
            table.id: (file.path, file.digest, file.settings) for file in self.files.values() for table in file.tables
        }

    def save(self, path: Path) -> None:
        """Write a new file; raises `StorageError`."""
        with storage_errors(path):
            try:
                files = self.files.values()
                tables = ((table, position) for file in files for position, table in enumerate(file.tables))
                with closing(sqlite3.connect(path)) as connection, connection:
                    connection.execute("PRAGMA journal_mode = MEMORY")
                    connection.executescript(_SCHEMA)
                    _insert(connection, "files", 6, map(_file_row, files))
                    _insert(connection, "stamps", 2, ((file.path, file.stamp) for file in files if file.stamp))
                    _insert(connection, "documents", 12, map(_document_row, self.documents.values()))
                    _insert(connection, "tables", 15, starmap(_table_row, tables))
            except sqlite3.Error as error:
                raise OSError(str(error)) from error

    @classmethod
    def load(cls, path: Path) -> Catalogue:
        """Read a saved catalogue; raises `GraphVersionError` if it is missing or damaged."""
        with _reading(path) as connection:
            tables: dict[str, list[TableRecord]] = defaultdict(list)
            rows = connection.execute("SELECT * FROM tables ORDER BY path, position")
            for row in map(_read_back, rows):
                tables[row[1]].append(_table_record(row))
            texts = {row[1]: _document_record(row) for row in _later_rows(connection, "documents")}
            stamps = defaultdict[str, str](str, _later_rows(connection, "stamps"))
            files = connection.execute("SELECT * FROM files ORDER BY rowid")
            return cls(
                FileRecord(path, id, digest, settings, place, tuple(tables[path]), error, texts.get(path), stamps[path])
                for path, id, digest, settings, error, place in map(_read_back, files)
            )


_Versions: TypeAlias = dict[str, tuple[str, ...]]


def _saved_versions(path: Path) -> tuple[_Versions, _Versions]:
    """The file of each table, and of each document, with its digest and settings. Raises `GraphVersionError`."""
    with _reading(path) as connection:
        rows = connection.execute("SELECT path, digest, settings FROM files")
        files = {file: (file, *rest) for file, *rest in map(_read_back, rows)}
        tables = map(_read_back, connection.execute("SELECT id, path FROM tables"))
        documents = _later_rows(connection, "documents", "id, path")
        return {id: files[file] for id, file in tables}, {id: files[file] for id, file in documents}


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """The database of a saved catalogue; its faults are raised as `GraphVersionError`."""
    try:
        if differing(path.parent, [path.name], PARTS):
            raise ValueError("it is not what was written")
        uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            yield connection
    except (sqlite3.Error, ValueError, KeyError, TypeError) as error:
        raise GraphVersionError(
            f"The catalogue {path} is missing or damaged: {error}.", hint="Build the graph again with kgtable build."
        ) from error


def _equal(old: Mapping[str, tuple[str, ...]], new: Mapping[str, tuple[str, ...]]) -> set[str]:
    return {id for id in new.keys() & old.keys() if old[id] == new[id]}


def _later_rows(connection: sqlite3.Connection, table: str, columns: str = "*") -> Iterator[tuple[Any, ...]]:
    """The rows of a table that older graphs do not have."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
        yield from map(_read_back, connection.execute(f"SELECT {columns} FROM {table}"))  # noqa: S608


def _insert(connection: sqlite3.Connection, table: str, columns: int, rows: Iterable[tuple[object, ...]]) -> None:
    statement = f"INSERT INTO {table} VALUES ({', '.join('?' * columns)})"  # noqa: S608
    connection.executemany(statement, map(_stored, rows))


def _stored(row: tuple[object, ...]) -> tuple[object, ...]:
    """The row with texts that SQLite cannot hold, such as names of files that are not UTF-8, as bytes."""
    return tuple(
        value.encode("utf-8", "surrogatepass") if isinstance(value, str) and not _is_sound(value) else value
        for value in row
    )


def _is_sound(text: str) -> bool:
    return text.isascii() or text.encode("utf-8", "ignore").decode("utf-8") == text


def _read_back(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value for value in row)


def _file_row(file: FileRecord) -> tuple[object, ...]:
    return file.path, file.id, file.digest, file.settings, file.error, file.location


_meaning_fields = attrgetter(*(field.name for field in fields(Meaning)))


def _table_row(table: TableRecord, position: int) -> tuple[object, ...]:
    facts = [
        [
            fact.index,
            fact.name,
            fact.predicate,
            dict(fact.ranges),
            dict(fact.units),
            dict(fact.scales),
            fact.generated,
            None if fact.meaning is None else _meaning_fields(fact.meaning),
        ]
        for fact in table.facts
    ]
    notices = [[n.code, n.message, n.path, n.sheet, n.row, n.column] for n in table.notices]
    return (
        table.id, table.path, position, table.sheet, table.number, table.media_type, table.sha256,
        table.title, table.rows, table.width, table.cells, table.quads,
        json.dumps(facts), json.dumps(table.tally), json.dumps(notices),
    )  # fmt: skip


def _document_row(document: DocumentRecord) -> tuple[object, ...]:
    notices = [[n.code, n.message, n.path, n.sheet, n.row, n.column] for n in document.notices]
    return (
        document.id, document.path, document.media_type, document.sha256, document.title, document.pages,
        document.paragraphs, document.passages, document.quantities, document.quads,
        json.dumps(document.tally), json.dumps(notices),
    )  # fmt: skip


def _document_record(row: tuple[Any, ...]) -> DocumentRecord:
    *about, tally, notices = row
    return replace(DocumentRecord(*about), tally=json.loads(tally), notices=_noted(notices))


def _table_record(row: tuple[Any, ...]) -> TableRecord:
    id, path, _, *about, facts, tally, notices = row
    found = tuple(_fact(id, fact) for fact in json.loads(facts))
    return replace(TableRecord(id, path, *about), facts=found, tally=json.loads(tally), notices=_noted(notices))


def _noted(notices: str) -> tuple[Notice, ...]:
    return tuple(Notice(*notice) for notice in json.loads(notices))


def _fact(table: str, stored: list[Any]) -> ColumnFact:
    from kgtable.ontology.column_stats import ColumnFact

    index, name, predicate, ranges, units, scales, generated, meaning = stored
    by_power = {int(power): count for power, count in scales.items()}
    return ColumnFact(table, index, name, predicate, ranges, units, by_power, generated, _meaning(meaning))


def _meaning(found: list[Any] | None) -> Meaning | None:
    if found is None:
        return None
    role, kind, variant, quantity_kind, evidence, confidence, *grain = found  # graphs of earlier builds have no grain
    kind_ = None if kind is None else MeasureKind(kind)
    return Meaning(Role(role), kind_, variant, quantity_kind, tuple(evidence), confidence, *grain)
