"""Programs over the evidence: its tables as relations, results as answers, and programs that a model wrote.

A written program names tables by alias and columns by number. In addition to the JSON of `kgtable.programs` it may hold
``{"cell": "T1.r3.c2"}``, which becomes a lookup by the row's label, and ``{"column": "c2"}``. What runs is a plain
program over whole tables.
"""

from __future__ import annotations

import json
import re
import threading
import time
import weakref
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from decimal import Decimal
from itertools import islice
from typing import Any, TypeGuard

from kgtable.answering.answer import WEAK, Alternative, Answer, ComputedCell
from kgtable.answering.evidence import Citation, Evidence, TableSource
from kgtable.answering.prompting import per_word
from kgtable.errors import EvaluationError, GraphClosedError, KgtableError, ProgramSyntaxError, UnknownTableError
from kgtable.graph.table_source import TableReader
from kgtable.programs.algebra import (
    And,
    Arithmetic,
    ColumnRef,
    Compare,
    Constant,
    Expression,
    Filter,
    Lookup,
    Node,
    Operator,
    Program,
    Relator,
    RowChoice,
    Rows,
    TableRows,
    ValueKind,
    tables_of,
    walk,
)
from kgtable.programs.display import display, style_of, text_of_rows
from kgtable.programs.executor import ProgramResult, run
from kgtable.programs.fields import fields_of, told_of
from kgtable.programs.provenance import CellRead, CellRole
from kgtable.programs.relation import Relation
from kgtable.programs.scalars import Datum, format_decimal, normal, quantity
from kgtable.programs.syntax import parse_program, program_to_json
from kgtable.programs.table_relation import LONG, is_plain, long_relation, relation_of
from kgtable.questions.by_rules import MOST_TABLES, RankedAnswer, RankedProgram, answer_by_programs
from kgtable.questions.follow_ups import changed
from kgtable.questions.relation_index import index_of
from kgtable.values.spoken import NumberMarks
from kgtable.values.unit_phrases import parse_unit_phrase

RULES = "rules, no language model"
"""An answer's `model` if no model was called."""

MOST_CITATIONS = 60
"""Cells that an answer cites; `Answer.cells_read` counts all."""

MOST_ROWS = 300
"""Rows of a result that an answer holds."""

COUNTED_CELLS = 10_000
"""Maximum count of the cells that a program read."""

_KEPT_CELLS = 2_000_000
"""Maximum cells of cached relations; the tables of one question, which are in memory together, are always kept."""


class EvidenceRelations(Mapping[str, Relation]):
    """The tables of a source as relations, decoded when a program first reads them.

    The relations read last are kept, up to a number of cells or as many as one question reads. May be used
    from several threads. The source is not kept alive: who reads a table holds it.
    """

    def __init__(self, source: TableSource) -> None:
        self._source = weakref.ref(source)
        self._kept: OrderedDict[str, Relation] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self._lock = threading.RLock()

    def __getitem__(self, id: str) -> Relation:
        """The table with this id. Raises `GraphNotFoundError` if there is none."""
        with self._lock:
            if id in self._kept:
                self._kept.move_to_end(id)
                return self._kept[id]
            source = self._source()
            if source is None:
                raise GraphClosedError("The graph of these tables was closed.", hint="Open it again.")
            found = self._kept[id] = read_relation(source, id)
            self._sizes[id] = len(found) * len(found.columns)
            while len(self._kept) > MOST_TABLES and sum(self._sizes.values()) > _KEPT_CELLS:
                oldest, _ = self._kept.popitem(last=False)
                del self._sizes[oldest]
            return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)


def read_relation(source: TableSource, id: str) -> Relation:
    """A table of a source as a relation: a long one column by column, where the source holds it so.

    Raises `GraphNotFoundError` if there is no such table.
    """
    if is_long(source, id):
        columns = source.columns(id)
        if columns is not None:
            return long_relation(source.marked_frame(id), columns)
    return relation_of(source.decoded(id))


def is_long(source: TableSource, id: str) -> TypeGuard[TableReader]:
    """Whether a table of a source can be read column by column and is long enough to be."""
    if not isinstance(source, TableReader):
        return False
    frame = source.frame(id)
    return frame.body_rows >= LONG and is_plain(frame.table) and source.columns(id) is not None


_RELATIONS: weakref.WeakKeyDictionary[TableSource, EvidenceRelations] = weakref.WeakKeyDictionary()
_LOCK = threading.Lock()


def relations_of(source: TableSource) -> EvidenceRelations:
    """The relations of a source: the same object for the same source."""
    with _LOCK:
        if source not in _RELATIONS:
            _RELATIONS[source] = EvidenceRelations(source)
        return _RELATIONS[source]


def answer_by_rules(evidence: Evidence) -> Answer:
    """Answer a question from retrieved tables without a language model.

    Candidate programs over the best tables are ranked and executed (`answer_by_programs`). The answer has no text
    where the ranker abstains; its alternatives then are the nearest readings.
    """
    started = time.perf_counter()
    retrieval = evidence.retrieval
    scores = {found.table: found.score for found in retrieval.tables}
    relations = relations_of(evidence.source)
    tables = [(relations[id], scores.get(id, 0.0)) for id in evidence.tables[:MOST_TABLES]]
    ranked = answer_by_programs(retrieval.question, tables, joins=evidence.relations)
    answer = ranked_answer(ranked, evidence)
    spent = round((time.perf_counter() - started) * 1000, 3)
    return replace(answer, timings_ms={**retrieval.timings_ms, "answer": spent})


def ranked_answer(ranked: RankedAnswer, evidence: Evidence) -> Answer:
    """The ranker's choice as an answer, with citations of the cells that its programs read.

    A choice whose confidence is below the floor is the first alternative of an answer without text.
    """
    retrieval = evidence.retrieval
    alternatives = tuple(_alternative(other, evidence) for other in ranked.alternatives)
    answer = Answer(
        question=retrieval.question,
        text="",
        ambiguous=ranked.ambiguous,
        doubtful=not ranked.sure,
        reasons=ranked.reasons,
        alternatives=alternatives,
        confidence=ranked.confidence,
        method=retrieval.method,
        model=RULES,
        retrieval=retrieval,
    )
    parts = [part.best for part in ranked.parts or (ranked,) if part.best is not None]
    if not parts:
        return answer
    said = None if len(parts) > 1 else parts[0].text
    found = reading_of([part.result for part in parts], evidence, said, confidence=ranked.confidence)
    if ranked.confidence < WEAK:
        return replace(answer, alternatives=(found, *alternatives))
    return replace(answer.reading(found), grounded=bool(found.citations))


def changed_answer(answer: Answer, said: str, evidence: Evidence) -> Answer | None:
    """The answer of the previous program with the field that a follow-up changes, such as the year or the key.

    None if fields cannot say the program before, the follow-up names no field of it, or nothing is found then.
    """
    asked = None if answer.program is None else fields_of(answer.program)
    if asked is None:
        return None
    try:
        fields = changed(asked, said, relations_of(evidence.source))
        result = None if fields is None else run(fields.program(), relations_of(evidence.source))
    except KgtableError:
        return None
    if fields is None or result is None or not len(result):
        return None
    before, after = told_of(asked), told_of(fields)
    names = (name for name in {**after, **before} if after.get(name) != before.get(name))
    told = "; ".join(f"{name}: {after.get(name, 'none')}" for name in names)
    found = reading_of([result], evidence, confidence=answer.confidence)
    question = result.derivation[:1].upper() + result.derivation[1:]
    changed_to = replace(answer, question=question, alternatives=(), ambiguous=False, model=RULES)
    shown = replace(changed_to, reasons=(f"Changed: {told}.",))
    return replace(shown.reading(found), grounded=bool(found.citations))


def reading_of(
    results: Sequence[ProgramResult], evidence: Evidence, text: str | None = None, *, confidence: float | None = None
) -> Alternative:
    """The results of programs as one reading: text, value, unit and rows are the results, formatted here.

    Args:
        results: of one program, or of several that answer a question together.
        evidence: the tables that they read.
        text: the result in other words than its own, such as months for the dates of their first days.
        confidence: that of the ranker.
    """
    citations, count = citations_of(results, evidence)
    shown = shown_as(citations, results)
    rows = [row for result in results for row in islice(result.rows(), MOST_ROWS)]
    plain = text_of_rows(rows)
    only = results[0] if len(results) == 1 else None
    value = None if only is None else only.value
    number = None if value is None else value.number
    is_table = only is not None and (len(only) > 1 or len(only.names) > 1)
    said = text if text is not None and text != plain else ""
    return Alternative(
        text=said or plain,
        table=citations[0].table if citations else next(iter(tables_of(results[0].program)), ""),
        citations=citations,
        value=None if number is None else format_decimal(number),
        unit=None if number is None or value is None else value.unit,
        calculation="; ".join(dict.fromkeys(result.derivation for result in results)) or None,
        program=None if only is None else only.program,
        confidence=confidence,
        shown=said or text_of_rows(rows, shown),
        names=only.names if only is not None and is_table else (),
        rows=tuple(tuple(ComputedCell.of(datum, shown) for datum in row) for row in rows) if is_table else (),
        size=len(only) if only is not None and is_table else 0,
        cells_read=count,
    )


_QUOTIENTS = (Operator.MULTIPLY, Operator.DIVIDE, Operator.POWER)


def shown_as(citations: Sequence[Citation], results: Sequence[ProgramResult]) -> Callable[[Datum], str]:
    """How a result is written: in the number style of its cells, with their common rate, as in "$2.35 per share"."""
    style = cited_style(citations)
    pers = {(cited.unit, cited.per) for cited in citations if cited.value is not None}
    nodes = (node for result in results for node in walk(result.program.root))
    derived = any(isinstance(node, Arithmetic) and node.operator in _QUOTIENTS for node in nodes)

    def shown(datum: Datum) -> str:
        text = display(datum, style)
        found = [per for unit, per in pers if unit == datum.unit] if datum.number is not None and not derived else []
        return f"{text} {per_word(found[0])}" if len(found) == 1 and found[0] else text

    return shown


def cited_style(citations: Sequence[Citation]) -> NumberMarks:
    """The number style of the cells that a result rests on."""
    return style_of(quantity(c.value, c.unit, c.scale, c.text) for c in citations if c.value is not None)


def citations_of(results: Sequence[ProgramResult], evidence: Evidence) -> tuple[tuple[Citation, ...], int]:
    """The first cells that programs read, starting with the results and their rows, and their total number."""
    reads = [read for result in results for read in islice(result.cells(), COUNTED_CELLS)]
    deciding = {(read.table, read.row) for read in reads if not _is_aside(read)}
    reads.sort(  # what was only compared, such as the losers of a maximum, comes last
        key=lambda read: (_is_aside(read), (read.table, read.row) not in deciding, read.role == CellRole.COMPARED)
    )
    places = dict.fromkeys((read.table, read.row, read.column) for read in reads)
    cited = list(islice(places, MOST_CITATIONS))
    rows: dict[str, set[int]] = {}
    for table, row, _ in cited:
        rows.setdefault(table, set()).add(row)
    evidence.source.fetch({table: sorted(numbers) for table, numbers in rows.items()})
    cells = (evidence.cell(*place) for place in cited)
    return tuple(cell for cell in cells if cell is not None), len(places)


def _is_aside(read: CellRead) -> bool:
    return read.role != "selected"


def _alternative(other: RankedProgram, evidence: Evidence) -> Alternative:
    return reading_of([other.result], evidence, other.text, confidence=other.confidence)


DEEPEST_JSON = 100
MOST_LABELS = 20_000
"""In tables of more rows a cell is looked up by its row's number."""

_ALIAS = re.compile(r"T([1-9]\d{0,5})")
_COLUMN_NUMBER = re.compile(r"c(\d{1,5})")
_CHOICES = (RowChoice.MEMBERS, RowChoice.ALL)


def read_program(data: object, evidence: Evidence) -> Program:
    """The program that a model wrote, over the ids of tables.

    Args:
        data: what stood in the reply: an object, or a text that holds one.
        evidence: provides the aliases of the tables.

    Raises `ProgramSyntaxError` for an invalid program, `UnknownTableError` for an unknown alias,
    `EvaluationError` for a cell that does not exist or is blank.
    """
    if isinstance(data, str):
        try:
            data = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ProgramSyntaxError("The program is a text, not an object.", path="root") from error
    if not isinstance(data, Mapping):
        raise ProgramSyntaxError("The program is not an object.", path="root")
    expanded = _with_cells(data, evidence, "root", 1)
    program = parse_program(expanded)
    named = _renamed(program.root, lambda name: _table_id(name, evidence))
    relations = [relations_of(evidence.source)[id] for id in tables_of(Program(named))]
    return Program(_with_column_numbers(named, relations))


def cell_program(cell: Citation, evidence: Evidence) -> Program:
    """The lookup of a cell by label and header. Raises `EvaluationError` for a cell outside of the body."""
    relation = relations_of(evidence.source)[cell.table]
    place = bisect_left(range(len(relation)), cell.row, key=lambda row: relation.place(row)[1])
    if place == len(relation) or relation.place(place)[1] != cell.row:
        raise EvaluationError("The cell is a header, not in a row of the table.")
    choice = next((choice for choice in _CHOICES if place in relation.select(choice)), None)
    if choice is None:
        raise EvaluationError("The cell is in a heading or note, not in a row of values.")
    rows = TableRows((cell.table,), choice=choice)
    value = index_of(relation).columns[cell.column].ref
    return Program(Lookup(Filter(rows, _row_condition(relation, place, choice)), replace(value, table="")))


def _row_condition(relation: Relation, place: int, choice: RowChoice) -> Expression:
    """What holds for one row alone: its label, with its group where it occurs twice, else its number."""
    chosen = relation.select(choice).tolist()
    column = relation.label_column()
    label = relation.text(place, column)
    if label and len(chosen) <= MOST_LABELS:
        view = index_of(relation).columns[column]
        names_rows = isinstance(view.ref.name, str) and parse_unit_phrase(view.ref.name) is None
        ref = replace(view.ref, table="") if names_rows else ColumnRef("@label")
        same = [row for row in chosen if normal(relation.text(row, column)) == normal(label)]
        named = Compare(Relator.EQUAL, ref, Constant(label))
        if len(same) == 1:
            return named
        groups = relation.pseudo("@group")
        group = groups[place]
        if group is not None and sum(groups[row] == group for row in same) == 1:
            return And((named, Compare(Relator.EQUAL, ColumnRef("@group"), Constant(str(group.value)))))
    number = Decimal(chosen.index(place) + 1)
    return Compare(Relator.EQUAL, ColumnRef("@row"), Constant(number, ValueKind.QUANTITY))


def _with_cells(data: Any, evidence: Evidence, path: str, depth: int) -> Any:
    """The data with each ``{"cell": id}`` written out as a lookup over the table's alias."""
    if depth > DEEPEST_JSON:
        raise ProgramSyntaxError("The program nests too deep.", path=path[:200])
    if isinstance(data, Mapping):
        if data.keys() == {"cell"}:
            return _cell_json(data["cell"], evidence, path)
        return {key: _with_cells(value, evidence, f"{path}.{key}", depth + 1) for key, value in data.items()}
    if isinstance(data, list):
        return [_with_cells(item, evidence, f"{path}[{place}]", depth + 1) for place, item in enumerate(data)]
    return data


def _cell_json(id: object, evidence: Evidence, path: str) -> Any:
    cell = evidence.resolve(id) if isinstance(id, str) else None
    if cell is None:
        raise EvaluationError(f"Cell {str(id)[:40]} does not exist or is blank.", path=path)
    try:
        program = cell_program(cell, evidence)
    except EvaluationError as error:
        raise EvaluationError(f"Cell {id}: {error.message}", path=path) from error
    alias = evidence.alias(cell.table)
    return program_to_json(Program(_renamed(program.root, lambda name: alias if name == cell.table else name)))


def _table_id(name: str, evidence: Evidence) -> str:
    """The id of the table with this alias."""
    match = _ALIAS.fullmatch(name)
    if match and int(match[1]) <= len(evidence.named):
        return evidence.named[int(match[1]) - 1]
    if name in evidence.tables:
        return name
    raise UnknownTableError(
        f"There is no table {name[:40]!r}.", hint=f"The tables are called T1 to T{len(evidence.tables)}."
    )


def _renamed(node: Node, rename: Callable[[str], str]) -> Node:
    """A tree with its tables renamed; aliases defined by the program itself stay."""
    own = {part.alias for part in walk(node) if isinstance(part, TableRows) and part.alias}

    def change(part: Any) -> Any:
        if isinstance(part, TableRows):
            return replace(part, tables=tuple(map(rename, part.tables)))
        if isinstance(part, ColumnRef) and part.table and part.table not in own:
            return replace(part, table=rename(part.table))
        return part

    return rebuilt(node, change)  # type: ignore[no-any-return]


def _with_column_numbers(node: Node, relations: list[Relation]) -> Node:
    """A tree in which a column called ``c2`` is the column of index 2, where no table has such a header."""
    headers = {normal(column.header) for relation in relations for column in relation.columns}

    def change(part: Any) -> Any:
        if isinstance(part, ColumnRef) and isinstance(part.name, str) and part.name not in headers:
            match = _COLUMN_NUMBER.fullmatch(part.name)
            return replace(part, name=int(match[1])) if match else part
        return part

    return rebuilt(node, change)  # type: ignore[no-any-return]


def rebuilt(part: Any, change: Any) -> Any:
    """A tree with each node replaced, from the leaves up."""
    if isinstance(part, tuple):
        return tuple(rebuilt(item, change) for item in part)
    if not isinstance(part, Rows | Expression) and not hasattr(part, "__dataclass_fields__"):
        return part
    new = {field.name: rebuilt(getattr(part, field.name), change) for field in fields(part)}
    return change(type(part)(**new))
