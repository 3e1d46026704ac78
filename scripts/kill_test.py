"""Kill a build again and again, finish it, and compare the graph with that of an undisturbed build.

    python scripts/kill_test.py FOLDER [--kills 30] [--seed 1]

While the builds run, a reader keeps opening the graph and counts the tables it sees: all or none.
Exits with 1 where the dumps differ or a reader saw a part.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyoxigraph as ox

import kgtable
from kgtable.errors import GraphNotFoundError
from kgtable.graph.generation import GraphDirectory

BUILD = "import sys; from kgtable import build; build(sys.argv[1], sys.argv[2], embedding='none', workers=2)"


def start(tables: Path, graph: Path) -> subprocess.Popen[bytes]:
    """A build in a process of its own."""
    return subprocess.Popen([sys.executable, "-c", BUILD, str(tables), str(graph)])


def dump(graph: Path) -> list[str]:
    """Every statement of the graph, sorted."""
    return sorted(map(str, ox.Store.read_only(str(GraphDirectory(graph).current().store_path))))


def tables_seen(graph: Path) -> int | None:
    """How many tables a reader finds, None where there is no graph yet."""
    try:
        return len(kgtable.open(graph).tables)
    except GraphNotFoundError:
        return None


def main() -> int:
    """Run the comparison and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as place:
        calm, disturbed = Path(place, "calm"), Path(place, "disturbed")
        begun = time.monotonic()
        start(arguments.folder, calm).wait()
        needed = time.monotonic() - begun
        expected = dump(calm)
        seen: set[int | None] = set()
        finished = 0
        for _ in range(arguments.kills):
            process = start(arguments.folder, disturbed)
            deadline = time.monotonic() + chance.uniform(0, needed)
            while time.monotonic() < deadline and process.poll() is None:
                seen.add(tables_seen(disturbed))
                time.sleep(0.5)
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                process.wait()
            else:
                finished += 1
                seen.add(tables_seen(disturbed))
                shutil.rmtree(disturbed)
        start(arguments.folder, disturbed).wait()
        seen.add(tables_seen(disturbed))
        same = dump(disturbed) == expected
    whole = sorted(count for count in seen if count is not None)
    print(f"undisturbed build: {needed:.1f} s, {len(expected):,} statements")
    print(f"{arguments.kills} kills, {finished} of them too late; each of these began anew")
    print(f"tables seen by the reader: {whole}; dumps {'equal' if same else 'DIFFER'}")
    return 0 if same and len(whole) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
