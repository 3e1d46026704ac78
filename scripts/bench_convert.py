"""Measure the speed and memory of conversion and loading, compared with morph-kgc on the same file.

    python scripts/bench_convert.py --morph-kgc-python /path/to/its/environment/bin/python \
        --tables ../shared/data/wtq/tables

Each measurement runs in its own process; the programs alternate, and the median of the repetitions is shown.
morph-kgc gets a mapping written for the file, kgtable needs none.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pyoxigraph as ox

from kgtable.graph.table_encoder import TableShape
from kgtable.graph.terms import Namespaces
from kgtable.graph.writers import Format, whole_document
from kgtable.ontology.annotate import annotate
from kgtable.tables.discovery import find_files
from kgtable.tables.layout.detect import make_table
from kgtable.tables.loader import read_file

WORDS = (
    "alpha", "beta", "gamma", "delta", "omega", "sigma", "north", "south", "east", "west", "river", "lake",
    "hill", "stone",
)  # fmt: skip
HEADER = (
    "Item", "City", "Category", "Remark", "Status", "Supplier", "Contact", "Region", "Grade", "Note",
    "Quantity", "Price ($)", "Weight (kg)", "Share (%)", "Revenue ($ millions)", "Year built", "Height (m)",
    "Score", "Stock", "Change",
)  # fmt: skip

FILL = """
import sys, time
from pathlib import Path
from kgtable.building.load import fill_store
paths = [Path(name) for name in sys.argv[2:]]
start = time.perf_counter()
fill_store(Path(sys.argv[1]), paths)
print(time.perf_counter() - start)
"""
BULK_LOAD = """
import sys, time
import pyoxigraph as ox
start = time.perf_counter()
store = ox.Store(sys.argv[1])
store.bulk_load(path=sys.argv[2], format=ox.RdfFormat.N_QUADS, lenient=True)
store.flush()
print(time.perf_counter() - start)
"""
BUILD = """
import json, sys
from kgtable.building.pipeline import build_graph
built = build_graph([sys.argv[1]], sys.argv[2], workers=int(sys.argv[3]))
changes = built.changes
print(json.dumps({"seconds": built.seconds, "cells": built.conversion.tally.cells,
    "quads": built.conversion.tally.predicates.total(),
    "tables": [len(changes.added), len(changes.changed), len(changes.removed), changes.unchanged]}))
"""


@dataclass(frozen=True)
class Run:
    """One process: wall and CPU seconds, peak memory in MB, and its output."""

    wall: float
    cpu: float
    megabytes: float
    printed: str


def run(command: Sequence[str | Path], folder: Path) -> Run:
    """Run a command to its end; stop the benchmark if it fails."""
    printed = folder / "printed"
    start = time.perf_counter()
    with printed.open("w") as output:
        process = subprocess.Popen([str(part) for part in command], stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command[0]} failed:\n{printed.read_text()}")
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, printed.read_text())


def run_twice_at_once(command: Sequence[str | Path], out: Path) -> float:
    """Seconds until two runs of a command, with separate outputs beside `out`, have ended."""
    start = time.perf_counter()
    processes = [
        subprocess.Popen([str(out.with_suffix(f".{number}.nt") if part == out else part) for part in command])
        for number in range(2)
    ]
    if sum(process.wait() != 0 for process in processes):
        sys.exit(f"{command[0]} failed")
    return time.perf_counter() - start


def write_table(path: Path, rows: int) -> None:
    """Write a table of texts and numbers in 20 columns, the same for the same number of rows."""
    pick = random.Random(7)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        for row in range(rows):
            writer.writerow(
                [
                    f"Item {row}", f"City {pick.randrange(400)}", pick.choice(WORDS),
                    f"{pick.choice(WORDS)} {pick.choice(WORDS)} {pick.randrange(10**6)}",
                    pick.choice(["open", "closed", "new"]), f"Supplier {pick.randrange(5000)}",
                    f"{pick.choice(WORDS)}.{pick.randrange(99999)}@example.org", pick.choice(WORDS).title(),
                    pick.choice("ABCDE"), f"see {pick.choice(WORDS)}, {pick.choice(WORDS)}",
                    pick.randrange(10000), f"{pick.uniform(1, 5000):,.2f}", f"{pick.uniform(0, 90):.3f}",
                    f"{pick.uniform(0, 100):.1f}", f"{pick.uniform(1, 90000):,.1f}",
                    pick.randrange(1900, 2024), f"{pick.uniform(1, 300):.2f}", pick.randrange(100),
                    pick.randrange(10**6), f"{pick.uniform(-50, 50):.2f}",
                ]
            )  # fmt: skip


def write_mapping(folder: Path, table: Path) -> Path:
    """Write the RML mapping for morph-kgc: a predicate per column, the first column in the subject."""
    lines = [
        "@prefix rr: <http://www.w3.org/ns/r2rml#> .",
        "@prefix rml: <http://semweb.mmlab.be/ns/rml#> .",
        "@prefix ql: <http://semweb.mmlab.be/ns/ql#> .",
        "@prefix ex: <http://example.org/ontology#> .",
        f'<#M> rml:logicalSource [ rml:source "{table}" ; rml:referenceFormulation ql:CSV ] ;',
        f'  rr:subjectMap [ rr:template "http://example.org/data/row/{{{HEADER[0]}}}" ]',
    ]
    lines += (
        f'  ; rr:predicateObjectMap [ rr:predicate ex:p{index} ; rr:objectMap [ rml:reference "{name}" ] ]'
        for index, name in enumerate(HEADER)
    )
    (folder / "mapping.ttl").write_text("\n".join(lines) + " .\n")
    config = folder / "morph.ini"
    config.write_text(
        f"[CONFIGURATION]\noutput_file={folder / 'morph.nt'}\nnumber_of_processes=1\nlogging_level=ERROR\n"
        f"[DATA]\nmappings={folder / 'mapping.ttl'}\n"
    )
    return config


def bench_conversion(folder: Path, rows: int, repeat: int, morph: str | None) -> None:
    """Measure cells per second with one and two processes, and with morph-kgc."""
    table = folder / "table.csv"
    write_table(table, rows)
    cells = rows * len(HEADER)
    print(f"{rows:,} rows x {len(HEADER)} columns, {table.stat().st_size / 1e6:.1f} MB of CSV, to N-Triples")
    convert = (sys.executable, "-m", "kgtable", "convert", table, "-o", folder / "out.nt", "--workers")
    commands: dict[str, Sequence[str | Path]] = {
        "kgtable, 1 process": (*convert, "1"),
        "kgtable, 2 processes": (*convert, "2"),
    }
    if morph:
        commands["morph-kgc, 1 process"] = [morph, "-m", "morph_kgc", write_mapping(folder, table)]
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    twice: list[float] = []
    for _ in range(repeat):
        for name, command in commands.items():
            runs[name].append(run(command, folder))
        twice.append(run_twice_at_once(commands["kgtable, 1 process"], folder / "out.nt"))
    walls = {name: median(one.wall for one in measured) for name, measured in runs.items()}
    for name, measured in runs.items():
        cpu, peak = median(one.cpu for one in measured), max(one.megabytes for one in measured)
        print(
            f"  {name:22} {walls[name]:7.2f} s {cells / walls[name]:10,.0f} cells/s {cpu:7.2f} s of CPU {peak:6.0f} MB"
        )
    one = walls["kgtable, 1 process"]
    print(f"  two processes / one: {one / walls['kgtable, 2 processes']:.2f}")
    print(f"  two separate conversions at once / one after the other: {2 * one / median(twice):.2f}")
    if morph:
        ours, theirs = (runs[name] for name in ("kgtable, 1 process", "morph-kgc, 1 process"))
        print(f"  kgtable / morph-kgc, wall: {walls['morph-kgc, 1 process'] / one:.2f}")
        ratio = median(one.cpu for one in theirs) / median(one.cpu for one in ours)
        print(f"  kgtable / morph-kgc, CPU: {ratio:.2f}")
        for name in ("out.nt", "morph.nt"):
            with (folder / name).open("rb") as file:
                print(f"  {name}: {sum(1 for _ in file):,} triples")


def bench_memory(folder: Path, rows: int) -> None:
    """Measure peak memory with ten times the rows."""
    table = folder / "long.csv"
    write_table(table, rows)
    done = run([sys.executable, "-m", "kgtable", "convert", table, "-o", folder / "out.nt", "--workers", "1"], folder)
    print(f"{rows:,} rows: {done.megabytes:.0f} MB at the peak, {done.wall:.1f} s")
    table.unlink()


def bench_loading(folder: Path, repeat: int) -> None:
    """Measure the loading rate of a build, compared with a bare bulk_load of the same quads."""
    table = folder / "table.csv"
    run([sys.executable, "-m", "kgtable", "convert", table, "-o", folder / "all.nq", "--workers", "1"], folder)
    with (folder / "all.nq").open("rb") as file:
        quads = sum(1 for _ in file)
    ours: list[float] = []
    bare: list[float] = []
    for number in range(repeat):
        copy = folder / "copy.nq"
        copy.write_bytes((folder / "all.nq").read_bytes())
        for seconds, program, source in ((bare, BULK_LOAD, folder / "all.nq"), (ours, FILL, copy)):
            store = folder / f"store-{number}-{len(ours)}-{len(bare)}"
            seconds.append(float(run([sys.executable, "-c", program, store, source], folder).printed))
    print(
        f"loading {quads:,} quads: {quads / median(ours):,.0f} quads/s, bare bulk_load "
        f"{quads / median(bare):,.0f} quads/s, ratio {median(bare) / median(ours):.2f}"
    )


def bench_build(folder: Path, tables: Path, workers: int) -> None:
    """Time the stages of a full build, then builds after one table was added, changed, removed."""
    copy = folder / "tables"
    copy.mkdir()
    for path in tables.iterdir():
        (copy / path.name).symlink_to(path.resolve())
    command = (sys.executable, "-c", BUILD, copy, folder / "kg", str(workers))

    def build(title: str) -> float:
        done = run(command, folder)
        report = json.loads(done.printed)
        stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in report["seconds"].items())
        print(f"{title}: {done.wall:.1f} s, {done.megabytes:.0f} MB ({stages})", end="")
        print(f"; {report['cells']:,} cells, {report['quads']:,} quads, tables {report['tables']}")
        return done.wall

    print(f"{tables}, {workers} processes; tables: added, changed, removed, unchanged")
    full = build("  from nothing")
    (copy / "one-more.csv").write_text("Name,Height (m)\nTower,300\n", encoding="utf-8")
    added = build("  one added")
    (copy / "one-more.csv").write_text("Name,Height (m)\nTower,330\n", encoding="utf-8")
    changed = build("  one changed")
    (copy / "one-more.csv").unlink()
    removed = build("  one removed")
    print("  share of a full build: " + ", ".join(f"{part / full:.3f}" for part in (added, changed, removed)))


def bench_writing(folder: Path, rows: int, repeat: int) -> None:
    """Time kgtable's writers and pyoxigraph's serialiser over the statements of one table, in this process.

    Both get the statements in memory. pyoxigraph takes its own objects: they are made from the encoder's texts with
    each distinct term made once, which is the least that a conversion through it would cost. What it writes from
    objects that are there already is shown too.
    """
    table = folder / "table.csv"
    write_table(table, rows)
    names = Namespaces()
    (grid,) = (grid for file in find_files([table]) for grid in read_file(file))
    shape = TableShape(annotate(make_table(grid)), names)
    blocks = [*shape.description(), *(block for batch in shape.rows(enumerate(grid.rows)) for block in batch)]
    graph = ox.NamedNode(shape.graph[1:-1])

    def objects() -> list[ox.Quad]:
        known: dict[str, ox.NamedNode | ox.Literal] = {}

        def term(text: str) -> ox.NamedNode | ox.Literal:
            if text not in known:
                known[text] = next(iter(ox.parse(f"<x:s> <x:p> {text} .", ox.RdfFormat.TURTLE))).object  # type: ignore[assignment]
            return known[text]

        for _, pairs in blocks:
            for _, value in pairs:
                term(value)
        began[0] = time.perf_counter()
        return [
            ox.Quad(ox.NamedNode(subject[1:-1]), ox.NamedNode(predicate[1:-1]), known[value], graph)
            for subject, pairs in blocks
            for predicate, value in pairs
        ]

    began = [0.0]
    statements = sum(len(tuple(pairs)) for _, pairs in blocks)
    for ours, theirs, prefixes in (
        (Format.NQUADS, ox.RdfFormat.N_QUADS, None),
        (Format.TRIG, ox.RdfFormat.TRIG, dict(names.prefixes)),
        (Format.JSONLD, ox.RdfFormat.JSON_LD, dict(names.prefixes)),
    ):
        seconds: dict[str, list[float]] = {"kgtable": [], "objects": [], "pyoxigraph": []}
        sizes = {}
        for _ in range(repeat):
            start = time.perf_counter()
            text = "".join(whole_document(ours, names, [(shape.graph, blocks)])).encode()
            seconds["kgtable"].append(time.perf_counter() - start)
            quads = objects()
            made = time.perf_counter()
            seconds["objects"].append(made - began[0])
            written = ox.serialize(quads, format=theirs, prefixes=prefixes) or b""
            seconds["pyoxigraph"].append(time.perf_counter() - made)
            sizes = {"kgtable": len(text), "pyoxigraph": len(written)}
            del quads
        rates = ", ".join(f"{name} {statements / median(times):,.0f}" for name, times in seconds.items())
        print(f"{ours.value}, {statements:,} statements, statements a second: {rates}; bytes: {sizes}")


def main() -> None:
    """Run the selected benchmarks."""
    parser = argparse.ArgumentParser(description="Measure the speed and memory of conversion and loading.")
    parser.add_argument("--morph-kgc-python", help="Python of an environment with morph-kgc 2.10")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--tables", type=Path, help="folder of tables to build from")
    parser.add_argument("--only", choices=("conversion", "memory", "loading", "build", "writing"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.only in (None, "conversion"):
            bench_conversion(folder, arguments.rows, arguments.repeat, arguments.morph_kgc_python)
        if arguments.only in (None, "memory"):
            bench_memory(folder, arguments.rows)
            bench_memory(folder, 10 * arguments.rows)
        if arguments.only in (None, "loading"):
            write_table(folder / "table.csv", arguments.rows)
            bench_loading(folder, arguments.repeat)
        if arguments.only == "writing":
            bench_writing(folder, arguments.rows, arguments.repeat)
        if arguments.tables and arguments.only in (None, "build"):
            bench_build(folder, arguments.tables, 2)


if __name__ == "__main__":
    main()
