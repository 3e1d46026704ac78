"""Read through a writable server while updates go through it; count the reads that fail or are not whole.

    python scripts/read_beside_writer.py --reads 100000

Each update replaces all statements of one graph by as many with the next number, so that a read that saw two
versions, or half of one, finds two numbers or another count. Reads differ from each other, so that none is
answered from the cache. Exits with 1 on any fault.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import httpx

from kgtable.building.pipeline import start_empty

TOKEN = "a token for this run"
ROWS = 200
UPDATE = "DELETE WHERE {{ GRAPH <urn:g> {{ ?s ?p ?o }} }} ; INSERT DATA {{ GRAPH <urn:g> {{ {} }} }}"
READ = "SELECT ?o (COUNT(*) AS ?n) {{ GRAPH <urn:g> {{ ?s <urn:p> ?o }} FILTER(?o != {}) }} GROUP BY ?o"


def update_to(number: int) -> str:
    """The update that makes every row hold the number."""
    return UPDATE.format(" . ".join(f"<urn:s{row}> <urn:p> {number}" for row in range(ROWS)))


class Run:
    """One run: the reads that are left, the faults found, the times taken."""

    def __init__(self, url: str, reads: int) -> None:
        self.url, self.left, self.done = url, reads, 0
        self.faults: list[str] = []
        self.writes: list[float] = []
        self.numbers: set[int] = set()

    async def read(self, client: httpx.AsyncClient) -> None:
        """Read until no read is left."""
        while self.left > 0:
            self.left -= 1
            query = READ.format(-1 - self.left)
            try:
                answer = await client.get(self.url + "sparql", params={"query": query})
                rows = answer.json()["results"]["bindings"] if answer.status_code == 200 else None
            except (httpx.HTTPError, ValueError, KeyError) as error:
                self.faults.append(f"{type(error).__name__}: {error}")
                continue
            finally:
                self.done += 1
            if rows is None:
                self.faults.append(f"{answer.status_code}: {answer.text[:300]}")
            elif [row["n"]["value"] for row in rows] != [str(ROWS)]:
                self.faults.append(f"not one whole version: {json.dumps(rows)[:200]}")
            else:
                self.numbers.add(int(rows[0]["o"]["value"]))

    async def write(self, client: httpx.AsyncClient) -> None:
        """Write until no read is left."""
        headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/sparql-update"}
        number = 0
        while self.left > 0:
            number += 1
            start = time.perf_counter()
            answer = await client.post(self.url + "sparql", content=update_to(number), headers=headers)
            self.writes.append(time.perf_counter() - start)
            if answer.status_code != 204:
                self.faults.append(f"update: {answer.status_code} {answer.text[:200]}")

    async def go(self, readers: int, *, writing: bool) -> float:
        """Run with so many readers; gives the seconds it took."""
        async with httpx.AsyncClient(timeout=60) as client:
            headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/sparql-update"}
            first = await client.post(self.url + "sparql", content=update_to(0), headers=headers)
            first.raise_for_status()
            start = time.perf_counter()
            tasks = [self.read(client) for _ in range(readers)]
            await asyncio.gather(*tasks, *([self.write(client)] if writing else []))
            return time.perf_counter() - start


def main() -> None:
    """Start a server, read and write, print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--reads", type=int, default=100_000)
    parser.add_argument("--readers", type=int, default=8, help="reads on the way at a time")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        start_empty(Path(folder, "kg"))
        line = [sys.executable, "-m", "kgtable", "serve", "--kg", f"{folder}/kg", "--port", "0", "--writable"]
        line += ["--no-access-log"]
        environment = {**os.environ, "KGTABLE_TOKEN": TOKEN}
        process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=environment)
        try:
            assert process.stderr is not None
            url = process.stderr.readline().split(" at ")[1].split(" ")[0]
            alone = Run(url, options.reads // 10)
            seconds = asyncio.run(alone.go(options.readers, writing=False))
            print(f"without a writer: {alone.done:,} reads, {alone.done / seconds:,.0f}/s")
            run = Run(url, options.reads)
            seconds = asyncio.run(run.go(options.readers, writing=True))
        finally:
            process.terminate()
            process.wait()
    took = sorted(run.writes)
    print(
        f"beside a writer:  {run.done:,} reads, {run.done / seconds:,.0f}/s; {len(took):,} updates,"
        f" median {statistics.median(took) * 1_000:.0f} ms; {len(run.numbers):,} versions seen"
    )
    faults = alone.faults + run.faults
    print(f"faults: {len(faults):,}")
    kinds = Counter(fault for fault in faults)
    for fault, count in kinds.most_common(10):
        print(f"  {count:,} × {fault}")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
