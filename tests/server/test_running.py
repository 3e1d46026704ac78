"""A server from start to end: builds beside it, writes that survive, the command itself, a clean stop."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

import kgtable
from kgtable.building.generations import LOCK
from kgtable.building.pipeline import start_empty
from kgtable.errors import GraphNotFoundError, ServerError
from kgtable.server import running as running_module
from kgtable.server.options import ServerSettings
from kgtable.server.running import address, bind, with_token
from kgtable.server.state import GraphFolder
from kgtable.storage import exclusive_lock
from tests.server.serving import TOKEN, WRITER, Running, running, store_with
from tests.server.test_pool import BOMB, NUMBERS

COUNT = "SELECT (COUNT(DISTINCT ?t) AS ?n) { ?t a kgt:Table }"
INSERT = "INSERT DATA {{ GRAPH <http://mine.example/g> {{ <http://mine.example/s> <http://mine.example/p> {} }} }}"
MINE = "SELECT ?o { GRAPH <http://mine.example/g> { ?s ?p ?o } }"


def number(answer: httpx.Response) -> int:
    assert answer.status_code == 200, answer.text
    return int(answer.json()["results"]["bindings"][0]["n"]["value"])


def table(folder: Path, name: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.csv").write_text(f"Name,Size in kg\n{name},3\nother,4\n", encoding="utf-8")


@pytest.fixture
def writable(tmp_path: Path) -> Iterator[Running]:
    directory = tmp_path / "graph"
    start_empty(directory)
    with running(ServerSettings(port=0, writable=True, token=TOKEN), GraphFolder(directory)) as server:
        yield server


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starts writers that do not wait long for the lock of a graph."""
    monkeypatch.setattr("kgtable.server.workers.process._STARTER", "tests.server.impatient_worker")


def test_a_build_appears_without_a_restart_and_keeps_what_people_wrote(writable: Running, tmp_path: Path) -> None:
    directory = Path(writable.state.view().directory or "")
    assert number(writable.query(COUNT)) == 0
    assert writable.update(INSERT.format(1)).status_code == 204
    table(tmp_path / "tables", "one")
    kgtable.build(tmp_path / "tables", directory, embedding="none")
    tag = writable.query(COUNT).headers["etag"]
    assert number(writable.query(COUNT)) == 1
    assert writable.client.get("/api/tables").json()["total"] == 1
    table(tmp_path / "tables", "two")
    kgtable.build(tmp_path / "tables", directory, embedding="none")
    assert number(writable.query(COUNT)) == 2
    assert writable.query(COUNT).headers["etag"] != tag
    assert len(writable.query(MINE).json()["results"]["bindings"]) == 1
    assert writable.update(INSERT.format(2)).status_code == 204
    assert len(writable.query(MINE).json()["results"]["bindings"]) == 2


def test_a_write_during_a_build_is_refused_for_a_while(impatient: None, writable: Running) -> None:
    directory = Path(writable.state.view().directory or "")
    with exclusive_lock(directory / LOCK):
        answer = writable.update(INSERT.format(1))
        assert answer.status_code == 503
        assert answer.headers["retry-after"]
    assert writable.update(INSERT.format(1)).status_code == 204


def test_only_graph_directories_are_served(tmp_path: Path) -> None:
    with pytest.raises(GraphNotFoundError):
        GraphFolder(tmp_path)


def test_beyond_loopback_everything_needs_the_token(graph_folder: Path) -> None:
    settings = ServerSettings(host="0.0.0.0", port=0, token=TOKEN)
    with running(settings, GraphFolder(graph_folder)) as server:
        assert server.query("ASK {}").status_code == 401
        assert server.client.get("/").status_code == 401
        assert server.client.get("/api/info").status_code == 401
        assert server.client.get("/?token=wrong").status_code == 401
        assert server.client.get("/health").status_code == 200
        headers = {"authorization": f"Bearer {TOKEN}"}
        assert server.client.get("/sparql", params={"query": "ASK {}"}, headers=headers).status_code == 200
        login = server.client.get("/", params={"token": TOKEN})
        assert login.status_code == 303
        assert "HttpOnly" in login.headers["set-cookie"]
        assert server.client.get("/tables").status_code == 200
        assert TOKEN not in server.log.getvalue()


@contextmanager
def command(directory: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """``kgtable serve`` as a process of its own, and its address."""
    line = [sys.executable, "-m", "kgtable", "serve", "--kg", str(directory), "--port", "0", *options]
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        assert " at http://" in said, said
        yield process, said.split(" at ")[1].split(" ")[0]
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def test_the_command_starts_on_a_new_directory_and_ends_gracefully(tmp_path: Path) -> None:
    with command(tmp_path / "new", "--writable", "--token", TOKEN) as (process, url):
        answer = httpx.post(
            url + "sparql", content=INSERT.format(1), headers={**WRITER, "content-type": "application/sparql-update"}
        )
        assert answer.status_code == 204
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) in (0, -signal.SIGTERM)
    assert (tmp_path / "new" / "kgtable.json").exists()


def test_nothing_acknowledged_is_lost_when_the_server_is_killed(tmp_path: Path) -> None:
    directory = tmp_path / "graph"
    acknowledged = []
    with command(directory, "--writable", "--token", TOKEN) as (process, url):
        headers = {**WRITER, "content-type": "application/sparql-update"}
        with httpx.Client(timeout=30) as client:
            for value in range(12):
                assert client.post(url + "sparql", content=INSERT.format(value), headers=headers).status_code == 204
                acknowledged.append(str(value))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    with command(directory) as (_, url):
        answer = httpx.get(url + "sparql", params={"query": MINE})
        found = sorted((row["o"]["value"] for row in answer.json()["results"]["bindings"]), key=int)
    assert found == acknowledged


def test_a_killed_server_leaves_no_worker(tmp_path: Path) -> None:
    with command(tmp_path / "graph", "--writable", "--token", TOKEN) as (process, _):
        time.sleep(1)
        found = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True)
        children = [int(pid) for pid in found.stdout.split()]
        assert children
        process.kill()
        process.wait()
        deadline = time.monotonic() + 20
        while any(Path(f"/proc/{pid}/cmdline").exists() for pid in children) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not any(Path(f"/proc/{pid}/cmdline").exists() for pid in children)


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mount") is None, reason="mounting a small disk needs root")
def test_a_full_disk_is_said_and_nothing_is_lost(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(disk)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    try:
        start_empty(disk / "graph")
        with running(ServerSettings(port=0, writable=True, token=TOKEN), GraphFolder(disk / "graph")) as server:
            assert server.update(INSERT.format(1)).status_code == 204
            size = 0
            statuses = set()
            for step in range(40):
                text = f'INSERT DATA {{ <x:{step}> <x:p> "{os.urandom(500_000).hex()}" }}'
                answer = server.update(text)
                statuses.add(answer.status_code)
                size += 1_000_000 * (answer.status_code == 204)
                if answer.status_code != 204:
                    break
            assert statuses == {204, 507}, statuses
            assert server.query(MINE).json()["results"]["bindings"]
            found = server.query("SELECT (SUM(STRLEN(?o)) AS ?n) { ?s <x:p> ?o }")
            assert number(found) == size
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)


SLOW = "SELECT (COUNT(*) AS ?n) {" + " ".join(NUMBERS.format(f"v{n}") for n in range(6)) + "}"


def ask(url: str, query: str) -> httpx.Response:
    return httpx.get(f"{url}sparql", params={"query": query}, timeout=60)


def test_requests_under_way_are_answered_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(running_module, "GRACE_SECONDS", 4)
    with ThreadPoolExecutor(2) as threads:
        with running(ServerSettings(port=0), store_with(tmp_path / "store")) as server:
            ends = threads.submit(ask, server.url, SLOW)
            never = threads.submit(ask, server.url, BOMB)
            deadline = time.monotonic() + 10
            while server.state.readers.running < 2 and not ends.done() and time.monotonic() < deadline:
                time.sleep(0.01)
        assert ends.result().status_code == 200
        assert ends.result().json()["results"]["bindings"][0]["n"]["value"] == str(10**6)
        answer = never.result()
    assert answer.status_code == 503
    assert answer.json()["type"].endswith("#busy")
    assert answer.headers["retry-after"]
    assert "Traceback" not in caplog.text


def test_a_token_is_made_up_where_one_is_needed() -> None:
    assert with_token(ServerSettings()).token is None
    for settings in (ServerSettings(writable=True), ServerSettings(host="0.0.0.0")):
        made = with_token(settings).token
        assert made is not None
        assert len(made) >= 24
        assert with_token(settings).token != made
    assert with_token(ServerSettings(writable=True, token="long enough")).token == "long enough"


@pytest.mark.parametrize("token", ["", "short", "größenwahn", "line\nbreak", "tab\tulator"])
def test_tokens_that_no_request_could_carry(token: str) -> None:
    with pytest.raises(ServerError, match="at least 8"):
        with_token(ServerSettings(token=token))


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_the_address_is_one_that_can_be_opened(host: str) -> None:
    try:
        listener = bind(ServerSettings(host=host, port=0))
    except ServerError:
        assert host == "::1", "this machine has no IPv6"
        return
    with listener:
        url = address(listener)
        assert url.startswith("http://[::1]:" if host == "::1" else "http://127.0.0.1:")
        with socket.create_connection((host, listener.getsockname()[1]), timeout=5):
            pass


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1", "x" * 70, ".."])
def test_addresses_that_cannot_be_had(host: str) -> None:
    with pytest.raises(ServerError, match=r"Cannot listen on .*--port"):
        bind(ServerSettings(host=host, port=0))


def test_a_port_that_is_taken() -> None:
    with bind(ServerSettings(port=0)) as taken, pytest.raises(ServerError, match="Cannot listen"):
        bind(ServerSettings(port=taken.getsockname()[1]))


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("running", ("pandas", "numpy", "faiss", "kgtable.knowledge_graph", "kgtable.answering.answer")),
        ("workers.worker", ("starlette", "numpy", "kgtable.knowledge_graph")),
        ("views.explorer", ("pandas", "faiss", "starlette", "bm25s")),
    ],
)
def test_a_process_imports_only_what_it_needs_to_start(module: str, unwanted: tuple[str, ...]) -> None:
    code = f"import sys, kgtable.server.{module}; print([name for name in {unwanted!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
