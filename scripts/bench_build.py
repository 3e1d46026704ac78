"""What a build costs by the rows of a table and by the tables of a folder: cells, time by step, memory, disk.

    python scripts/bench_build.py [--rows 1000 10000 100000] [--tables 1000 10000] [--vectors] [--plot FILE.svg]

Tables of orders (8 columns: number, date, customer, product, quantity, price, amount, status) are made and built in a
process of its own. Beside it, in the same run, Oxigraph loads the graph's N-Quads by itself (``Store.bulk_load``).
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

BUILD = """
import json, resource, sys, kgtable
with kgtable.build(sys.argv[1], sys.argv[2], embedding=sys.argv[3]) as kg:
    seconds, cells = kg.built.seconds, kg.built.conversion.tally.cells
    kg.export(sys.argv[2] + ".nq")
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(json.dumps({"cells": cells, "steps": dict(seconds), "memory": max(one.ru_maxrss for one in used) // 1024}))
"""
LOAD = """
import json, pyoxigraph as ox, resource, sys
store = ox.Store(sys.argv[2])
store.bulk_load(path=sys.argv[1], format=ox.RdfFormat.N_QUADS)
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"seconds": used.ru_utime + used.ru_stime}))
"""
HEADER = ("Order number", "Order date", "Customer", "Product", "Quantity", "Unit price (EUR)", "Amount (EUR)", "Status")
PRODUCTS = (
    "Desk lamp",
    "Office chair",
    "Notebook A5",
    "Ink black",
    "Stapler",
    "Whiteboard",
    "Shelf oak",
    "Monitor arm",
)
SMALL_ROWS = 10
"""Rows of each table of a folder."""


def orders(rows: int, first: int = 0) -> Iterator[tuple[object, ...]]:
    """The header and the rows of a table of orders, the same for the same numbers."""
    chance = random.Random(first)
    yield HEADER
    for number in range(first, first + rows):
        quantity, price = chance.randint(1, 20), chance.choice((3.2, 7.9, 12.5, 89.0, 230.0))
        day = f"2024-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
        customer = (
            f"{chance.choice(('Anna', 'Ben', 'Clara', 'Emil'))} {chance.choice(('Berg', 'Dorn', 'Falk', 'Stein'))}"
        )
        amount = f"{quantity * price:.2f}"
        status = chance.choice(("open", "shipped", "returned"))
        yield f"SO-{100_000 + number}", day, customer, chance.choice(PRODUCTS), quantity, f"{price:.2f}", amount, status


def write(path: Path, rows: Iterator[tuple[object, ...]]) -> None:
    """Write a CSV file."""
    with path.open("w", encoding="utf-8", newline="") as handle:
        csv.writer(handle).writerows(rows)


def run(code: str, *arguments: str) -> dict[str, Any]:
    """What a script prints as JSON, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def size(folder: Path) -> int:
    """The bytes of the files in a folder; those that several names share count once."""
    files = {(stat.st_dev, stat.st_ino): stat.st_size for path in folder.rglob("*") if (stat := path.stat())}
    return sum(files.values())


Figures: TypeAlias = dict[str, Any]


def measured(tables: Path, place: Path, embedding: str) -> Figures:
    """Cells, seconds by step, megabytes of memory, bytes of disk, and processor seconds of Oxigraph alone."""
    kg = place / "kg"
    built = run(BUILD, str(tables), str(kg), embedding)
    loaded = run(LOAD, f"{kg}.nq", str(place / "store"))
    return {**built, "seconds": sum(built["steps"].values()), "disk": size(kg), "alone": loaded["seconds"]}


def line(name: str, found: Figures) -> str:
    """One line of the table of figures."""
    cells, seconds = found["cells"], found["seconds"]
    by_step = ", ".join(f"{step} {taken:.1f}" for step, taken in found["steps"].items() if taken >= 0.05)
    return (
        f"| {name} | {cells:,} | {seconds:.1f} | {seconds / cells * 1e6:.0f} | {by_step} | {found['memory']:,} MB |"
        f" {found['disk'] / cells:.0f} | {found['alone']:.1f} |"
    )


def plotted(measurements: Sequence[tuple[str, Figures]]) -> str:
    """Seconds, memory and disk by cells as an SVG, with logarithmic axes."""
    import vl_convert

    values = [
        {"of": of, "cells": found["cells"], "measure": measure, "value": value}
        for of, found in measurements
        for measure, value in (
            ("seconds", found["seconds"]), ("memory in MB", found["memory"]), ("disk in MB", found["disk"] / 1e6)
        )
    ]  # fmt: skip
    axis = {"type": "quantitative", "scale": {"type": "log"}}
    encoding = {
        "x": {"field": "cells", **axis, "axis": {"format": "~s"}},
        "y": {"field": "value", **axis, "title": None},
        "color": {"field": "of", "title": None},
    }
    spec = {
        "data": {"values": values},
        "facet": {"column": {"field": "measure", "title": None}},
        "resolve": {"scale": {"y": "independent"}},
        "spec": {"width": 220, "height": 220, "mark": {"type": "line", "point": True}, "encoding": encoding},
    }
    return str(vl_convert.vegalite_to_svg(spec))


def main() -> None:
    """Print the figures as a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    parser.add_argument("--tables", type=int, nargs="*", default=[1_000, 10_000])
    parser.add_argument("--vectors", action="store_true", help="with the default embedding")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw the figures, too")
    chosen = parser.parse_args()
    measurements = []
    embedding = "minilm" if chosen.vectors else "none"
    print("| | cells | seconds | µs a cell | by step | memory | bytes a cell | Oxigraph alone, processor seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for count, as_rows in [*((n, True) for n in chosen.rows), *((n, False) for n in chosen.tables)]:
        with tempfile.TemporaryDirectory() as folder:
            tables = Path(folder, "tables")
            tables.mkdir()
            for number in range(1 if as_rows else count):
                rows = count if as_rows else SMALL_ROWS
                write(tables / f"orders-{number:06}.csv", orders(rows, number * rows))
            name = f"{count:,} {'rows' if as_rows else f'tables of {SMALL_ROWS} rows'}"
            found = measured(tables, Path(folder), embedding)
            print(line(name, found), flush=True)
            measurements.append(("one table" if as_rows else f"tables of {SMALL_ROWS} rows", found))
    if chosen.plot:
        chosen.plot.write_text(plotted(measurements), encoding="utf-8")


if __name__ == "__main__":
    main()
