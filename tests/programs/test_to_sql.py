"""Fields as SQL give what they give in memory, and what SQL cannot say is refused."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

import kgtable
from kgtable.errors import ProgramCompilationError

pytest.importorskip("duckdb")
ORDERS = """Order,Day,Region,Customer,Amount (EUR),Weight (kg)
1,2024-01-05,North,A,10.50,1
2,2024-01-09,South,B,20,
3,2024-02-11,North,B,5.25,3.5
4,2024-02-12,,A,8,2
5,2024-05-20,south,C,100,2
6,2023-12-31,West,C,7,9
"""
CUSTOMERS = "Customer,Country\nA,Arland\nB,Berland\nC,Arland\n"
AMOUNT = "Amount (EUR)"
MONTH, QUARTER, WEEKDAY = ({"column": "Day", "bucket": bucket} for bucket in ("month", "quarter", "weekday"))
ASKED: list[dict[str, Any]] = [
    {"how": "count"},
    {"how": "sum", "measure": AMOUNT},
    {"how": "mean", "measure": "Weight (kg)", "where": [{"column": "Region", "values": ["NORTH"]}]},
    {"how": "median", "measure": AMOUNT, "where": [{"column": "Region", "values": ["North", "West"], "negated": True}]},
    {"how": "max", "measure": AMOUNT, "where": [{"column": "Weight (kg)"}]},
    {"how": "distinct", "measure": "Customer"},
    {"how": "share", "where": [{"column": "Customer", "values": ["A"]}]},
    {"how": "sum", "measure": AMOUNT, "by": ["Customer"], "order": {"by": "@value", "descending": True}},
    {"how": "sum", "measure": AMOUNT, "by": ["Customer"], "order": {"by": "@value"}, "first": 2},
    {"how": "share", "measure": AMOUNT, "by": ["Customer"], "order": {"by": "Customer"}},
    {"how": "count", "by": [MONTH], "order": {"by": MONTH}},
    {"how": "count", "by": [QUARTER], "order": {"by": "@value", "descending": True}, "first": 1},
    {"how": "count", "by": [WEEKDAY], "order": {"by": WEEKDAY}},
    {"how": "min", "measure": AMOUNT, "by": ["Customer"], "order": {"by": "Customer"},
     "having": {"value": 6, "relator": ">"}},
    {"how": "list", "ask": ["Order", AMOUNT], "order": {"by": AMOUNT, "descending": True}, "first": 3,
     "where": [{"column": "Day", "values": [{"value": "2024-01-31", "type": "date"}], "relator": ">"}]},
    {"how": "list", "ask": ["Customer"], "where": [{"column": "Customer", "values": ["B"], "relator": "contains"}]},
]  # fmt: skip
JOINED: dict[str, Any] = {
    "table": "orders", "how": "sum", "measure": {"column": AMOUNT, "table": "orders"},
    "by": [{"column": "Country", "table": "customers"}], "order": {"by": {"column": "Country", "table": "customers"}},
    "join": {"table": "customers", "left": {"column": "Customer", "table": "orders"},
             "right": {"column": "Customer", "table": "customers"}},
}  # fmt: skip


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kgtable.KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("to-sql")
    (folder / "orders.csv").write_text(ORDERS, encoding="utf-8")
    (folder / "customers.csv").write_text(CUSTOMERS, encoding="utf-8")
    with kgtable.build(folder, folder / "kg", embedding="none") as graph:
        yield graph


def plain(value: object) -> object:
    """A value as both write it: numbers to nine places."""
    if isinstance(value, int | float | Decimal):
        return round(float(value), 9)
    return None if value is None else str(value)


@pytest.mark.parametrize("asked", [*({"table": "orders", **one} for one in ASKED), JOINED])
def test_the_query_gives_the_same_rows(graph: kgtable.KnowledgeGraph, asked: dict[str, Any]) -> None:
    found = graph.explore(asked)
    rows = [tuple(None if cell is None else plain(cell.value) for cell in row) for row in found.rows]
    frame = graph.sql(graph.compile_sql(asked))
    assert [tuple(map(plain, row)) for row in frame.itertuples(index=False)] == rows
    assert rows


@pytest.mark.parametrize(
    "asked",
    [
        {"how": "count", "choice": "all"},
        {"how": "list", "order": {"by": AMOUNT}, "first": 1, "ties": True},
        {"how": "count", "where": [{"column": "Region", "values": ["M"], "relator": "<"}]},
    ],
)
def test_what_sql_cannot_say_is_refused(graph: kgtable.KnowledgeGraph, asked: dict[str, Any]) -> None:
    with pytest.raises(ProgramCompilationError):
        graph.compile_sql({"table": "orders", **asked})
