"""Work in a process of its own: what exhausts the memory, or crashes in native code, ends that process alone."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable

from kgtable import errors
from kgtable.errors import KgtableError, QueryError

SHARE = 0.5
"""Part of the machine's memory that the process may take."""


def text_made_apart(make: Callable[[], str]) -> str:
    """The text that `make` gives, called in a forked process; where the system cannot fork, in this one.

    Errors of kgtable arrive as they were raised. Raises `QueryError` where the process ends without a text.
    """
    if not hasattr(os, "fork"):
        return make()
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        _work(make, writing)
    os.close(writing)
    try:
        with open(reading, "rb") as pipe:
            sent = pipe.read()
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) or not sent:
        raise QueryError(
            "The query took more memory than there is, or crashed the engine.",
            hint="Ask for less; if it is a simple query, the store may be damaged: build the graph again.",
        )
    if sent[:1] == b"=":
        return sent[1:].decode("utf-8", "surrogatepass")
    kind, message, hint = json.loads(sent)
    raise _rebuilt(kind, message, hint)


def _rebuilt(kind: str, message: str, hint: str) -> KgtableError:
    found = getattr(errors, kind, KgtableError)
    error = found.__new__(found, message)
    KgtableError.__init__(error, message, hint=hint)
    return error  # type: ignore[no-any-return]


def _work(make: Callable[[], str], writing: int) -> None:
    """What the process does; it never returns."""
    code = 1
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        memory = int(SHARE * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        engine = os.open(os.devnull, os.O_WRONLY)
        os.dup2(engine, 2)  # what the engine prints when it runs out of memory
        try:
            sent = b"=" + make().encode("utf-8", "surrogatepass")
        except KgtableError as error:
            sent = json.dumps([type(error).__name__, error.message, error.hint]).encode("utf-8")
        with open(writing, "wb") as pipe:
            pipe.write(sent)
        code = 0
    finally:
        os._exit(code)
