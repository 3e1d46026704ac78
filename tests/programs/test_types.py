from __future__ import annotations

from typing import Any

import pytest

from kgtable.errors import ProgramError, ProgramTypeError, UnitMismatchError, UnknownColumnError, UnknownTableError
from kgtable.programs import Relation, check, parse_program
from kgtable.programs.algebra import ValueKind
from kgtable.programs.types import Type
from tests.programs.writing import calc, column, compare, group, limit, lookup, of, project, sort, table, where

Relations = dict[str, Relation]
FIRST = where("parts", compare("=", "Part", "Bolt"))


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (of("sum", "Order No", "orders"), ProgramTypeError, "identifiers"),
        (of("max", "Order No", "orders"), ProgramTypeError, "identifiers"),
        (limit(sort("orders", "Order No")), ProgramTypeError, "identifiers"),
        (of("mean", "Rank", "race"), ProgramTypeError, "ranks or numbers rows"),
        (of("sum", "Year", "race"), ProgramTypeError, "dates"),
        (of("sum", "Customer", "orders"), ProgramTypeError, "no numbers"),
        (calc("add", lookup("Length", FIRST), lookup("Mass", FIRST)), UnitMismatchError, "cannot be added"),
        (
            calc("add", {"value": 1, "unit": "CCY_EUR"}, {"value": 1, "unit": "CCY_USD"}),
            UnitMismatchError,
            "EUR and USD cannot be added",
        ),
        (
            where("parts", compare(">", "Mass", {"value": 1, "unit": "M"})),
            UnitMismatchError,
            "cannot be compared",
        ),
        (of("sum", "Price", "parts"), UnitMismatchError, "EUR, GBP and USD"),
        (
            {"op": "convert", "operand": lookup("Mass", FIRST), "unit": "M"},
            UnitMismatchError,
            "cannot be converted to metre",
        ),
        ({"op": "convert", "operand": 5, "unit": "Furlongz"}, ProgramTypeError, "no unit"),
        (of("sum", "Amont", "orders"), UnknownColumnError, r"Columns: 'Amount \(EUR\)'"),
        (of("count", None, "order"), UnknownTableError, "no table 'order'"),
        ({"op": "sum", "argument": column("Amount (EUR)")}, ProgramTypeError, "is not in a group"),
        (where("orders", column("Amount (EUR)")), ProgramTypeError, "not a condition"),  # type: ignore[arg-type]
        (calc("add", lookup("Ordered on", table("orders")), {"value": "2024", "type": "period"}),
         ProgramTypeError, "Dates cannot be added"),
        (calc("union", project(table("orders"), "Status"), project(table("race"), "Boat", "Time")),
         ProgramTypeError, "1 columns"),
        (limit(table("orders"), ties=True), ProgramTypeError, "needs a sort"),
        ({"op": "join", "left": table("orders"), "right": table("orders"),
          "on": [{"left": column("Status"), "right": column("Status")}]}, ProgramTypeError, "alias"),
        ({"value": "soon", "type": "date"}, ProgramTypeError, "not a date"),
    ],
)  # fmt: skip
def test_programs_without_meaning_are_refused(
    relations: Relations, data: Any, error: type[ProgramError], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        check(parse_program(data), relations)
    assert caught.value.path.startswith("root")


def test_types_carry_units(relations: Relations) -> None:
    def found(data: Any) -> Type:
        checked = check(parse_program(data), relations)
        assert isinstance(checked, Type)
        return checked

    mass, length = lookup("Mass", FIRST), lookup("Length", FIRST)
    assert found(of("sum", "Amount (EUR)", "orders")).units == {"CCY_EUR"}
    assert found(calc("divide", of("sum", "Amount (EUR)", "orders"), of("count", None, "orders"))).units == {"CCY_EUR"}
    assert found(calc("ratio", mass, mass)).units == {"UNITLESS"}
    assert found(calc("share", length, length)).units == {"PERCENT"}
    assert found(compare("=", mass, mass)).kind is ValueKind.TRUTH
    assert "CCY_EUR2" in found(calc("multiply", *[of("sum", "Amount (EUR)", "orders")] * 2)).units


def test_a_name_in_two_tables_must_say_which(relations: Relations) -> None:
    joined = {
        "op": "join", "left": table("orders", alias="a"), "right": table("orders", alias="b"),
        "on": [{"left": column("Customer"), "right": column("Customer")}],
    }  # fmt: skip
    check(parse_program(project(joined, column("Status", table="a"), column("Status", table="b"))), relations)
    with pytest.raises(UnknownColumnError, match="Say which: a, b"):
        check(parse_program(project(joined, "Status")), relations)


def test_groups_hide_the_columns_below(relations: Relations) -> None:
    by = group("orders", ["Customer"], n={"op": "count"})
    with pytest.raises(UnknownColumnError, match="'Customer', 'n'"):
        check(parse_program(project(by, "Status")), relations)
