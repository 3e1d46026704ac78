"""Damage each file of a graph directory at seeded places and run commands on it: each ends in one line, or rebuilds.

    python scripts/damage_sweep.py --places 50

A graph of the samples is built. At each place of each file a bit is flipped, a block is zeroed or the
file is cut off there; then `info`, `ask`, `sparql`, `retrieve`, `export` and `build` run, each in a process of its own.
A traceback, a signal, a run of more than a minute, or more than three lines of error is a fault; so is a build after
which a question is not answered. Exits with 1 on a fault.
"""

from __future__ import annotations

import argparse
import importlib
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
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout, suppress
from pathlib import Path

import kgtable
from kgtable.cli.main import main as command_line

SAMPLES = Path(kgtable.__file__).parent / "samples"
QUESTION = "What was the revenue of Laboratory in 2024?"
LONGEST = 60
MOST_LINES = 3
Damage = Callable[[bytes, int], bytes]


def flip(data: bytes, place: int) -> bytes:
    """Change a bit."""
    return data[:place] + bytes([data[place] ^ (1 << place % 8)]) + data[place + 1 :]


def cut(data: bytes, place: int) -> bytes:
    """Leave out what follows."""
    return data[:place]


def zero(data: bytes, place: int) -> bytes:
    """Overwrite a block with zeros, as a lost sector does."""
    return data[:place] + bytes(len(data[place : place + 512])) + data[place + 512 :]


DAMAGES: tuple[Damage, ...] = (flip, cut, zero)


def commands(graph: Path, source: Path, embedding: str) -> dict[str, list[str]]:
    """What is run on the damaged graph."""
    kg = ["--kg", str(graph)]
    return {
        "info": ["info", *kg],
        "ask": ["ask", QUESTION, *kg],
        "sparql": ["sparql", "SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } }", *kg],
        "retrieve": ["retrieve", QUESTION, *kg],
        "export": ["export", *kg, "-o", "/dev/null", "--as", "nquads"],
        "build": ["build", str(source), *kg, "-q", "--embedding", embedding],
    }


def load() -> None:
    """Import what the commands import, so that their processes need not."""
    for module in pkgutil.walk_packages(kgtable.__path__, "kgtable."):
        room = module.name.split(".")[1]
        if room not in ("__main__", "integrations", "server", "evaluation") and "worker" not in module.name:
            with suppress(ImportError):
                importlib.import_module(module.name)


def warm_up(todo: dict[str, list[str]]) -> None:
    """Run the reading commands here once, so that what they prepare is there in the processes that are forked."""
    with open(os.devnull, "w") as nothing, redirect_stdout(nothing):
        for name, arguments in todo.items():
            if name != "build":
                with suppress(SystemExit):
                    command_line.main(arguments, prog_name="kgtable")


def run(arguments: list[str]) -> tuple[int, str]:
    """The exit status (negative: a signal) and the messages of a command, run in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        signal.alarm(LONGEST)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        os.dup2(writing, 2)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
        status = 0
        try:
            command_line.main(arguments, prog_name="kgtable")
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(bool(end.code))
        except BaseException:
            traceback.print_exc()
            status = 70
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(status)
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = pipe.read().decode("utf-8", "replace")
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said


def faults(status: int, said: str) -> str:
    """What is wrong with how a command ended; empty where nothing is."""
    if status < 0:
        return "took too long" if status == -signal.SIGALRM else f"ended by signal {-status}"
    if "Traceback" in said or status == 70:
        return "traceback: " + (said.strip().splitlines() or [""])[-1][:200]
    if len(said.strip().splitlines()) > MOST_LINES:
        return f"{len(said.strip().splitlines())} lines of messages"
    return ""


def cases(graph: Path, places: int, chance: random.Random) -> Iterator[tuple[Path, Damage, int]]:
    """Files, damages and places."""
    for path in sorted(path.relative_to(graph) for path in graph.rglob("*") if path.is_file()):
        size = (graph / path).stat().st_size
        for number in range(min(places, 3 * size)):
            yield path, DAMAGES[number % 3], chance.randrange(size)


def main() -> None:
    """Build, damage, run, report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--places", type=int, default=50, help="places in each file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--embedding", default="none", help="of the graph that is damaged")
    parser.add_argument("--only", default="", help="a pattern for the names of files")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many")
    options = parser.parse_args()
    load()
    outcomes: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, whole, broken = folder / "tables", folder / "whole", folder / "broken"
        shutil.copytree(SAMPLES, source)
        # Builds start threads in the engine, so their processes come from one in which it never ran.
        builder = ProcessPoolExecutor(1, multiprocessing.get_context("fork"))
        first = ["build", str(source), "--kg", str(whole), "--embedding", options.embedding]
        status, said = builder.submit(run, first).result()
        if status:
            sys.exit(said)
        warm_up(commands(whole, source, options.embedding))
        done = 0
        todo = list(cases(whole, options.places, random.Random(options.seed)))
        if options.seconds < float("inf"):
            random.Random(options.seed).shuffle(todo)
        for path, damage, place in todo:
            if not re.search(options.only, str(path)):
                continue
            if time.monotonic() - started > options.seconds:
                break
            done += 1
            if done % 200 == 0:
                print(
                    f"{done:,} damages, {wrong.total()} faults, {time.monotonic() - started:,.0f} s",
                    flush=True,
                )
            todo_here = commands(broken, source, options.embedding)
            for name, arguments in todo_here.items():
                if name in ("info", "build"):
                    shutil.rmtree(broken, ignore_errors=True)
                    shutil.copytree(whole, broken)
                    (broken / path).write_bytes(damage((whole / path).read_bytes(), place))
                status, said = builder.submit(run, arguments).result() if name == "build" else run(arguments)
                fault = faults(status, said)
                if name == "build" and not fault and not status:
                    again, told = run(todo_here["ask"])
                    outcomes[f"build, then ask: {'right' if not again else 'refused'}"] += 1
                    fault = (
                        faults(again, told) or (again and f"then not answered: {told.strip()[:200]}") or ""
                    )
                    said = told
                outcomes[
                    f"{name}: {'done' if not status else 'refused in a line' if not fault else 'fault'}"
                ] += 1
                if fault:
                    wrong[f"{name} after {damage.__name__} in {path}: {fault}"] += 1
                    if wrong.total() < 20:
                        print(f"{name} after {damage.__name__} at {place} in {path}: {fault}", flush=True)
    print(f"{done:,} damages, {outcomes.total():,} commands in {time.monotonic() - started:,.0f} s")
    for outcome, count in sorted(outcomes.items()):
        print(f"  {outcome}: {count:,}")
    print(f"faults: {wrong.total()}")
    for fault, count in wrong.most_common(30):
        print(f"  {count} × {fault}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
