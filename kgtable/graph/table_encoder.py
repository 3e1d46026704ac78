"""Encoding of tables: the one place that decides which statements a table becomes.

The thesis's shape (section 4.4, Figure 8) with rows as nodes of their own; the differences are
listed in ``docs/differences.md``. Statements come as blocks: a subject and its pairs of predicate
and object, in the order people read them: the table, its columns, its header, then row by row with
the row's quantities right below it. Terms are N-Triples text.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, TypeAlias

from kgtable.graph.cell_areas import areas_text, positions_text
from kgtable.graph.cell_encoder import PRINTED, CellShaper
from kgtable.graph.row_forms import ColumnRun, Form, FormSlot, RowChunk
from kgtable.graph.table_content import CellContent, ContentRow, TableContent
from kgtable.graph.terms import (
    CSVW,
    DCTERMS,
    KGT,
    QUANTITY_KIND,
    QUDT,
    RDF,
    RDF_TYPE,
    RDFS,
    ROW_CLASSES,
    XSD,
    Block,
    Namespaces,
    Pair,
    Term,
    integer,
    is_plain,
    text_literal,
    typed,
)
from kgtable.ontology.annotate import AnnotatedTable
from kgtable.ontology.meaning import LOOKED_AT, classes_of_labels
from kgtable.ontology.naming import slug
from kgtable.tables.model import Meaning, Row
from kgtable.values.lexicon import language_of

JSON_TYPE = f"{RDF}JSON"
LABEL = f"<{RDFS}label>"
ROW, COLUMN, TEXT, WIDTH = (f"<{KGT}{name}>" for name in ("row", "column", "text", "width"))
CONFIDENCE = f"<{KGT}confidence>"
GROUP, SUBJECT, TABLE = f"<{KGT}group>", f"<{KGT}subject>", f"<{KGT}table>"

_ROW_TYPE = (RDF_TYPE, f"<{KGT}Row>")
_TOTAL_ROWS = frozenset((RDF_TYPE, f"<{KGT}{name}>") for name in ("TotalRow", "StatisticRow", "ChangeRow"))
_ASIDE = frozenset((RDF_TYPE, f"<{KGT}{name}>") for field, name in ROW_CLASSES.items() if field != "groups")
_TOTALS, _MEASURE_KIND = f"<{KGT}totals>", f"<{KGT}measureKind>"
_HEADER_TYPE, _UNIT_TYPE, _TITLE_TYPE, _TEXT_TYPE, _HEADER_CELL = (
    (RDF_TYPE, f"<{KGT}{name}>") for name in ("HeaderRow", "UnitRow", "TitleRow", "ContextText", "HeaderCell")
)
HEAD_PREDICATES = (RDF_TYPE, TABLE, ROW, _MEASURE_KIND, _TOTALS, LABEL, SUBJECT, GROUP, WIDTH, PRINTED)
CHUNK_ROWS, CHUNK_CELLS, CHUNK_CHARACTERS = 1024, 8192, 4_000_000
"""The limits of a chunk: larger ones would outgrow the processor's caches."""

Numbered: TypeAlias = Sequence[tuple[int, Row]]
"""Rows with their grid indexes."""


class TableShape:
    """One annotated table as blocks of statements; `cells` has the counts."""

    def __init__(self, annotated: AnnotatedTable, names: Namespaces) -> None:
        self._annotated = annotated
        self._names = names
        self._table = annotated.table
        self._iri = names.table_iri(annotated.table.id)
        structure = annotated.table.structure
        classes = ((getattr(structure, field), name) for field, name in ROW_CLASSES.items())
        self._classes = [(rows, (RDF_TYPE, f"<{KGT}{name}>")) for rows, name in classes if rows]
        self._said_of = frozenset(chain(structure.measures, structure.summed, *(rows for rows, _ in self._classes)))
        self._language = language_of(part for column in annotated.table.columns for part in column.path)
        self.cells = CellShaper(annotated, names)
        self.counted: Counter[str] = Counter()
        """The rows so far that programs and SQL count: members, totals."""
        predicates = self.cells.predicates
        self._is_distinct = len({*predicates, *HEAD_PREDICATES}) == len(predicates) + len(HEAD_PREDICATES)

    @property
    def graph(self) -> Term:
        """The table's IRI, which is the name of its graph."""
        return f"<{self._iri}>"

    def __iter__(self) -> Iterator[Block]:
        yield from self.description()
        for part in chain.from_iterable(said for _, said in self.rows(self._table.rows())):
            if isinstance(part, RowChunk):
                yield from chain.from_iterable(part.rows())
            else:
                yield part

    def description(self) -> Iterator[Block]:
        """The table and its context, then its columns."""
        yield self.graph, list(self._table_pairs())
        yield from self._texts()
        columns = {column.index: column for column in self._table.columns}
        for index in range(self._table.grid.width):
            pairs = [
                (RDF_TYPE, f"<{KGT}Column>"),
                (RDF_TYPE, f"<{CSVW}Column>"),
                (TABLE, self.graph),
                (COLUMN, integer(index)),
                (f"<{KGT}predicate>", self.cells.predicates[index]),
            ]
            column = columns.get(index)
            if column is not None and column.path:
                pairs.append((f"<{CSVW}titles>", text_literal(column.name)))
                if len(column.path) > 1:
                    pairs.append((f"<{KGT}path>", _json_literal(list(column.path))))
            if column is not None and column.meaning is not None:
                pairs += _meaning_pairs(column.meaning)
                if (grain := column.meaning.grain) is not None:
                    pairs.append((f"<{KGT}grain>", f"<{self._iri}/column/{grain}>"))
            yield f"<{self._iri}/column/{index}>", pairs

    def _table_pairs(self) -> Iterator[Pair]:
        grid, structure, context = self._table.grid, self._table.structure, self._table.context
        yield RDF_TYPE, f"<{KGT}Table>"
        yield RDF_TYPE, f"<{CSVW}Table>"
        if structure.confidence < 1:
            yield CONFIDENCE, typed(f"{structure.confidence:g}", f"{XSD}decimal")
        yield LABEL, text_literal(context.title or grid.id)
        yield f"<{DCTERMS}identifier>", text_literal(grid.id)
        if context.title:
            yield f"<{DCTERMS}title>", text_literal(context.title)
        yield f"<{KGT}source>", text_literal(grid.source.path)
        if grid.source.sheet is not None:
            yield f"<{KGT}sheet>", text_literal(grid.source.sheet)
        yield f"<{KGT}rows>", integer(len(grid.rows))
        yield WIDTH, integer(grid.width)
        yield f"<{KGT}bodyStart>", integer(structure.body_start)
        yield f"<{KGT}labelColumn>", integer(structure.label_column)
        for row in structure.header:
            yield f"<{KGT}headerRow>", integer(row)
        if structure.corner:
            yield f"<{KGT}corner>", text_literal(structure.corner)
        if context.caption:
            yield f"<{KGT}caption>", text_literal(context.caption)
        if structure.marks:
            yield f"<{KGT}marks>", _json_literal(dict(structure.marks))
        if grid.merged:
            yield f"<{KGT}merged>", text_literal(areas_text(grid.merged))
        if structure.shared:
            yield f"<{KGT}shared>", text_literal(areas_text(structure.shared))
        if grid.header_cells:
            yield f"<{KGT}headerCells>", text_literal(positions_text(grid.header_cells))
        if grid.formats:
            yield f"<{KGT}formats>", _json_literal(_by_value(grid.formats))
        if grid.indents:
            yield f"<{KGT}indents>", _json_literal(_by_value(grid.indents))
        for name, texts in self._text_groups():
            for order in range(len(texts)):
                yield f"<{KGT}{name}>", f"<{self._iri}/{name}/{order}>"

    def _text_groups(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        found = self._table.context
        names = ("heading", "before", "after", "paragraph")
        return tuple(zip(names, (found.heading, found.before, found.after, found.paragraphs), strict=True))

    def _texts(self) -> Iterator[Block]:
        for name, texts in self._text_groups():
            for order, text in enumerate(texts):
                pairs = (_TEXT_TYPE, (f"<{KGT}order>", integer(order)), (TEXT, text_literal(text)))
                yield f"<{self._iri}/{name}/{order}>", pairs

    def rows(self, rows: Iterable[tuple[int, Row]]) -> Iterator[tuple[Numbered, Sequence[Block | RowChunk]]]:
        """Rows, given with their grid indexes, and their statements: header rows one by one, the others in chunks.

        A chunk has a limited number of cells, and of characters.
        """
        chunk: list[tuple[int, Row]] = []
        cells = characters = 0
        for index, row in rows:
            if index < self._table.structure.body_start:
                yield [(index, row)], tuple(self._header_row(index, row))
                continue
            chunk.append((index, row))
            cells += len(row)
            characters += sum(map(len, row))
            if cells >= CHUNK_CELLS or characters >= CHUNK_CHARACTERS or len(chunk) >= CHUNK_ROWS:
                yield chunk, (self._body_rows(chunk),)
                chunk, cells, characters = [], 0, 0
        if chunk:
            yield chunk, (self._body_rows(chunk),)

    def content(self) -> TableContent:
        """The index's data on the table, without its rows."""
        context, columns = self._table.context, {column.index: column for column in self._table.columns}
        return TableContent(
            self._table.id,
            context.title,
            context.caption,
            context.heading,
            (*context.before, *context.after, *context.paragraphs),
            tuple(
                (columns[index].name if index in columns else "", predicate[1:-1])
                for index, predicate in enumerate(self.cells.predicates)
            ),
        )

    def content_rows(self, rows: Numbered, said: Sequence[Block | RowChunk]) -> Iterator[ContentRow]:
        """The index's data on rows that are not blank; `said` is the result of `rows` for them."""
        structure = self._table.structure
        if not isinstance(said[0], RowChunk):
            ((index, row),) = rows
            above = tuple((column, CellContent(text, True)) for column, text in enumerate(row) if text)
            if above:
                yield ContentRow(index, True, None, None, above)
            return
        for (index, row), cells in zip(rows, self.cells.contents(said[0], [row for _, row in rows]), strict=True):
            if cells:
                parent = structure.parents.get(index)
                heading = None if parent is None else self._label_of(self._table.grid.head[parent])
                yield ContentRow(index, False, self._label_of(row), heading, tuple(cells))

    def _label_of(self, row: Row) -> str | None:
        label_column = self._table.structure.label_column
        return (row[label_column].strip() if label_column < len(row) else "") or None

    def _header_row(self, index: int, row: Row) -> Iterator[Block]:
        structure, number = self._table.structure, integer(index)
        pairs = [_HEADER_TYPE if index in structure.header else _TITLE_TYPE]
        if index in structure.unit_rows:
            pairs.append(_UNIT_TYPE)
        pairs += ((TABLE, self.graph), (ROW, number))
        if len(row) != self._table.grid.width:
            pairs.append((WIDTH, integer(len(row))))
        yield f"<{self._iri}/row/{index}>", pairs
        for column, text in enumerate(row):
            if text:
                said = (_HEADER_CELL, (ROW, number), (COLUMN, integer(column)), (TEXT, text_literal(text)))
                yield f"<{self._iri}/cell/{index}/{column}>", said

    def _body_rows(self, rows: Numbered) -> RowChunk:
        column = self._table.structure.label_column
        indexes, cells = [index for index, _ in rows], [row for _, row in rows]
        labels = [row[column] if column < len(row) else "" for row in cells]
        runs = [self._heads(indexes, cells, labels), *self.cells.add_chunk(indexes, cells, labels)]
        return RowChunk(list(map(str, indexes)), runs, self._is_distinct)

    def _heads(self, indexes: Sequence[int], cells: Sequence[Row], labels: Sequence[str]) -> ColumnRun:
        """The statements of rows before their cells: classes, number, label and subject, group."""
        structure, width = self._table.structure, self._table.grid.width
        texts = list(map(str.strip, labels))
        literals = [f'"{text}"' for text in texts] if is_plain("".join(texts)) else list(map(text_literal, texts))
        beginning = f"<{self._names.entity_iri('')}"
        subjects = [f"{beginning}{slug(text)}>" if text else "" for text in texts]
        parents = [structure.parents.get(index) for index in indexes]
        names: list[str | None] = [None] * len(cells)
        if indexes[-1] >= structure.body_start + LOOKED_AT:
            firsts = (
                text or next(filter(None, map(str.strip, row)), "") for text, row in zip(texts, cells, strict=True)
            )
            names = classes_of_labels(list(firsts), self._language)
        found: dict[tuple[Any, ...], list[int]] = {}
        for place, (index, row, text, parent, name) in enumerate(
            zip(indexes, cells, texts, parents, names, strict=True)
        ):
            types, said = self._said_of_row(index) if index in self._said_of else ((), ())
            if name is not None and index >= structure.body_start + LOOKED_AT and index not in structure.totals:
                types = (*types, (RDF_TYPE, f"<{KGT}{name}>"))
            if not _ASIDE.isdisjoint(types):
                self.counted["total"] += not _TOTAL_ROWS.isdisjoint(types)
            elif any(map(str.strip, row)) and (index not in structure.groups or structure.has_figures(row)):
                self.counted["member"] += 1
            key = (types, said, bool(text), parent is not None, len(row) if len(row) != width else None)
            found.setdefault(key, []).append(place)
        slots = (literals, subjects, ["" if parent is None else str(parent) for parent in parents])
        groups = {
            self.cells.form(key, partial(self._head_form, *key)): (
                places,
                slots if len(places) == len(cells) else [[slot[place] for place in places] for slot in slots],
            )
            for key, places in found.items()
        }
        return ColumnRun.of(groups, len(cells))

    def _said_of_row(self, index: int) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
        """The classes of a row, and what else is said of it alone."""
        structure = self._table.structure
        said = [(_TOTALS, f"<{self._iri}/row/{member}>") for member in structure.summed.get(index, ())]
        if index in structure.measures:
            said.insert(0, (_MEASURE_KIND, f"<{KGT}{structure.measures[index]}>"))
        return tuple(pair for rows, pair in self._classes if index in rows), tuple(said)

    def _head_form(
        self, types: Sequence[Pair], said: Sequence[Pair], has_label: bool, has_group: bool, width: int | None
    ) -> Form:
        pairs: list[tuple[Term, Term | FormSlot]] = [_ROW_TYPE, *types, (TABLE, self.graph)]
        pairs += ((ROW, FormSlot(0, '"', f'"^^<{XSD}integer>')), *said)
        if has_label:
            pairs += ((LABEL, FormSlot(1)), (SUBJECT, FormSlot(2)))
        if has_group:
            pairs.append((GROUP, FormSlot(3, f"<{self._iri}/row/", ">")))
        if width is not None:
            pairs.append((WIDTH, integer(width)))
        return Form(tuple(pairs), FormSlot(0, f"<{self._iri}/row/", ">"))


def _meaning_pairs(meaning: Meaning) -> Iterator[Pair]:
    """The statements about a column: role, kind and variant of a measure, and the evidence."""
    yield f"<{KGT}role>", f"<{KGT}{meaning.role}>"
    if meaning.kind is not None:
        yield _MEASURE_KIND, f"<{KGT}{meaning.kind}>"
    if meaning.variant is not None:
        yield f"<{KGT}variant>", text_literal(meaning.variant)
    if meaning.quantity_kind is not None:
        yield f"<{QUDT}hasQuantityKind>", f"<{QUANTITY_KIND}{meaning.quantity_kind}>"
    for evidence in meaning.evidence:
        yield f"<{KGT}evidence>", text_literal(evidence)
    yield CONFIDENCE, typed(f"{meaning.confidence:g}", f"{XSD}decimal")


def _json_literal(value: object) -> Term:
    return f"{text_literal(json.dumps(value, ensure_ascii=True))}^^<{JSON_TYPE}>"


def _by_value(positions: Mapping[tuple[int, int], object]) -> dict[str, str]:
    groups: dict[str, set[tuple[int, int]]] = {}
    for position, value in positions.items():
        groups.setdefault(str(value), set()).add(position)
    return {value: positions_text(groups[value]) for value in sorted(groups)}
