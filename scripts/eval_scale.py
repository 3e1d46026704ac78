#!/usr/bin/env python3
"""Measure how often the inferred scale of a gold cell agrees with TAT-QA's annotation.

    python scripts/eval_scale.py [BENCHMARK_FOLDER] [--split dev] [--failures]

Counts questions of type span with one gold cell in the body that contains a number (gold cells in the header,
mostly years, have no scale). The classes are those of the field `scale`: none, thousand, million, billion,
percent. The field is empty if the answer is printed with its percent sign ("36%"); the class is then percent.
Prints the agreement and the confusion table.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgtable.errors import TableError
from kgtable.ontology.quantities import Quantity, QuantityResolver
from kgtable.tables.column_profile import CellKind, ColumnStyle, profile_columns, type_cell
from kgtable.tables.layout.detect import make_table
from kgtable.tables.loader import read_folder
from kgtable.tables.model import Table

CLASSES = ("none", "thousand", "million", "billion", "percent")
BY_POWER = {3: "thousand", 6: "million", 9: "billion"}


@dataclass(frozen=True)
class Prepared:
    """A table prepared for reading its numbers."""

    table: Table
    styles: tuple[ColumnStyle, ...]
    resolver: QuantityResolver

    def quantity(self, row: int, column: int) -> tuple[str, Quantity] | None:
        """Text and quantity of a cell, or None if it is not a number."""
        cells = self.table.grid.head[row]
        if column >= len(cells):
            return None
        value = type_cell(cells[column], self.styles[column])
        if value.kind is not CellKind.NUMBER or value.number is None:
            return None
        label = cells[self.table.structure.label_column]
        return cells[column], self.resolver.resolve(value.number, row, column, label)


def prepare(folder: Path) -> dict[str, Prepared]:
    """Prepare every table of a benchmark, by id."""
    prepared = {}
    for grid in read_folder([folder]):
        if isinstance(grid, TableError):
            print(grid, file=sys.stderr)
            continue
        table = make_table(grid)
        prepared[table.id] = Prepared(table, profile_columns(table), QuantityResolver(table))
    return prepared


def scale_class(quantity: Quantity) -> str:
    """The class of TAT-QA's `scale` for a quantity."""
    return "percent" if quantity.unit == "PERCENT" else BY_POWER.get(quantity.scale, "none")


def gold_class(question: dict[str, Any]) -> str:
    """The annotated scale; percent if the answer has a percent sign."""
    if not question["scale"] and question["answers"][0].rstrip().endswith("%"):
        return "percent"
    return question["scale"] or "none"


def spans(path: Path) -> Iterator[dict[str, Any]]:
    """The questions answered by a single cell."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            question = json.loads(line)
            if question["answer_type"] == "span" and len(question["cells"]) == 1:
                yield question


def main(arguments: list[str]) -> int:
    """Print agreement, confusion table and, on request, the failures."""
    default = os.environ.get("KGTABLE_BENCHMARKS", "../shared/data")
    parser = argparse.ArgumentParser(description="Compare inferred scales with TAT-QA's annotation.")
    parser.add_argument("benchmarks", nargs="?", type=Path, default=Path(default))
    parser.add_argument("--split", default="dev")
    parser.add_argument("--failures", action="store_true", help="list every disagreement")
    options = parser.parse_args(arguments)
    folder = options.benchmarks / "tatqa"
    tables = prepare(folder / "tables")
    confusion: Counter[tuple[str, str]] = Counter()
    not_numbers = in_header = 0
    for question in spans(folder / f"questions.{options.split}.jsonl"):
        ((table_id, row, column),) = question["cells"]
        if row + 1 < tables[table_id].table.structure.body_start:
            in_header += 1
            continue
        found = tables[table_id].quantity(row + 1, column)
        if found is None:
            not_numbers += 1
            continue
        text, quantity = found
        gold = gold_class(question)
        inferred = scale_class(quantity)
        confusion[gold, inferred] += 1
        if options.failures and gold != inferred:
            place = f"{table_id} r{row + 1} c{column}"
            print(f"{gold} / {inferred}: {text!r} {quantity.unit} {place}: {question['question']}")
    total = sum(confusion.values())
    right = sum(count for (gold, inferred), count in confusion.items() if gold == inferred)
    print(f"{right} of {total} agree: {right / max(1, total):.4f}")
    print(f"not counted: {in_header} gold cells in headers, {not_numbers} that are no numbers")
    print("gold \\ inferred".ljust(16) + "".join(name.rjust(10) for name in CLASSES))
    for gold in CLASSES:
        print(gold.ljust(16) + "".join(str(confusion[gold, inferred]).rjust(10) for inferred in CLASSES))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
