"""The role of a worker that reads: queries and graphs of whatever store the job names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtable.server.evaluation import Evaluator
from kgtable.server.frames import Head

if TYPE_CHECKING:
    from kgtable.server.worker import Emit


class Reader:
    """Keeps one store open, and opens another one when a job comes with ``open``."""

    def __init__(self) -> None:
        self._evaluator: Evaluator | None = None

    def answer(self, job: Head, body: bytes, emit: Emit) -> tuple[Head, bytes]:
        """The bytes of the response to a query or a graph read."""
        opening = job.get("open")
        if opening is not None:
            self._evaluator = None
            self._evaluator = Evaluator(opening["path"], opening["prefixes"])
        if self._evaluator is None:
            raise ValueError("The first job of a reader must open a store.")
        return self._evaluator.answer(job)
