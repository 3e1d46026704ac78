"""Measure ``kgtable serve`` under load, compared with ``oxigraph serve-read-only`` on the same store.

Usage: ``python scripts/bench_server.py [--seconds 5] [--bombs 120] [--clients 16] [--rounds 5]``.
Needs the package ``oxigraph`` (PyPI). Makes a graph of many small tables, then measures

- small queries, all different: throughput, p50 and p99 of both servers, and the processor time that each takes for a
  query with all its processes, which depends less on what else the machine does; alternating, several rounds;
- small queries that repeat, as pages and dashboards send them;
- a mix with expensive queries (cross products, huge results, slow regular expressions) and syntax errors
  against kgtable alone: whether every response is complete and correct, small queries stay fast, and memory
  stays bounded.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import itertools
import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from pathlib import Path
from threading import Event, Thread

from load_client import Hit, Shot, client, get, percentile

TABLES, ROWS = 300, 100
NUMBERS = " ".join(f"VALUES ?v{n} {{ 0 1 2 3 4 5 6 7 8 9 }}" for n in range(12))
PAIRS = "GRAPH ?g { ?s ?p ?o } GRAPH ?h { ?t ?q ?r }"
REGEX = f"{PAIRS} FILTER(REGEX(STR(?o), '(a|b|ab)*c(.*)*d'))"
BOMBS = (
    ("cross product", f"SELECT (COUNT(*) AS ?n) {{ {NUMBERS} }}", {503}),
    ("huge result", "SELECT * { GRAPH ?g { ?a ?b ?c } GRAPH ?h { ?d ?e ?f } } LIMIT 3000000", {503}),
    ("slow regex", f"SELECT (COUNT(*) AS ?n) {{ {REGEX} }}", {503}),
    ("syntax error", "SELECT * { ?s ?p ", {400}),
)  # fmt: skip


def make_tables(folder: Path) -> None:
    """Write small tables with labels and numbers."""
    folder.mkdir(parents=True)
    for table in range(TABLES):
        with (folder / f"t{table}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["Name", "Size in kg", "Price in USD", "Share in %"])
            for row in range(ROWS):
                writer.writerow([f"item {table} {row}", row * 3, row / 4, row % 100])


def small(number: int) -> tuple[str, str]:
    """A small query and the text its response must contain."""
    table, row = divmod(number % (TABLES * ROWS), ROWS)
    iri = f"http://example.org/data/table/t{table}/row/{row + 1}"
    label = f"item {table} {row}"
    return f"SELECT ?p ?o {{ GRAPH ?g {{ <{iri}> ?p ?o }} }}", label


def shots(path: str, seed: str, pool: int | None, bombs: float) -> Iterator[Shot]:
    """Endless requests: small queries (`pool` different ones, or all different) and a share of bombs."""
    random_ = random.Random(seed)
    for number in itertools.count():
        if random_.random() < bombs:
            kind, query, statuses = random_.choice(BOMBS)
            query += f" # {random_.random()}"
            yield Shot(kind, get(path, query), lambda status, body, wanted=statuses: status in wanted)
        else:
            query, label = small(random_.randrange(pool or TABLES * ROWS))
            query += "" if pool else f" # {seed} {number}"
            wanted = label.encode()
            yield Shot(
                "small",
                get(path, query),
                lambda status, body, wanted=wanted: status == 200 and wanted in body,
            )


def fire(port: int, path: str, clients: int, seconds: float, seed: str, pool: int | None, bombs: float) -> list[Hit]:
    """Run some clients in one process for the given time and collect their responses."""
    hits: list[Hit] = []

    async def run() -> None:
        until = time.perf_counter() + seconds
        streams = (shots(path, f"{seed} {number}", pool, bombs) for number in range(clients))
        await asyncio.gather(*(client("127.0.0.1", port, stream, until, hits) for stream in streams))

    asyncio.run(run())
    return hits


def load(
    port: int, path: str, clients: int, seconds: float, seed: int, pool: int | None, bombs: float = 0.0
) -> list[Hit]:
    """Responses to all clients, which run in two processes."""
    with get_context("spawn").Pool(2) as processes:
        jobs = [(port, path, clients // 2, seconds, f"{seed} {half}", pool, bombs) for half in (1, 2)]
        return [hit for hits in processes.starmap(fire, jobs) for hit in hits]


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def started(command: list[str], port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Start a server; wait until it responds; stop it when the block ends."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + 60
            while subprocess.run(["curl", "-s", "-o", "/dev/null", f"http://127.0.0.1:{port}/"]).returncode:
                if time.monotonic() > deadline or process.poll() is not None:
                    raise SystemExit(f"{command[0]} did not start.")
                time.sleep(0.1)
            time.sleep(2)
            yield process
        finally:
            process.terminate()
            process.wait(30)


def summary(hits: list[Hit], seconds: float, kind: str = "small") -> dict[str, float]:
    """Throughput, latencies in ms, and number of wrong responses."""
    times = sorted(hit.seconds for hit in hits if hit.kind == kind)
    return {
        "per_second": round(len(times) / seconds, 1),
        "p50_ms": round(percentile(times, 0.5) * 1_000, 2),
        "p99_ms": round(percentile(times, 0.99) * 1_000, 2),
        "wrong": sum(not hit.sound for hit in hits),
    }


def processor_seconds(process: subprocess.Popen[bytes]) -> float:
    """Processor time that a server and its processes have taken."""
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True)
    ticks = 0
    for pid in (str(process.pid), *listed.stdout.split()):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def memory(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    """Number of a server's processes, itself included, and their memory in MiB."""
    listed = subprocess.run(
        ["ps", "-o", "rss=", "--ppid", str(process.pid), "-p", str(process.pid)],
        capture_output=True,
        text=True,
    )
    sizes = [int(line) for line in listed.stdout.split()]
    return len(sizes), sum(sizes) // 1_024


def compare(
    servers: dict[str, tuple[list[str], int, str]], given: argparse.Namespace, pool: int | None
) -> dict[str, object]:
    """Run both servers alternately for several rounds; the median ratios of throughput and of processor time.

    A round before them, which is not counted, fills the caches of the engines.
    """
    shares, costs = [], []
    with ExitStack() as running:
        processes = {
            name: running.enter_context(started(command, port)) for name, (command, port, _) in servers.items()
        }
        for seed in range(given.rounds + 1):
            row = {}
            for name, (_, port, path) in servers.items():
                before = processor_seconds(processes[name])
                row[name] = summary(load(port, path, given.clients, given.seconds, seed, pool), given.seconds)
                spent = processor_seconds(processes[name]) - before
                row[name]["processor_us"] = round(spent * 1e6 / (row[name]["per_second"] * given.seconds), 1)
            if seed:
                shares.append(row["kgtable"]["per_second"] / row["oxigraph"]["per_second"])
                costs.append(row["kgtable"]["processor_us"] / row["oxigraph"]["processor_us"])
                print(json.dumps(row), flush=True)
    return {
        "share": round(statistics.median(shares), 3),
        "processor_time_ratio": round(statistics.median(costs), 2),
    }


def bombard(server: tuple[list[str], int, str], given: argparse.Namespace) -> dict[str, object]:
    """Run kgtable under a mix with bombs."""
    command, port, path = server
    with started([*command, "--timeout", "5", "--result-size", "1"], port) as process:
        sizes = [memory(process)]
        over = Event()

        def watch() -> None:
            while not over.wait(given.bombs / 8):
                sizes.append(memory(process))

        watcher = Thread(target=watch)
        watcher.start()
        hits = load(port, path, given.clients, given.bombs, 0, None, 0.02)
        over.set()
        watcher.join()
        time.sleep(3)
        sizes.append(memory(process))
    statuses: dict[str, Counter[int]] = {}
    for hit in hits:
        statuses.setdefault(hit.kind, Counter())[hit.status] += 1
    return {
        "small": summary(hits, given.bombs),
        "statuses": {kind: dict(sorted(counts.items())) for kind, counts in sorted(statuses.items())},
        "wrong_by_kind": dict(Counter(hit.kind for hit in hits if not hit.sound)),
        "processes_and_mib": sizes,
    }


def main() -> None:
    """Run the benchmark and print its figures as JSON."""
    parser = argparse.ArgumentParser(
        description="Measure kgtable serve under load, compared with oxigraph serve-read-only."
    )
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument(
        "--bombs", type=float, default=120.0, help="seconds of the mix with expensive queries; 0 skips it"
    )
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    oxigraph = shutil.which("oxigraph")
    if oxigraph is None:
        raise SystemExit("There is no oxigraph command here: pip install oxigraph")
    with tempfile.TemporaryDirectory() as folder:
        make_tables(Path(folder) / "tables")
        graph = Path(folder) / "graph"
        kgtable = [sys.executable, "-m", "kgtable"]
        subprocess.run([*kgtable, "build", f"{folder}/tables", "--kg", str(graph), "--embedding", "none"], check=True)
        store = next((graph / "generations").glob("*/store"))
        ours, theirs = free_port(), free_port()
        serve = [*kgtable, "serve", "--kg", str(graph), "--port", str(ours), "--default-graph", "own"]
        servers = {
            "kgtable": (serve, ours, "/sparql"),
            "oxigraph": (
                [oxigraph, "serve-read-only", "-l", str(store), "--bind", f"127.0.0.1:{theirs}"],
                theirs,
                "/query",
            ),
        }
        print("small queries, each one new")
        distinct = compare(servers, given, None)
        print("small queries, many of them again")
        again = compare(servers, given, 500)
        result: dict[str, object] = {"new": distinct, "again": again}
        if given.bombs:
            print("a mix with bombs")
            result["bombs"] = bombard(servers["kgtable"], given)
        print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
