"""Decimals are computed in contexts of the package: whatever context the caller has, results are the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import ROUND_DOWN, Context, Decimal, Inexact, localcontext
from pathlib import Path

import pytest

import kgtable
from kgtable.values.numbers import parse_number
from kgtable.values.spoken import exact_number, spoken_number

LONG = Decimal("12345678901234567890123456789.125")
CSV = """Item,Price (thousand EUR),Weight (kg),Share
Bolt,"1,234,567.891","12,345,678.5",12.345678%
Nut,"2,345,678.902","98,765,432.25",23.4567891%
Rod,"-3,456,789.013",7,0.00000123%
Total,"123,457.780","111,111,117.75",
"""


@contextmanager
def hostile(*, strict: bool = False) -> Iterator[None]:
    with localcontext(Context(prec=6, rounding=ROUND_DOWN, traps=[Inexact] if strict else [])):
        yield


def test_numbers_of_any_length_are_said_exactly() -> None:
    assert exact_number(LONG, "CCY_EUR") == "12,345,678,901,234,567,890,123,456,789.125 euros"
    with hostile():
        assert exact_number(LONG, "CCY_EUR") == "12,345,678,901,234,567,890,123,456,789.125 euros"
        assert exact_number(LONG.copy_negate()).startswith("−12,345,678,901,234,567,890")
        assert "7,496,012" in spoken_number(Decimal(7496012), "CCY_USD")
        assert spoken_number(LONG)
        found = parse_number("(1,234,567,890.5)")
        assert found is not None
        assert found.value == Decimal("-1234567890.5")


@pytest.mark.parametrize("strict", [False, True])
def test_graphs_and_answers_do_not_depend_on_the_context_of_the_caller(tmp_path: Path, strict: bool) -> None:
    (tmp_path / "items.csv").write_text(CSV, encoding="utf-8")
    questions = [
        "What is the total price of all items?", "Which items have a price above 1,234,567,000?",
        "What is the weight of Nut?", "What is the average weight of the items?",
        "By how much is the price of Nut higher than that of Bolt?",
    ]  # fmt: skip
    found = []
    for run in range(2):
        with localcontext() if run == 0 else hostile(strict=strict):
            with kgtable.build(tmp_path / "items.csv", tmp_path / f"kg{run}", embedding="none") as graph:
                answers = [graph.ask(question) for question in questions]
                sums = graph.sql("SELECT SUM(price_thousand_eur), MIN(weight_kg) FROM items").to_dict()
                cells = sorted(map(str, graph.store.graph(graph.names.table_iri("items"))))
            found.append(([(answer.text, str(answer.value), answer.status) for answer in answers], sums, cells))
    assert found[0] == found[1]
