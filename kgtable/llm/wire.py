"""Parse replies of the chat API, whole or streamed, as leniently as is safe."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kgtable.llm.conversation import ModelReply
from kgtable.llm.faults import GARBLED, RequestFault, fault_from_response


def read_reply(text: str) -> ModelReply | RequestFault:
    """Parse the body of a successful HTTP reply; gives a fault where it is no chat completion."""
    try:
        body = json.loads(text)
        choice = body["choices"][0]
        message = choice["message"]
        content = _content(message.get("content"))
        refusal = str(message.get("refusal") or "")
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        start = " ".join(text.split())[:120]
        return RequestFault(f"the answer is not a chat completion: {start!r}", 502, GARBLED)
    usage = body.get("usage")
    return ModelReply(
        content,
        str(choice.get("finish_reason") or "stop"),
        refusal,
        *_tokens(usage),
        str(body.get("model") or ""),
    )


@dataclass
class StreamReader:
    """Collector of the chunks of a streamed reply; their text is passed on."""

    on_text: Callable[[str], None]
    text: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    finish: str = ""
    usage: Mapping[str, Any] | None = None
    model: str = ""
    fault: RequestFault | None = None

    def take(self, chunk: Mapping[str, Any]) -> str:
        """Take one chunk, as decoded JSON; gives the text in it."""
        said = ""
        self.model = str(chunk.get("model") or self.model)
        self.usage = chunk.get("usage") or self.usage
        for choice in (chunk.get("choices") or ())[:1]:
            delta = choice.get("delta") or {}
            said = _content(delta.get("content"))
            self.refusal.append(str(delta.get("refusal") or ""))
            self.finish = str(choice.get("finish_reason") or self.finish)
        return said

    def take_line(self, line: str) -> None:
        """Take one line of a server-sent event stream; lines without a chunk are skipped."""
        if not line.startswith("data:") or line[5:].strip() == "[DONE]":
            return
        try:
            chunk = json.loads(line[5:])
            if chunk.get("error"):
                self.fault = fault_from_response(502, {}, line[5:])
                return
            piece = self.take(chunk)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            self.fault = RequestFault(
                f"the stream holds what is not a chunk: {line[5:60].strip()!r}", 502, GARBLED
            )
            return
        if piece:
            self.text.append(piece)
            self.on_text(piece)

    def reply(self) -> ModelReply | RequestFault:
        """The whole reply; a fault where the stream ended without saying that it was complete."""
        if self.fault is not None:
            return self.fault
        if not self.finish:
            return RequestFault("the stream broke off")
        return ModelReply(
            "".join(self.text), self.finish, "".join(self.refusal), *_tokens(self.usage), self.model
        )


def _content(content: Any) -> str:
    """The text of a message, which some servers send as a list of parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return "" if content is None else str(content)


def _tokens(usage: Any) -> tuple[int | None, int | None]:
    """Prompt and completion tokens where the server counted them."""
    if not isinstance(usage, Mapping):
        return None, None
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    return (
        prompt if isinstance(prompt, int) else None,
        completion if isinstance(completion, int) else None,
    )
