"""Measure builds and questions over ever larger folders of tables, and draw the figures.

    python scripts/bench_scale.py make ../shared/data /tmp/scale --tables 1000 10000 100000
    python scripts/bench_scale.py build /tmp/scale --tables 10000 --embedding none
    python scripts/bench_scale.py ask /tmp/scale --tables 10000 --embedding none
    python scripts/bench_scale.py change /tmp/scale --tables 10000 --embedding none
    python scripts/bench_scale.py kept /tmp/scale --tables 10000 --embedding none
    python scripts/bench_scale.py big /tmp/scale --rows 1000000 --suffix parquet
    python scripts/bench_scale.py plot /tmp/scale docs/scale.svg

`make` writes one corpus for each size; a smaller one is part of every larger one, and the questions and their
gold tables are part of the smallest. All tables of the benchmark folders come first, then tables recombined from
them by a seeded generator: a table's title, columns and rows with some columns of another table, rows drawn
anew, cells exchanged within columns, the digits of numbers drawn anew and all years moved by one distance. No
row of a gold table is drawn, and parts of gold tables (multitable's) are left out: each question keeps its answer.
The other commands append one JSON object per measurement to `results.jsonl` beside the corpora. Wall time is that
of the machine as it is; processor time and memory are printed beside it.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import re
import resource
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kgtable.evaluation.benchmark import Benchmark

SEED = 18
FOLDERS = ("everyday", "finqa", "hitab", "multitable", "spider", "tatqa", "wtq")
QUESTIONS = (("wtq", "squall", 150), ("tatqa", "dev", 75), ("finqa", "dev", 75))
DONORS = {"wtq": 12, "multitable": 1, "tatqa": 3, "finqa": 2}
"""How much likelier a table of a folder is recombined than one of multitable's, which are parts of tables."""

MOST_ROWS = 300
"""Rows of a recombined table at most."""

_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_NUMBER = re.compile(r"[-+$€£(]?\d[\d,.]*\)?%?")


@dataclass(frozen=True)
class Donor:
    """A table that others are made from."""

    path: Path
    rows: list[list[str]]
    sidecar: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> Donor:
        """Read a CSV file and its sidecar."""
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        beside = path.with_suffix(".json")
        return cls(path, rows, json.loads(beside.read_text(encoding="utf-8")) if beside.exists() else {})

    @property
    def is_usable(self) -> bool:
        """Whether it has rows and columns enough to be recombined."""
        return len(self.rows) >= 4 and 2 <= len(self.rows[0]) <= 40


class Recombination:
    """Tables made from others, each different from all that are there."""

    def __init__(self, donors: Sequence[Donor], seed: int) -> None:
        self._random = random.Random(seed)
        self._donors = list(donors)
        self._weights = [DONORS.get(donor.path.parent.parent.name, 2) for donor in donors]

    def tables(self) -> Iterator[tuple[list[list[str]], dict[str, Any]]]:
        """Rows and sidecar of one table after the other, without end."""
        while True:
            one, other, named = self._random.choices(self._donors, self._weights, k=3)
            moved = self._random.choice((-1, 1)) * self._random.randint(1, 60)
            rows = self._rows(one, other)
            printed = [
                [self._cell(cell, moved, drawn=at > 0) for at, cell in enumerate(row)] for row in rows[1:]
            ]
            yield [[_moved(cell, moved) for cell in rows[0]], *printed], self._context(one, named, moved)

    def _rows(self, one: Donor, other: Donor) -> list[list[str]]:
        width = len(one.rows[0])
        body = [row for row in one.rows[1:] if len(row) == width]
        count = min(MOST_ROWS, max(3, round(len(body) * self._random.uniform(1.0, 2.6))))
        drawn = [list(self._random.choice(body)) for _ in range(count)] if body else []
        for column in range(1, width):
            if self._random.random() < 0.5:
                cells = [row[column] for row in drawn]
                self._random.shuffle(cells)
                for row, cell in zip(drawn, cells, strict=True):
                    row[column] = cell
        header = list(one.rows[0])
        if width > 3 and self._random.random() < 0.5:
            gone = self._random.randrange(1, width)
            for row in (header, *drawn):
                del row[gone]
        if self._random.random() < 0.5:
            column = self._random.randrange(len(other.rows[0]))
            taken = [row[column] for row in other.rows[1:] if column < len(row)]
            header.append(other.rows[0][column])
            for row in drawn:
                row.append(self._random.choice(taken))
        return [header, *drawn]

    def _cell(self, text: str, moved: int, *, drawn: bool) -> str:
        if drawn and self._random.random() < 0.5 and _NUMBER.fullmatch(text) and not _YEAR.fullmatch(text):
            first = True
            signs = []
            for sign in text:
                if sign.isdigit() and not (first and sign == "0"):
                    signs.append(str(self._random.randint(1 if first else 0, 9)))
                else:
                    signs.append(sign)
                first = first and not sign.isdigit()
            return "".join(signs)
        return _moved(text, moved)

    def _context(self, one: Donor, named: Donor, moved: int) -> dict[str, Any]:
        """The context of one table under the title of another, all years moved."""
        known = {**one.sidecar, "title": named.sidecar.get("title", "") or one.sidecar.get("title", "")}
        kept = (
            "title",
            "heading",
            "caption",
            "textAbove",
            "textBelow",
            "pre_text",
            "post_text",
            "paragraphs",
        )
        return {name: _moved_in(known[name], moved) for name in kept if known.get(name)}


def _moved(text: str, years: int) -> str:
    return _YEAR.sub(lambda found: str(min(2099, max(1500, int(found[0]) + years))), text)


def _moved_in(value: Any, years: int) -> Any:
    if isinstance(value, str):
        return _moved(value, years)
    return [_moved_in(item, years) for item in value] if isinstance(value, list) else value


def make(data: Path, out: Path, sizes: Sequence[int]) -> None:
    """Write the questions and a corpus of each size, as links to one folder of files."""
    out.mkdir(parents=True, exist_ok=True)
    chosen = random.Random(SEED)
    asked: list[dict[str, Any]] = []
    for name, split, count in QUESTIONS:
        found = [q for q in Benchmark(data / name).questions(split) if q.cells and q.tables]
        asked += (
            {"id": f"{name}/{q.id}", "question": q.text, "tables": q.tables, "cells": q.cells}
            for q in chosen.sample(found, count)
        )
    with (out / "questions.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(question, ensure_ascii=False) + "\n" for question in asked)
    gold = {table for question in asked for table in question["tables"]}
    suffixes = (".csv", ".tsv", ".xlsx", ".xls", ".ods", ".html", ".md", ".json", ".jsonl", ".parquet")
    paths = []
    for name in FOLDERS:
        found_paths = sorted(path for path in (data / name / "tables").iterdir() if path.suffix in suffixes)
        stems = {path.stem for path in found_paths if path.suffix != ".json"}
        paths += [path for path in found_paths if path.suffix != ".json" or path.stem not in stems]
    real = [path for path in paths if path.stem in gold or path.stem.rsplit("-", 1)[0] not in gold]
    chosen.shuffle(real)
    real.sort(key=lambda path: path.stem not in gold)
    donors = [Donor.read(path) for path in sorted(real) if path.suffix == ".csv" and path.stem not in gold]
    made = Recombination([donor for donor in donors if donor.is_usable], SEED).tables()
    written = len(real)
    for size in sorted(sizes):
        folder = out / f"tables-{size}"
        shutil.rmtree(folder, ignore_errors=True)
        for path in real[:size]:
            target = folder / path.parent.parent.name
            target.mkdir(parents=True, exist_ok=True)
            for file in {path, path.with_suffix(".json")}:
                if file.exists():
                    os.symlink(file.resolve(), target / file.name)
        for number in range(written, size):
            target = out / "made" / f"{number // 1000:03}" / f"made-{number}.csv"
            target.parent.mkdir(parents=True, exist_ok=True)
            rows, sidecar = next(made)
            with target.open("w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows(rows)
            target.with_suffix(".json").write_text(json.dumps(sidecar, ensure_ascii=False), encoding="utf-8")
        written = max(written, size)
        for number in range(len(real), size):
            target = folder / "made" / f"{number // 1000:03}"
            target.mkdir(parents=True, exist_ok=True)
            for suffix in (".csv", ".json"):
                name = f"{number // 1000:03}/made-{number}{suffix}"
                os.symlink(out.resolve() / "made" / name, folder / "made" / name)
        print(
            f"{size:,} tables: {min(len(real), size):,} as they are, {max(0, size - len(real)):,} recombined"
        )


class Watched:
    """Seconds, processor seconds and the greatest memory of this process and of those it starts."""

    def __init__(self) -> None:
        self.peak = 0
        self._ended = threading.Event()

    def __enter__(self) -> Watched:
        self._started, self._used = time.perf_counter(), _processor()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._started
        self.processor = _processor() - self._used
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.2):
            self.peak = max(self.peak, _memory())

    def to_json(self) -> dict[str, float]:
        """The figures, memory in MB."""
        return {
            "seconds": round(self.seconds, 1),
            "processor": round(self.processor, 1),
            "memory_mb": round(self.peak / 1e6),
            "memory_of_largest_process_mb": round(
                max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1e3
            ),
        }  # fmt: skip


def _processor() -> float:
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _memory() -> int:
    """Bytes that this process and its children hold which no file gives back (Pss_Anon of Linux)."""
    total = 0
    waiting = [os.getpid()]
    while waiting:
        process = waiting.pop()
        try:
            rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
            total += sum(
                1024 * int(n) for n in re.findall(r"^Pss_(?:Anon|Shmem):\s+(\d+)", rollup, re.MULTILINE)
            )
            for thread in Path(f"/proc/{process}/task").iterdir():
                waiting += map(int, (thread / "children").read_text().split())
        except OSError:
            continue
    return total


def _size(folder: Path) -> float:
    """Megabytes on disk; a file with several names counts once."""
    found = {
        (s.st_dev, s.st_ino): s.st_blocks * 512 for p in folder.rglob("*") if p.is_file() for s in [p.stat()]
    }
    return round(sum(found.values()) / 1e6, 1)


def build(out: Path, tables: int, embedding: str, workers: int, *, change: bool) -> dict[str, Any]:
    """Build a graph anew, or again after one table has changed."""
    from kgtable import api

    source, graph = out / f"tables-{tables}", out / f"graph-{tables}-{embedding}"
    extra = source / "changed.csv"
    if change:
        text = extra.read_text(encoding="utf-8") if extra.exists() else "Port,Fees ($)\nHarwich,100\n"
        extra.write_text(f"{text}Dover,{len(text)}\n", encoding="utf-8")
    else:
        shutil.rmtree(graph, ignore_errors=True)
        extra.unlink(missing_ok=True)
    with Watched() as watched:
        kg = api.build(source, graph, embedding=embedding, workers=workers)
        kg.close()
    built = kg.built
    assert built is not None
    steps = {name: round(seconds, 1) for name, seconds in built.seconds.items()}
    cells = sum(table.cells for table in built.conversion.tables)
    return {**watched.to_json(), "steps": steps, "cells": cells, "disk_mb": _size(graph)}


def ask(out: Path, tables: int, embedding: str, k: int, answers: int) -> dict[str, Any]:
    """Ask all questions; a gold cell is found if it is among the first `k` triples."""
    from kgtable import api

    lines = (out / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    kg = api.open(out / f"graph-{tables}-{embedding}")
    for question in questions[:10]:
        kg.retrieve(question["question"], k)
    wall, used, steps = [], [], {}
    cells, tables_found = [], {1: [], 10: [], 30: []}
    for question in questions:
        started, processor = time.perf_counter(), time.process_time()
        found = kg.retrieve(question["question"], k)
        triples = list(found.triples)
        wall.append(1e3 * (time.perf_counter() - started))
        used.append(1e3 * (time.process_time() - processor))
        for step, milliseconds in found.timings_ms.items():
            steps.setdefault(step, []).append(milliseconds)
        places = {(triple.table, triple.row, triple.column) for triple in triples}
        cells.append(np.mean([tuple(cell) in places for cell in question["cells"]]))
        order = [table.table for table in found.tables]
        for first, recalls in tables_found.items():
            recalls.append(np.mean([table in order[:first] for table in question["tables"]]))
    retrieving = _memory()
    answered = []
    for question in questions[:: max(1, len(questions) // answers)] if answers else ():
        started = time.perf_counter()
        kg.ask(question["question"], model="none")
        answered.append(1e3 * (time.perf_counter() - started))
    return {
        "k": k,
        "questions": len(questions),
        "retrieve_ms": percentiles(wall),
        "retrieve_processor_ms": percentiles(used),
        "steps_ms": {step: percentiles(found) for step, found in steps.items()},
        "ask_ms": percentiles(answered) if answered else None,
        "cells_found": round(float(np.mean(cells)), 3),
        "tables_found": {f"R@{first}": round(float(np.mean(found)), 3) for first, found in tables_found.items()},
        "memory_retrieving_mb": round(retrieving / 1e6),
        "memory_mb": round(_memory() / 1e6),
    }  # fmt: skip


def kept(out: Path, tables: int, embedding: str) -> dict[str, Any]:
    """Compare the relations of a graph that was brought up to date with those found in all its tables."""
    from kgtable.building.generations import GraphDirectory
    from kgtable.index.corpus_update import SavedCorpus
    from kgtable.index.graph_index import read_about
    from kgtable.index.inferred.column_profiles import TableHead, profiles_of
    from kgtable.index.inferred.relations import TableRelations, find_relations, header_vectors

    folder = GraphDirectory(out / f"graph-{tables}-{embedding}").current().index_path
    saved = SavedCorpus.open(folder)
    heads = [TableHead.from_list(json.loads(text)) for text in saved.parts.heads]
    used = time.process_time()
    found, _ = find_relations(profiles_of(saved.corpus, heads), *header_vectors(saved.corpus, folder))
    processor = time.process_time() - used
    known = TableRelations.open(folder)
    return {
        "drift": read_about(folder).get("drift", 0),
        "processor": round(processor, 1),
        "joins": [len(known.joins), len(found.joins), len(set(known.joins) ^ set(found.joins))],
        "unions": [len(known.unions), len(found.unions), len(set(known.unions) ^ set(found.unions))],
    }


BIG_HEADER = (
    "Order", "City", "Status", "Product", "Supplier", "Remark", "Region", "Grade", "Contact", "Ordered on",
    "Quantity", "Price (EUR)", "Weight (kg)", "Discount (%)", "Revenue (million USD)", "Year", "Height (m)", "Score",
    "Stock", "Change",
)  # fmt: skip


BIG_QUESTIONS = (
    "How many orders have the status Status 7?",
    "What is the average price of orders with Status 7?",
    "What is the price of order A-00001234?",
    "Which order has the highest weight?",
)


def _column(name: str, rows: int, chosen: np.random.Generator) -> list[str]:
    """Cells of one column of the big table."""
    if name == "Order":
        return [f"A-{number:08}" for number in range(rows)]
    if name == "Ordered on":
        return [
            f"{2015 + d // 336}-{1 + d % 336 // 28:02}-{1 + d % 28:02}"
            for d in chosen.integers(0, 3360, rows)
        ]
    if name == "Year":
        return [str(year) for year in chosen.integers(1990, 2026, rows)]
    if BIG_HEADER.index(name) >= BIG_HEADER.index("Quantity"):
        return [f"{cents / 100:,.2f}" for cents in chosen.integers(1, 10**7, rows)]
    return [f"{name} {number}" for number in chosen.integers(0, 50 if name != "Remark" else rows, rows)]


def big(out: Path, rows: int, suffix: str, workers: int) -> dict[str, Any]:
    """Build a graph of one table of so many rows and 20 columns, and run programs over it by each engine."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    from kgtable import api

    folder, graph = out / f"big-{rows}-{suffix}", out / f"graph-big-{rows}-{suffix}"
    shutil.rmtree(graph, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"orders.{suffix}"
    if not path.exists():
        chosen = np.random.default_rng(SEED)
        table = pa.table({name: _column(name, rows, chosen) for name in BIG_HEADER})
        writers = {"csv": pyarrow.csv.write_csv, "parquet": pyarrow.parquet.write_table}
        writers[suffix](table, path)
    with Watched() as watched:
        kg = api.build(folder, graph, embedding="none", workers=workers)
    built = kg.built
    assert built is not None
    found: dict[str, Any] = {
        "rows": rows,
        **watched.to_json(),
        "steps": {name: round(seconds, 1) for name, seconds in built.seconds.items()},
        "cells": sum(table.cells for table in built.conversion.tables),
        "disk_mb": _size(graph),
    }
    paid = {
        "op": "filter",
        "source": {"op": "table", "table": "orders"},
        "condition": {"op": "=", "left": {"column": "Status", "table": "orders"}, "right": "Status 7"},
    }
    price = {"column": "Price (EUR)", "table": "orders"}
    programs = {
        "count": {"op": "count", "rows": paid},
        "sum": {"op": "sum", "rows": paid, "argument": price},
        "mean of all": {"op": "mean", "rows": "orders", "argument": price},
    }
    for engine in ("sparql", "memory"):
        for name, program in programs.items():
            started, used = time.perf_counter(), time.process_time()
            run = kg.run(program, engine=engine)
            seconds = {"seconds": time.perf_counter() - started, "processor": time.process_time() - used}
            found[f"{name}, {engine}"] = {key: round(value, 2) for key, value in seconds.items()}
            found[f"{name}, {engine}"] |= {"value": str(run.value), "citations": len(run.citations)}
    for question in BIG_QUESTIONS:
        started, used = time.perf_counter(), time.process_time()
        answer = kg.ask(question, model="none")
        seconds = {"seconds": time.perf_counter() - started, "processor": time.process_time() - used}
        found[question] = {key: round(value, 2) for key, value in seconds.items()}
        found[question] |= {"answer": str(answer.text), "citations": len(answer.citations)}
    found["memory_asking_mb"] = round(_memory() / 1e6)
    return found


def percentiles(found: Sequence[float]) -> dict[str, float]:
    """The median and the 95th percentile, to one place."""
    return {"p50": round(float(np.median(found)), 1), "p95": round(float(np.percentile(found, 95)), 1)}


def plot(out: Path, svg: Path) -> None:
    """Draw seconds and memory of builds, milliseconds of questions and recall over the number of tables."""
    lines = (out / "results.jsonl").read_text(encoding="utf-8").splitlines()
    found: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    for line in map(json.loads, lines):
        if line["command"] in ("build", "ask"):
            found.setdefault((line["command"], line["embedding"]), {})[line["tables"]] = line
    panels = (
        ("processor time of a build (s)", "build", lambda line: line["processor"]),
        ("peak memory of a build (MB)", "build", lambda line: line["memory_mb"]),
        (
            "retrieve, k = 300, processor time, p50 (ms)",
            "ask",
            lambda line: line["retrieve_processor_ms"]["p50"],
        ),
        ("gold cells among 300 triples", "ask", lambda line: line["cells_found"]),
    )
    drawn = []
    for number, (title, command, value) in enumerate(panels):
        series = {
            embedding: [(tables, value(line)) for tables, line in sorted(lines_of.items())]
            for (named, embedding), lines_of in found.items()
            if named == command
        }
        drawn.append(_panel(title, series, 30 + 360 * (number % 2), 40 + 250 * (number // 2)))
    legend = '<text x="30" y="540" class="a">circles: without vectors; squares: with MiniLM</text>'
    style = (
        "text{font:12px sans-serif;fill:#222}.a{fill:#555}line{stroke:#bbb}polyline{fill:none;stroke-width:2}"
    )
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 740 560" role="img">'
    title = "<title>Builds and questions by number of tables</title>"
    back = f'<style>{style}</style>\n<rect width="740" height="560" fill="#fff"/>'
    svg.write_text("\n".join([head, title, back, *drawn, legend, "</svg>", ""]), encoding="utf-8")


def _panel(title: str, series: dict[str, list[tuple[int, float]]], left: int, top: int) -> str:
    """One diagram; both axes are logarithmic but for shares."""
    width, height = 300, 170
    values = [value for points in series.values() for _, value in points]
    sizes = [size for points in series.values() for size, _ in points]
    share = max(values) <= 1
    low, high = (0.0, 1.0) if share else (min(values) / 1.5, max(values) * 1.5)
    first, last = min(sizes) / 1.3, max(sizes) * 1.3

    def at(size: float, value: float) -> tuple[float, float]:
        across = np.log(size / first) / np.log(last / first)
        up = (value - low) / (high - low) if share else np.log(value / low) / np.log(high / low)
        return round(left + 40 + width * across, 1), round(top + 20 + height * (1 - up), 1)

    base = top + 20 + height
    parts = [
        f'<text x="{left}" y="{top}">{title}</text>',
        f'<line x1="{left + 40}" y1="{base}" x2="{left + 40 + width}" y2="{base}"/>',
        f'<line x1="{left + 40}" y1="{top + 20}" x2="{left + 40}" y2="{base}"/>',
    ]
    parts += (
        f'<text x="{at(size, high)[0]}" y="{base + 16}" text-anchor="middle" class="a">{size:,}</text>'
        for size in sorted(set(sizes))
    )
    for (embedding, points), colour in zip(sorted(series.items()), ("#1b6ca8", "#c0561b"), strict=False):
        places = [at(*point) for point in points]
        parts.append(f'<polyline stroke="{colour}" points="{" ".join(f"{x},{y}" for x, y in places)}"/>')
        for (x, y), (_, value) in zip(places, points, strict=True):
            shape = (
                f'<rect x="{x - 4}" y="{y - 4}" width="8" height="8" fill="{colour}"/>'
                if embedding == "minilm"
                else f'<circle cx="{x}" cy="{y}" r="4" fill="{colour}"/>'
            )
            below = 18 if embedding == "minilm" else -8
            label = f"{value:.3f}" if share else f"{value:,.4g}"
            parts.append(f'{shape}<text x="{x}" y="{y + below}" text-anchor="middle">{label}</text>')
    return "\n".join(parts)


def main() -> None:
    """Run one command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make")
    making.add_argument("data", type=Path)
    making.add_argument("out", type=Path)
    making.add_argument("--tables", type=int, nargs="+", default=[1_000, 10_000])
    for name in ("build", "change", "ask", "kept"):
        measuring = commands.add_parser(name)
        measuring.add_argument("out", type=Path)
        measuring.add_argument("--tables", type=int, required=True)
        measuring.add_argument("--embedding", default="none")
        measuring.add_argument("--label", default="", help="told beside the figures")
        if name == "ask":
            measuring.add_argument("-k", type=int, default=300)
            measuring.add_argument("--answers", type=int, default=30)
        elif name != "kept":
            measuring.add_argument("--workers", type=int, default=2)
    large = commands.add_parser("big", help="one table of many rows")
    large.add_argument("out", type=Path)
    large.add_argument("--rows", type=int, default=100_000)
    large.add_argument("--suffix", choices=("csv", "parquet"), default="csv")
    large.add_argument("--workers", type=int, default=2)
    large.add_argument("--label", default="")
    plotting = commands.add_parser("plot")
    plotting.add_argument("out", type=Path)
    plotting.add_argument("svg", type=Path)
    given = parser.parse_args()
    if given.command == "make":
        make(given.data, given.out, given.tables)
        return
    if given.command == "plot":
        plot(given.out, given.svg)
        return
    if given.command == "big":
        found = big(given.out, given.rows, given.suffix, given.workers)
        given.tables, given.embedding = 1, "none"
    elif given.command == "kept":
        found = kept(given.out, given.tables, given.embedding)
    elif given.command == "ask":
        found = ask(given.out, given.tables, given.embedding, given.k, given.answers)
    else:
        found = build(
            given.out, given.tables, given.embedding, given.workers, change=given.command == "change"
        )
    known = {
        "command": given.command,
        "tables": given.tables,
        "embedding": given.embedding,
        "label": given.label,
    }
    line = json.dumps({**known, **found})
    print(line)
    with (given.out / "results.jsonl").open("a", encoding="utf-8") as file:
        file.write(line + "\n")


if __name__ == "__main__":
    main()
