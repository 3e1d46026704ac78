"""Time programs over one long table: in memory, and as SPARQL on an Oxigraph store.

The table is made up (orders with region, product, amount, units, date) and the same for the same number of rows. Each
program runs on a relation that was just made, so that the columns it reads are typed within the time ("first"), and
again ("again"). The time in memory includes the first cited cells. SPARQL runs on fewer rows unless told otherwise,
since a store takes minutes to load a million; its values are compared with those in memory.

    python scripts/bench_programs.py [--rows 1000000] [--sparql-rows 100000]
"""

from __future__ import annotations

import argparse
import csv
import random
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyoxigraph as ox

import kgtable
from kgtable.answering.program_answers import read_relation
from kgtable.graph.table_decoder import quantities_of
from kgtable.graph.table_encoder import TableShape
from kgtable.graph.table_source import TableReader
from kgtable.graph.terms import Namespaces
from kgtable.ontology.annotate import annotate
from kgtable.programs import parse_program, run
from kgtable.programs.compiled.to_sparql import compile_sparql
from kgtable.programs.relation import Relation
from kgtable.programs.scalars import text_of
from kgtable.programs.table_relation import relation_of
from kgtable.tables.layout.detect import make_table
from kgtable.tables.model import Grid, Source, Table

HEADER = ("Order No", "Region", "Product", "Amount (EUR)", "Units", "Ordered on")


def column(name: str) -> dict[str, Any]:
    return {"column": name}


def where(op: str, name: str, value: object) -> dict[str, Any]:
    condition = {"op": op, "left": column(name), "right": value}
    return {"op": "filter", "source": "orders", "condition": condition}


AMOUNT, UNITS = column("Amount (EUR)"), column("Units")
PROGRAMS: dict[str, dict[str, Any]] = {
    "filter and sum": {"op": "sum", "argument": AMOUNT, "rows": where(">", "Units", 250)},
    "filter by text and sum": {"op": "sum", "argument": AMOUNT, "rows": where("=", "Region", "region 7")},
    "group by": {
        "op": "group",
        "source": "orders",
        "keys": [column("Region")],
        "measures": [{"expression": {"op": "mean", "argument": AMOUNT}, "name": "mean"}],
    },
    "count distinct": {"op": "count_distinct", "argument": AMOUNT, "rows": "orders"},
    "text comparison": {"op": "count", "rows": where("contains", "Product", "ab")},
    "division": {
        "op": "mean",
        "argument": {"op": "divide", "left": AMOUNT, "right": UNITS},
        "rows": "orders",
    },
    "between dates": {
        "op": "count",
        "rows": where(">=", "Ordered on", {"value": "2020-06-01", "type": "date"}),
    },
    "largest": {
        "op": "project",
        "source": {
            "op": "limit",
            "count": 5,
            "source": {
                "op": "sort",
                "source": "orders",
                "keys": [{"expression": AMOUNT, "descending": True}],
            },
        },
        "columns": [column("Product"), AMOUNT],
    },
}


def orders(rows: int) -> Table:
    """The table of orders."""
    chance = random.Random(7)
    products = ["".join(chance.choice("abcdefgh") for _ in range(8)) for _ in range(10_000)]
    body = (
        (
            f"A-{100_000 + row}",
            f"Region {chance.randrange(50)}",
            chance.choice(products),
            f"{chance.randrange(100, 100_000_000) / 100:.2f}",
            str(chance.randrange(1, 500)),
            f"{2015 + chance.randrange(10)}-{1 + chance.randrange(12):02d}-{1 + chance.randrange(28):02d}",
        )
        for row in range(rows)
    )
    return make_table(Grid("orders", Source("orders.csv"), (HEADER, *body), len(HEADER)))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what the work gave."""
    started = time.perf_counter()
    found = work()
    return time.perf_counter() - started, found


def in_memory(data: dict[str, Any], relation: Relation) -> list[list[str]]:
    """The first rows of the result, with the cells it cites."""
    result = run(parse_program(data), {"orders": relation})
    result.citations()
    return [[plain(text_of(value)) for value in row if value is not None] for row in result.rows()]


def plain(text: str) -> str:
    """Numbers to nine digits, texts as they are."""
    try:
        return f"{float(text):.9g}"
    except ValueError:
        return text


def main() -> None:
    """Print a table of seconds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--sparql-rows", type=int, default=100_000)
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        time_in_memory(read_back(orders(arguments.rows), Path(folder)), arguments.rows)
    if arguments.sparql_rows:
        against_sparql(orders(arguments.sparql_rows))


def read_back(table: Table, folder: Path) -> TableReader:
    """The table as it is read from a graph that is built of it."""
    (folder / "tables").mkdir()
    with (folder / "tables" / "orders.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(table.grid.rows)
    return kgtable.build(folder / "tables", folder / "graph", embedding="none").reader


def time_in_memory(reader: TableReader, rows: int) -> None:
    """Print seconds of programs in memory."""
    making, relation = timed(lambda: read_relation(reader, "orders"))
    print(f"{rows:,} rows; relation made in {making:.2f} s")
    print(f"{'seconds':24}{'first':>8}{'again':>8}")
    for name, data in PROGRAMS.items():
        relation = read_relation(reader, "orders")
        first, _ = timed(lambda: in_memory(data, relation))  # noqa: B023
        again, _ = timed(lambda: in_memory(data, relation))  # noqa: B023
        print(f"{name:24}{first:8.2f}{again:8.2f}", flush=True)


def against_sparql(table: Table) -> None:
    """Print seconds of SPARQL beside those in memory, and whether both give the same."""
    store = ox.Store()
    shape = TableShape(annotate(table), Namespaces())
    lines = (f"{s} {p} {o} {shape.graph} ." for s, pairs in shape for p, o in pairs)
    loading, _ = timed(lambda: store.bulk_load("\n".join(lines), ox.RdfFormat.N_QUADS))
    relation = relation_of(table, quantities_of(table))
    print(f"\n{len(relation):,} rows in a store of {len(store):,} quads, loaded in {loading:.1f} s")
    print(f"{'seconds':24}{'memory':>8}{'compile':>8}{'SPARQL':>8}{'ratio':>8}  same")
    for name, data in PROGRAMS.items():
        in_memory(data, relation)
        again, expected = timed(lambda: in_memory(data, relation))  # noqa: B023
        compiling, query = timed(lambda: compile_sparql(parse_program(data), {"orders": relation}))  # noqa: B023

        def asked(text: str = query.text, names: tuple[str, ...] = query.variables) -> list[list[str]]:
            return [[plain(row[name].value) for name in names] for row in store.query(text)]  # type: ignore[union-attr, index]

        sparql, found = timed(asked)
        same = "yes" if sorted(found) == sorted(expected) else f"no: {found[:2]} {expected[:2]}"
        print(f"{name:24}{again:8.2f}{compiling:8.2f}{sparql:8.2f}{sparql / again:8.1f}  {same}", flush=True)


if __name__ == "__main__":
    main()
