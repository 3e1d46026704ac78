"""Totals of generated tables: none among numbers at random, nearly all of two levels, rounded and suppressed."""

from __future__ import annotations

import random

from kgtable.ontology.annotate import annotate
from kgtable.tables.layout.detect import make_table
from kgtable.tables.model import Grid, Source

TABLES = 150


def totals(rows: list[list[str]]) -> frozenset[int]:
    grid = Grid("t", Source("t.csv"), tuple(map(tuple, rows)), len(rows[0]))
    return annotate(make_table(grid)).table.structure.totals


def unrelated(chance: random.Random) -> list[list[str]]:
    """Twenty rows of numbers that have nothing to do with each other."""
    columns, low, high = chance.randint(1, 4), chance.choice((0, 10, 99)), chance.choice((99, 999, 99_999))
    rows = ([f"Item {row}", *(str(chance.randint(low, high)) for _ in range(columns))] for row in range(20))
    return [["Name", *(f"Value {column}" for column in range(columns))], *rows]


def summed(chance: random.Random) -> tuple[list[list[str]], set[int]]:
    """Towns, regions below or above their towns and the whole, sums of unrounded numbers; and the rows of sums.

    Half of the tables have a column of means, half of them suppressed cells.
    """
    columns, decimals = chance.randint(2, 4), chance.choice((0, 0, 1))
    below, averaged, suppressed = (chance.random() < 0.5 for _ in range(3))

    def line(label: str, amounts: list[float]) -> list[str]:
        mean = [f"{chance.uniform(10, 60):.1f}"] if averaged else []
        return [label, *(f"{amount:.{decimals}f}" for amount in amounts), *mean]

    rows = [["Area", *(f"Amount {column}" for column in range(columns)), *(["Mean age"] if averaged else [])]]
    found, whole = set[int](), [0.0] * columns
    for region in range(chance.randint(2, 4)):
        towns = [[chance.uniform(100, 9_000) for _ in range(columns)] for _ in range(chance.randint(2, 6))]
        sums = [sum(amounts) for amounts in zip(*towns, strict=True)]
        whole = [one + other for one, other in zip(whole, sums, strict=True)]
        lines = [line(f"Town {region}-{town}", amounts) for town, amounts in enumerate(towns)]
        for cells in lines:
            if suppressed and chance.random() < 0.03:
                cells[chance.randint(1, columns)] = "c"
        found.add(len(rows) + (len(lines) if below else 0))
        head = line(f"Region {region}", sums)
        rows += [*lines, head] if below else [head, *lines]
    return [*rows, line(chance.choice(("Total", "Country")), whole)], {*found, len(rows)}


def test_numbers_at_random_have_no_totals() -> None:
    chance = random.Random(7)
    assert not any(totals(unrelated(chance)) for _ in range(TABLES))


def test_sums_are_found_though_rounded_beside_means_and_with_suppressed_cells() -> None:
    chance = random.Random(7)
    found = wanted = wrong = 0
    for _ in range(TABLES):
        rows, sums = summed(chance)
        told = totals(rows)
        found, wanted, wrong = found + len(told & sums), wanted + len(sums), wrong + len(told - sums)
    assert found >= 0.97 * wanted
    assert wrong == 0
