from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from kgtable.config import Endpoint
from kgtable.errors import LLMRateLimitError, LLMReplyError, LLMUnreachableError
from kgtable.llm.conversation import Outcome, Pause, Policy, Reply, Send, Speaker, understand
from kgtable.llm.dialect import Dialect
from kgtable.llm.faults import Fault
from kgtable.llm.protocol import Completion, Request
from kgtable.llm.repair import ReplyFault

SCHEMA = {"type": "object", "required": ["total"], "properties": {"total": {"type": "number"}}}
PLAIN = Request(({"role": "user", "content": "Say."},))
FORMED = Request(({"role": "user", "content": "Add."},), schema=SCHEMA)


def speaker(**policy: Any) -> Speaker:
    return Speaker(
        "m",
        Endpoint("http://e/v1"),
        Dialect(),
        Policy(**policy),
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


def test_one_reply_and_what_it_used() -> None:
    found, bodies, waits = held(
        speaker(), PLAIN, Reply("Hello", prompt_tokens=7, completion_tokens=2, model="m-1")
    )
    assert (found.text, found.data, found.model) == ("Hello", None, "m-1")
    assert (found.usage.requests, found.usage.prompt_tokens, found.usage.cost) == (1, 7, Decimal(1))
    assert len(bodies) == 1
    assert waits == []


def test_waits_double_up_to_the_longest_or_are_as_the_server_asks() -> None:
    busy, asks = Fault("busy", 503), Fault("busy", 429, retry_after=3.0)
    _, _, waits = held(
        speaker(retries=5, pause=4.0, longest_pause=10.0), PLAIN, busy, busy, asks, busy, Reply("x")
    )
    assert waits == [4.0, 8.0, 3.0, 10.0]


def test_a_server_that_asks_for_too_long_is_not_waited_for() -> None:
    with pytest.raises(LLMRateLimitError, match="asks to wait 61 seconds"):
        held(speaker(longest_pause=60.0), PLAIN, Fault("busy", 429, retry_after=61.0))


def test_retries_end() -> None:
    with pytest.raises(LLMUnreachableError, match="3 attempts"):
        held(speaker(retries=2), PLAIN, *[Fault("down", 500)] * 3)
    with pytest.raises(LLMUnreachableError):
        held(speaker(retries=0), PLAIN, Fault("gone"))


def test_a_weaker_form_costs_no_retry_and_is_remembered_once_it_worked() -> None:
    refused = Fault("response_format is not supported", 400)
    talker = speaker(retries=0)
    found, bodies, _ = held(talker, FORMED, refused, refused, Reply('{"total": 3}'))
    assert found.data == {"total": 3}
    assert [body.get("response_format", {}).get("type") for body in bodies] == [
        "json_schema",
        "json_object",
        None,
    ]
    _, bodies, _ = held(talker, FORMED, Reply('{"total": 3}'))
    assert "response_format" not in bodies[0]


def test_what_failed_is_not_remembered() -> None:
    talker = speaker(retries=0)
    with pytest.raises(LLMUnreachableError):
        held(talker, FORMED, Fault("response_format", 400), Fault("down", 500))
    assert talker.dialect == Dialect()


def test_an_unusable_reply_gets_one_second_chance_and_both_are_counted() -> None:
    found, bodies, _ = held(speaker(), FORMED, Reply('{"sum": 3}'), Reply('{"total": 3}'))
    assert (found.data, found.usage.requests, found.usage.cost) == ({"total": 3}, 2, Decimal(2))
    assert [message["role"] for message in bodies[1]["messages"]] == ["user", "assistant", "user"]
    with pytest.raises(LLMReplyError, match=r"even when asked again.*It begins: 'none again'"):
        held(speaker(), FORMED, Reply("none"), Reply("none\n again"))


def test_an_empty_reply_is_not_quoted_back() -> None:
    _, bodies, _ = held(speaker(), PLAIN, Reply(" \n"), Reply("x"))
    assert [message["role"] for message in bodies[1]["messages"]] == ["user", "user"]


@pytest.mark.parametrize(
    ("reply", "request_", "error", "says"),
    [
        (Reply("", refusal="No <b>."), PLAIN, LLMReplyError, "refused to answer: No <b>"),
        (Reply("x", "content_filter"), PLAIN, LLMReplyError, "content filter"),
        (Reply("", "length"), PLAIN, ReplyFault, "empty"),
        (Reply("half a sen", "length"), PLAIN, ReplyFault, "cut off"),
        (Reply('{"total": 1', "length"), FORMED, ReplyFault, "cut off"),
        (Reply("[1]"), FORMED, ReplyFault, "no JSON object"),
    ],
)
def test_replies_that_cannot_be_used(
    reply: Reply, request_: Request, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        understand(reply, request_)


def test_replies_that_can() -> None:
    assert understand(Reply("\u202eany <text>"), PLAIN) is None
    assert understand(Reply('{"total": 1}', "length"), FORMED) == {"total": 1}
