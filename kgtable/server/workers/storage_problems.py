"""Which problem of a response an error of the storage is."""

from __future__ import annotations

import re

from kgtable.errors import (
    DamagedGraphError,
    GraphLockedError,
    GraphNotFoundError,
    GraphVersionError,
    NoSpaceError,
)
from kgtable.server.workers.messages import Problem
from kgtable.storage import is_full

_LOCKED = re.compile(r"\block (file|hold)", re.IGNORECASE)
"""What the engine says where another process has opened the store for writing; its damaged *blocks* are no locks."""


def storage_kind(error: BaseException) -> str:
    """The name of the `ProblemKind` for an error of the system, of the triple store, or of kgtable."""
    if isinstance(error, NoSpaceError) or is_full(error):
        return "storage-full"
    if isinstance(error, DamagedGraphError) or (type(error) is RuntimeError and "orruption" in str(error)):
        return "damaged"
    if isinstance(error, GraphLockedError | GraphNotFoundError | GraphVersionError):
        return "unavailable"
    return "storage-failed"


def storage_problem(error: Exception) -> Problem:
    """What the response to a write says that could not be stored; nothing of it was."""
    kind, text = storage_kind(error), str(error)
    if isinstance(error, GraphLockedError):
        detail = "The graph is being built. Try again when that is done."
        return Problem(kind, detail, {}, {"retry-after": "10"})
    if kind == "storage-full":
        return Problem(kind, "The disk is full: nothing of this request was stored.")
    if isinstance(error, OSError | RuntimeError):
        if kind == "storage-failed" and _LOCKED.search(text):
            detail = "Another process is writing to this graph. Try again later."
            return Problem("unavailable", detail, {}, {"retry-after": "5"})
        return Problem(kind, f"The write could not be stored: {' '.join(text.split())}")
    return Problem(kind, text)
