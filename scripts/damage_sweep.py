"""Damage each file of a graph directory at seeded places: each command ends in the same result or in one line.

    python scripts/damage_sweep.py --places 50

A graph of some samples is built, with `--updated` with a graph of a user's in its store. At each place of each file a
bit is flipped, a block is zeroed or the file is cut off there; once it is removed. Then `info`, `ask`, `sparql`,
`retrieve` and `export` run, in a process of their own that never read the graph before: each ends in the result that it
has for the whole graph, or in one clear line. Then `build` runs: it ends in one line, or the commands give the results
again that they have for the whole graph. Every `--every`-th damage the build is one with a changed and a new table: it
ends in one line, or in the graph that it makes of the whole graph.

A traceback, a signal, a run of more than a minute, more than three lines of error and another result are faults; so is
a build that ends well where a question is not answered afterwards. Exits with 1 on a fault.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import importlib
import json
import multiprocessing
import os
import pkgutil
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyoxigraph as ox

import kgtable
from kgtable.building.generations import GraphDirectory
from kgtable.cli.main import main as command_line
from kgtable.graph.store import WorkingStore
from kgtable.ontology.mapping_files import STATE

SAMPLES = Path(kgtable.__file__).parent / "samples"
TABLES = ("halden-segments.csv", "halden-segments.json", "planets.csv", "planets.json")
QUESTION = "What was the revenue of Laboratory in 2024?"
LONGEST = 60
MOST_LINES = 3
EDITED = re.compile(r"ontology\.(tables\.)?(csv|xlsx)")
"""Files that people edit: damage there cannot be told from an edit, so what a build makes of it may differ. Without the
state beside them every cell counts as a decision, as its message says."""

Damage = Callable[[bytes, int], bytes | None]


def flip(data: bytes, place: int) -> bytes:
    """Change a bit."""
    return data[:place] + bytes([data[place] ^ (1 << place % 8)]) + data[place + 1 :]


def cut(data: bytes, place: int) -> bytes:
    """Leave out what follows."""
    return data[:place]


def zero(data: bytes, place: int) -> bytes:
    """Overwrite a block with zeros, as a lost sector does."""
    return data[:place] + bytes(len(data[place : place + 512])) + data[place + 512 :]


def remove(data: bytes, place: int) -> None:
    """Remove the file."""


DAMAGES: tuple[Damage, ...] = (flip, cut, zero)


@dataclass(frozen=True)
class Ending:
    """How a command ended: exit status (negative: a signal), hash of its output, messages."""

    status: int
    output: str
    said: str

    def fault(self) -> str:
        """What is wrong with how it ended; empty where nothing is."""
        if self.status < 0:
            return "took too long" if self.status == -signal.SIGALRM else f"ended by signal {-self.status}"
        if "Traceback" in self.said or self.status == 70:
            return "traceback: " + (self.said.strip().splitlines() or [""])[-1][:200]
        if len(self.said.strip().splitlines()) > MOST_LINES:
            return f"{len(self.said.strip().splitlines())} lines of messages"
        return ""


def reading_commands(graph: Path) -> dict[str, list[str]]:
    """What is asked of a graph."""
    kg = ["--kg", str(graph)]
    return {
        "info": ["info", *kg],
        "ask": ["ask", QUESTION, *kg],
        "sparql": ["sparql", "SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } }", *kg],
        "retrieve": ["retrieve", QUESTION, *kg],
        "export": ["export", *kg, "-o", "-", "--as", "nquads"],
    }


def load() -> None:
    """Import what the commands import, so that their processes need not."""
    for module in pkgutil.walk_packages(kgtable.__path__, "kgtable."):
        room = module.name.split(".")[1]
        if room not in ("__main__", "integrations", "server", "evaluation") and "worker" not in module.name:
            with suppress(ImportError):
                importlib.import_module(module.name)


def warm_up(commands: dict[str, list[str]]) -> None:
    """Run commands here once, so that what they prepare is there in the processes that are forked."""
    with open(os.devnull, "w") as nothing, redirect_stdout(nothing):
        for arguments in commands.values():
            with suppress(SystemExit):
                command_line.main(arguments, prog_name="kgtable")


def _in_this_process(arguments: Sequence[str]) -> tuple[int, str, str]:
    """Run a command in a process that was forked for it; standard output and errors go to files in memory."""
    outputs = [os.memfd_create(name) for name in ("output", "errors")]
    for number, output in zip((1, 2), outputs, strict=True):
        os.dup2(output, number)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
    status = 0
    try:
        command_line.main(list(arguments), prog_name="kgtable")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(bool(end.code))
    except BaseException:
        traceback.print_exc()
        status = 70
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    texts = [os.pread(output, os.fstat(output).st_size, 0) for output in outputs]
    for output in outputs:
        os.close(output)
    return status, hashlib.sha256(texts[0]).hexdigest(), texts[1].decode("utf-8", "replace")


def run(commands: dict[str, list[str]]) -> dict[str, Ending]:
    """How commands end that run one after another in a process forked for them.

    One that ends the process is the last; the others run in another process then.
    """
    names = list(commands)
    found: dict[str, Ending] = {}
    while len(found) < len(names):
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for name in names[len(found) :]:
                signal.alarm(LONGEST)
                os.write(writing, json.dumps(_in_this_process(commands[name])).encode() + b"\n")
            os._exit(0)
        os.close(writing)
        with open(reading, "rb") as pipe:
            for line in pipe:
                found[names[len(found)]] = Ending(*json.loads(line))
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if len(found) < len(names):
            found[names[len(found)]] = Ending(ended or 70, "", "")
    return found


def write_notes(graph: Path) -> None:
    """Write a graph of a user's into the store, as a server's update does."""
    working = WorkingStore(GraphDirectory(graph).current().first_store_path)
    name = ox.NamedNode("http://example.com/notes")
    for number in range(20):
        note = ox.Literal(f"Note {number}")
        working.store.add(ox.Quad(ox.NamedNode(f"http://example.com/{number}"), name, note, name))
    working.store.flush()
    working.publish()
    working.close()


def build_command(source: Path, graph: Path, embedding: str) -> list[str]:
    """The command that builds."""
    return ["build", str(source), "--kg", str(graph), "-q", "--embedding", embedding]


@dataclass
class Sweep:
    """Damages and what became of them."""

    folder: Path
    embedding: str
    updated: bool
    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """Build the whole graph, and learn what the commands say of it."""
        self.source, self.whole, self.broken = (self.folder / name for name in ("tables", "whole", "broken"))
        self.changed = self.folder / "changed" / "tables"
        for folder in (self.source, self.changed):
            folder.mkdir(parents=True)
            for name in TABLES:
                shutil.copy(SAMPLES / name, folder)
        with (self.changed / "planets.csv").open("a", encoding="utf-8") as file:
            file.write("Planet Nine,1\n")
        (self.changed / "new.csv").write_text("Ship,Crew,Length (m)\nAda,12,30.5\nGrace,8,22\n")
        # Builds start threads in the engine, so their processes come from one in which it never ran.
        self.builder = ProcessPoolExecutor(1, multiprocessing.get_context("fork"))
        command = build_command(self.source, self.whole, self.embedding)
        made = self.builder.submit(run, {"build": command}).result()["build"]
        if made.status:
            sys.exit(made.said)
        if self.updated:
            with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as writer:
                writer.submit(write_notes, self.whole).result()
        self.reads = reading_commands(self.broken)
        self.telling = {name: self.reads[name] for name in ("ask", "export")}
        self.restore()
        warm_up(self.reads)
        self.expected = run(self.reads)
        if run(self.reads) != self.expected or any(end.status for end in self.expected.values()):
            sys.exit(f"The commands do not give the same results twice: {self.expected}")
        if self.build(self.changed).status:
            sys.exit("The changed tables cannot be built.")
        self.expected_of_changed = run(self.reads)

    def restore(self) -> None:
        """Put the whole graph where commands find it; files of its generations, which nothing changes, are links."""
        shutil.rmtree(self.broken, ignore_errors=True)
        shutil.copytree(
            self.whole,
            self.broken,
            copy_function=lambda a, b: os.link(a, b) if "/generations/" in a else shutil.copyfile(a, b),
        )

    def damage(self, path: Path, damage: Damage, place: int) -> None:
        """Restore the graph and damage a file of it."""
        self.restore()
        data = damage((self.whole / path).read_bytes(), place)
        (self.broken / path).unlink()
        if data is not None:
            (self.broken / path).write_bytes(data)

    def build(self, source: Path) -> Ending:
        """Build the graph."""
        command = build_command(source, self.broken, self.embedding)
        return self.builder.submit(run, {"build": command}).result()["build"]

    def generation(self) -> int | None:
        """The number of the current generation, None where nothing tells it."""
        with suppress(Exception):
            return GraphDirectory(self.broken).current().number
        return None

    def note(self, what: str, outcome: str, fault: str = "") -> None:
        """Count an outcome."""
        name, _, about = what.partition(" ")
        self.outcomes[f"{name}: {outcome}"] += 1
        if fault:
            self.wrong[f"{name} {about.split(' at ')[0]} {about.partition(' in ')[2]}: {fault}"] += 1
            if self.wrong.total() <= 40:
                print(f"{name} {about}: {fault}", flush=True)

    def judge(
        self, what: str, end: Ending, expected: Ending, *, must: bool = False, free: bool = False
    ) -> None:
        """Note how a command ended: as it should, refused (a fault if it `must` not be), or with a fault."""
        if fault := end.fault():
            self.note(what, "fault", fault)
        elif end.status:
            self.note(what, "refused in a line", f"refused: {end.said.strip()[:200]}" if must else "")
        elif end.output == expected.output:
            self.note(what, "same result")
        else:
            self.note(what, "other result", "" if free else "another result")

    def check(self, path: Path, damage: Damage, place: int, *, with_changes: bool) -> None:
        """Damage a place, run the commands and judge."""
        about = f"after {damage.__name__} at {place} in {path}"
        free = EDITED.fullmatch(str(path)) is not None or (path.name == STATE and damage is remove)
        self.damage(path, damage, place)
        before = self.generation()
        first = run(self.reads)
        for name, end in first.items():
            self.judge(f"{name} {about}", end, self.expected[name])
        end = self.build(self.source)
        if end.status or end.fault():
            self.judge(f"build {about}", end, end)
        else:
            done = before is not None and self.generation() == before
            self.note(f"build {about}", "nothing to do" if done else "made again")
            # A build may mend a file without a new generation: then what was refused before it does not stand any more.
            stands = done and not any(end.status for end in first.values())
            for name, end in (first if stands else run(self.telling)).items():
                if name != "info":  # it tells the number of the build
                    self.judge(f"{name}-after-build {about}", end, self.expected[name], must=True, free=free)
        if not with_changes:
            return
        self.damage(path, damage, place)
        end = self.build(self.changed)
        if end.status or end.fault():
            self.judge(f"changing-build {about}", end, end)
            return
        self.note(f"changing-build {about}", "done")
        for name, end in run(self.telling).items():
            if name != "info":
                what = f"{name}-after-changing-build {about}"
                self.judge(what, end, self.expected_of_changed[name], must=True, free=free)


def cases(graph: Path, places: int, chance: random.Random) -> Iterator[tuple[Path, Damage, int]]:
    """Files, damages and places."""
    for path in sorted(path.relative_to(graph) for path in graph.rglob("*") if path.is_file()):
        size = (graph / path).stat().st_size
        yield path, remove, 0
        for number in range(min(places, 3 * size)):
            yield path, DAMAGES[number % 3], chance.randrange(size)


def hashes(folder: Path) -> dict[str, str]:
    """The hashes of the files in a folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def main() -> None:
    """Build, damage, run, report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--places", type=int, default=50, help="places in each file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--embedding", default="none", help="of the graph that is damaged")
    parser.add_argument("--updated", action="store_true", help="of a graph that a user has written to")
    parser.add_argument("--only", default="", help="a pattern for the names of files")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many")
    parser.add_argument(
        "--every", type=int, default=5, help="each so many-th damage has a build with changes"
    )
    options = parser.parse_args()
    load()
    started = time.monotonic()
    shared = Path("/dev/shm")
    place = shared if shared.is_dir() and os.access(shared, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as name:
        sweep = Sweep(Path(name), options.embedding, options.updated)
        todo = list(cases(sweep.whole, options.places, random.Random(options.seed)))
        todo = [case for case in todo if re.search(options.only, str(case[0]))]
        if options.seconds < float("inf"):
            random.Random(options.seed).shuffle(todo)
        before = hashes(sweep.whole)
        gc.collect()
        gc.freeze()  # so that forked processes share what is loaded
        done = 0
        for path, damage, at in todo:
            if time.monotonic() - started > options.seconds:
                break
            sweep.check(path, damage, at, with_changes=done % options.every == 0)
            done += 1
            if done % 200 == 0:
                seconds, faults = time.monotonic() - started, sweep.wrong.total()
                print(f"{done:,} of {len(todo):,} damages, {faults} faults, {seconds:,.0f} s", flush=True)
        sweep.builder.shutdown()
        if hashes(sweep.whole) != before:
            sweep.note(
                "files of the whole graph", "fault", "something changed a file of a complete generation"
            )
    files = len({path for path, _, _ in todo[:done]})
    print(
        f"{done:,} damages in {files} files, {sweep.outcomes.total():,} endings,"
        f" {time.monotonic() - started:,.0f} s"
    )
    for outcome, count in sorted(sweep.outcomes.items()):
        print(f"  {outcome}: {count:,}")
    print(f"faults: {sweep.wrong.total()}")
    for fault, count in sweep.wrong.most_common(60):
        print(f"  {count} × {fault}")
    sys.exit(bool(sweep.wrong))


if __name__ == "__main__":
    main()
