from __future__ import annotations

from dataclasses import replace

import pytest

from kgtable.llm.protocol import Request

ASKED = Request(({"role": "user", "content": "Add 1 and 2."},), schema={"type": "object", "title": "sum"})
URL = "http://e/v1"


def test_the_same_question_has_the_same_fingerprint() -> None:
    assert ASKED.fingerprint("m", URL) == ASKED.fingerprint("m", URL)
    turned = replace(ASKED, schema={"title": "sum", "type": "object"})
    assert turned.fingerprint("m", URL) == ASKED.fingerprint("m", URL)
    assert replace(ASKED, stage="labels").fingerprint("m", URL) == ASKED.fingerprint("m", URL)


@pytest.mark.parametrize(
    "other",
    [
        replace(ASKED, messages=({"role": "system", "content": "Add 1 and 2."},)),
        replace(ASKED, messages=(*ASKED.messages, *ASKED.messages)),
        replace(ASKED, messages=({"role": "user", "content": "Add 1 and 2. "},)),
        replace(ASKED, schema=None),
        replace(ASKED, temperature=None),
        replace(ASKED, temperature=0.5),
        replace(ASKED, max_tokens=1),
    ],
)
def test_another_question_has_another(other: Request) -> None:
    assert other.fingerprint("m", URL) != ASKED.fingerprint("m", URL)


def test_so_has_another_model_or_endpoint() -> None:
    found = {ASKED.fingerprint(model, url) for model in ("m", "n") for url in (URL, "http://f/v1")}
    assert len(found) == 4


def test_any_text_can_be_asked() -> None:
    hostile = Request(({"role": "user", "content": '"\ud800\x00\u202e<script>'},))
    assert len(hostile.fingerprint("m", URL)) == 64
