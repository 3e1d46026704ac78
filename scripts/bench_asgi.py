"""Compare HTTP servers for the application of ``kgtable serve``: throughput, bounds and memory.

Usage: ``python scripts/bench_asgi.py [h11] [httptools] [granian] [kgtable]``: uvicorn with either parser, granian
(``pip install granian``), and kgtable's own configuration of uvicorn with h11.
Prints, one JSON object for each server: small SPARQL queries per second (16 clients), the seconds until a head that
is sent slowly is refused, statuses of heads of several sizes, MiB gained by 10,000 requests with an address of
60 KB and with a header of 64 KB, and the status of a query by POST that offers ``Upgrade: h2c``.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench_server import free_port, load, make_tables, memory, started, summary

from kgtable.server.app import Server
from kgtable.server.options import DefaultGraph, ServerSettings
from kgtable.server.running import run
from kgtable.server.state import GraphFolder, ServerState

SERVERS = ("h11", "httptools", "granian", "kgtable")
SETTINGS = ServerSettings(default_graph=DefaultGraph.OWN)
LONGEST_WAIT = 60
END = b"HTTP/1.1\r\nHost: localhost\r\n"


def application() -> Server:
    """Make the application for the graph that the environment names."""
    return Server(ServerState(SETTINGS, GraphFolder(Path(os.environ["BENCH_GRAPH"]))), None)


def serve(name: str, port: int) -> None:
    """Serve the application with one HTTP server, with its defaults."""
    if name == "kgtable":
        run(replace(SETTINGS, port=port), GraphFolder(Path(os.environ["BENCH_GRAPH"])), log=None)
    elif name == "granian":
        from granian import Granian

        # A string target is imported by the worker process, where this module is not __main__.
        target = "bench_asgi:application"
        Granian(target, port=port, factory=True, interface="asgi", log_enabled=False).serve()
    else:
        import uvicorn

        uvicorn.run(application(), port=port, http=name, access_log=False, log_level="error")


def status(port: int, *parts: bytes, pause: float = 0.0) -> int:
    """The status of the response to a request that is sent in parts; 0 for a closed connection."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), LONGEST_WAIT) as connection:
        for part in parts:
            connection.sendall(part)
            time.sleep(pause)
        answer = connection.recv(65_536)
        return int(answer.split(b" ", 2)[1]) if answer else 0
    return 0


def slow_head(port: int) -> float | None:
    """Seconds until a head that arrives a byte at a time is refused; None where it is not in a minute."""
    started_at = time.monotonic()
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as connection:
        connection.sendall(b"GET /health " + END + b"X: ")
        while time.monotonic() - started_at < LONGEST_WAIT:
            connection.sendall(b"a")
            with suppress(TimeoutError):
                connection.recv(1_000)
                break
        else:
            return None
    return round(time.monotonic() - started_at, 1)


def gained(process: subprocess.Popen[bytes], port: int, address: int, header: int) -> int:
    """MiB that the server's processes gain by 10,000 requests, each of them different."""
    before = memory(process)[1]

    def send(client: int) -> None:
        for number in range(1_250):
            mark = b"%d-%d-" % (client, number)
            head = b"GET /health?x=" + mark + b"a" * address + b" " + END
            status(port, head + b"Accept: text/csv;x=" + mark + b"a" * header + b"\r\nConnection: close\r\n\r\n")

    with ThreadPoolExecutor(8) as clients:
        list(clients.map(send, range(8)))
    return memory(process)[1] - before


def measure(name: str, graph: Path) -> dict[str, Any]:
    """All figures of one server."""
    port = free_port()
    os.environ |= {"BENCH_GRAPH": str(graph), "PYTHONPATH": os.pathsep.join(sys.path)}
    heads = {f"address of {size} KB": (size * 1_000, 0) for size in (30, 60, 200, 4_000)}
    heads |= {f"header of {size} KB": (0, size * 1_000) for size in (15, 30, 64, 1_000)}
    body = b"ASK { }"
    upgrade = (
        b"POST /sparql " + END + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
        b"Content-Type: application/sparql-query\r\nContent-Length: %d\r\n\r\n" % len(body)
    )
    with started([sys.executable, __file__, "--serve", name, str(port)], port) as process:
        rounds = [summary(load(port, "/sparql", 16, 5.0, seed, None), 5.0) for seed in range(4)]
        return {
            "server": name,
            "queries": sorted(rounds, key=lambda round_: round_["per_second"])[2],
            "slow head refused after": slow_head(port),
            "statuses": {
                text: status(port, b"GET /health?x=" + b"a" * url + b" " + END + b"X: " + b"a" * size + b"\r\n\r\n")
                for text, (url, size) in heads.items()
            },
            "upgrade with a body": status(port, upgrade, body, pause=0.2),
            "MiB gained by addresses": gained(process, port, 60_000, 0),
            "MiB gained by headers": gained(process, port, 0, 64_000),
        }


def main() -> None:
    """Measure the servers that are named, or all of them."""
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2], int(sys.argv[3]))
        return
    with tempfile.TemporaryDirectory() as folder:
        make_tables(Path(folder) / "tables")
        graph = Path(folder) / "graph"
        build = [sys.executable, "-m", "kgtable", "build", f"{folder}/tables", "--kg", str(graph)]
        subprocess.run([*build, "--embedding", "none"], check=True)
        for name in sys.argv[1:] or SERVERS:
            print(json.dumps(measure(name, graph)), flush=True)


if __name__ == "__main__":
    main()
