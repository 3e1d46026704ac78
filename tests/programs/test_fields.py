"""Fields: programs made from them and read back, their JSON and addresses, and what is offered."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kgtable.errors import ProgramSyntaxError
from kgtable.programs import Relation, parse_program, run
from kgtable.programs.algebra import Constant, Relator, RowChoice, ValueKind
from kgtable.programs.display import display
from kgtable.programs.fields import (
    VALUE,
    Bucket,
    FieldColumn,
    FieldCondition,
    FieldJoin,
    FieldOrder,
    Fields,
    Having,
    How,
    address_of,
    fields_in,
    fields_of,
    fields_to_json,
    offered,
    parse_fields,
    values_of,
)
from tests.programs.conftest import MakeRelation
from tests.programs.writing import calc, column, compare, group, limit, lookup, of, project, sort, table, where

NAMES = some.sampled_from(
    ["Amount", "constructor", 'a "quoted", name', "<b>Umsatz</b>: 2024", "年 🐟", "true", "-3", "[x]", "a=b&c", 0, 7]
)
COLUMNS = some.builds(FieldColumn, NAMES, bucket=some.none() | some.sampled_from(Bucket))
VALUES = some.one_of(
    some.text(max_size=9).map(Constant),
    some.decimals(allow_nan=False, allow_infinity=False, places=3).map(lambda n: Constant(n, ValueKind.QUANTITY)),
    some.just(Constant(Decimal("1.5"), ValueKind.QUANTITY, "CCY_EUR", "M")),
    some.just(Constant("2024-03", ValueKind.PERIOD)),
    some.booleans().map(lambda truth: Constant(truth, ValueKind.TRUTH)),
)
CONDITIONS = some.builds(
    FieldCondition, COLUMNS, some.lists(VALUES, max_size=3).map(tuple), some.just(Relator.EQUAL), some.booleans()
) | some.builds(
    FieldCondition, COLUMNS, some.lists(VALUES, min_size=1, max_size=3).map(tuple), some.sampled_from(Relator)
)


@some.composite
def fields(draw: some.DrawFn) -> Fields:
    by = tuple(draw(some.lists(COLUMNS, max_size=2, unique=True)))
    how = draw(some.sampled_from([one for one in How if not by or one not in (How.LIST, How.VALUE)]))
    counted = how is How.LIST or (how in (How.COUNT, How.SHARE) and draw(some.booleans()))
    shown = some.sampled_from((*by, VALUE)) if by else COLUMNS
    is_list = how is How.LIST
    order = draw(some.none() | some.builds(FieldOrder, shown, some.booleans()))
    first = draw(some.none() | some.integers(1, 20))
    join = FieldJoin("customers", FieldColumn("Customer", "orders"), FieldColumn("Name", "customers"), 85)
    ask = draw(some.lists(shown, max_size=3, unique=True)) if by or is_list else []
    return Fields(
        ("orders",),
        None if counted else draw(COLUMNS),
        how,
        by=by,
        where=tuple(draw(some.lists(CONDITIONS, max_size=2, unique_by=lambda one: one.column))),
        ask=tuple(ask),
        order=order,
        first=first,
        skip=draw(some.integers(0, 3)) if first else 0,
        ties=bool(first and order) and draw(some.booleans()),
        distinct=bool(ask) and draw(some.booleans()),
        having=draw(some.none() | some.builds(Having, VALUES, some.sampled_from(Relator))) if by else None,
        join=draw(some.none() | some.just(join)),
        choice=draw(some.sampled_from(RowChoice)),
    )


@given(fields())
def test_programs_json_and_addresses_give_the_fields_back(asked: Fields) -> None:
    assert fields_of(asked.program()) == asked
    assert parse_fields(fields_to_json(asked)) == asked
    assert fields_in(address_of(asked)) == asked


PAID = where("orders", compare("=", column("Status", table="orders"), "paid"))
EITHER = {"op": "or", "conditions": [compare("=", "Customer", "Lind"), compare("=", "Customer", "Hansen")]}
BY_CUSTOMER = group("orders", ["Customer"], told={"op": "sum", "argument": column("Amount (EUR)")})


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (of("sum", "Amount (EUR)", PAID),
         {"how": "sum", "measure": "Amount (EUR)", "where": [{"column": "Status", "values": ["paid"]}]}),
        (of("count", None, "orders"), {"how": "count"}),
        (lookup("Status", where("orders", compare("=", "Order No", "4102"))),
         {"how": "value", "measure": "Status", "where": [{"column": "Order No", "values": ["4102"]}]}),
        (project(limit(sort("orders", "Amount (EUR)"), 1, ties=True), "Customer"),
         {"how": "list", "ask": ["Customer"], "order": {"by": "Amount (EUR)", "descending": True}, "first": 1,
          "ties": True}),
        (project(limit(sort(BY_CUSTOMER, "told"), 1), "Customer"),
         {"how": "sum", "measure": "Amount (EUR)", "by": ["Customer"], "ask": ["Customer"],
          "order": {"by": "@value", "descending": True}, "first": 1}),
        (where(BY_CUSTOMER, compare(">", "told", 50)),
         {"how": "sum", "measure": "Amount (EUR)", "by": ["Customer"],
          "having": {"relator": ">", "value": {"value": "50", "type": "quantity"}}}),
        (sort(BY_CUSTOMER, {"op": "is_missing", "operand": column("Customer")}, descending=False),
         {"how": "sum", "measure": "Amount (EUR)", "by": ["Customer"]}),
        (table("orders"), {"how": "list"}),
        (where("orders", EITHER, {"op": "not", "condition": {"op": "is_missing", "operand": column("Status")}}),
         {"how": "list", "where": [{"column": "Customer", "values": ["Lind", "Hansen"]},
                                   {"column": "Status", "negated": True}]}),
    ],
)  # fmt: skip
def test_programs_of_rules_and_models_are_read(
    program: Any, told: dict[str, Any], relations: Mapping[str, Relation]
) -> None:
    found = fields_of(parse_program(program))
    assert found is not None
    assert {"table": "orders", **told} == fields_to_json(found)
    assert list(run(found.program(), relations).rows()) == list(run(parse_program(program), relations).rows())


@pytest.mark.parametrize(
    "program",
    [
        compare(">", of("count", None, "orders"), 3),
        calc("subtract", of("max", "Amount (EUR)", "orders"), of("min", "Amount (EUR)", "orders")),
        of("count", None, BY_CUSTOMER),
        of("sum", "Amount (EUR)", where("orders", compare(">", "Amount (EUR)", of("mean", "Amount (EUR)", "orders")))),
    ],
)
def test_what_fields_cannot_say_stays_a_program(program: Any) -> None:
    assert fields_of(parse_program(program)) is None


def said(relations: Mapping[str, Relation], **asked: Any) -> list[tuple[str, ...]]:
    """The rows that fields give, as they are shown."""
    rows = run(parse_fields(asked).program(), relations).rows()
    return [tuple("(blank)" if cell is None else display(cell) for cell in row) for row in rows]


def test_groups_add_up_duplicates_and_follow_time_and_value(relations: Mapping[str, Relation]) -> None:
    asked = {"table": "orders", "measure": "Amount (EUR)", "how": "sum"}
    assert said(relations, **asked, by=["Customer"], order={"by": "@value", "descending": True}, first=2) == [
        ("Hansen", "€92.50"), ("Okafor", "€129"),
    ][::-1]  # fmt: skip
    month = {"column": "Ordered on", "bucket": "month"}
    assert said(relations, **asked, by=[month], order={"by": month})[0] == ("2024-01", "€96")
    weekday = {"column": "Ordered on", "bucket": "weekday"}
    days = said(relations, table="orders", how="count", by=[weekday], order={"by": weekday})
    assert [day for day, _ in days] == ["Monday", "Tuesday", "Thursday"]
    share = said(relations, table="orders", how="share", by=["Status"])
    assert share == [("paid", "50%"), ("open", "about 33.33%"), ("(blank)", "about 16.67%")]


def test_two_tables_are_joined_by_a_key(relations: Mapping[str, Relation]) -> None:
    key = {
        "table": "customers",
        "left": {"column": "Customer", "table": "orders"},
        "right": {"column": "Name", "table": "customers"},
    }
    measure, town = {"column": "Amount (EUR)", "table": "orders"}, {"column": "Town", "table": "customers"}
    rows = said(relations, table="orders", join=key, measure=measure, how="sum", by=[town])
    assert rows == [("Bergen", "€92.50"), ("Lagos", "€129")]


@pytest.mark.parametrize(
    "data",
    [
        [], "{", "[" * 5_000, {"how": "sum"}, {"table": "t", "how": "sum"}, {"table": "t", "how": "eval"},
        {"table": 3}, {"table": ""}, {"tables": []}, {"table": "t", "by": ["a"] * 5}, {"table": "t", "by": "a"},
        {"table": "t", "first": 0}, {"table": "t", "first": True}, {"table": "t", "__proto__": {}},
        {"table": "t", "by": [{"column": "a", "bucket": "century"}]}, {"table": "t", "by": [{"columns": "a"}]},
        {"table": "t", "where": [{"values": ["x"]}]}, {"table": "t", "where": [{"column": "a", "values": [["x"]]}]},
        {"table": "t", "where": [{"column": "a" * 3_000}]}, {"table": "t", "how": "list", "by": ["a"]},
        {"table": "t", "having": {"relator": ">", "value": 1}}, {"table": "t", "by": ["a"], "order": {"by": "b"}},
        {"table": "t", "by": ["a"], "ask": ["b"]}, {"table": "t", "order": {"by": "@value"}}, {"table": "t" * 20_000},
    ],
)  # fmt: skip
def test_what_are_no_fields_is_refused_with_its_place(data: Any) -> None:
    with pytest.raises(ProgramSyntaxError):
        parse_fields(data)


def test_only_what_has_a_meaning_is_offered(relations: Mapping[str, Relation]) -> None:
    found = {one.title: one for one in offered(relations, Fields(("orders",)))}
    assert How.SUM in found["Amount (EUR)"].hows
    assert found["Amount (EUR)"].unit == "CCY_EUR"
    assert found["Order No"].hows == (How.VALUE, How.COUNT, How.DISTINCT)
    assert found["Customer"].groups
    assert found["Ordered on"].buckets == tuple(Bucket)
    assert not found["Amount (EUR)"].buckets
    assert How.SUM not in {one.title: one for one in offered(relations, Fields(("parts",)))}["Price"].hows
    grouped = offered(relations, Fields(("orders",), by=(FieldColumn("Customer"),)))
    assert not any(How.VALUE in one.hows for one in grouped)


def test_rates_and_balances_are_not_added_up(relation: MakeRelation) -> None:
    text = """Month|Account|Balance (EUR)|Interest rate (%)
2024-01|Savings|1,200|1.5
2024-01|Daily|300|0.5
2024-02|Savings|1,250|1.4
2024-02|Daily|280|0.5
2024-03|Savings|1,330|1.6
2024-03|Daily|310|0.5"""
    relations = {"accounts": relation("accounts", text)}
    found = {one.title: one.hows for one in offered(relations, Fields(("accounts",)))}
    assert How.SUM not in found["Balance (EUR)"]
    assert How.MEAN in found["Balance (EUR)"]
    assert How.SUM not in found["Interest rate (%)"]
    by_month = offered(relations, Fields(("accounts",), by=(FieldColumn("Month"),)))
    assert How.SUM in next(one.hows for one in by_month if one.title == "Balance (EUR)")


def test_headers_that_do_not_lead_to_their_column_are_named_by_index(relation: MakeRelation) -> None:
    relations = {"odd": relation("odd", "Name|Total|Total|@row\na|1|2|x\nb|3|4|y\nc|5|6|z")}
    assert [one.column.name for one in offered(relations, Fields(("odd",)))] == ["Name", 1, 2, 3]


def test_the_values_of_a_column_are_counted(relations: Mapping[str, Relation]) -> None:
    found = values_of(relations["orders"], FieldColumn("Customer"), 2)
    assert [(one.text, one.rows) for one in found] == [("Okafor", 3), ("Hansen", 2)]
    assert [one.text for one in values_of(relations["orders"], FieldColumn("Customer"), 2, "LIN")] == ["Lind"]
    for name in ("Customer", "Ordered on", "Amount (EUR)", "Order No"):
        for one in values_of(relations["orders"], FieldColumn(name), 9):
            where = (FieldCondition(FieldColumn(name), (one.value,)),)
            counted = run(Fields(("orders",), where=where).program(), relations).value
            assert counted is not None
            assert counted.value == one.rows
