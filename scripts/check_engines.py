"""Hold engines against the embedded store: the same tables, triples and results of programs, and how long they take.

    python scripts/check_engines.py ../shared/data --questions 300 --engines oxigraph kgtable
    python scripts/check_engines.py ../shared/data --engines virtuoso --virtuoso /usr/bin/virtuoso-t
    python scripts/check_engines.py ../shared/data --engines jena --jars '/usr/share/java/*'

Builds a graph of the folders, pushes it to each engine (started here with an empty store), interrupts the push once and
resumes it, and compares with the embedded store:

- triples: what `hybrid` finds by SPARQL alone, without an index, for each question;
- programs: those that answer the questions without a model, run as SPARQL;
- tables: read back, all cells and the structure;
- with `--long ROWS`: programs that count and add up rows of one more table of so many rows, with their citations, and
  how many bytes of replies they take in an opened graph, counted by the engine and with their columns read.

Virtuoso is Debian's virtuoso-opensource-7-bin; Jena is Debian's libapache-jena-java behind triplestore/jena's endpoint,
since Debian has no Fuseki. QLever is in none of Debian, PyPI and npm.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Context, Decimal
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from bench_scale import percentiles
from bench_server import free_port

import kgtable
from kgtable.answering.program_runs import ProgramRun
from kgtable.building.engines import push
from kgtable.errors import KgtableError, RemoteStoreError
from kgtable.evaluation.benchmark import Benchmark
from kgtable.graph.remote.dialects import StoreEndpoint
from kgtable.graph.remote.endpoint import RemoteStore
from kgtable.graph.remote.http import EndpointClient, HttpReply
from kgtable.programs.syntax import program_to_json
from kgtable.retrieval.hybrid import IndexlessRetriever

ROOT = Path(__file__).parents[1]
TOKEN = "check-engines"
K = 300
ENGINES = ("oxigraph", "kgtable", "virtuoso", "jena")
LONG_TABLE = "long_orders"

VIRTUOSO_INI = """
[Database]
DatabaseFile = virtuoso.db
ErrorLogFile = virtuoso.log
LockFile = virtuoso.lck
TransactionFile = virtuoso.trx
[TempDatabase]
DatabaseFile = virtuoso-temp.db
TransactionFile = virtuoso-temp.trx
[Parameters]
ServerPort = 127.0.0.1:{sql}
NumberOfBuffers = 60000
[HTTPServer]
ServerPort = 127.0.0.1:{http}
ServerRoot = .
[SPARQL]
ResultSetMaxRows = 1000000
"""


@dataclass(frozen=True)
class RunningEngine:
    """The addresses of a running engine, and what logs in there."""

    dialect: str
    query: str
    store: str
    write: str = ""
    user: str = ""
    token: str = ""


@contextmanager
def _process(command: Sequence[str], folder: Path, url: str) -> Iterator[None]:
    with (folder / "engine.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        try:
            for _ in range(600):
                if process.poll() is not None:
                    raise SystemExit(f"The engine ended:\n{(folder / 'engine.log').read_text()[-2000:]}")
                try:
                    urlopen(url, timeout=5).close()
                    break
                except HTTPError:
                    break
                except (URLError, OSError):
                    time.sleep(0.2)
            yield
        finally:
            process.terminate()
            process.wait(60)


@contextmanager
def running(name: str, folder: Path, given: argparse.Namespace) -> Iterator[RunningEngine]:
    """Start an engine with an empty store."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    folder.mkdir()
    if name == "oxigraph":
        program = shutil.which("oxigraph") or str(Path(sys.executable).with_name("oxigraph"))
        with _process([program, "serve", "--location", "data", "--bind", f"127.0.0.1:{port}"], folder, url):
            yield RunningEngine("oxigraph", f"{url}/query", f"{url}/store")
    elif name == "kgtable":
        from kgtable.building.pipeline import start_empty

        start_empty(folder / "kg")
        options = ["--writable", "--token", TOKEN, "--port", str(port)]
        with _process([sys.executable, "-m", "kgtable", "serve", "--kg", "kg", *options], folder, url):
            yield RunningEngine("kgtable", f"{url}/sparql", f"{url}/store", token=TOKEN)
    elif name == "virtuoso":
        (folder / "virtuoso.ini").write_text(
            VIRTUOSO_INI.format(sql=free_port(), http=port), encoding="utf-8"
        )
        with _process([given.virtuoso, "-f", "+configfile", "virtuoso.ini"], folder, f"{url}/sparql"):
            store = f"{url}/sparql-graph-crud-auth"
            yield RunningEngine("virtuoso", f"{url}/sparql-auth", store, user="dba", token="dba")
    else:
        source = str(ROOT / "triplestore" / "jena" / "SparqlEndpoint.java")
        with _process(["java", "-cp", given.jars, source, str(port)], folder, f"{url}/data?default"):
            yield RunningEngine("fuseki", f"{url}/query", f"{url}/data")


class CutOff(RemoteStore):
    """A store whose line is cut after some graphs."""

    left = 0

    def put_graph(self, iri: str | None, content: bytes) -> None:
        """Send a graph, while the line holds."""
        if self.left <= 0:
            raise RemoteStoreError("The line was cut.")
        self.left -= 1
        super().put_graph(iri, content)


def pushed(graph: kgtable.KnowledgeGraph, engine: RunningEngine) -> dict[str, Any]:
    """Push the graph, cut off once in the middle."""
    target = CutOff(StoreEndpoint(engine.query, engine.dialect, graph.names.base, engine.store))
    graphs = graph.catalogue.graphs(graph.names)
    target.left = len(graphs) // 2
    started = time.perf_counter()
    try:
        push(graph.store, graphs, target, graph.path)
        raise SystemExit("The push was not cut off.")
    except RemoteStoreError:
        first = len(graphs) // 2 - target.left
    target.left = 2 * len(graphs)
    triples = push(graph.store, graphs, target, graph.path)
    seconds = time.perf_counter() - started
    again = push(graph.store, graphs, target, graph.path)
    return {
        "graphs": len(graphs) + 1,
        "before_the_cut": first,
        "triples_after_it": triples,
        "triples_sent_again": again,
        "seconds": round(seconds, 1),
    }


def programs_of(graph: kgtable.KnowledgeGraph, questions: Sequence[str], most: int) -> list[Any]:
    """The programs that answer the questions without a model."""
    found: list[Any] = []
    for question in questions:
        try:
            answer = graph.ask(question, model="none")
        except KgtableError:
            continue
        if answer.program is not None:
            found.append(program_to_json(answer.program))
    return found[:most]


def outcome(graph: kgtable.KnowledgeGraph, program: Any, engine: str) -> tuple[str, float]:
    """The values of a program, or the error; and milliseconds."""
    started = time.perf_counter()
    try:
        run = graph.run(program, engine=engine)
        rows = [
            [None if cell is None else (_plain(cell.value), cell.unit) for cell in row] for row in run.rows
        ]
        text = json.dumps([run.size, sorted(rows, key=repr)])
    except KgtableError as error:
        text = f"{type(error).__name__}"
    return text, 1e3 * (time.perf_counter() - started)


def _plain(value: Decimal | str | bool) -> str:
    """A value as text; of a number 15 digits, since engines divide to different numbers of digits."""
    if not isinstance(value, Decimal):
        return str(value)
    return f"{Context(prec=15).plus(value).normalize():f}"


def compare(
    local: kgtable.KnowledgeGraph,
    remote: kgtable.KnowledgeGraph,
    questions: Sequence[str],
    programs: Sequence[Any],
    expected: dict[str, Any],
) -> dict[str, Any]:
    """Count what is the same on the engine as on the embedded store."""
    retriever = IndexlessRetriever(remote.store, remote.names)
    same, times, wrong = 0, [], []
    for question in questions:
        started = time.perf_counter()
        triples = triples_of(retriever, question)
        times.append(1e3 * (time.perf_counter() - started))
        same += triples == expected["triples"][question]
        if triples != expected["triples"][question]:
            wrong.append(question)
    agreed, run_times, differing = 0, [], []
    for program, result in zip(programs, expected["programs"], strict=True):
        found, milliseconds = outcome(remote, program, "sparql")
        run_times.append(milliseconds)
        agreed += found == result
        if found != result:
            differing.append({"program": program, "embedded": result, "remote": found})
    tables = sum(remote.tables[id].table == local.tables[id].table for id in local.tables if id != LONG_TABLE)
    return {
        "triples_same": f"{same} of {len(questions)}",
        "retrieve_ms": percentiles(times),
        "programs_same": f"{agreed} of {len(programs)}",
        "program_ms": percentiles(run_times),
        "tables_same": f"{tables} of {len(set(local.tables) - {LONG_TABLE})}",
        "differing": (wrong[:3], differing[:3]),
    }


def long_table(rows: int) -> str:
    """A table of so many rows, with blank cells, markers and totals."""
    chosen = random.Random(5)
    lines = ["Order,Status,Paid on,Price (EUR),Weight (kg),Region"]
    for number in range(rows):
        status = chosen.choice(("Paid", "paid", "Open", "n/a", "in transit", ""))
        day = f"20{chosen.randint(18, 23)}-0{chosen.randint(1, 9)}-1{chosen.randint(0, 9)}"
        price = f"{chosen.randint(1, 90_000) / 4}" if chosen.random() < 0.95 else ""
        region = chosen.choice(("North", "South", "East", "West"))
        lines.append(f"O-{10_000_000 + number},{status},{day},{price},{chosen.randint(1, 99)},{region}")
    return "\n".join([*lines, 'Total,,,"1,000",55,']) + "\n"


def _long_programs() -> dict[str, Any]:
    def column(name: str) -> dict[str, str]:
        return {"column": name, "table": LONG_TABLE}

    def where(name: str, value: object, relator: str = "=", source: object = LONG_TABLE) -> dict[str, Any]:
        return {
            "op": "filter",
            "source": source,
            "condition": {"op": relator, "left": column(name), "right": value},
        }

    paid = where("Status", "paid")
    return {
        "count": {"op": "count", "rows": paid},
        "sum": {"op": "sum", "argument": column("Price (EUR)"), "rows": paid},
        "mean": {"op": "mean", "argument": column("Weight (kg)"), "rows": LONG_TABLE},
        "highest": {
            "op": "max",
            "argument": column("Price (EUR)"),
            "rows": where("Region", "north", source=paid),
        },
        "latest": {"op": "max", "argument": column("Paid on"), "rows": where("Price (EUR)", 20_000, ">")},
    }


def compare_long(local: kgtable.KnowledgeGraph, engine: RunningEngine, far: Path) -> dict[str, Any]:
    """Run programs over the long table on the engine."""
    received = 0
    send = EndpointClient.send

    def counting(self: EndpointClient, *args: Any, **options: Any) -> HttpReply:
        nonlocal received
        reply = send(self, *args, **options)
        received += len(reply.body)
        return reply

    found: dict[str, Any] = {}
    EndpointClient.send = counting  # type: ignore[method-assign]
    try:
        with kgtable.connect(engine.query, far, store=engine.store, dialect=engine.dialect) as remote:
            same = 0
            for name, program in _long_programs().items():
                received = 0
                started = time.perf_counter()
                try:
                    run = remote.run(program, engine="sparql")
                    same += _told(run) == _told(local.run(program, engine="memory"))
                except KgtableError as error:
                    print("  ", name, error)
                found[name] = f"{received / 1e6:.1f} MB, {time.perf_counter() - started:.1f} s"
            found["same"] = f"{same} of {len(_long_programs())}"
    finally:
        EndpointClient.send = send  # type: ignore[method-assign]
    return found


def _told(run: ProgramRun) -> tuple[object, ...]:
    value = run.value if run.value is None else _plain(run.value)
    return value, run.unit, run.calculation, run.citations, run.cells_read


def triples_of(retriever: IndexlessRetriever, question: str) -> list[Any]:
    """The triples found for a question, with scores to three places."""
    found = retriever.retrieve(question, K)
    return [(t.table, t.row, t.column, t.object, t.value, t.unit, round(t.score, 3)) for t in found.triples]


def main() -> None:
    """Compare each engine with the embedded store."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", nargs="+", default=["everyday", "hitab", "tatqa"])
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=["oxigraph", "kgtable"])
    parser.add_argument("--long", type=int, default=0, help="rows of one more, long table")
    parser.add_argument("--virtuoso", default="virtuoso-t", help="the program virtuoso-t")
    parser.add_argument("--jars", default="/usr/share/java/*", help="the class path with Jena")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kgtable-engines-") as name:
        folder = Path(name)
        for part in given.only:
            shutil.copytree(given.data / part / "tables", folder / "tables" / part)
        if given.long:
            (folder / "tables").mkdir(exist_ok=True)
            (folder / "tables" / f"{LONG_TABLE}.csv").write_text(long_table(given.long), encoding="utf-8")
        local = kgtable.build(folder / "tables", folder / "kg", embedding="none")
        found = [q.text for part in given.only for q in Benchmark(given.data / part).questions("dev")]
        questions = list(dict.fromkeys(found))
        questions = questions[:: max(1, len(questions) // given.questions)][: given.questions]
        print(f"{len(local.tables):,} tables, {len(questions)} questions", flush=True)
        retriever = IndexlessRetriever(local.store, local.names)
        expected: dict[str, Any] = {"triples": {q: triples_of(retriever, q) for q in questions}}
        programs = programs_of(local, questions, given.questions)
        outcomes = [outcome(local, program, "sparql") for program in programs]
        in_memory = [outcome(local, program, "memory")[0] for program in programs]
        expected["programs"] = [text for text, _ in outcomes]
        agreed = sum(a == b for a, b in zip(expected["programs"], in_memory, strict=True))
        for program, there, here in zip(programs, expected["programs"], in_memory, strict=True):
            if there != here:
                print("  not as in memory:", there[:200], here[:200], json.dumps(program)[:400])
        print(
            f"embedded: {len(programs)} programs, {agreed} as in memory, {percentiles([t for _, t in outcomes])} ms"
        )
        for engine_name in given.engines:
            with running(engine_name, folder / engine_name, given) as engine:
                os.environ["KGTABLE_SPARQL_TOKEN"], os.environ["KGTABLE_SPARQL_USER"] = (
                    engine.token,
                    engine.user,
                )
                about = pushed(local, engine)
                print(engine_name, json.dumps(about), flush=True)
                remote = kgtable.connect(
                    engine.query, folder / f"far-{engine_name}", store=engine.store, dialect=engine.dialect
                )
                print(
                    engine_name, json.dumps(compare(local, remote, questions, programs, expected)), flush=True
                )
                remote.close()
                if given.long:
                    print(
                        engine_name, json.dumps(compare_long(local, engine, folder / f"long-{engine_name}"))
                    )
        local.close()


if __name__ == "__main__":
    main()
