#!/usr/bin/env python3
"""Measure how cells are read against a sample that was judged by hand.

    python scripts/judged_cells.py [--benchmarks FOLDER] [--file docs/judged-cells.csv]
    python scripts/judged_cells.py --draw wtq [--cells 100] [--seed 11]

The file names each cell by seed of its sample, benchmark, table and grid coordinates, with the type, unit and
scale that a person says it has. `--draw` prints a new sample with its context, as JSON lines. Types are
those of `kgtable.tables.column_profile.CellKind`; unit and scale are empty for what is no number. A unit is
a QUDT name, ``UNITLESS`` or ``NUM`` where nothing says one (both count as the same); the scale is a power of ten.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kgtable.errors import TableError
from kgtable.ontology.cell_units import QuantityResolver
from kgtable.tables.column_profile import CellKind, profile_columns, type_cell
from kgtable.tables.layout.detect import make_table
from kgtable.tables.loader import read_folder
from kgtable.tables.model import Table

PLAIN = {"NUM": "UNITLESS"}


class Reading(NamedTuple):
    """What a cell is read as."""

    type: str
    unit: str
    scale: str


class TableReading:
    """One table, and what each of its cells is read as."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._styles, self._resolver = profile_columns(table), QuantityResolver(table)

    def cells(self) -> Iterator[tuple[int, int]]:
        """The cells of the body that are not blank."""
        start = self.table.structure.body_start
        for row, cells in enumerate(self.table.grid.head[start:], start=start):
            yield from ((row, column) for column, text in enumerate(cells) if text.strip())

    def read(self, row: int, column: int) -> Reading:
        """Type, unit and scale of a cell."""
        cells = self.table.grid.head[row]
        value = type_cell(cells[column], self._styles[column])
        if value.kind is not CellKind.NUMBER or value.number is None:
            return Reading(value.kind.value, "", "")
        label = cells[self.table.structure.label_column]
        quantity = self._resolver.resolve(value.number, row, column, label)
        return Reading("number", PLAIN.get(quantity.unit, quantity.unit), str(quantity.scale))


def read_tables(folder: Path) -> dict[str, TableReading]:
    """Every table of a benchmark that can be read, by id."""
    tables = (make_table(grid) for grid in read_folder([folder / "tables"]) if not isinstance(grid, TableError))
    return {table.id: TableReading(table) for table in tables}


def draw(folder: Path, count: int, seed: int) -> None:
    """Print `count` cells, each of another table, with what a person needs to judge them."""
    tables, random_state = read_tables(folder), random.Random(seed)
    for id in random_state.sample(sorted(tables), count):
        reading = tables[id]
        row, column = random_state.choice(list(reading.cells()))
        table, grid = reading.table, reading.table.grid.head
        context = table.grid.context
        around = [context.title, context.caption, *context.heading, *context.before[-2:]]
        print(json.dumps({
            "cell": [id, row, column], "text": grid[row][column], "read": reading.read(row, column),
            "header": [line[column] for line in grid[: table.structure.body_start] if column < len(line)],
            "corner": grid[0][0], "label": grid[row][table.structure.label_column],
            "column": [line[column] for line in grid[table.structure.body_start :][:6] if column < len(line)],
            "around": [text[:300] for text in around if text],
        }, ensure_ascii=False))  # fmt: skip


def measure(file: Path, benchmarks: Path) -> int:
    """Print the shares that are read as judged, and each cell that is not."""
    with file.open(encoding="utf-8", newline="") as lines:
        judged = list(csv.DictReader(lines))
    tables = {name: read_tables(benchmarks / name) for name in sorted({line["benchmark"] for line in judged})}
    right, total = defaultdict[str, Counter[str]](Counter), defaultdict[str, Counter[str]](Counter)
    for line in judged:
        found = tables[line["benchmark"]][line["table"]].read(int(line["row"]), int(line["column"]))
        wanted = Reading(line["type"], line["unit"], line["scale"])
        sample = f"{line['benchmark']}, seed {line['seed']}"
        for facet, one, other in zip(Reading._fields, found, wanted, strict=True):
            total[sample][facet] += facet == "type" or "number" in (found.type, wanted.type)
            right[sample][facet] += one == other and (facet == "type" or "number" in (found.type, wanted.type))
        if found != wanted:
            print(f"{sample}: {line['table']} r{line['row']} c{line['column']}: {found} for {wanted}")
    for sample, counts in total.items():
        print(f"{sample}: " + ", ".join(f"{name} {right[sample][name]} of {counts[name]}" for name in counts))
    return 0


def main() -> int:
    """Draw a sample, or measure against the judged one."""
    default = Path(os.environ.get("KGTABLE_BENCHMARKS", "../shared/data"))
    parser = argparse.ArgumentParser(description="Measure the reading of cells against judgements by hand.")
    parser.add_argument("--benchmarks", type=Path, default=default)
    parser.add_argument("--file", type=Path, default=Path("docs/judged-cells.csv"))
    parser.add_argument("--draw", metavar="BENCHMARK", help="print a sample instead")
    parser.add_argument("--cells", type=int, default=100)
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    if options.draw:
        draw(options.benchmarks / options.draw, options.cells, options.seed)
        return 0
    return measure(options.file, options.benchmarks)


if __name__ == "__main__":
    sys.exit(main())
