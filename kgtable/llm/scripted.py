"""A scripted model, for tests of programs that use kgtable."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from kgtable.config import ModelEndpoint
from kgtable.errors import LLMError, LLMReplyError
from kgtable.llm.client import Tap
from kgtable.llm.conversation import ModelReply, RetryPolicy, Speaker
from kgtable.llm.protocol import ChatDialect, Completion, OnText, Request

Scripted: TypeAlias = str | Mapping[str, Any] | LLMError
Script: TypeAlias = Iterable[Scripted] | Callable[[Request], Scripted]


class ScriptedLLM:
    """An `LLM` without a model: replies in order, or a function's reply to each request.

    A reply is a text, an object (sent as its JSON), or an `LLMError` to raise. Replies take the same
    way as a real model's: they are read, checked against the schema, and asked for once more where
    they do not fit. `requests` keeps what was asked.

    >>> model = ScriptedLLM(["Forty-two."])
    >>> model.complete(Request(({"role": "user", "content": "How many?"},))).text
    'Forty-two.'
    """

    def __init__(self, script: Script, *, model: str = "scripted") -> None:
        self.model = model
        self.requests: list[Request] = []
        self._make = script if callable(script) else None
        self._replies = iter(()) if callable(script) else iter(script)
        self._lock = threading.Lock()
        self._speaker = Speaker(model, ModelEndpoint("scripted:"), ChatDialect(), RetryPolicy(), lambda *_: None)

    def complete(self, request: Request, *, on_text: OnText | None = None) -> Completion:
        """The next reply of the script. Raises `LLMReplyError` if the script has ended."""
        tap = Tap(on_text)

        def send(body: dict[str, Any]) -> ModelReply:
            text = self._next(request)
            if tap.open:
                for word in text.splitlines(keepends=True):
                    tap(word)
            return ModelReply(text)

        return self._speaker.converse(request, send)

    def close(self) -> None:
        """No-op: nothing is kept open."""

    def _next(self, request: Request) -> str:
        with self._lock:
            self.requests.append(request)
            reply = self._make(request) if self._make else next(self._replies, None)
        if reply is None:
            raise LLMReplyError("The script of this model has no further reply.")
        if isinstance(reply, LLMError):
            raise reply
        return reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
