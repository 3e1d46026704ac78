"""Programs mean the same in memory and in SPARQL on a store: chosen, random and gold ones."""

from __future__ import annotations

import os
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.errors import ProgramCompilationError, ProgramError
from kgtable.programs import Relation, parse_program, relation_of, run
from kgtable.programs.algebra import (
    Aggregate,
    AggregateFunction,
    And,
    ColumnRef,
    Compare,
    Constant,
    Expression,
    Filter,
    GroupBy,
    IsMissing,
    Limit,
    Named,
    Not,
    Or,
    Program,
    Project,
    Relator,
    RowChoice,
    Rows,
    Sort,
    SortKey,
    TableRows,
    ValueKind,
)
from kgtable.programs.relation import Role
from kgtable.programs.scalars import text_of
from kgtable.questions.ranker import candidates_of, sources_of
from kgtable.questions.reading import Question
from tests.graph.decoding import decode_in_memory
from tests.programs.back_ends import in_memory, in_sparql, same, store_of
from tests.programs.conftest import BUDGET, CUSTOMERS, ORDERS, PARTS, RACE, table
from tests.programs.writing import column, compare, group, limit, lookup, of, project, sort, where
from tests.programs.writing import table as rows_of

DATA = Path(os.environ.get("KGTABLE_BENCHMARKS") or Path(__file__).parents[3] / "shared" / "data")
TALKS = """Speaker|Talks|Held|Topics|Hours
Ötzi Müller|3|September 12|ice, snow and wind|2.5
O’Brien [a]|–|May 3|wind|n/a
Zoë "Z"|1|12 May|snow; hail|1
ŁUKASZ|7||ice|0.75"""

TRAINS = """Train|From|Departs|Arrives|Way (km)|Change on year (%)
R1|Aarau|05:52|06:44|47|+4.2
R2|Bern|12:10|13:06|31|-1.5
R3|Aarau|14:35|15:12|12|0.3"""
POINTS_2023, POINTS_2024 = "Club|Points\nKiel|36\nLund|33", "Club|Points\nKiel|30\nLund|39"

TABLES = {
    id: table(id, text)
    for id, text in {
        "orders": ORDERS, "parts": PARTS, "race": RACE,
        "customers": CUSTOMERS, "budget": BUDGET, "talks": TALKS, "trains": TRAINS,
        "points-2023": POINTS_2023, "points-2024": POINTS_2024,
    }.items()
}  # fmt: skip
RELATIONS = {id: relation_of(decode_in_memory(found)) for id, found in TABLES.items()}
STORE = store_of(TABLES.values())


def agree(program: Program, relations: Mapping[str, Relation], store: ox.Store) -> bool:
    """Whether the program maps to SPARQL; it then gives the result in memory."""
    ordered = run(program, relations).ordered
    try:
        rows, units = in_sparql(program, relations, store)
    except ProgramCompilationError:
        return False
    wanted = in_memory(program, relations, units, rows)
    assert same(wanted, rows, ordered=ordered), (program, wanted, rows)
    return True


AMOUNT = "Amount (EUR)"
PAID = where("orders", compare("=", "Status", "paid"))

PROGRAMS: dict[str, Any] = {
    "a cell": lookup(AMOUNT, where("orders", compare("=", "Order No", "4104"))),
    "a sum of a filter": of("sum", AMOUNT, PAID),
    "a sum of nothing": of("sum", AMOUNT, where("orders", compare("=", "Status", "lost"))),
    "a mean": of("mean", AMOUNT, "orders"),
    "a count of cells": of("count", "Status", "orders"),
    "different texts": of("count_distinct", "Customer", "orders"),
    "the largest": of("max", AMOUNT, "orders"),
    "different cells": project("orders", "Customer", distinct=True),
    "different cells with missing ones": project("orders", "Status", distinct=True),
    "the last date": of("max", "Ordered on", "orders"),
    "not equal leaves the missing out": where("orders", compare("!=", "Status", "paid")),
    "a negation as well": where("orders", {"op": "not", "condition": compare("=", "Status", "paid")}),
    "a negation of what no cell is": where("orders", {"op": "not", "condition": compare("=", "Status", "lost")}),
    "the missing": where("orders", {"op": "is_missing", "operand": column("Status")}),
    "a date from a day on": where("orders", compare(">=", "Ordered on", "2024-02-05")),
    "a date within a month": where(
        "orders", compare("=", "Ordered on", {"value": "2024-03", "type": "period"})
    ),
    "texts in any case": where("orders", compare("contains", "Customer", "AN")),
    "units of one column": sort("parts", "Length"),
    "a length in feet": where("parts", compare(">", "Length", {"value": "3", "unit": "FT"})),
    "the heaviest mass": of("max", "Mass", "parts"),
    "the sum of masses in grams": {"op": "convert", "operand": of("sum", "Mass", "parts"), "unit": "GM"},
    "groups": sort(group("orders", ["Customer"], total=of("sum", AMOUNT, None) | {"rows": None}), "total"),
    "a scale of thousands": where("budget", compare(">", "2021", 300)),
    "totals asked for": of("sum", "2022", rows_of("budget", choice="totals")),
    "ties": limit(sort("orders", "Customer", descending=False), ties=True),
    "no order": project(rows_of("orders"), "Customer", distinct=True),
    "a join": {
        "op": "join", "left": rows_of("orders"), "right": rows_of("customers"),
        "on": [{"left": column("Customer"), "right": column("Name")}],
    },
    "days without a year": project(sort("talks", "Held", descending=False), "Speaker", "Held"),
    "an accent in another case": where("talks", compare("=", "Speaker", "łukasz")),
    "footnote marks": where("talks", compare("=", "Speaker", "O'Brien")),
    "different texts among missing ones": of("count_distinct", "Status", "orders"),
    "quotes": where("talks", compare("contains", "Speaker", '"z"')),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_back_ends_agree(name: str) -> None:
    assert agree(parse_program(PROGRAMS[name]), RELATIONS, STORE)


@st.composite
def conditions(draw: st.DrawFn, id: str) -> Expression:
    """A condition on one column, with a constant that stands in it or near it."""
    relation = RELATIONS[id]
    found = draw(st.sampled_from(relation.columns))
    ref = ColumnRef(found.index)
    if draw(st.integers(0, 7)) == 0:
        return IsMissing(ref)
    values = [value for value in relation.data(found.index).values if value.text]
    value = draw(st.sampled_from(values))
    relators = list(Relator) if value.number is None else list(Relator)[:6]
    relator = draw(st.sampled_from(relators))
    if value.number is not None and value.kind is ValueKind.QUANTITY:
        shift = draw(st.sampled_from([Decimal(0), Decimal("0.5"), Decimal(-1)]))
        constant = Constant(value.number + shift, ValueKind.QUANTITY, value.unit, "ONE")
    else:
        text = text_of(value)
        part = draw(st.sampled_from([text, text.upper(), text[: max(len(text) // 2, 1)]]))
        constant = Constant(part)
    condition: Expression = Compare(relator, ref, constant)
    return Not(condition) if draw(st.booleans()) else condition


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """A program over one table: a filter, then rows, an extreme, groups or an aggregate."""
    id = draw(st.sampled_from(sorted(RELATIONS)))
    rows: Rows = TableRows((id,), choice=draw(st.sampled_from([RowChoice.MEMBERS, RowChoice.ALL])))
    found = draw(st.lists(conditions(id), max_size=2))
    if found:
        rows = Filter(rows, draw(st.sampled_from([And, Or]))(tuple(found)))
    columns = RELATIONS[id].columns
    column = ColumnRef(draw(st.sampled_from(columns)).index)
    sortable = ColumnRef(draw(st.sampled_from([c for c in columns if c.role is not Role.IDENTIFIER])).index)
    form = draw(st.sampled_from(["aggregate", "count", "sort", "limit", "group", "distinct", "rows"]))
    match form:
        case "aggregate":
            return Program(Aggregate(draw(st.sampled_from(list(AggregateFunction)[:6])), column, rows))
        case "count":
            return Program(Aggregate(AggregateFunction.COUNT, None, rows))
        case "group":
            counted = Named(Aggregate(AggregateFunction.COUNT), "how many")
            most = Named(Aggregate(draw(st.sampled_from(list(AggregateFunction)[1:6])), sortable), "of them")
            return Program(GroupBy(rows, (Named(column, "key"),), (counted, most)))
        case "distinct":
            return Program(Project(rows, (Named(column),), True))
        case "rows":
            return Program(rows)
    ordered: Rows = Sort(rows, (SortKey(sortable, draw(st.booleans())),))
    if form == "limit":
        ordered = Limit(ordered, draw(st.integers(1, 3)), ties=draw(st.booleans()))
    return Program(Project(ordered, (Named(column), Named(sortable, "by"))))


@given(programs())
def test_random_programs_mean_the_same(program: Program) -> None:
    try:
        run(program, RELATIONS)
    except ProgramError:
        return
    agree(program, RELATIONS, STORE)


@pytest.mark.parametrize(
    ("question", "tables", "op"),
    [
        ("In which year was School the highest?", ("budget",), "column_extreme"),
        ("In how many years was School more than 430?", ("budget",), "column_extreme/count"),
        ("Which town has no order in March 2024?", ("customers", "orders"), "never"),
        ("What is the highest amount for each customer?", ("orders",), "group/max"),
        ("How many customers have orders?", ("customers", "orders"), "ever/count"),
        ("Which trains depart after 12:00?", ("trains",), "select"),
        ("How many trains depart between 12 pm and 3 pm?", ("trains",), "count"),
        ("Which trains went down?", ("trains",), "select"),
    ],
)
def test_candidates_mean_the_same(question: str, tables: tuple[str, ...], op: str) -> None:
    sources = sources_of(Question.read(question), [(RELATIONS[id], 1.0) for id in tables])
    found = [c for source in sources for c in candidates_of(source) if c.op.startswith(op)]
    assert found
    for candidate in found[:12]:
        agree(candidate.program, RELATIONS, STORE)
