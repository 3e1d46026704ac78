"""Measure the speed and memory of conversion and loading, compared with morph-kgc and maplib on the same file.

    python scripts/bench_convert.py --morph-kgc-python PYTHON --maplib-python PYTHON

Each measurement runs in its own process; the programs alternate, and the median of the repetitions is shown.
morph-kgc gets a mapping written for the file; maplib maps each column to a predicate, and kgtable needs neither.
"""

from __future__ import annotations

import argparse
import csv
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
MAPLIB = """
import sys
import polars
from maplib import Model
table = polars.read_csv(sys.argv[1])
subject = "http://example.org/data/row/" + polars.col(table.columns[0]).str.replace_all(" ", "%20")
table = table.with_columns(subject.alias("id")).rename({name: f"p{at}" for at, name in enumerate(table.columns)})
model = Model()
model.map_default(table, "id")
model.write(sys.argv[2], format="ntriples")
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


def bench_conversion(folder: Path, rows: int, repeat: int, morph: str | None, maplib: str | None) -> None:
    """Measure cells per second with one and two processes, and with other programs."""
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
    if maplib:
        commands["maplib"] = [maplib, "-c", MAPLIB, table, folder / "maplib.nt"]
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for _ in range(repeat):
        for name, command in commands.items():
            runs[name].append(run(command, folder))
    walls = {name: median(one.wall for one in measured) for name, measured in runs.items()}
    for name, measured in runs.items():
        cpu, peak = median(one.cpu for one in measured), max(one.megabytes for one in measured)
        print(
            f"  {name:22} {walls[name]:7.2f} s {cells / walls[name]:10,.0f} cells/s {cpu:7.2f} s of CPU {peak:6.0f} MB"
        )
    one = walls["kgtable, 1 process"]
    print(f"  two processes / one: {one / walls['kgtable, 2 processes']:.2f}")
    ours = median(one.cpu for one in runs["kgtable, 1 process"])
    for name in list(runs)[2:]:
        theirs = median(one.cpu for one in runs[name])
        print(f"  kgtable / {name}: {walls[name] / one:.2f} of wall time, {theirs / ours:.2f} of CPU")
    for path in sorted(folder.glob("*.nt")):
        with path.open("rb") as file:
            print(f"  {path.name}: {sum(1 for _ in file):,} triples")


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


def main() -> None:
    """Run the selected benchmarks."""
    parser = argparse.ArgumentParser(description="Measure the speed and memory of conversion and loading.")
    parser.add_argument("--morph-kgc-python", help="Python of an environment with morph-kgc 2.10")
    parser.add_argument("--maplib-python", help="Python of an environment with maplib 0.20")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", choices=("conversion", "memory", "loading"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.only in (None, "conversion"):
            bench_conversion(
                folder, arguments.rows, arguments.repeat, arguments.morph_kgc_python, arguments.maplib_python
            )
        if arguments.only in (None, "memory"):
            bench_memory(folder, arguments.rows)
            bench_memory(folder, 10 * arguments.rows)
        if arguments.only in (None, "loading"):
            write_table(folder / "table.csv", arguments.rows)
            bench_loading(folder, arguments.repeat)


if __name__ == "__main__":
    main()
