"""The course of one request, free of input and output.

Retries, weaker forms of structured output and the second chance after an unusable reply are decided
here, once, for the blocking client, the async client and the scripted model alike: `converse` yields
what is to be done and is sent what came of it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

from kgtable.config import ModelEndpoint
from kgtable.errors import LLMError, LLMRateLimitError, LLMReplyError
from kgtable.llm.faults import ChatDialect, RequestFault
from kgtable.llm.protocol import Completion, Message, Request
from kgtable.llm.repair import ReplyFault, read_object
from kgtable.llm.usage import Usage

_SHOWN = 200


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A complete answer of the endpoint. `finish` is its reason to stop; token counts where it told them."""

    text: str
    finish: str = "stop"
    refusal: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    model: str = ""


@dataclass(frozen=True, slots=True)
class Send:
    """Send this body and report the `ModelReply` or `RequestFault`."""

    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently to try again: the n-th wait is `pause` · 2ⁿ seconds, or as the server asks.

    A server that asks for more than `longest_pause` is not waited for.
    """

    retries: int = 4
    pause: float = 0.5
    longest_pause: float = 60.0


ConversationStep: TypeAlias = Send | Pause
Outcome: TypeAlias = ModelReply | RequestFault | None
Course: TypeAlias = Generator[ConversationStep, Outcome, Completion]
Pricing: TypeAlias = Callable[[str, int | None, int | None], Decimal | None]


class Speaker:
    """The state shared by the conversations with one model at one endpoint: the dialect learnt so far."""

    def __init__(
        self, model: str, endpoint: ModelEndpoint, dialect: ChatDialect, policy: RetryPolicy, pricing: Pricing
    ) -> None:
        self.model, self.endpoint, self.dialect = model, endpoint, dialect
        self.policy, self.pricing = policy, pricing

    def converse(self, request: Request) -> Course:
        """Lead one request to its completion. Raises a leaf of `LLMError` where there is none."""
        said: tuple[Message, ...] = ()
        usage = Usage()
        try:
            while True:
                reply = yield from self._ask(request, said)
                usage += self._usage(reply)
                try:
                    data = understand(reply, request)
                except ReplyFault as fault:
                    if said:
                        raise _unusable(reply, fault) from fault
                    said = _correction(reply, fault)
                    continue
                return Completion(reply.text, data, usage, reply.model or self.model)
        except LLMError as error:
            error.usage = usage if usage.requests else None
            raise

    def _ask(
        self, request: Request, said: tuple[Message, ...]
    ) -> Generator[ConversationStep, Outcome, ModelReply]:
        """Get one reply, in as many attempts as the policy and the dialect allow."""
        attempts, dialect = 0, self.dialect
        while True:
            body = dialect.body(self.model, request, said)
            outcome = yield Send(body)
            if isinstance(outcome, ModelReply):
                self.dialect = dialect
                return outcome
            assert outcome is not None
            changed = dialect.after(outcome, body)
            if changed is not None:
                dialect = changed
                continue
            attempts += 1
            if not outcome.worth_retrying or attempts > self.policy.retries:
                raise outcome.to_error(self.endpoint, attempts)
            yield Pause(self._pause(outcome, attempts))

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
    """The object in the reply, None where none was asked for. Raises `ReplyFault` where it is unusable."""
    if reply.refusal or reply.finish == "content_filter":
        why = reply.refusal or "its content filter stopped it."
        raise LLMReplyError(
            f"The model refused to answer: {why[:_SHOWN]}", hint="Put the question differently."
        )
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
    asked: Message = {
        "role": "user",
        "content": f"That reply cannot be used: {fault}. Send the whole reply again.",
    }
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
