from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from kgtable.config import ModelEndpoint
from kgtable.errors import LLMRateLimitError, LLMReplyError, LLMUnreachableError
from kgtable.llm.conversation import ModelReply, Outcome, Pause, RetryPolicy, Send, Speaker, understand
from kgtable.llm.protocol import ChatDialect, Completion, Request, RequestFault
from kgtable.llm.repair import ReplyFault

SCHEMA = {"type": "object", "required": ["total"], "properties": {"total": {"type": "number"}}}
PLAIN = Request(({"role": "user", "content": "Say."},))
FORMED = Request(({"role": "user", "content": "Add."},), schema=SCHEMA)


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


def test_one_reply_and_what_it_used() -> None:
    found, bodies, waits = held(
        speaker(), PLAIN, ModelReply("Hello", prompt_tokens=7, completion_tokens=2, model="m-1")
    )
    assert (found.text, found.data, found.model) == ("Hello", None, "m-1")
    assert (found.usage.requests, found.usage.prompt_tokens, found.usage.cost) == (1, 7, Decimal(1))
    assert len(bodies) == 1
    assert waits == []


def test_waits_double_up_to_the_longest_or_are_as_the_server_asks() -> None:
    busy, asks = RequestFault("busy", 503), RequestFault("busy", 429, retry_after=3.0)
    _, _, waits = held(
        speaker(retries=5, pause=4.0, longest_pause=10.0), PLAIN, busy, busy, asks, busy, ModelReply("x")
    )
    assert waits == [4.0, 8.0, 3.0, 10.0]


def test_a_server_that_asks_for_too_long_is_not_waited_for() -> None:
    with pytest.raises(LLMRateLimitError, match="asks to wait 61 seconds"):
        held(speaker(longest_pause=60.0), PLAIN, RequestFault("busy", 429, retry_after=61.0))


def test_retries_end() -> None:
    with pytest.raises(LLMUnreachableError, match="3 attempts"):
        held(speaker(retries=2), PLAIN, *[RequestFault("down", 500)] * 3)
    with pytest.raises(LLMUnreachableError):
        held(speaker(retries=0), PLAIN, RequestFault("gone"))


def test_a_weaker_form_costs_no_retry_and_is_remembered_once_it_worked() -> None:
    refused = RequestFault("response_format is not supported", 400)
    talker = speaker(retries=0)
    found, bodies, _ = held(talker, FORMED, refused, refused, ModelReply('{"total": 3}'))
    assert found.data == {"total": 3}
    assert [body.get("response_format", {}).get("type") for body in bodies] == [
        "json_schema",
        "json_object",
        None,
    ]
    _, bodies, _ = held(talker, FORMED, ModelReply('{"total": 3}'))
    assert "response_format" not in bodies[0]


def test_what_failed_is_not_remembered() -> None:
    talker = speaker(retries=0)
    with pytest.raises(LLMUnreachableError):
        held(talker, FORMED, RequestFault("response_format", 400), RequestFault("down", 500))
    assert talker.dialect == ChatDialect()


def test_an_unusable_reply_gets_one_second_chance_and_both_are_counted() -> None:
    found, bodies, _ = held(speaker(), FORMED, ModelReply('{"sum": 3}'), ModelReply('{"total": 3}'))
    assert (found.data, found.usage.requests, found.usage.cost) == ({"total": 3}, 2, Decimal(2))
    assert [message["role"] for message in bodies[1]["messages"]] == ["user", "assistant", "user"]
    with pytest.raises(LLMReplyError, match=r"even when asked again.*It begins: 'none again'"):
        held(speaker(), FORMED, ModelReply("none"), ModelReply("none\n again"))


def test_an_empty_reply_is_not_quoted_back() -> None:
    _, bodies, _ = held(speaker(), PLAIN, ModelReply(" \n"), ModelReply("x"))
    assert [message["role"] for message in bodies[1]["messages"]] == ["user", "user"]


@pytest.mark.parametrize(
    ("reply", "request_", "error", "says"),
    [
        (ModelReply("", refusal="No <b>."), PLAIN, LLMReplyError, "refused to answer: No <b>"),
        (ModelReply("x", "content_filter"), PLAIN, LLMReplyError, "content filter"),
        (ModelReply("", "length"), PLAIN, ReplyFault, "empty"),
        (ModelReply("half a sen", "length"), PLAIN, ReplyFault, "cut off"),
        (ModelReply('{"total": 1', "length"), FORMED, ReplyFault, "cut off"),
        (ModelReply("[1]"), FORMED, ReplyFault, "no JSON object"),
    ],
)
def test_replies_that_cannot_be_used(
    reply: ModelReply, request_: Request, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        understand(reply, request_)


def test_replies_that_can() -> None:
    assert understand(ModelReply("\u202eany <text>"), PLAIN) is None
    assert understand(ModelReply('{"total": 1}', "length"), FORMED) == {"total": 1}
