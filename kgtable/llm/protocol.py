"""Requests to language models, completions, and the protocol of a model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypedDict

from kgtable.llm.usage import Usage


class Message(TypedDict):
    """One message of a chat; `role` is ``system``, ``user`` or ``assistant``."""

    role: str
    content: str


Schema = Mapping[str, Any]
OnText = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Request:
    """A question to a model. With a `schema` (JSON Schema of an object) the reply must be of that form.

    `stage` names the step that asks, for usage and trace; it is no part of what is sent, nor is `sample`,
    which tells equal requests apart whose replies are to differ.
    """

    messages: tuple[Message, ...]
    schema: Schema | None = None
    stage: str = "answer"
    temperature: float | None = 0.0
    max_tokens: int | None = 2_000
    sample: int = 0

    def fingerprint(self, model: str, base_url: str) -> str:
        """A hash of everything that decides the reply; it contains no key."""
        parts = [base_url, model, list(self.messages), self.schema, self.temperature, self.max_tokens]
        if self.sample:
            parts.append(self.sample)
        text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's reply: its text and, where a schema was given, the checked object in it."""

    text: str
    data: Mapping[str, Any] | None
    usage: Usage
    model: str
    from_cache: bool = False


class LLM(Protocol):
    """A model that completes chats, with an async twin that behaves the same.

    `on_text` receives the reply's text piece by piece as it arrives. Both raise a leaf of
    `kgtable.errors.LLMError`.
    """

    model: str

    def complete(self, request: Request, *, on_text: OnText | None = None) -> Completion:
        """The model's reply to `request`."""
        ...

    async def complete_async(self, request: Request, *, on_text: OnText | None = None) -> Completion:
        """As `complete`, without blocking the event loop."""
        ...

    def close(self) -> None:
        """Close kept connections; the model can still be used."""
        ...
