from __future__ import annotations

from typing import Any

import pytest

from kgtable.programs import parse_program, realize
from tests.programs.writing import calc, column, compare, group, limit, lookup, of, project, sort, table, where

PAID = where("orders", compare("=", "Status", "paid"))

MISSING = {"op": "is_missing", "operand": column("x")}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (of("count", None, PAID), 'number of rows where Status is "paid"'),
        (
            of("mean", "Amount", where(PAID, compare(">", "Day", {"value": "2024", "type": "period"}))),
            'average of Amount where Status is "paid" and Day is after 2024',
        ),
        (
            project(limit(sort("peaks", "Height"), 3, ties=True), "Peak"),
            "Peak with the 3 highest Height",
        ),
        (
            project(limit(sort(group("orders", ["Customer"], n={"op": "count"}), "n")), "Customer"),
            "Customer with the highest number of rows, the first of equals",
        ),
        (calc("percent_change", lookup("2021", PAID), 5),
         'percent change from (2021 where Status is "paid") to 5'),
        (of("sum", "Price", where("a", {"op": "not", "condition": MISSING})),
         "sum of Price where x is given"),
        (calc("except", project(table("a"), "x"), project(table("b"), "y")),
         "x of a that are not among y of b"),
        ({"op": "convert", "operand": {"value": 5, "unit": "KiloM"}, "unit": "MI"},
         "5 kilometre in international mile"),
        ({"value": 50, "scale": "M", "unit": "CCY_EUR"}, "50 million EUR"),
        (of("sum", "Price", where("a", compare("=", column("@group1"), "Food"))),
         'sum of Price where group is "Food"'),
        (of("sum", "Price", where("a", compare("=", column("@group2"), "Food"))),
         'sum of Price where group of level 2 is "Food"'),
    ],
)  # fmt: skip
def test_words(data: Any, words: str) -> None:
    assert realize(parse_program(data)) == words


def test_that_blank_keys_come_last_is_not_told() -> None:
    grouped = group("orders", ["Customer"], n={"op": "count"})
    keys = [{"expression": {"op": "is_missing", "operand": column("Customer")}}, {"expression": column("Customer")}]
    data = {"op": "sort", "source": grouped, "keys": keys}
    assert realize(parse_program(data)) == "number of rows by Customer, sorted by Customer"
