from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kgtable.server.workers.messages import Decoder, Head, Problem, encode
from kgtable.server.workers.worker import Emit, Reader, Worker, serve
from tests.server.refusals import refused
from tests.server.serving import store_with
from tests.server.test_pool import BOMB


class Role:
    """Answers with its job, and fails as the job says."""

    def answer(self, job: Head, body: bytes, emit: Emit) -> tuple[Head, bytes]:
        """See `Worker.answer`."""
        match job.get("do"):
            case "tell":
                emit({"name": "text"}, b"piece")
            case "refuse":
                raise Problem("too-large", 'Long "\ud800".', {"limit": 5}, {"connection": "close"})
            case "overflow":
                raise MemoryError
            case "break":
                raise ZeroDivisionError("by <b>")
            case "nest":
                raise RecursionError("maximum recursion depth exceeded")
        return {"status": 200}, body


def answers(*jobs: tuple[Head, bytes], worker: Worker | None = None) -> list[tuple[Head, bytes]]:
    """The frames a worker sends back for these jobs, after it has said that it is ready."""
    ours, its = socket.socketpair()
    with ours, its:
        ours.sendall(b"".join(encode({"seconds": 60, **head}, body) for head, body in jobs))
        ours.shutdown(socket.SHUT_WR)
        serve(worker or Role(), its)
        its.shutdown(socket.SHUT_WR)
        data = b""
        while piece := ours.recv(1 << 16):
            data += piece
    ready, *found = Decoder().feed(data)
    assert ready == ({"ready": True}, b"")
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    return found


def test_jobs_are_answered_in_order() -> None:
    assert answers(({}, b"one"), ({}, b""), ({}, b"\x00three")) == [
        ({"status": 200}, b"one"), ({"status": 200}, b""), ({"status": 200}, b"\x00three"),
    ]  # fmt: skip
    assert answers() == []


def test_events_come_ahead_of_the_answer() -> None:
    assert answers(({"do": "tell"}, b"x")) == [
        ({"name": "text", "event": True}, b"piece"),
        ({"status": 200}, b"x"),
    ]


@pytest.mark.parametrize(
    ("do", "kind", "detail"),
    [
        ("refuse", "too-large", 'Long "\\ud800".'),
        ("overflow", "memory-limit", "memory"),
        ("break", "evaluation-error", "by <b>"),
        ("nest", "too-complex", "nested too deeply"),
    ],
)
def test_what_fails_is_told_and_the_next_job_is_done(do: str, kind: str, detail: str) -> None:
    (head, body), after = answers(({"do": do}, b""), ({}, b"next"))
    assert head["problem"] == kind
    assert detail in body.decode()
    assert after == ({"status": 200}, b"next")


def test_extra_and_headers_of_a_problem_come_along() -> None:
    ((head, _),) = answers(({"do": "refuse"}, b""))
    assert (head["extra"], head["headers"]) == ({"limit": 5}, {"connection": "close"})


def started(role: str, *jobs: Any, memory: int = 0) -> tuple[int, list[tuple[Head, bytes]]]:
    """A worker process's end and what it said."""
    ours, its = socket.socketpair()
    with ours:
        command = [
            sys.executable,
            "-m",
            "kgtable.server.workers.worker",
            role,
            str(its.fileno()),
            str(memory),
        ]
        with its:
            process = subprocess.Popen(command, pass_fds=[its.fileno()])
        with process:
            for head in jobs:
                ours.sendall(encode(head))
            ours.shutdown(socket.SHUT_WR)
            data = b""
            while piece := ours.recv(1 << 16):
                data += piece
    return process.returncode, Decoder().feed(data)


def test_a_process_ends_when_its_server_does() -> None:
    code, frames = started("read")
    assert (code, frames) == (0, [({"ready": True}, b"")])


def test_a_job_that_overruns_ends_the_process(tmp_path: Path) -> None:
    path = store_with(tmp_path / "store").view().path
    job = {"query": BOMB, "union": True, "accept": "text/csv", "result_limit": 999}
    code, frames = started(
        "read", {"seconds": -1.9, "op": "query", "open": {"path": path, "prefixes": {}}, **job}
    )
    assert code == -signal.SIGALRM
    assert json.dumps(frames[1:]) == "[]"


def asked(reader: Reader, opening: Path | None = None) -> bytes:
    job: dict[str, Any] = {
        "op": "query",
        "query": "SELECT ?o { ?s ?p ?o }",
        "union": True,
        "accept": "text/csv",
        "result_limit": 999,
    }
    if opening is not None:
        job["open"] = {"path": str(opening), "prefixes": {}}
    return reader.answer(job, b"", lambda head, body: None)[1]


def test_a_store_stays_open_until_another_is_named(tmp_path: Path) -> None:
    for name in ("one", "two"):
        store_with(tmp_path / name, f"<http://e/s> <http://e/p> '{name}' .")
    reader = Reader()
    with pytest.raises(ValueError, match="must open a store"):
        asked(reader)
    assert asked(reader, tmp_path / "one") == asked(reader) == b"o\r\none\r\n"
    assert asked(reader, tmp_path / "two") == asked(reader) == b"o\r\ntwo\r\n"


def test_a_store_that_cannot_be_opened_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgtable.server.workers.execution.OPENING_PAUSES", ())
    store_with(tmp_path / "one")
    reader = Reader()
    asked(reader, tmp_path / "one")
    with refused("unavailable"):
        asked(reader, tmp_path / "none")
    with pytest.raises(ValueError, match="must open a store"):
        asked(reader)
