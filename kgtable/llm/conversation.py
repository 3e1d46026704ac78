"""One request from the first attempt to the completion.

Retries, weaker forms of structured output and the second chance after an unusable reply are decided here, once, for
the client and the scripted model alike. Replies of the chat API, whole or streamed, are parsed as leniently as is safe.
"""

from __future__ import annotations

import codecs
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from kgtable.config import ModelEndpoint
from kgtable.errors import LLMError, LLMRateLimitError, LLMReplyError
from kgtable.llm.protocol import (
    GARBLED,
    ChatDialect,
    Completion,
    Message,
    Pricing,
    Request,
    RequestFault,
    Usage,
    fault_from_response,
)
from kgtable.llm.repair import ReplyFault, read_object, whole_text

_SHOWN = 200


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A complete answer of the endpoint. `finish` is its reason to stop; unknown token counts are None."""

    text: str
    finish: str = "stop"
    refusal: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    model: str = ""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Number of retries, and the waits before them: the n-th wait is `pause` · 2ⁿ seconds, or as the server asks.

    A server that asks for more than `longest_pause` is not waited for.
    """

    retries: int = 4
    pause: float = 0.5
    longest_pause: float = 60.0


Attempt: TypeAlias = Callable[[dict[str, Any]], "ModelReply | RequestFault"]
"""Sends the body of one attempt."""


class Speaker:
    """The state shared by the conversations with one model at one endpoint: the dialect learnt so far."""

    def __init__(
        self, model: str, endpoint: ModelEndpoint, dialect: ChatDialect, policy: RetryPolicy, pricing: Pricing
    ) -> None:
        self.model, self.endpoint, self.dialect = model, endpoint, dialect
        self.policy, self.pricing = policy, pricing

    def converse(self, request: Request, send: Attempt, wait: Callable[[float], object] = time.sleep) -> Completion:
        """Carry one request through to its completion. Raises a leaf of `LLMError` if there is none."""
        said: tuple[Message, ...] = ()
        usage = Usage()
        try:
            while True:
                reply = self._ask(request, said, send, wait)
                usage += self._usage(reply)
                try:
                    refusal = reply.refusal and self.endpoint.scrub(reply.refusal)
                    data = understand(replace(reply, refusal=refusal), request)
                except ReplyFault as fault:
                    if said:
                        told = replace(reply, text=self.endpoint.scrub(reply.text))
                        raise _unusable(told, ReplyFault(self.endpoint.scrub(str(fault)))) from None
                    said = _correction(reply, fault)
                    continue
                return Completion(reply.text, data, usage, reply.model or self.model)
        except LLMError as error:
            error.usage = usage if usage.requests else None
            raise

    def _ask(
        self, request: Request, said: tuple[Message, ...], send: Attempt, wait: Callable[[float], object]
    ) -> ModelReply:
        """Get one reply, in as many attempts as the policy and the dialect allow."""
        attempts, dialect = 0, self.dialect
        while True:
            body = dialect.body(self.model, request, said)
            outcome = send(body)
            if isinstance(outcome, ModelReply):
                self.dialect = dialect
                return outcome
            changed = dialect.after(outcome, body)
            if changed is not None:
                dialect = changed
                continue
            attempts += 1
            if not outcome.worth_retrying or attempts > self.policy.retries:
                raise outcome.to_error(self.endpoint, attempts)
            wait(self._pause(outcome, attempts))

    def _pause(self, fault: RequestFault, attempts: int) -> float:
        wait = fault.retry_after
        if wait is None:
            return min(self.policy.pause * 2.0 ** (attempts - 1), self.policy.longest_pause)
        if wait > self.policy.longest_pause:
            raise LLMRateLimitError(
                f"{self.endpoint.base_url} asks to wait {wait:.0f} seconds ({fault.status}).",
                hint="Try again then, or use --model none.",
            )
        return wait

    def _usage(self, reply: ModelReply) -> Usage:
        tokens = reply.prompt_tokens, reply.completion_tokens
        return Usage(1, *tokens, self.pricing(reply.model or self.model, *tokens))


def understand(reply: ModelReply, request: Request) -> dict[str, Any] | None:
    """The object in the reply, None if none was asked for. Raises `ReplyFault` if it is unusable."""
    if reply.refusal or reply.finish == "content_filter":
        why = reply.refusal or "its content filter stopped it."
        raise LLMReplyError(f"The model refused to answer: {why[:_SHOWN]}", hint="Put the question differently.")
    if not reply.text.strip():
        raise ReplyFault("it is empty")
    if request.schema is None:
        if reply.finish == "length":
            raise ReplyFault("it was cut off at the token limit; be shorter")
        return None
    try:
        return read_object(reply.text, request.schema)
    except ReplyFault as fault:
        if reply.finish == "length":
            raise ReplyFault(f"it was cut off at the token limit, so {fault}; be shorter") from fault
        raise


def _correction(reply: ModelReply, fault: ReplyFault) -> tuple[Message, ...]:
    """The messages that ask the model to correct its reply."""
    asked: Message = {"role": "user", "content": f"That reply cannot be used: {fault}. Send the whole reply again."}
    if not reply.text.strip():
        return (asked,)
    return ({"role": "assistant", "content": reply.text}, asked)


def _unusable(reply: ModelReply, fault: ReplyFault) -> LLMReplyError:
    start = " ".join(reply.text.split())[:_SHOWN]
    shown = f" It begins: {start!r}." if start else ""
    return LLMReplyError(
        f"The model's reply cannot be used, even when asked again: {fault}.{shown}",
        hint="Try another model, a larger KGTABLE_MAX_TOKENS, or --model none.",
    )


def read_reply(text: str) -> ModelReply | RequestFault:
    """Parse the body of a successful HTTP reply; returns a fault if it is not a chat completion."""
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
        """Take one chunk, as decoded JSON; returns the text in it."""
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
            self.fault = RequestFault(f"the stream holds what is not a chunk: {line[5:60].strip()!r}", 502, GARBLED)
            return
        piece = self.held + piece
        # The halves of a surrogate pair may come in two chunks.
        self.held = piece[-1:] if "\ud800" <= piece[-1:] <= "\udbff" else ""
        piece = whole_text(piece.removesuffix(self.held) if self.held else piece)
        if piece:
            self.text.append(piece)
            self.on_text(piece)

    def reply(self) -> ModelReply | RequestFault:
        """The whole reply; a fault if the stream ended without marking its completion."""
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
    return (prompt if isinstance(prompt, int) else None, completion if isinstance(completion, int) else None)
