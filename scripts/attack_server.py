"""Attack a server of our own with large heads of requests; print its memory before and after.

    python scripts/attack_server.py [--requests 20000]

Starts ``kgtable serve`` on a small graph and sends requests in turn with a ``Cookie`` of 60 KB of backslashes, an
``Accept`` of 64 KB, and a query of 63 KB by GET, each different from the others. Meanwhile ``/health`` is asked every
20 ms. Prints the status codes, the memory of the server with its workers, and the longest wait; exits with 1 where the
memory grew by more than 64 MiB, or a wait took longer than a second.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

from load_client import Hit, Shot, client

import kgtable

MOST_MIB, MOST_SECONDS = 64, 1.0
CLIENTS = 8


def shots(count: int, seed: int) -> Iterator[Shot]:
    """The attacks in turn, each with a text that no other has."""
    draw = random.Random(seed)
    for number in range(count):
        mark = f"{draw.getrandbits(64):x}"
        if number % 3 == 0:
            yield _shot("cookie", "/health", f'Cookie: kgtable-token="{mark}{chr(92) * 60_000}"\r\n')
        elif number % 3 == 1:
            yield _shot("accept", "/sparql?query=ASK%7B%7D", f"Accept: text/{mark}{'a,' * 32_000}\r\n")
        else:
            query = quote(f"ASK {{}} # {mark} {'x' * 63_000}")
            yield _shot("get", f"/sparql?query={query}", "")


def _shot(kind: str, target: str, headers: str) -> Shot:
    head = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n"
    return Shot(kind, head.encode(), lambda status, _: status in (200, 400, 406, 414, 431))


async def attack(url: str, count: int) -> tuple[list[Hit], float]:
    """The responses to all attacks, and the longest wait of a small request meanwhile."""
    host, port = urlsplit(url).hostname or "", urlsplit(url).port or 0
    hits: list[Hit] = []
    small: list[Hit] = []

    async def watch() -> None:
        while True:
            request = iter([_shot("health", "/health", "Connection: close\r\n")])
            with contextlib.suppress(StopIteration, RuntimeError):
                await client(host, port, request, time.perf_counter() + 0.001, small)
            await asyncio.sleep(0.02)

    async def send(seed: int) -> None:
        with contextlib.suppress(RuntimeError):  # the attacks are at an end
            await client(host, port, shots(count // CLIENTS, seed), float("inf"), hits)

    watching = asyncio.create_task(watch())
    await asyncio.gather(*map(send, range(CLIENTS)))
    watching.cancel()
    return hits, max(hit.seconds for hit in small)


def memory(process: int) -> float:
    """Resident MiB of a process and its children, on Linux."""
    resident = int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return resident + sum(map(memory, map(int, children)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000)
    count = parser.parse_args().requests
    with tempfile.TemporaryDirectory() as folder:
        kgtable.build(Path(kgtable.__file__).parent / "samples" / "planets.csv", Path(folder, "kg"))
        command = [sys.executable, "-m", "kgtable", "serve", "--kg", f"{folder}/kg", "--port", "0"]
        server = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1"}
        )
        try:
            assert server.stderr is not None
            url = next(word for word in server.stderr.readline().split() if word.startswith("http"))
            asyncio.run(attack(url, 300))  # warms the workers
            time.sleep(5)
            before = memory(server.pid)
            hits, longest = asyncio.run(attack(url, count))
            after = memory(server.pid)
        finally:
            server.terminate()
            server.wait(30)
    print(f"{len(hits)} requests: {dict(Counter((hit.kind, hit.status) for hit in hits))}")
    print(f"memory before {before:.0f} MiB, after {after:.0f} MiB; longest wait of a small request {longest:.3f} s")
    return int(after - before > MOST_MIB or longest > MOST_SECONDS or not all(hit.sound for hit in hits))


if __name__ == "__main__":
    sys.exit(main())
