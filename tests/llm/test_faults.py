from __future__ import annotations

import pytest

from kgtable.config import OPENAI_URL, ModelEndpoint, Secret
from kgtable.llm.faults import RequestFault, fault_from_response, retry_after


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"Retry-After": "Thu, 01 Jan 1970 00:02:00 GMT"}, 20.0),
        ({"Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "nan"}, None),
        ({}, None),
    ],
)
def test_the_time_to_wait_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=100.0) == seconds


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"error": {"message": "no such model", "code": "model_not_found"}}', "no such model"),
        ('{"error": "out of memory"}', "out of memory"),
        ('{"detail": "wrong path"}', "wrong path"),
        ("<h1>502 \n Bad Gateway</h1>", "<h1>502 Bad Gateway</h1>"),
        ("", "no message"),
    ],
)
def test_the_message_of_any_error_body_is_shown(body: str, message: str) -> None:
    assert fault_from_response(400, {}, body).message == message


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
