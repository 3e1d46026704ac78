"""Measure what a long result costs ``kgtable serve``: time to the first byte, and memory above idle.

Usage: ``python scripts/stream_memory.py [--rows 1000000]``. Stores so many triples through ``/store``, then reads all
of them as JSON and as CSV, each twice, and by CONSTRUCT as N-Triples and as Turtle. Prints for each the seconds to the
first byte and to the end, and the anonymous memory of the serving process and of its largest worker before and at most.
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from threading import Event, Thread
from urllib.parse import urlencode

from bench_server import free_port, started

TOKEN = "a token for measuring"
GRAPH = "http://example.org/rows"
QUERY = f"SELECT ?s ?o {{ GRAPH <{GRAPH}> {{ ?s ?p ?o }} }}"


def anonymous(pid: int) -> int:
    """The anonymous memory of a process in MiB."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) // 1_024 for line in lines if line.startswith("RssAnon")), 0)


def memory(pid: int) -> tuple[int, int]:
    """The memory of a server and of its largest worker in MiB."""
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return anonymous(pid), max((anonymous(int(child)) for child in listed.stdout.split()), default=0)


def fill(port: int, rows: int) -> None:
    """Store the triples."""
    lines = (f'<http://example.org/row/{n}> <http://example.org/p> "{n}" .\n'.encode() for n in range(rows))
    connection = http.client.HTTPConnection("127.0.0.1", port)
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/n-triples"}
    connection.request("PUT", f"/store?{urlencode({'graph': GRAPH})}", body=lines, headers=headers)
    answer = connection.getresponse()
    if answer.status not in (201, 204):
        raise SystemExit(f"{answer.status}: {answer.read().decode()}")


CONSTRUCT = f"CONSTRUCT {{ ?s ?p ?o }} {{ GRAPH <{GRAPH}> {{ ?s ?p ?o }} }}"


def read(port: int, pid: int, form: str, query: str = QUERY) -> dict[str, object]:
    """Read the whole result once."""
    before, most, over = memory(pid), [0, 0], Event()

    def watch() -> None:
        while not over.wait(0.05):
            now = memory(pid)
            most[:] = [max(most[0], now[0]), max(most[1], now[1])]

    watcher = Thread(target=watch)
    watcher.start()
    began = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", f"/sparql?{urlencode({'query': query, 'format': form})}")
    answer = connection.getresponse()
    size = len(answer.read(1))
    first = time.perf_counter() - began
    while part := answer.read(1 << 18):
        size += len(part)
    over.set()
    watcher.join()
    return {
        "format": form,
        "mib": size >> 20,
        "first_byte_s": round(first, 3),
        "whole_s": round(time.perf_counter() - began, 1),
        "server_mib": [before[0], most[0]],
        "worker_mib": [before[1], most[1]],
    }


def main() -> None:
    """Run the measurement."""
    parser = argparse.ArgumentParser(description="Measure what a long result costs kgtable serve.")
    parser.add_argument("--rows", type=int, default=1_000_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        command = [sys.executable, "-m", "kgtable", "serve", "--kg", f"{folder}/graph", "--port", str(port)]
        options = ["--writable", "--token", TOKEN, "--no-access-log", "--timeout", "120", "--workers", "1"]
        with started([*command, *options], port) as process:
            fill(port, given.rows)
            for form in ("json", "csv", "json", "csv"):
                print(json.dumps(read(port, process.pid, form)), flush=True)
            for form in ("ntriples", "turtle"):
                print(json.dumps(read(port, process.pid, form, CONSTRUCT)), flush=True)


if __name__ == "__main__":
    main()
