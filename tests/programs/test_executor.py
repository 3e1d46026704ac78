from __future__ import annotations

import itertools
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from kgtable.errors import EvaluationError, ProgramTypeError, UnitMismatchError
from kgtable.programs import CellRole, ProgramResult, Relation, parse_program, run
from kgtable.programs.scalars import text_of
from tests.programs.conftest import MakeRelation
from tests.programs.writing import calc, column, compare, group, limit, lookup, of, project, sort, table, where

Execute = Callable[[Any], ProgramResult]


def texts(result: ProgramResult) -> list[list[str | None]]:
    return [[None if value is None else text_of(value) for value in row] for row in result.rows()]


def number(result: ProgramResult) -> Decimal | None:
    assert result.value is not None
    return result.value.number


def test_a_sum_has_unit_cells_and_words(execute: Execute) -> None:
    result = execute(of("sum", "Amount (EUR)", where("orders", compare("=", "Status", "PAID"))))
    assert result.value is not None
    assert (result.value.number, result.value.unit) == (147, "CCY_EUR")
    assert result.derivation == 'sum of Amount (EUR) where Status is "PAID", 3 rows'
    found = [(cell.role, cell.row, cell.column, cell.text) for cell in result.cells()]
    assert found[0] == (CellRole.SELECTED, 1, 3, "54.00")
    assert [cell[1] for cell in found if cell[0] is CellRole.CONDITION] == [1, 2, 6]


def test_totals_and_parts_stay_out_unless_asked_for(execute: Execute) -> None:
    assert number(execute(of("count", None, "budget"))) == 3
    assert number(execute(of("sum", 1, "budget") | {"argument": column(1)})) == 825_000
    assert texts(execute(project(limit(sort("budget", column(2))), "Item"))) == [["School"]]
    total = project(table("budget", choice="totals"), column(1))
    assert texts(execute(total)) == [["825"]]
    assert number(execute(of("count", None, table("budget", choice="all")))) == 5


@pytest.mark.parametrize(
    ("relator", "value", "count"),
    [("=", 54, 1), ("!=", 54, 5), ("<", 42, 2), ("<=", 42, 3), (">", 51, 2), (">=", 51, 3)],
)
def test_numbers_compare(execute: Execute, relator: str, value: int, count: int) -> None:
    assert number(execute(of("count", None, where("orders", compare(relator, "Amount (EUR)", value))))) == count


def test_a_missing_cell_neither_equals_nor_differs_and_is_never_cited(execute: Execute) -> None:
    paid, open_ = compare("=", "Status", "paid"), {"op": "not", "condition": compare("=", "Status", "paid")}
    assert number(execute(of("count", None, where("orders", paid)))) == 3
    assert number(execute(of("count", None, where("orders", open_)))) == 2
    missing = execute(of("count", None, where("orders", {"op": "is_missing", "operand": column("Status")})))
    assert number(missing) == 1
    assert all(cell.text for cell in missing.cells())
    assert [cell.row for cell in missing.cells()] == [4]


def test_dates_lie_in_periods(execute: Execute) -> None:
    march = compare("=", "Ordered on", {"value": "2024-03", "type": "period"})
    assert number(execute(of("count_distinct", "Order No", where("orders", march)))) == 2
    after = compare(">", "Ordered on", {"value": "2024-02", "type": "period"})
    assert number(execute(of("count", None, where("orders", after)))) == 3


def test_units_convert_in_comparisons_and_orders(execute: Execute) -> None:
    assert texts(execute(project(sort("parts", "Length"), "Part"))) == [["Beam"], ["Rod"], ["Bolt"]]
    short = where("parts", compare("<", "Length", {"value": 1, "unit": "M"}))
    assert number(execute(of("count", None, short))) == 2
    total = execute({"op": "convert", "unit": "GM", "operand": of("sum", "Mass", "parts")})
    assert (number(total), total.value and total.value.unit) == (352_400, "GM")


def test_mixed_currencies_are_refused_with_a_sentence(execute: Execute) -> None:
    with pytest.raises(UnitMismatchError, match="different currencies have no sum"):
        execute(of("sum", "Price", "parts"))
    not_bolt = where("parts", compare("!=", "Part", "Bolt"))
    with pytest.raises(UnitMismatchError, match="GBP and USD"):
        execute(of("mean", "Price", not_bolt))
    assert number(execute(of("sum", "Price", where("parts", compare("=", "Part", "Rod"))))) == 8


def test_durations_compare_with_units_of_time(execute: Execute) -> None:
    hour = where("race", compare("<", "Time", {"value": 1, "unit": "HR"}))
    assert number(execute(of("count", None, hour))) == 2
    gap = calc("subtract", lookup("Time", where("race", compare("=", "Boat", "Kestrel"))),
               lookup("Time", where("race", compare("=", "Boat", "Heron"))))  # fmt: skip
    assert number(execute(gap)) == 395


def test_years_are_times_and_ranks_are_ordinals(execute: Execute) -> None:
    assert texts(execute(of("max", "Year", "race"))) == [["2020"]]
    assert texts(execute(project(limit(sort("race", "Rank", descending=False)), "Boat"))) == [["Heron"]]
    assert texts(execute(project(where("race", compare("=", "Rank", 2)), "Boat"))) == [["Teal"]]
    for name in ("Year", "Rank"):
        with pytest.raises(ProgramTypeError):
            execute(of("sum", name, "race"))


def test_groups_with_having_sort_and_ties(execute: Execute) -> None:
    by = group("orders", ["Customer"], n=of_group("count"), total=of_group("sum", "Amount (EUR)"))
    assert texts(execute(by)) == [["Hansen", "2", "92.5"], ["Okafor", "3", "129"], ["Lind", "1", "70"]]
    assert texts(execute(project(where(by, compare(">", "n", 1)), "Customer"))) == [["Hansen"], ["Okafor"]]
    tied = group("race", ["Year"], n=of_group("count"), crew=of_group("max", "Crew"))
    top = limit(sort(tied, "n", descending=False), ties=True)
    assert texts(execute(top)) == [["2020", "1", "2"]]
    one = execute(limit(sort(by, "total")))
    assert {cell.text for cell in one.cells() if cell.role is CellRole.KEY} == {"Okafor"}


def of_group(function: str, argument: str | None = None) -> dict[str, Any]:
    return {"op": function} | ({"argument": column(argument)} if argument else {})


def test_ties_keep_all_extreme_rows(execute: Execute) -> None:
    ordered = sort("orders", "Ordered on")
    assert len(execute(limit(ordered))) == 1
    by_month = sort("orders", {"op": "month", "operand": column("Ordered on")})
    tied = project(limit(by_month, ties=True), "Customer")
    assert texts(execute(tied)) == [["Lind"], ["Okafor"], ["Okafor"]]


def test_joins_pair_rows_and_keep_lineage(execute: Execute) -> None:
    joined = {"op": "join", "left": table("orders"), "right": table("customers"),
              "on": [{"left": column("Customer"), "right": column("Name")}]}  # fmt: skip
    lagos = where(joined, compare("=", "Town", "Lagos"))
    result = execute(of("sum", "Amount (EUR)", lagos))
    assert number(result) == 129
    assert {cell.table for cell in result.cells()} == {"orders", "customers"}
    assert {cell.text for cell in result.cells() if cell.role is CellRole.KEY} == {"Okafor"}


def test_fuzzy_joins_find_the_most_similar_text(relation: MakeRelation, relations: dict[str, Relation]) -> None:
    spelled = relation("spelled", "Who|Age\nHansen, |40\nOkaffor|50\nNobody at all|60")
    joined = {"op": "join", "left": table("spelled"), "right": table("customers"), "similarity": 85,
              "on": [{"left": column("Who"), "right": column("Name")}]}  # fmt: skip
    result = run(parse_program(project(joined, "Age", "Town")), {"spelled": spelled, **relations})
    assert texts(result) == [["40", "Bergen"], ["50", "Lagos"]]


def test_membership_set_operators_and_never(execute: Execute) -> None:
    ordered = project(table("orders"), "Customer")
    never = {"op": "not", "condition": {"op": "in", "operand": column("Name"), "choices": ordered}}
    assert texts(execute(project(where("customers", never), "Name"))) == [["Ekman"]]
    names = project(table("customers"), "Name")
    assert texts(execute(calc("except", names, ordered))) == [["Ekman"]]
    assert texts(execute(calc("intersect", ordered, names))) == [["Hansen"], ["Okafor"]]
    assert len(execute(calc("union", ordered, names))) == 4
    assert len(execute(calc("union_all", ordered, names))) == 9
    listed = {"op": "in", "operand": column("Name"), "choices": ["ekman", "Hansen"]}
    assert texts(execute(project(where("customers", listed), "Town"))) == [["Bergen"], ["Malmö"]]


def test_neighbours_row_numbers_and_columns_as_rows(execute: Execute) -> None:
    after = {"op": "neighbours", "source": table("race"), "condition": compare("=", "Boat", "Teal")}
    assert texts(execute(project(after, "Boat"))) == [["Kestrel"]]
    before = {**after, "offset": -1}
    assert texts(execute(project(before, "Boat"))) == [["Heron"]]
    assert texts(execute(project(where("race", compare("=", "@row", 3)), "Boat"))) == [["Kestrel"]]
    roads = where("budget", compare("=", "Item", "Roads"))
    across = {"op": "unpivot", "source": roads, "columns": [column(1), column(2)]}
    best = execute(project(limit(sort(across, "value")), "column", "value"))
    assert best.columns[0][0] is not None
    assert best.columns[0][0].value.lexical == "2021"  # type: ignore[union-attr]
    assert [(cell.row, cell.column) for cell in best.cells()][:2] == [(3, 1), (1, 1)]


def test_lists_in_cells(relation: MakeRelation) -> None:
    games = {"g": relation("g", "Game|Systems\nA|Mac, Windows\nB|Windows\nC|Linux and Windows")}
    each = {"op": "unnest", "source": table("g"), "column": column("Systems")}
    by = group(each, ["item"], n=of_group("count"))
    assert texts(run(parse_program(limit(sort(by, "n"))), games)) == [["Windows", "3"]]
    count = {"op": "items", "operand": column("Systems")}
    assert texts(run(parse_program(project(table("g"), count)), games)) == [["2"], ["1"], ["2"]]


def test_arithmetic_of_cells(execute: Execute) -> None:
    roads = where("budget", compare("=", "Item", "Roads"))
    old, new = lookup_index(1, roads), lookup_index(2, roads)
    change = execute(calc("percent_change", old, new))
    assert change.value is not None
    assert change.value.unit == "PERCENT"
    assert round(change.value.number or 0, 4) == Decimal("-14.5161")
    assert number(execute(calc("subtract", new, old))) == -45_000
    assert number(execute(calc("add", old, 5))) == 315_000
    assert number(execute(calc("multiply", old, 2))) == 620_000
    assert number(execute(calc("divide", calc("add", 62, 73), 2))) == Decimal("67.5")
    assert number(execute(calc("power", 2, 10))) == 1024
    squared = execute(calc("multiply", old, new)).value
    assert squared is not None
    assert squared.unit == "CCY_EUR2"
    assert execute(calc("ratio", old, new)).value.unit == "UNITLESS"  # type: ignore[union-attr]


def lookup_index(index: int, rows: dict[str, Any]) -> dict[str, Any]:
    return {"op": "lookup", "rows": rows, "value": column(index)}


def test_failures_are_named(execute: Execute) -> None:
    with pytest.raises(EvaluationError, match="divides by zero"):
        execute(calc("divide", 1, 0))
    with pytest.raises(EvaluationError, match="3 rows match, with different values"):
        execute(lookup("Amount (EUR)", where("orders", compare("=", "Customer", "Okafor"))))
    with pytest.raises(EvaluationError, match="beyond"):
        execute(calc("power", calc("power", 10, 300), 300))
    empty = where("orders", compare("=", "Customer", "Nobody"))
    assert execute(of("sum", "Amount (EUR)", empty)).empty
    assert execute(project(empty, "Status")).empty
    assert number(execute(of("count", None, empty))) == 0
    assert execute(lookup("Status", empty)).value is None


def test_long_integers_stay_exact(relation: MakeRelation) -> None:
    long = "123,456,789,012,345,678,901,234,567,890"
    rows = {"t": relation("t", f"Thing|Atoms\na|{long}\nb|1\nc|{long}")}
    result = run(parse_program(of("sum", "Atoms", "t")), rows)
    assert number(result) == 246913578024691357802469135781


def test_parts_of_one_table(relation: MakeRelation, relations: dict[str, Relation]) -> None:
    header = "Order No|Customer|Ordered on|Amount (EUR)|Status"
    lines = "4107|Lind|2024-05-05|10.00|paid\n4108|Mo|2024-05-06|5.00|open"
    more = relation("orders-2", f"{header}\n{lines}")
    both = {"op": "table", "tables": ["orders", "orders-2"]}
    result = run(parse_program(of("sum", "Amount (EUR)", both)), {**relations, "orders-2": more})
    assert number(result) == Decimal("306.5")
    assert {cell.table for cell in result.cells()} == {"orders", "orders-2"}
    with pytest.raises(ProgramTypeError, match="differ in their columns"):
        run(parse_program(of("count", None, {"op": "table", "tables": ["orders", "parts"]})), relations)


def test_citations_are_bounded(execute: Execute) -> None:
    result = execute(of("sum", "Amount (EUR)", "orders"))
    first, complete = result.citations(2)
    assert (len(first), complete) == (2, False)
    assert len(list(itertools.islice(result.cells(), 100))) == 6
