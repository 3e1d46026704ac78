from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.config import OPENAI_URL, ModelEndpoint, Secret
from kgtable.llm.protocol import ChatDialect, Request, RequestFault, retry_after

SCHEMA = {"title": "sum", "type": "object", "additionalProperties": False, "description": 'ü "<b>"'}
FORMED = Request(({"role": "system", "content": "S"}, {"role": "user", "content": "U"}), schema=SCHEMA)


def test_the_strongest_form_leaves_the_messages_as_they_are() -> None:
    body = ChatDialect().body("m", FORMED)
    assert body["messages"] == list(FORMED.messages)
    assert body["response_format"]["json_schema"] == {"name": "sum", "strict": True, "schema": SCHEMA}
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("m", 0.0, 2_000)


@pytest.mark.parametrize("open_part", [{"type": ["object", "null"]}, {"type": "object", "properties": {}}])
def test_a_schema_with_an_object_of_any_form_is_not_enforced(open_part: dict[str, object]) -> None:
    schema = {**SCHEMA, "properties": {"program": open_part}}
    body = ChatDialect().body("m", Request(FORMED.messages, schema=schema))
    assert body["response_format"]["json_schema"]["strict"] is False


@pytest.mark.parametrize("form", ["object", "plain"])
def test_weaker_forms_spell_it_out_and_do_not_touch_the_request(form: str) -> None:
    body = ChatDialect(form).body("m", FORMED, ({"role": "user", "content": "again"},))
    assert 'ü \\"<b>\\"' in body["messages"][0]["content"]
    assert body["messages"][0]["content"].startswith("S\n\n")
    assert [message["content"] for message in body["messages"][1:]] == ["U", "again"]
    assert ("response_format" in body) == (form == "object")
    assert FORMED.messages[0]["content"] == "S"


@pytest.mark.parametrize(
    ("message", "status", "after"),
    [
        ("use 'max_completion_tokens' instead", 400, ChatDialect(limit_name="max_completion_tokens")),
        ("Unsupported value: 'temperature'", 400, ChatDialect(without=frozenset({"temperature"}))),
        ("anything", 422, ChatDialect("object")), ("no such model", 404, None),
        ("no such model: temperature", 404, ChatDialect(without=frozenset({"temperature"}))), ("anything", 500, None),
        ("anything", 401, None), ("anything", None, None),
    ],
)  # fmt: skip
def test_what_is_learnt_from_a_refusal(message: str, status: int | None, after: ChatDialect | None) -> None:
    assert ChatDialect().after(RequestFault(message, status), ChatDialect().body("m", FORMED)) == after


@given(
    st.lists(st.sampled_from(["max_completion_tokens", "temperature", "response_format", ""]), min_size=9, max_size=9)
)
def test_whatever_is_refused_there_is_an_end(messages: list[str]) -> None:
    dialect: ChatDialect | None = ChatDialect()
    seen = set()
    for message in messages:
        if dialect is None:
            break
        assert dialect not in seen
        seen.add(dialect)
        dialect = dialect.after(RequestFault(message, 400), dialect.body("m", FORMED))
    assert len(seen) <= 5
    assert dialect is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0), ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"Retry-After": "Thu, 01 Jan 1970 00:02:00 GMT"}, 20.0),
        ({"Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0), ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-3"}, None), ({"Retry-After": "nan"}, None), ({}, None),
    ],
)  # fmt: skip
def test_the_time_to_wait_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=100.0) == seconds


@pytest.mark.parametrize(
    ("endpoint", "hint"),
    [
        (ModelEndpoint(OPENAI_URL), "Set OPENAI_API_KEY"),
        (ModelEndpoint("http://localhost:1/v1"), "KGTABLE_BASE_URL and KGTABLE_API_KEY together"),
        (ModelEndpoint("http://localhost:1/v1", Secret("sk")), "key is valid"),
    ],
)
def test_a_refused_key_says_which_key_to_give(endpoint: ModelEndpoint, hint: str) -> None:
    assert hint in RequestFault("no", 401).to_error(endpoint, 1).hint
