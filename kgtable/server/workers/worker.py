"""Worker process: reads jobs from a socket, one at a time, and answers each with one message.

Started as ``python -m kgtable.server.workers.worker ROLE DESCRIPTOR``. Besides the limits set from outside, an alarm
ends the process when a job overruns, even inside native code, and it ends when its server does.
"""

from __future__ import annotations

import resource
import signal
import socket
import sys
from pathlib import Path
from typing import Any, Protocol

from kgtable.server.options import STREAM_TIMES
from kgtable.server.workers import messages
from kgtable.server.workers.execution import Evaluator
from kgtable.server.workers.messages import Decoder, Emit, Head, Problem
from kgtable.storage import Lease


class Reader:
    """Keeps one store open, and opens another one when a job comes with ``open``.

    It holds a lease on the store, and of a graph directory on the store's generation, meanwhile.
    """

    def __init__(self) -> None:
        self._evaluator: Evaluator | None = None
        self._leases: tuple[Lease, ...] = ()

    def answer(self, job: Head, body: bytes, emit: Emit) -> tuple[Head, bytes]:
        """The response to a query or a graph read, as bytes."""
        opening = job.get("open")
        if opening is not None:
            self._evaluator, self._leases = None, ()
            path = Path(opening["path"])
            folders = [path] if opening.get("directory") is None else [path.parent, path]
            self._leases = tuple(map(_lease_on, folders))
            self._evaluator = Evaluator(str(path), opening["prefixes"])
        if self._evaluator is None:
            raise ValueError("The first job of a reader must open a store.")
        return self._evaluator.answer(job, emit)


def _lease_on(folder: Path) -> Lease:
    try:
        return Lease(folder)
    except OSError as error:
        raise Problem("unavailable", f"The graph's store cannot be opened: {error}") from error


GRACE_SECONDS = 2.0
"""How much longer than its limit a job may run before the process ends itself."""

CHUNK = 1 << 16


class Worker(Protocol):
    """The interface of a role."""

    def answer(self, job: Head, body: bytes, emit: Emit) -> tuple[Head, bytes]:
        """Execute a job; `emit` sends events ahead of the result. Raises `Problem`."""
        ...


def serve(worker: Worker, connection: socket.socket) -> None:
    """Execute jobs in order until the connection closes."""
    decoder = Decoder()
    connection.sendall(messages.encode({"ready": True}))
    room = memoryview(bytearray(CHUNK))  # a new buffer of this size each time would cost more than the system call
    while size := connection.recv_into(room):
        for job, body in decoder.feed(bytes(room[:size])):
            times = STREAM_TIMES + 1 if job.get("stream") else 1
            signal.setitimer(signal.ITIMER_REAL, times * job["seconds"] + GRACE_SECONDS)
            connection.sendall(messages.encode(*_answer(worker, job, body, connection)))
            signal.setitimer(signal.ITIMER_REAL, 0)


def _answer(worker: Worker, job: Head, body: bytes, connection: socket.socket) -> tuple[Head, bytes]:
    def emit(head: Head, content: bytes) -> None:
        kind = {} if "part" in head else {"event": True}
        connection.sendall(messages.encode({**head, **kind}, content))

    try:
        return worker.answer(job, body, emit)
    except Problem as problem:
        return _failure(problem)
    except MemoryError:
        return _failure(Problem("memory-limit", "The request needed more memory than one request may use."))
    except RecursionError:
        return _failure(Problem("too-complex", "What the request asks for is nested too deeply."))
    except Exception as error:
        return _failure(Problem("evaluation-error", f"{type(error).__name__}: {error}"))


def _failure(problem: Problem) -> tuple[Head, bytes]:
    head = {"problem": problem.kind, "extra": dict(problem.extra), "headers": dict(problem.headers)}
    return head, problem.detail.encode("utf-8", "backslashreplace")


def bound(memory: int) -> None:
    """Limit the process's memory, and let the alarm end it even inside native code."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory:
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _role(name: str) -> Any:
    if name == "read":
        return Reader()
    if name == "explore":
        from kgtable.server.views.explorer import Explorer

        return Explorer()
    if name == "edit":
        from kgtable.server.workers.table_editor import TableEditor

        return TableEditor()
    from kgtable.server.workers.writer import StoreWriter

    return StoreWriter()


def main(arguments: list[str]) -> None:
    """Run a worker of the given role on the given file descriptor."""
    role, descriptor, memory = arguments[0], int(arguments[1]), int(arguments[2])
    worker: Worker = _role(role)
    bound(memory)
    with socket.socket(fileno=descriptor) as connection:
        serve(worker, connection)


if __name__ == "__main__":
    main(sys.argv[1:])
