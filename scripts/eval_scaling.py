"""Measure how what TableRAG and its baselines show of a table grows with the table (TableRAG paper, section 4.6).

A small table of orders is grown to N × N cells by further columns and rows from a seeded generator; the questions
and the cells that answer them stay. For each size and method: tokens of the solver's first prompt, texts encoded,
recall of gold columns and values, and the processor time until the first question can be answered and for each
further one.

    python scripts/eval_scaling.py                       sizes 50 to 1000, a report in HTML and JSON
    python scripts/eval_scaling.py --sizes 50,100 --out /tmp/scaling
    python scripts/eval_scaling.py --draw one/scaling.json other/scaling.json --out both

The graphs are built without vectors of tables; columns are compared by words and vectors all the same.
"""

from __future__ import annotations

import argparse
import csv
import html
import json
import os
import random
import shutil
import tempfile
import time
from dataclasses import asdict, dataclass
from math import log
from pathlib import Path
from typing import Any

import kgtable
from kgtable.answering.evidence import Evidence
from kgtable.answering.prompting import estimate_tokens
from kgtable.index.embedding import load_embedder
from kgtable.systems.tablerag.actions import ProgramActions
from kgtable.systems.tablerag.react import ReactSolver
from kgtable.systems.tablerag.vocabulary import ShownRetrieval

SEED = 17
SIZES = (50, 100, 200, 500, 1000)
METHODS = (
    "tablerag:tables=1",
    "tablerag:tables=1,cells=both",
    "read-table:tables=1",
    "read-schema:tables=1",
    "rand-row-sampling:tables=1",
    "row-col-retrieval:tables=1",
)
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
QUESTIONS: tuple[tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]], ...] = (
    ("What is the average price for leather wallets?", ("Product description", "Item price (USD)"),
     (("Product description", PRODUCTS[0]),)),
    ("How many orders were returned to the warehouse?", ("Order status",), (("Order status", STATUSES[2]),)),
    ("What is the total quantity of silk scarfs ordered?", ("Product description", "Quantity"),
     (("Product description", PRODUCTS[2]),)),
    ("Which customer city had most orders cancelled by the seller?", ("Customer city", "Order status"),
     (("Order status", STATUSES[1]),)),
    ("When was the first order from Valparaiso?", ("Ordered on", "Customer city"),
     (("Customer city", CITIES[1]),)),
    ("What is the highest price paid in Antwerp?", ("Item price (USD)", "Customer city"),
     (("Customer city", CITIES[3]),)),
    ("How many wool blankets were delivered to the buyer?", ("Product description", "Order status"),
     (("Product description", PRODUCTS[4]), ("Order status", STATUSES[0]))),
    ("Which products were ordered in Trondheim?", ("Product description", "Customer city"),
     (("Customer city", CITIES[0]),)),
)  # fmt: skip
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


@dataclass(frozen=True)
class Measured:
    """One method on a table of one size, means over the questions."""

    size: int
    cells: int
    distinct: int
    method: str
    refused: bool
    tokens: float
    encoded: int
    column_recall: float
    column_precision: float
    value_recall: float
    first_s: float
    further_s: float


def grown_table(size: int, seed: int = SEED) -> list[list[str]]:
    """The table of orders as `size` rows (the header not counted) of `size` columns.

    The first 30 rows of the key columns are the same at every size; the others are drawn from the same values,
    the further columns from numbers or a few categories each.
    """
    key = random.Random(seed)
    rows = [_order(key) for _ in range(size)]
    drawn = random.Random(f"{seed} columns")
    names = {
        f"{s.capitalize()} {a} {n}": (s, a)
        for n in ("", "B", "C")
        for s in SUBJECTS.split()
        for a in ASPECTS.split()
    }
    fillers = drawn.sample(sorted(" ".join(name.split()) for name in names), size - len(KEY_COLUMNS))
    header = [*KEY_COLUMNS, *fillers]
    for name in fillers:
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


def measure(graph: kgtable.KnowledgeGraph, size: int, method: str, table: list[list[str]]) -> Measured:
    """The means of a method over the questions."""
    columns = {name: index for index, name in enumerate(table[0])}
    tokens: list[float] = []
    recalls: list[float] = []
    precisions: list[float] = []
    values: list[float] = []
    times: list[float] = []
    encoded, distinct, refused = 0, 0, False
    for question, named, cells in QUESTIONS:
        started = time.process_time()
        found = graph.retrieve(question, 50, method, embedding="minilm")
        times.append(time.process_time() - started)
        assert isinstance(found, ShownRetrieval)
        encoded += found.encoded
        refused = refused or not found.shown
        if not found.shown:
            continue
        evidence = Evidence(found, graph.reader)
        actions = ProgramActions(evidence, [shown.table for shown in found.shown])
        messages = ReactSolver().prompt(evidence, found.shown, actions)
        tokens.append(estimate_tokens("\n\n".join(message["content"] for message in messages)))
        gold = {("orders", columns[name]) for name in named}
        recalls.append(len(gold & found.shown_columns) / len(gold))
        precisions.append(len(gold & found.shown_columns) / max(len(found.shown_columns), 1))
        wanted = {("orders", columns[name], value) for name, value in cells}
        values.append(len(wanted & found.shown_values) / len(wanted))
    distinct = sum(len(set(column)) for column in zip(*table[1:], strict=True) if not column[0][:1].isdigit())
    return Measured(
        size, size * size, distinct, method, refused, _mean(tokens), encoded, _mean(recalls), _mean(precisions),
        _mean(values), times[0], _mean(times[1:]),
    )  # fmt: skip


def _mean(numbers: list[float]) -> float:
    return round(sum(numbers) / len(numbers), 4) if numbers else 0.0


PANELS = (
    ("tokens", "tokens of the first prompt"),
    ("encoded", "texts encoded"),
    ("first_s", "processor time for the first question (s)"),
    ("column_recall", "recall of gold columns"),
)
COLOURS = dict(zip(METHODS, ("#1b6ca8", "#5aa9d6", "#b0281c", "#2b8a3e", "#c0761b", "#7a4fa3"), strict=True))


def drawing(results: list[Measured]) -> str:
    """All figures over the size of the table as one SVG document."""
    sizes = sorted({r.size for r in results})
    parts = [
        _panel(results, sizes, what, title, 30 + 370 * (place % 2), 40 + 250 * (place // 2))
        for place, (what, title) in enumerate(PANELS)
    ]
    for place, method in enumerate(METHODS):
        x, y = 40 + 250 * (place % 3), 545 + 20 * (place // 3)
        name = method.replace("tables=1", "").replace(":,", ":").rstrip(":")
        parts.append(
            f'<circle cx="{x}" cy="{y - 4}" r="4" fill="{COLOURS[method]}"/>'
            f'<text x="{x + 10}" y="{y}">{html.escape(name)}</text>'
        )
    style = (
        "text{font:12px sans-serif;fill:#222}.a{fill:#555}line{stroke:#bbb}polyline{fill:none;stroke-width:2}"
    )
    return "\n".join(
        (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 580" role="img">',
            "<title>What TableRAG and its baselines show of a table, by its size</title>",
            f'<style>{style}</style>\n<rect width="760" height="580" fill="#fff"/>',
            *parts,
            "</svg>\n",
        )
    )


def _panel(results: list[Measured], sizes: list[int], what: str, title: str, left: int, top: int) -> str:
    """One diagram; both axes are logarithmic but for shares. What was refused is left out."""
    width, height = 300, 170
    shown = [r for r in results if not r.refused and getattr(r, what) > 0]
    share = what.endswith("recall")
    values = [getattr(r, what) for r in shown] or [1.0]
    low, high = (0.0, 1.0) if share else (min(values) / 1.5, max(values) * 1.5)
    first, last = sizes[0] / 1.2, sizes[-1] * 1.2

    def at(r: Measured) -> tuple[float, float]:
        value = getattr(r, what)
        across = log(r.size / first) / log(last / first)
        up = (value - low) / (high - low) if share else log(value / low) / log(high / low)
        return round(left + 40 + width * across, 1), round(top + 20 + height * (1 - up), 1)

    base = top + 20 + height
    parts = [
        f'<text x="{left}" y="{top}">{html.escape(title)}</text>',
        f'<line x1="{left + 40}" y1="{base}" x2="{left + 40 + width}" y2="{base}"/>',
        f'<line x1="{left + 40}" y1="{top + 20}" x2="{left + 40}" y2="{base}"/>',
    ]
    for size in sizes:
        x = left + 40 + width * log(size / first) / log(last / first)
        parts.append(f'<text x="{x:.1f}" y="{base + 16}" text-anchor="middle" class="a">{size}²</text>')
    for value in (0.0, 1.0) if share else (min(values), max(values)):
        y = base - height * ((value - low) / (high - low) if share else log(value / low) / log(high / low))
        parts.append(
            f'<text x="{left + 36}" y="{y + 4:.1f}" text-anchor="end" class="a">{_figure(value)}</text>'
        )
    for method, colour in COLOURS.items():
        line = sorted((r for r in shown if r.method == method), key=lambda r: r.size)
        points = " ".join(f"{x},{y}" for x, y in map(at, line))
        if line:
            parts.append(f'<polyline points="{points}" stroke="{colour}"/>')
        for r in line:
            x, y = at(r)
            told = html.escape(f"{r.method}, {r.size}²: {_figure(getattr(r, what))}")
            parts.append(f'<circle cx="{x}" cy="{y}" r="4" fill="{colour}"><title>{told}</title></circle>')
    return "\n".join(parts)


def page(results: list[Measured]) -> str:
    """The report: the drawing, and a table of all figures."""
    names = list(asdict(results[0]))
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_figure(value))}</td>" for value in asdict(r).values()) + "</tr>"
        for r in results
    )
    style = "body{font:14px sans-serif}td,th{padding:2px 8px;text-align:right}"
    return (
        f"<!doctype html><meta charset=utf-8><title>Scaling</title><style>{style}</style>"
        f"<h1>TableRAG and its baselines on growing tables</h1>{drawing(results)}<table><tr>{head}</tr>{rows}</table>"
    )


def _figure(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 else f"{value:,.3g}"
    return f"{value:,}" if type(value) is int else str(value)


def main() -> None:
    """Grow, build, measure, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument(
        "--methods", default="", help="those whose names contain one of these, apart by spaces"
    )
    parser.add_argument("--out", type=Path, default=Path("scaling"), help="folder of the report")
    parser.add_argument(
        "--draw",
        type=Path,
        nargs="+",
        help="JSON files of earlier runs to draw together, instead of measuring",
    )
    given = parser.parse_args()
    if given.draw:
        earlier = [Measured(**found) for path in given.draw for found in json.loads(path.read_text("utf-8"))]
        latest = {(found.size, METHODS.index(found.method)): found for found in earlier}
        write(given.out, [latest[key] for key in sorted(latest)])
        return
    methods = [m for m in METHODS if any(part in m for part in given.methods.split())] or list(METHODS)
    results: list[Measured] = []
    with tempfile.TemporaryDirectory(prefix="kgtable-scaling-") as folder:
        os.environ["KGTABLE_CACHE"] = str(Path(folder) / "cache")
        embedder = load_embedder("minilm")
        assert embedder is not None
        embedder.embed(["a first text, so that no question waits for the model"])
        for size in map(int, given.sizes.split(",")):
            table = grown_table(size)
            tables = Path(folder) / f"tables-{size}"
            tables.mkdir()
            with (tables / "orders.csv").open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows(table)
            started = time.perf_counter()
            with kgtable.build(tables, Path(folder) / f"graph-{size}", embedding="none") as graph:
                print(f"{size}²: built in {time.perf_counter() - started:.1f} s", flush=True)
                for method in methods:
                    # each method makes its databases itself
                    shutil.rmtree(Path(folder) / "cache" / "tablerag", ignore_errors=True)
                    found = measure(graph, size, method, table)
                    results.append(found)
                    print("  " + json.dumps(asdict(found)), flush=True)
    write(given.out, results)


def write(out: Path, results: list[Measured]) -> None:
    """Write ``scaling.json``, ``scaling.svg`` and ``scaling.html`` into a folder."""
    out.mkdir(parents=True, exist_ok=True)
    content = json.dumps([asdict(r) for r in results], indent=1)
    for name, text in (("json", content), ("svg", drawing(results)), ("html", page(results))):
        (out / f"scaling.{name}").write_text(text, encoding="utf-8")
    print(out / "scaling.html")


if __name__ == "__main__":
    main()
