"""Programs as a language model writes them: tables by alias, cells by id, columns by number.

Beside the JSON of `kgtable.programs` a model may write ``{"cell": "T1.r3.c2"}``, which becomes a lookup
by the row's label, and ``{"column": "c2"}``. What runs is a plain program over whole tables.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import fields, replace
from decimal import Decimal
from typing import Any, TypeVar

from kgtable.answering.evidence import Cell, Evidence
from kgtable.answering.program_answers import relations_of
from kgtable.errors import EvaluationError, ProgramSyntaxError, UnknownTableError
from kgtable.programs.algebra import (
    And,
    ColumnRef,
    Compare,
    Constant,
    Expression,
    Filter,
    Lookup,
    Program,
    Relator,
    RowChoice,
    Rows,
    TableRows,
    ValueKind,
    tables_of,
)
from kgtable.programs.relation import Relation
from kgtable.programs.relation_index import index_of
from kgtable.programs.scalars import normal
from kgtable.programs.syntax import parse_program, program_to_json
from kgtable.values.unit_phrases import parse_unit_phrase

DEEPEST_JSON = 100
MOST_LABELS = 20_000
"""In tables of more rows a cell is looked up by its row's number."""

_ALIAS = re.compile(r"T([1-9]\d{0,5})")
_COLUMN_NUMBER = re.compile(r"c(\d{1,5})")
_CHOICES = (RowChoice.MEMBERS, RowChoice.ALL)
_Part = TypeVar("_Part")


def read_program(data: object, evidence: Evidence) -> Program:
    """The program that a model wrote, over the ids of tables.

    Args:
        data: what stood in the reply: an object, or a text that holds one.
        evidence: gives the tables their aliases.

    Raises `ProgramSyntaxError` for what is no program, `UnknownTableError` for an alias of no table,
    `EvaluationError` for a cell that does not exist or is blank.
    """
    if isinstance(data, str):
        try:
            data = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ProgramSyntaxError("The program is a text, not an object.", path="root") from error
    if not isinstance(data, Mapping):
        raise ProgramSyntaxError("The program is no object.", path="root")
    expanded = _with_cells(data, evidence, "root", 1)
    program = parse_program(expanded)
    named = _renamed(program.root, lambda name: _table_id(name, evidence))
    relations = [relations_of(evidence.source)[id] for id in tables_of(Program(named))]
    return Program(_with_column_numbers(named, relations))


def cell_program(cell: Cell, evidence: Evidence) -> Program:
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
    return program_to_json(
        Program(_renamed(program.root, lambda name: alias if name == cell.table else name))
    )


def _table_id(name: str, evidence: Evidence) -> str:
    """The id of the table with this alias."""
    match = _ALIAS.fullmatch(name)
    if match and int(match[1]) <= len(evidence.tables):
        return evidence.tables[int(match[1]) - 1]
    if name in evidence.tables:
        return name
    raise UnknownTableError(
        f"There is no table {name[:40]!r}.", hint=f"The tables are called T1 to T{len(evidence.tables)}."
    )


def _renamed(node: _Part, rename: Any) -> _Part:
    """A tree with other names for its tables; aliases that the program gives itself stay."""
    own: set[str] = set()

    def collect(part: object) -> None:
        if isinstance(part, TableRows) and part.alias:
            own.add(part.alias)
        for child in _children(part):
            collect(child)

    collect(node)

    def change(part: Any) -> Any:
        if isinstance(part, TableRows):
            return replace(part, tables=tuple(map(rename, part.tables)))
        if isinstance(part, ColumnRef) and part.table and part.table not in own:
            return replace(part, table=rename(part.table))
        return part

    return rebuilt(node, change)  # type: ignore[no-any-return]


def _with_column_numbers(node: _Part, relations: list[Relation]) -> _Part:
    """A tree in which a column called ``c2`` is the column of index 2, where no table has such a header."""
    headers = {normal(column.header) for relation in relations for column in relation.columns}

    def change(part: Any) -> Any:
        if isinstance(part, ColumnRef) and isinstance(part.name, str) and part.name not in headers:
            match = _COLUMN_NUMBER.fullmatch(part.name)
            return replace(part, name=int(match[1])) if match else part
        return part

    return rebuilt(node, change)  # type: ignore[no-any-return]


def _children(part: object) -> list[object]:
    if isinstance(part, tuple):
        return list(part)
    if hasattr(part, "__dataclass_fields__"):
        return [getattr(part, field.name) for field in fields(part)]  # type: ignore[arg-type]
    return []


def rebuilt(part: Any, change: Any) -> Any:
    """A tree with each node changed, the lowest first."""
    if isinstance(part, tuple):
        return tuple(rebuilt(item, change) for item in part)
    if not isinstance(part, Rows | Expression) and not hasattr(part, "__dataclass_fields__"):
        return part
    new = {field.name: rebuilt(getattr(part, field.name), change) for field in fields(part)}
    return change(type(part)(**new))
