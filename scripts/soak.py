"""Ask, retrieve, query, update and build for a long time; see whether memory, descriptors and files stay flat.

    python scripts/soak.py ../shared/data/tatqa/tables --minutes 60 --tables 300

A writable server runs on a graph of the tables. Clients send questions, retrievals, table windows, SPARQL queries
and updates; meanwhile one table after another is changed and the graph built again. Every few seconds memory (RSS,
of all processes of a role the largest), open descriptors, processes, temporary files and files of the graph are
sampled. The medians of the second and of the last quarter of the run are compared: the first quarter loads
libraries and fills caches. Exits with 1 on growth of more than a fifth and 30 MiB (or 20 files), or on a fault.

A store on disk grows with each write until the engine compacts it, so its size goes up and down: of the graph's
folder the smallest sizes in the quarters are compared, hard links counted once. Now and then a copy of the newest
version is compacted; the folder may hold at most `MOST_ROOM` times as much as that, and 128 MiB.

Descriptors go up and down as well: a process has the files of the graph's index and store open while it uses
them, and none after a build took their place. Their smallest numbers are compared too, and no process may have more
than the files that one version of the graph had so far, and `SPARE`. The number of the graph's files goes up and down
with the versions that are read: in the last quarter there must be a moment with at most `KEPT` times, and never more
than `MOST_ROOM` times, those of one version. Whether files stay behind is seen at rest: before the server starts and
after it ended a table is changed and the graph built twice, so that nothing is left but what a graph needs; the
numbers of files may differ by a fifth and 20.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx
import pyoxigraph as ox

from kgtable.building.generations import GraphDirectory
from kgtable.errors import KgtableError
from kgtable.storage import link_tree

MOST_ROOM = 8
"""How many times as much as a compacted store the folder of a graph may hold, beside 128 MiB: it keeps the
generation before, the writer's copy, the versions that are being read, and what was overwritten lately."""
COMPACTIONS = 12
"""How often a copy of the store is compacted."""
SPARE = 32
"""Descriptors of a process beside the files of one version of the graph: sockets, its log, leases, databases."""
FILES = "files of the graph"
KEPT = 3
"""How many versions' files the folder of a graph may hold all the time: a build leaves the generation before that
processes still read, until the next one, and the writer has its copy."""
TROUGHS = ("of the graph", " descriptors")
"""How the names of figures end that go up and down: their least values are compared."""

TOKEN = "a token for this run"
WORDS = (
    *(
        "revenue",
        "net",
        "income",
        "total",
        "2019",
        "2018",
        "cost",
        "of",
        "sales",
        "tax",
        "rate",
        "percentage",
    ),
    *(
        "change",
        "average",
        "shares",
        "operating",
        "lease",
        "goodwill",
        "what",
        "was",
        "the",
        "increase",
        "in",
    ),
    *("how", "many", "largest"),
)
QUERIES = (
    "SELECT ?t (COUNT(*) AS ?n) {{ GRAPH ?t {{ ?s kgt:row {0} }} }} GROUP BY ?t LIMIT 20",
    "SELECT * {{ ?s rdfs:label ?l FILTER(CONTAINS(?l, '{0}')) }} LIMIT 5",
    "ASK {{ ?s ?p {0} }}",
    "CONSTRUCT {{ ?s ?p ?o }} {{ ?s ?p ?o }} OFFSET {0} LIMIT 20",
)


class Soak:
    """One run: what was sent, what failed, what was sampled."""

    def __init__(self, url: str, kg: Path, tables: Path, temporary: Path, server: int) -> None:
        self.url, self.kg, self.tables, self.temporary, self.server = url, kg, tables, temporary, server
        self.over = threading.Event()
        self.sent: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.samples: list[dict[str, float]] = []
        self.compacted: list[float] = []
        self.version_files = 0
        self.beyond: dict[str, int] = {}

    def client(self, seed: int) -> None:
        """Send requests of all kinds until the end."""
        chance = random.Random(seed)
        ids = [path.stem for path in sorted(self.tables.glob("*.csv"))]
        headers = {"authorization": f"Bearer {TOKEN}"}
        kinds = ("ask", "retrieve", "table", "tables", "sparql", "sparql", "sparql", "update", "put")
        with httpx.Client(base_url=self.url, headers=headers, timeout=130) as http:
            while not self.over.is_set():
                kind = chance.choice(kinds)
                question = " ".join(chance.sample(WORDS, 6))
                try:
                    answer = self.send(http, kind, question, chance.choice(ids), chance.randrange(10**6))
                except httpx.HTTPError as error:
                    self.faults[f"{kind}: {type(error).__name__}"] += 1
                    continue
                self.sent[kind] += 1
                busy = answer.status_code == 503 and '"status": 503' in answer.text and "Retry-After"
                if answer.status_code >= 400 and not (busy and answer.headers.get("retry-after")):
                    self.faults[f"{kind}: {answer.status_code} {answer.text[:300]}"] += 1
                elif busy:
                    self.sent[f"{kind} refused for a while"] += 1

    def send(self, http: httpx.Client, kind: str, question: str, id: str, number: int) -> httpx.Response:
        """Send one request."""
        if kind == "ask":
            return http.post("api/ask", json={"question": question})
        if kind == "retrieve":
            return http.get("api/retrieve", params={"question": question, "k": 100})
        if kind == "table":
            return http.get(f"api/tables/{id}")
        if kind == "tables":
            return http.get("api/tables", params={"q": question.split()[0]})
        if kind == "sparql":
            query = QUERIES[number % len(QUERIES)].format(number % 1_000)
            return http.get("sparql", params={"query": query})
        if kind == "put":
            turtle = "".join(f"<urn:s{n}> <urn:p> {number} .\n" for n in range(200))
            return http.put(
                "store",
                params={"graph": f"urn:g{number % 5}"},
                content=turtle,
                headers={"content-type": "text/turtle"},
            )
        update = f"DELETE WHERE {{ <urn:u> <urn:p> ?o }} ; INSERT DATA {{ <urn:u> <urn:p> {number} }}"
        return http.post("sparql", content=update, headers={"content-type": "application/sparql-update"})

    def build(self, pause: float) -> None:
        """Change one table after another and build the graph again."""
        files = sorted(self.tables.glob("*.csv"))
        number = 0
        while not self.over.wait(pause):
            path = files[number % len(files)]
            number += 1
            text = path.read_text(encoding="utf-8", errors="replace").rstrip("\n")
            path.write_text(
                f"{text}\nRow {number},{number}\n" if number % 2 else f"{text}\n", encoding="utf-8"
            )
            done = kgtable("build", str(self.tables), "--kg", str(self.kg), "--embedding", "none")
            self.sent["build"] += 1
            if done.returncode:
                self.faults[f"build: {done.stderr[-300:]}"] += 1

    def sample(self) -> None:
        """Note memory, descriptors, processes and files."""
        found: dict[str, float] = defaultdict(float)
        self.version_files = max(self.version_files, _files_of_a_version(self.kg))
        for pid, role in self.processes():
            try:
                status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
                memory = next(
                    int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")
                )
                descriptors = len(os.listdir(f"/proc/{pid}/fd"))
            except (OSError, StopIteration):
                continue
            found[f"{role} MiB"] = max(found[f"{role} MiB"], memory / 1024)
            found[f"{role} descriptors"] = max(found[f"{role} descriptors"], descriptors)
            found[f"{role} processes"] += 1
            if descriptors > self.version_files + SPARE:
                self.beyond[role] = max(self.beyond.get(role, 0), descriptors)
        found["temporary files"] = len(_sizes(self.temporary))
        sizes = _sizes(self.kg)
        found[FILES] = len(sizes)
        found["MiB of the graph"] = sum(sizes.values()) / (1 << 20)
        self.samples.append(dict(found))

    def compact(self) -> None:
        """Note how large the newest version of the store is once it is compacted, in a copy."""
        copy = self.kg.with_name("compacted")
        with suppress(KgtableError):
            generation = GraphDirectory(self.kg).lease()
            try:
                link_tree(generation.store_path, copy)
                store = ox.Store(str(copy))
                store.optimize()
                del store
                self.compacted.append(sum(_sizes(copy).values()) / (1 << 20))
            except (OSError, RuntimeError):
                pass  # that version was removed meanwhile
            finally:
                generation.release()
                shutil.rmtree(copy, ignore_errors=True)

    def processes(self) -> list[tuple[int, str]]:
        """The server's processes with their roles."""
        found = [(self.server, "server")]
        for path in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((path / "stat").read_bytes().rpartition(b")")[2].split()[1])
                line = (path / "cmdline").read_bytes().split(b"\0")
            except (OSError, ValueError, IndexError):
                continue
            if parent == self.server and b"kgtable.server.workers.worker" in line:
                found.append(
                    (int(path.name), line[line.index(b"kgtable.server.workers.worker") + 1].decode())
                )
        return found

    def grown(self) -> list[str]:
        """Print the course of each figure; gives those that grew."""
        quarter = max(len(self.samples) // 4, 1)
        grown = []
        names = sorted({name for sample in self.samples for name in sample})
        print(f"{'':28} {'2nd quarter':>12} {'3rd':>9} {'last':>9} {'most':>9}")
        for name in names:
            course = [sample.get(name, 0.0) for sample in self.samples]
            parts = [course[at * quarter : (at + 1) * quarter] or course for at in (1, 2, 3)]
            second, third, last = map(min if name.endswith(TROUGHS) else statistics.median, parts)
            print(f"{name:28} {second:12.1f} {third:9.1f} {last:9.1f} {max(course):9.1f}")
            if name != FILES and last > 1.2 * second and last - second > (30 if "MiB" in name else 20):
                grown.append(name)
        most = self.version_files + SPARE
        print(f"descriptors of a process: at most {self.version_files} + {SPARE} = {most}")
        files = [sample[FILES] for sample in self.samples]
        print(f"{FILES}: {min(files[-quarter:]):.0f} at least in the last quarter, {max(files):.0f} at most")
        if min(files[-quarter:]) > KEPT * self.version_files or max(files) > MOST_ROOM * self.version_files:
            grown.append(FILES)
        grown.extend(f"{role} descriptors ({count})" for role, count in sorted(self.beyond.items()))
        if self.compacted:
            sizes = self.compacted
            print(
                f"compacted store: {sizes[0]:.1f} MiB at first, {sizes[-1]:.1f} at last, {max(sizes):.1f} at most"
            )
            if max(sample["MiB of the graph"] for sample in self.samples) > MOST_ROOM * max(sizes) + 128:
                grown.append("room for a compacted store")
        return grown


def files_at_rest(tables: Path, kg: Path) -> int:
    """How many files a graph has that nobody reads, after two builds with a changed table."""
    table = min(tables.glob("*.csv"))
    lines = table.read_text(encoding="utf-8")
    for text in (lines + lines.splitlines()[-1] + "\n", lines):
        table.write_text(text, encoding="utf-8")
        built = kgtable("build", str(tables), "--kg", str(kg), "--embedding", "none")
        if built.returncode:
            sys.exit(built.stderr)
    return len(_sizes(kg))


def _files_of_a_version(kg: Path) -> int:
    """How many files the largest version of a graph has that a process keeps open: of its index and of one store."""
    versions = [0]
    for generation in _paths(kg / "generations"):
        index, *stores = (_paths(folder) for folder in (generation / "index", *_paths(generation)))
        data = [sum(path.suffix == ".sst" for path in store) for store in stores]
        versions.append(len(index) + max(data, default=0))
    return max(versions)


def _paths(folder: Path) -> list[Path]:
    """What is in a folder; nothing where it is none, or gone meanwhile."""
    with suppress(OSError):
        return list(folder.iterdir())
    return []


def _sizes(folder: Path) -> dict[int, int]:
    """The sizes of the files below a folder, in which files come and go meanwhile, by their inodes."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                status = os.stat(os.path.join(place, name))
                found[status.st_ino] = status.st_size
    return found


def kgtable(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run kgtable to its end."""
    return subprocess.run([sys.executable, "-m", "kgtable", *arguments], capture_output=True, text=True)


def main() -> None:
    """Build, serve, send, sample, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("source", type=Path, help="a folder with CSV tables")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--tables", type=int, default=300, help="how many tables of the folder are used")
    parser.add_argument("--clients", type=int, default=3)
    parser.add_argument("--pause", type=float, default=20, help="seconds between two builds")
    parser.add_argument("--every", type=float, default=5, help="seconds between two samples")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tables, kg, temporary = (Path(folder, name) for name in ("tables", "kg", "temporary"))
        tables.mkdir()
        temporary.mkdir()
        for path in sorted(options.source.glob("*.csv"))[: options.tables]:
            shutil.copy(path, tables)
        os.environ |= {"TMPDIR": str(temporary), "KGTABLE_TOKEN": TOKEN}
        made = kgtable("build", str(tables), "--kg", str(kg), "--embedding", "none")
        if made.returncode:
            sys.exit(made.stderr)
        first = files_at_rest(tables, kg)
        line = [sys.executable, "-m", "kgtable", "serve", "--kg", str(kg), "--port", "0", "--writable"]
        server = subprocess.Popen([*line, "--no-access-log"], stderr=subprocess.PIPE, text=True)
        assert server.stderr is not None
        url = server.stderr.readline().split(" at ")[1].split(" ")[0]
        soak = Soak(url, kg, tables, temporary, server.pid)
        jobs: list[Callable[[], None]] = [
            lambda seed=seed: soak.client(seed) for seed in range(options.clients)
        ]
        jobs.append(lambda: soak.build(options.pause))
        threads = [threading.Thread(target=job) for job in jobs]
        for thread in threads:
            thread.start()
        started = time.monotonic()
        try:
            while (passed := time.monotonic() - started) < 60 * options.minutes and server.poll() is None:
                time.sleep(options.every)
                soak.sample()
                if passed >= 60 * options.minutes * (len(soak.compacted) + 1) / (COMPACTIONS + 1):
                    soak.compact()
            died = server.poll() is not None
        finally:
            soak.over.set()
            for thread in threads:
                thread.join()
            server.terminate()
        print(", ".join(f"{count:,} × {kind}" for kind, count in sorted(soak.sent.items())))
        grown = soak.grown()
        server.wait()
        last = files_at_rest(tables, kg)
        print(f"{FILES} at rest: {first} at first, {last} at last")
        if last > 1.2 * first + 20:
            grown.append(f"{FILES} at rest")
        left = [path.name for path in temporary.rglob("*") if path.is_file()]
    print(f"grown: {', '.join(grown) or 'nothing'}; temporary files left: {len(left)} {left[:5]}")
    print(f"faults: {sum(soak.faults.values())}")
    for fault, count in soak.faults.most_common(10):
        print(f"  {count} × {fault}")
    sys.exit(bool(grown or soak.faults or left or died))


if __name__ == "__main__":
    main()
