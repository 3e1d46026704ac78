#!/usr/bin/env python3
"""Measure how often the inferred scale of gold cells agrees with TAT-QA's annotation.

    python scripts/eval_scale.py [BENCHMARK_FOLDER] [--split dev] [--failures]

First the questions of type span with one gold cell in the body that contains a number (gold cells in the header,
mostly years, have no scale). Then lists, sums, differences and averages of cells, which have the scale of the
answer: all cells of such a question must agree. The classes are those of the field `scale`: none, thousand,
million, billion, percent. The field is empty if the answer is printed with its percent sign ("36%"); the class is
then percent. A cell is annotated two ways if two questions give it different scales.
Prints the agreement and, for the single cells, the confusion table.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
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


Cell = tuple[str, int, int]
_AVERAGED = re.compile(r"/\s*\d{1,2}\s*$")
_ADDED = re.compile(r"[-+]?[\d.]+(?:[-+]+[\d.]+)+")
_FIGURE = re.compile(r"\d[\d.,]*")


def questions(path: Path) -> Iterator[tuple[dict[str, Any], Sequence[Cell]]]:
    """The questions whose answer has the scale of its cells, with these cells."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            question = json.loads(line)
            cells = [(table, row, column) for table, row, column in question["cells"] or ()]
            if cells and question["answer_type"] in {"span", "multi-span"}:
                yield question, cells
            elif cells and question["answer_type"] == "arithmetic" and question["scale"] != "percent":
                if not operands(question["derivation"]):
                    continue
                yield question, cells


def operands(derivation: str) -> set[str]:
    """The figures that a sum, a difference or an average adds up; none for any other derivation."""
    added = _AVERAGED.sub("", derivation)
    if not _ADDED.fullmatch(re.sub(r"[\s$%,()\[\]]", "", added)):
        return set()
    return {match[0].rstrip(".,") for match in _FIGURE.finditer(added)}


@dataclass(slots=True)
class Judged:
    """A question's annotated scale beside the scales inferred for its cells."""

    question: dict[str, Any]
    gold: str
    cells: list[tuple[Cell, str, Quantity]]

    @property
    def agrees(self) -> bool:
        """Whether all cells have the annotated scale; lists of percentages may be printed with their sign."""
        found = {scale_class(quantity) for *_, quantity in self.cells}
        listed = self.question["answer_type"] != "span" and self.gold == "none"
        return found == {self.gold} or (listed and found == {"percent"})


def judge(path: Path, tables: dict[str, Prepared], left_out: Counter[str]) -> Iterator[Judged]:
    """Every question whose gold cells are numbers of the body; a divisor taken for a cell is left out."""
    for question, cells in questions(path):
        single = question["answer_type"] == "span"
        if single and len(cells) != 1:
            continue
        if any(row + 1 < tables[table].table.structure.body_start for table, row, _ in cells):
            left_out["with gold cells in headers"] += single
            continue
        read = [(cell, tables[cell[0]].quantity(cell[1] + 1, cell[2])) for cell in cells]
        found = [(cell, *quantity) for cell, quantity in read if quantity is not None]
        if len(found) < len(read):
            left_out["with gold cells that are no numbers"] += single
            continue
        if question["answer_type"] == "arithmetic":
            added = operands(question["derivation"])
            found = [one for one in found if (figure := _FIGURE.search(one[1])) and figure[0] in added]
        if found:
            yield Judged(question, gold_class(question), found)


def main(arguments: list[str]) -> int:
    """Print agreement, confusion table and, on request, the failures."""
    default = os.environ.get("KGTABLE_BENCHMARKS", "../shared/data")
    parser = argparse.ArgumentParser(description="Compare inferred scales with TAT-QA's annotation.")
    parser.add_argument("benchmarks", nargs="?", type=Path, default=Path(default))
    parser.add_argument("--split", default="dev")
    parser.add_argument("--failures", action="store_true", help="list every disagreement")
    options = parser.parse_args(arguments)
    folder = options.benchmarks / "tatqa"
    left_out: Counter[str] = Counter()
    judged = list(judge(folder / f"questions.{options.split}.jsonl", prepare(folder / "tables"), left_out))
    annotated: defaultdict[Cell, set[str]] = defaultdict(set)
    for one in judged:
        for cell, *_ in one.cells:
            annotated[cell].add(one.gold)
    if options.failures:
        for one in judged:
            if not one.agrees:
                describe(one, annotated)
    single = [one for one in judged if one.question["answer_type"] == "span"]
    report("single cells", single, annotated)
    print(f"  not counted: {', '.join(f'{count} {what}' for what, count in sorted(left_out.items()))}")
    report("lists, sums, differences, averages", [one for one in judged if one not in single], annotated)
    report("all", judged, annotated)
    confusion = Counter((one.gold, scale_class(one.cells[0][2])) for one in single)
    print("gold \\ inferred".ljust(16) + "".join(name.rjust(10) for name in CLASSES))
    for gold in CLASSES:
        print(gold.ljust(16) + "".join(str(confusion[gold, inferred]).rjust(10) for inferred in CLASSES))
    return 0


def describe(one: Judged, annotated: dict[Cell, set[str]]) -> None:
    """Print a disagreement."""
    cells = "; ".join(
        f"{text!r} {scale_class(quantity)} {quantity.unit} {table} r{row + 1} c{column}"
        for (table, row, column), text, quantity in one.cells
    )
    both = " (annotated two ways)" if is_contradicted(one, annotated) else ""
    print(f"{one.gold}{both} / {cells}: {one.question['question']}")


def is_contradicted(one: Judged, annotated: dict[Cell, set[str]]) -> bool:
    """Whether other questions give one of the cells another scale."""
    return any(len(annotated[cell]) > 1 for cell, *_ in one.cells)


def report(what: str, judged: Sequence[Judged], annotated: dict[Cell, set[str]]) -> None:
    """Print how many agree, and how many of those whose cells are annotated one way."""
    right = sum(one.agrees for one in judged)
    clear = [one for one in judged if not is_contradicted(one, annotated)]
    clear_right = sum(one.agrees for one in clear)
    print(
        f"{what}: {right} of {len(judged)} agree: {right / max(1, len(judged)):.4f};"
        f" of those annotated one way {clear_right} of {len(clear)}: {clear_right / max(1, len(clear)):.4f}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
