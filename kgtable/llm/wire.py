"""Parse replies of the chat API, whole or streamed, as leniently as is safe."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kgtable.llm.conversation import ModelReply
from kgtable.llm.faults import GARBLED, RequestFault, fault_from_response
from kgtable.llm.repair import whole_text


def read_reply(text: str) -> ModelReply | RequestFault:
    """Parse the body of a successful HTTP reply; gives a fault where it is no chat completion."""
    try:
        body = json.loads(text)
        choice = body["choices"][0]
        message = choice["message"]
        content = whole_text(_content(message.get("content")))
        refusal = str(message.get("refusal") or "")
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        start = " ".join(text.split())[:120]
        return RequestFault(f"the answer is not a chat completion: {start!r}", 502, GARBLED)
    usage = body.get("usage")
    return ModelReply(
        content,
        str(choice.get("finish_reason") or "stop"),
        whole_text(refusal),
        *_tokens(usage),
        whole_text(str(body.get("model") or "")),
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
    held: str = ""

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
        piece = self.held + piece
        # The halves of a surrogate pair may come in two chunks.
        self.held = piece[-1:] if "\ud800" <= piece[-1:] <= "\udbff" else ""
        piece = whole_text(piece.removesuffix(self.held) if self.held else piece)
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
            "".join(self.text) + whole_text(self.held),
            self.finish,
            whole_text("".join(self.refusal)),
            *_tokens(self.usage),
            whole_text(self.model),
        )


class ReplyReader:
    """A reply as its bytes arrive: whole, or with `on_text` a stream of events whose text is passed on."""

    def __init__(self, on_text: Callable[[str], None] | None) -> None:
        self._stream = None if on_text is None else StreamReader(on_text)
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._parts: list[str] = []

    def feed(self, piece: bytes) -> None:
        """Take the next bytes."""
        text = self._decode(piece)
        if self._stream is None or "\n" not in text:
            self._parts.append(text)
            return
        *lines, rest = ("".join(self._parts) + text).split("\n")
        self._parts = [rest]
        for line in lines:
            self._stream.take_line(line.removesuffix("\r"))

    def reply(self) -> ModelReply | RequestFault:
        """What was received in the end."""
        text = "".join(self._parts) + self._decode(b"", True)
        if self._stream is None:
            return read_reply(text)
        self._stream.take_line(text)
        return self._stream.reply()


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
