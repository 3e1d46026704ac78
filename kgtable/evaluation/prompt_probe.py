"""A model that only measures the first prompt it is given."""

from __future__ import annotations

from kgtable.answering.prompting import estimate_tokens
from kgtable.errors import LLMPendingError
from kgtable.llm.protocol import Completion, OnText, Request


class PromptProbe:
    """Takes the place of a model: keeps the first request, and ends the answer there."""

    model = "none"

    def __init__(self) -> None:
        self.tokens: int | None = None
        """Estimated tokens of the first prompt; None while there was none."""

    def complete(self, request: Request, *, on_text: OnText | None = None) -> Completion:
        """Measure a request. Raises `LLMPendingError`."""
        if self.tokens is None:
            text = "\n\n".join(message["content"] for message in request.messages)
            self.tokens = estimate_tokens(text)
        raise LLMPendingError("Nothing is asked where prompts are measured.")

    async def complete_async(self, request: Request, *, on_text: OnText | None = None) -> Completion:
        """`complete` for async code."""
        return self.complete(request, on_text=on_text)

    def close(self) -> None:
        """Nothing to close."""
