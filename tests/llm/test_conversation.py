from __future__ import annotations

from decimal import Decimal
from typing import Any

from kgtable.config import ModelEndpoint
from kgtable.llm.conversation import ModelReply, Outcome, Pause, RetryPolicy, Send, Speaker
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
    speaker: Speaker, request: Request, *outcomes: Outcome
) -> tuple[Completion, list[dict[str, Any]], list[float]]:
    """A conversation with these outcomes of its requests: its completion, the bodies sent, the waits."""
    course, coming = speaker.converse(request), iter(outcomes)
    bodies: list[dict[str, Any]] = []
    waits: list[float] = []
    outcome: Outcome = None
    while True:
        try:
            step = course.send(outcome)
        except StopIteration as done:
            assert next(coming, None) is None
            return done.value, bodies, waits
        if isinstance(step, Pause):
            waits.append(step.seconds)
            outcome = None
        else:
            assert isinstance(step, Send)
            bodies.append(step.body)
            outcome = next(coming)


def test_waits_double_up_to_the_longest_or_are_as_the_server_asks() -> None:
    busy, asks = RequestFault("busy", 503), RequestFault("busy", 429, retry_after=3.0)
    _, _, waits = held(
        speaker(retries=5, pause=4.0, longest_pause=10.0), PLAIN, busy, busy, asks, busy, ModelReply("x")
    )
    assert waits == [4.0, 8.0, 3.0, 10.0]
