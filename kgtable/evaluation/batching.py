"""A run through OpenAI's Batch API: requests are collected in one pass and answered in the next.

A request's id in the batch is a hash of all that decides its reply, so that results find their
question in any later run with the same settings, whatever the order.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kgtable.errors import LLMError, LLMPendingError
from kgtable.graph.storage import storage_errors
from kgtable.llm.batch import completion_of, raw_results, write_batch
from kgtable.llm.protocol import Completion, OnText, Request

_ID_LENGTH = 40


class BatchLLM:
    """An `LLM` that replies from the results of batches and collects the requests that have none.

    Raises `LLMReplyError` for a result file that is none.
    """

    def __init__(self, model: str, results: Sequence[Path] = ()) -> None:
        self.model = model
        self.pending: dict[str, Request] = {}
        self._results: dict[str, Mapping[str, Any]] = {}
        self._lock = threading.Lock()
        for path in results:
            with storage_errors(path):
                self._results.update(raw_results(path))

    def complete(self, request: Request, *, on_text: OnText | None = None) -> Completion:
        """The reply in the results. Raises `LLMPendingError` where there is none, or its `LLMError`."""
        identity = request.fingerprint(self.model, "batch:")[:_ID_LENGTH]
        result = self._results.get(identity)
        if result is None:
            with self._lock:
                self.pending[identity] = request
            raise LLMPendingError("This request waits for the batch.")
        outcome = completion_of(identity, dict(result), request)
        if isinstance(outcome, LLMError):
            raise outcome
        if on_text is not None:
            on_text(outcome.text)
        return outcome

    async def complete_async(self, request: Request, *, on_text: OnText | None = None) -> Completion:
        """As `complete`."""
        return self.complete(request, on_text=on_text)

    def close(self) -> None:
        """Nothing is kept open."""

    def export(self, path: Path) -> int:
        """Writes the pending requests as OpenAI Batch JSONL, in a stable order; how many they were."""
        with storage_errors(path):
            return write_batch(sorted(self.pending.items()), self.model, path)
