"""A benchmark of one table grown to several sizes (TableRAG, section 4.6).

A table of orders is grown to N × N cells by further columns and rows from a seeded generator. The questions, the
columns they need and the values they name are the same at each size; their answers are computed from the rows.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from kgtable.errors import BenchmarkError
from scripts.benchmarks.folder import BenchmarkFolder

SEED = 17
SIZES = (50, 100, 200, 500, 1000)
"""The paper's, up to a million cells."""

SPLIT = "growth"

KEY_COLUMNS = (
    "Product description",
    "Order status",
    "Item price (USD)",
    "Customer city",
    "Ordered on",
    "Quantity",
)
PRODUCTS = (
    "Leather wallet for gents",
    "Canvas travel bag",
    "Silk scarf",
    "Steel water bottle",
    "Wool blanket",
)
STATUSES = ("Delivered to buyer", "Cancelled by seller", "Returned to warehouse")
CITIES = ("Trondheim", "Valparaiso", "Gothenburg", "Antwerp")
SUBJECTS = """
sensor valve pump panel rotor filter duct relay gauge boiler turbine gasket piston nozzle damper
coil chassis bearing spindle flange hopper conveyor crane hoist furnace kiln reactor condenser
chiller mixer
"""
ASPECTS = """
pressure humidity vibration voltage torque drift offset latency grade colour vendor batch zone shift
operator firmware revision tolerance phase mode class rating origin finish texture alloy polymer
seal
"""
CATEGORIES = """
amber basalt cobalt delta ember fjord garnet helium indigo jasper krypton lotus magenta nickel onyx
pewter quartz russet sienna topaz umber violet walnut xenon yarrow zinc
"""
MOST_COLUMNS = 3 * 30 * 28 + len(KEY_COLUMNS)
"""Columns of the largest table: there are no more names."""

OrderRow = Mapping[str, str]


@dataclass(frozen=True)
class GrowthQuestion:
    """A question with the columns it needs, the values it names by column, and what computes its answers."""

    text: str
    columns: tuple[str, ...]
    values: Mapping[str, str]
    answers: Callable[[Sequence[OrderRow]], list[str]]


def _mean_price(orders: Sequence[OrderRow]) -> list[str]:
    prices = [Decimal(order["Item price (USD)"]) for order in orders]
    return [str(round(sum(prices) / len(prices), 6))] if prices else ["none"]


def _count(orders: Sequence[OrderRow]) -> list[str]:
    return [str(len(orders))]


def _most_frequent_city(orders: Sequence[OrderRow]) -> list[str]:
    counts = Counter(order["Customer city"] for order in orders)
    most = max(counts.values(), default=0)
    return sorted(city for city, count in counts.items() if count == most)


QUESTIONS: tuple[GrowthQuestion, ...] = (
    GrowthQuestion("What is the average price for leather wallets?", ("Product description", "Item price (USD)"),
                   {"Product description": PRODUCTS[0]}, _mean_price),
    GrowthQuestion("How many orders were returned to the warehouse?", ("Order status",),
                   {"Order status": STATUSES[2]}, _count),
    GrowthQuestion("What is the total quantity of silk scarfs ordered?", ("Product description", "Quantity"),
                   {"Product description": PRODUCTS[2]},
                   lambda orders: [str(sum(int(order["Quantity"]) for order in orders))]),
    GrowthQuestion("Which customer city had most orders cancelled by the seller?", ("Customer city", "Order status"),
                   {"Order status": STATUSES[1]}, _most_frequent_city),
    GrowthQuestion("When was the first order from Valparaiso?", ("Ordered on", "Customer city"),
                   {"Customer city": CITIES[1]},
                   lambda orders: [min((order["Ordered on"] for order in orders), default="none")]),
    GrowthQuestion("What is the highest price paid in Antwerp?", ("Item price (USD)", "Customer city"),
                   {"Customer city": CITIES[3]},
                   lambda orders: [max((order["Item price (USD)"] for order in orders), key=Decimal, default="none")]),
    GrowthQuestion("How many wool blankets were delivered to the buyer?", ("Product description", "Order status"),
                   {"Product description": PRODUCTS[4], "Order status": STATUSES[0]}, _count),
    GrowthQuestion("Which products were ordered in Trondheim?", ("Product description", "Customer city"),
                   {"Customer city": CITIES[0]},
                   lambda orders: sorted({order["Product description"] for order in orders})),
)  # fmt: skip


def growth_benchmark(out: Path, sizes: Sequence[int] = SIZES, seed: int = SEED) -> int:
    """Write a benchmark folder with the table at each size, and the questions on each; gives how many questions.

    Questions name their ``columns`` and ``values``, for the recall of both. The same seed gives the same files.
    Raises `BenchmarkError` for a size that is too small or too large.
    """
    for size in sizes:
        if not 2 * len(KEY_COLUMNS) <= size <= MOST_COLUMNS:
            raise BenchmarkError(
                f"A table of {size:,} x {size:,} cells cannot be made.",
                hint=f"Give sizes from {2 * len(KEY_COLUMNS)} to {MOST_COLUMNS:,}.",
            )
    folder = BenchmarkFolder(out)
    items: list[dict[str, Any]] = []
    for size in sorted(set(sizes)):
        table = grown_table(size, seed)
        id = f"orders-{size}"
        folder.add_table(id, table, title=f"Orders of {size:,} rows and columns")
        items += (_item(question, id, table, number) for number, question in enumerate(QUESTIONS, 1))
    return folder.write_questions(SPLIT, items)


def _item(question: GrowthQuestion, id: str, table: Sequence[Sequence[str]], number: int) -> dict[str, Any]:
    places = {name: place for place, name in enumerate(table[0])}
    orders = [{name: row[places[name]] for name in KEY_COLUMNS} for row in table[1:]]
    fitting = [o for o in orders if all(o[name] == value for name, value in question.values.items())]
    return {
        "id": f"{id}-{number}",
        "question": question.text,
        "answers": question.answers(fitting),
        "tables": [id],
        "columns": [[id, places[name]] for name in question.columns],
        "values": [[id, places[name], value] for name, value in question.values.items()],
    }


def grown_table(size: int, seed: int = SEED) -> list[list[str]]:
    """The table of orders as `size` rows (the header not counted) of `size` columns.

    A larger table has the rows of a smaller one in the key columns, and further ones of the same values; further
    columns hold numbers or a few categories each.
    """
    key = random.Random(seed)
    rows = [_order(key) for _ in range(size)]
    drawn = random.Random(f"{seed} columns")
    names = {
        " ".join(f"{subject.capitalize()} {aspect} {letter}".split())
        for letter in ("", "B", "C")
        for subject in SUBJECTS.split()
        for aspect in ASPECTS.split()
    }
    further = drawn.sample(sorted(names), size - len(KEY_COLUMNS))
    header = [*KEY_COLUMNS, *further]
    for name in further:
        values = random.Random(f"{seed} {name}")
        kinds = values.sample(CATEGORIES.split(), 4) if values.random() < 0.54 else None
        for row in rows:
            row.append(values.choice(kinds) if kinds else str(values.randint(0, 99_999)))
    places = list(range(size))
    random.Random(f"{seed} places").shuffle(places)
    return [[line[place] for place in places] for line in [header, *rows]]


def _order(drawn: random.Random) -> list[str]:
    day = f"2024-{drawn.randint(1, 12):02d}-{drawn.randint(1, 28):02d}"
    price = f"{drawn.randint(500, 20_000) / 100:.2f}"
    return [
        drawn.choice(PRODUCTS), drawn.choice(STATUSES), price, drawn.choice(CITIES), day, str(drawn.randint(1, 9)),
    ]  # fmt: skip
