"""Kill builds at random instants; check that the next build finishes the work and readers see whole tables.

    python scripts/kill_test.py ../shared/data/wtq/tables --kills 30

An undisturbed build gives the reference dump. Then builds are killed (SIGKILL) at random instants, in turn:
from nothing, on a graph that lacks a twentieth of the tables (changed in a copy), and on one that lacks two
thirds (filled anew). After each kill a build runs to its end, and its dump must equal the reference.
Meanwhile a reader keeps opening the graph, and every table it finds must have all its rows. Exits with 1 on
any difference.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pyoxigraph as ox

from kgtable.building.catalogue import Catalogue
from kgtable.building.generations import GraphDirectory
from kgtable.errors import GraphError
from kgtable.graph.store import EmbeddedStore
from kgtable.graph.terms import Namespaces

BUILD = """
import sys
from kgtable.building.pipeline import build_graph
if __name__ == "__main__":
    build_graph([sys.argv[1]], sys.argv[2], workers=2)
"""
ROWS = "SELECT ?table ?row WHERE { GRAPH ?table { ?row kgt:row ?number ; kgt:table ?table } }"


def build(tables: Path, kg: Path) -> float:
    """Run a build to its end; returns the seconds."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", BUILD, tables, kg], check=True)
    return time.perf_counter() - start


def dump_hash(kg: Path) -> str:
    """Hash of the sorted N-Quads of a graph."""
    store = ox.Store.read_only(str(GraphDirectory(kg).current().store_path))
    digest = hashlib.sha256()
    for line in sorted(map(str, store)):
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()


def link_tables(files: Sequence[Path], folder: Path) -> Path:
    """Make a folder with links to the files."""
    folder.mkdir()
    for path in files:
        (folder / path.name).symlink_to(path.resolve())
    return folder


class Reader(threading.Thread):
    """A thread that keeps opening the graph and counts what it finds."""

    def __init__(self, kg: Path) -> None:
        super().__init__(daemon=True)
        self.kg = kg
        self.done = threading.Event()
        self.reads = 0
        self.faults: list[str] = []

    def run(self) -> None:
        """Read until `done` is set."""
        random_table = random.Random(5)
        while not self.done.wait(0.2):
            try:
                generation = GraphDirectory(self.kg).lease()
            except GraphError:
                continue  # no generation is complete yet
            names = Namespaces(generation.base)
            tables = list(Catalogue.load(generation.catalogue_path).tables.values())
            store = EmbeddedStore(generation.store_path, names.prefixes)
            for table in random_table.sample(tables, min(20, len(tables))):
                results = store.query(ROWS, bindings={"table": ox.NamedNode(names.table_iri(table.id))})
                rows = sum(1 for _ in results)  # type: ignore[misc]
                self.reads += 1
                if rows != table.rows:
                    self.faults.append(f"{table.id}: {rows} rows of {table.rows}")


def main() -> None:
    """Run the test and print the result."""
    parser = argparse.ArgumentParser(description="Kill builds at random instants and check what the next build makes.")
    parser.add_argument("tables", type=Path)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    pick = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        originals = sorted(arguments.tables.iterdir())
        tables = link_tables(originals, folder / "tables")
        seconds = build(tables, folder / "undisturbed")
        expected = dump_hash(folder / "undisturbed")
        print(f"undisturbed build: {seconds:.0f} s, dump {expected[:16]}", flush=True)
        starts: list[Path | None] = [None]
        for title, kept in (("most", originals[: -len(originals) // 20]), ("few", originals[::3])):
            build(link_tables(kept, folder / f"{title}-tables"), folder / title)
            starts.append(folder / title)
        reader = Reader(folder / "few")
        reader.start()
        equal = 0
        for kill in range(arguments.kills):
            kg, start = folder / f"kg{kill}", starts[kill % len(starts)]
            if start is not None:
                shutil.copytree(start, kg)
            reader.kg = kg
            process = subprocess.Popen([sys.executable, "-c", BUILD, tables, kg])
            instant = pick.uniform(0.2, seconds if start is None or start.name == "few" else seconds / 3)
            time.sleep(instant)
            process.send_signal(signal.SIGKILL)
            killed = process.wait() == -signal.SIGKILL
            build(tables, kg)
            same = dump_hash(kg) == expected
            equal += same
            state = "killed" if killed else "was done"
            origin = "nothing" if start is None else start.name
            print(f"{kill + 1}. from {origin}, {state} at {instant:.1f} s: {'equal' if same else 'DIFFERENT'}")
            sys.stdout.flush()
            shutil.rmtree(folder / f"kg{kill - 1}", ignore_errors=True)
        reader.done.set()
        reader.join()
    print(f"{equal} of {arguments.kills} equal; {reader.reads} reads beside, {len(reader.faults)} faults")
    for fault in reader.faults[:10]:
        print(f"  {fault}")
    sys.exit(0 if equal == arguments.kills and not reader.faults else 1)


if __name__ == "__main__":
    main()
