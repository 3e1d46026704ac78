"""Writes within bounds: the token before the body, bodies on disk, memory and time limits, nothing half written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import pytest

from kgtable.building.pipeline import start_empty
from kgtable.errors import ServerError
from kgtable.server.options import QueueLimits, ServerLimits, ServerSettings
from kgtable.server.running import serve_directory
from tests.server.conftest import DATA
from tests.server.serving import TOKEN, WRITER, Running, running, store_with
from tests.server.test_pool import NUMBERS

LIMITS = ServerLimits(query_seconds=20.0, write_seconds=60.0, memory=600 << 20, query_text=20_000, upload=64 << 20)
TURTLE = {**WRITER, "content-type": "text/turtle"}
DIGITS = " ".join(NUMBERS.format(f"v{n}") for n in range(7))
NODES = "BIND(IRI(CONCAT('http://e/', STR(?v0), STR(?v1), STR(?v2), STR(?v3), STR(?v4), STR(?v5))) AS ?s)"
FLOOD = f"INSERT {{ GRAPH <http://e/flood> {{ ?s <http://e/p> ?v6 }} }} WHERE {{ {DIGITS} {NODES} }}"


def served(folder: Path, limits: ServerLimits, **queue: int) -> AbstractContextManager[Running]:
    queue_limits = QueueLimits(processes=1, **queue)
    settings = ServerSettings(port=0, writable=True, token=TOKEN, limits=limits, queue=queue_limits)
    return running(settings, store_with(folder / "store", DATA))


@pytest.fixture(scope="module")
def bounded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with served(tmp_path_factory.mktemp("bounded"), LIMITS, uploads=2) as server:
        yield server


def dump(server: Running) -> list[str]:
    answer = server.client.get("/store", headers={"accept": "application/n-quads"})
    return sorted(answer.text.splitlines())


def uploads(server: Running) -> list[Path]:
    folder = server.state._folder
    assert folder is not None
    return list(Path(folder.name).iterdir())


def kind(answer: httpx.Response) -> str:
    return str(answer.json()["type"]).rpartition("#")[2]


def endless(asked: list[int], piece: bytes = b"#" * 65_536) -> Iterator[bytes]:
    """A body that is noted as it is asked for."""
    for number in range(4_000):
        asked.append(number)
        yield piece


@pytest.mark.parametrize(
    ("method", "path", "type"),
    [("PUT", "/store?default", "text/turtle"), ("POST", "/sparql", "application/sparql-update")],
)
def test_the_token_is_asked_for_before_the_body(bounded: Running, method: str, path: str, type: str) -> None:
    asked: list[int] = []
    headers = {"content-type": type, "expect": "100-continue"}
    answer = bounded.client.request(method, path, content=endless(asked), headers=headers)
    assert answer.status_code == 401
    assert not uploads(bounded)


def test_forms_are_short(bounded: Running) -> None:
    headers = {**WRITER, "content-type": "application/x-www-form-urlencoded"}
    answer = bounded.client.post("/sparql", content=b"update=" + b"+" * 70_000, headers=headers)
    assert (answer.status_code, kind(answer)) == (413, "too-large")


def test_long_bodies_go_through_a_file_that_is_removed(bounded: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[int]] = []
    write = bounded.state.write

    async def watched(job: dict[str, object], body: bytes = b"") -> int:
        seen.append([path.stat().st_size for path in uploads(bounded)])
        assert not body
        return await write(job, body)

    monkeypatch.setattr(bounded.state, "write", watched)
    turtle = "".join(f"<http://e/{n}> <http://e/p> {n} .\n" for n in range(60_000))
    put = bounded.client.put("/store?graph=http://e/long", content=turtle, headers=TURTLE)
    assert put.status_code == 201
    assert seen == [[len(turtle)]]
    assert not uploads(bounded)
    assert len([line for line in dump(bounded) if "<http://e/long>" in line]) == 60_000
    data = "INSERT DATA { GRAPH <http://e/long> { " + "\n".join(turtle.splitlines()[:9]) + "} }"
    assert bounded.update(data).status_code == 204
    assert bounded.update("INSERT DATA { \udcff }".encode("utf-8", "surrogateescape")).status_code == 400  # type: ignore[arg-type]
    assert bounded.update("DROP GRAPH <http://e/long>").status_code == 204


def test_a_body_that_is_too_long_leaves_nothing(bounded: Running) -> None:
    asked: list[int] = []
    answer = bounded.client.put("/store?default", content=endless(asked), headers=TURTLE)
    assert (answer.status_code, kind(answer)) == (413, "too-large")
    assert not uploads(bounded)


def test_too_many_uploads_at_once_are_refused(bounded: Running) -> None:
    bounded.state._uploads = 2
    answer = bounded.client.put("/store?default", content=b"", headers=TURTLE)
    assert (answer.status_code, kind(answer)) == (503, "busy")
    bounded.state._uploads = 0
    assert bounded.client.put("/store?default", content=b"", headers=TURTLE).status_code == 204


@pytest.mark.parametrize(("seconds", "memory", "said"), [(2.0, 3 << 30, "timeout"), (60.0, 300 << 20, "memory-limit")])
def test_an_update_beyond_the_limits_changes_nothing(tmp_path: Path, seconds: float, memory: int, said: str) -> None:
    with served(tmp_path, ServerLimits(write_seconds=seconds, memory=memory)) as server:
        before, version = dump(server), server.state.view().version
        answer = server.update(f"INSERT DATA {{ <http://e/a> <http://e/b> 1 }} ; {FLOOD}")
        assert (answer.status_code, kind(answer)) == (503, said)
        assert dump(server) == before
        assert server.state.view().version == version
        assert server.update("INSERT DATA { <http://e/a> <http://e/b> 1 }").status_code == 204
        assert len(dump(server)) == len(before) + 1


def test_an_upload_of_many_batches_that_breaks_off_changes_nothing(
    bounded: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = dump(bounded)
    turtle = "".join(f"<http://e/{n}> <http://e/p> {n} .\n" for n in range(120_000)) + "broken"
    answer = bounded.client.put("/store?graph=http://example.org/g1", content=turtle, headers=TURTLE)
    assert (answer.status_code, kind(answer)) == (400, "bad-data")
    assert answer.json()["line"] == 120_001
    assert dump(bounded) == before


def test_an_upload_with_a_text_that_no_store_loads_changes_nothing(bounded: Running) -> None:
    before = dump(bounded)
    triples = f'<http://e/a> <http://e/b> "1" .\n<http://e/a> <http://e/b> "{"a" * (17 << 20)}" .\n'
    headers = {**WRITER, "content-type": "application/n-triples"}
    answer = bounded.client.put("/store?graph=http://example.org/g1", content=triples, headers=headers)
    assert (answer.status_code, kind(answer)) == (400, "bad-data")
    assert "A term is too long" in answer.json()["detail"]
    assert dump(bounded) == before


def test_an_upload_for_which_there_is_too_little_memory_is_told_so(tmp_path: Path) -> None:
    with served(tmp_path, ServerLimits(write_seconds=60.0, memory=200 << 20)) as server:
        before = dump(server)
        turtle = "".join(f"<http://e/{n}> <http://e/p> {n} .\n" for n in range(120_000))
        answer = server.client.put("/store?graph=http://e/long", content=turtle, headers=TURTLE)
        assert (answer.status_code, kind(answer)) == (503, "memory-limit")
        assert dump(server) == before


def form(*parts: bytes, end: bytes = b"--x--\r\n") -> bytes:
    return b"".join(b"--x\r\n" + part + b"\r\n" for part in parts) + end


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (form(b"Content-Type: text/turtle\r\n\r\n<http://e/s> <http://e/p> 'a\\n--x' ."), 201),
        (form(b"Content-Type: text/turtle\r\n\r\n<http://e/s> <http://e/p> 1 .", end=b""), 400),
        (form(b"Content-Type: text/turtle\r\nContent-Transfer-Encoding: base64\r\n\r\nAAAA"), 400),
        (form(b"Content-Type: text/html\r\n\r\n<p>"), 415),
        (form(b"X: " + b"a" * 200_000 + b"\r\n\r\n"), 400),
        (b"", 400),
    ],
)
def test_forms_with_parts(bounded: Running, body: bytes, status: int) -> None:
    headers = {**WRITER, "content-type": 'multipart/form-data; boundary="x"'}
    before = dump(bounded)
    answer = bounded.client.put("/store?graph=http://e/form", content=body, headers=headers)
    assert answer.status_code == status, answer.text
    assert (dump(bounded) == before) == (status != 201)


def test_a_second_writable_server_is_refused_in_one_line(tmp_path: Path) -> None:
    directory = tmp_path / "graph"
    start_empty(directory)
    settings = ServerSettings(port=0, writable=True, token=TOKEN)
    refused: list[ServerError] = []

    def second(line: str) -> None:
        """Called when the first server listens: try to start another, then stop the first."""
        if line.startswith("kgtable serves"):
            with pytest.raises(ServerError) as caught:
                serve_directory(directory, settings, log=None, say=str)
            refused.append(caught.value)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        serve_directory(directory, settings, log=None, say=second)
    assert len(refused) == 1
    assert "Another writable server" in str(refused[0])
    assert "\n" not in str(refused[0])
