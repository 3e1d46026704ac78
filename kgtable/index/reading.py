"""What the index needs of a table, read from the graph: texts with their places, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

import pyoxigraph as ox

from kgtable.graph.store import TripleStore
from kgtable.graph.terms import CSVW, DCTERMS, KGT, RDFS, Namespaces, literal_text

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
