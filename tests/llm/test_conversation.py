from __future__ import annotations

from decimal import Decimal
from typing import Any

from kgtable.config import ModelEndpoint
from kgtable.llm.conversation import ModelReply, RetryPolicy, Speaker
from kgtable.llm.protocol import ChatDialect, Completion, Request, RequestFault

PLAIN = Request(({"role": "user", "content": "Say."},))


def speaker(**policy: Any) -> Speaker:
    return Speaker(
        "m",
        ModelEndpoint("http://e/v1"),
        ChatDialect(),
        RetryPolicy(**policy),
        lambda model, prompt, completion: Decimal(1),
    )


def held(
    speaker: Speaker, request: Request, *outcomes: ModelReply | RequestFault
) -> tuple[Completion, list[dict[str, Any]], list[float]]:
    """A conversation with these outcomes of its requests: its completion, the bodies sent, the waits."""
    coming = iter(outcomes)
    bodies: list[dict[str, Any]] = []
    waits: list[float] = []

    def send(body: dict[str, Any]) -> ModelReply | RequestFault:
        bodies.append(body)
        return next(coming)

    completion = speaker.converse(request, send, waits.append)
    assert next(coming, None) is None
    return completion, bodies, waits


def test_waits_double_up_to_the_longest_or_are_as_the_server_asks() -> None:
    busy, asks = RequestFault("busy", 503), RequestFault("busy", 429, retry_after=3.0)
    _, _, waits = held(
        speaker(retries=5, pause=4.0, longest_pause=10.0), PLAIN, busy, busy, asks, busy, ModelReply("x")
    )
    assert waits == [4.0, 8.0, 3.0, 10.0]
