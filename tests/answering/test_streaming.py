from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from kgtable.answering.reply import AnswerStream


@given(st.text(), st.text(), st.integers(1, 7), st.booleans())
def test_the_answer_is_passed_on_however_the_reply_is_cut(
    reasoning: str, answer: str, size: int, ascii: bool
) -> None:
    reply = {"reasoning": reasoning, "answer": answer, "alternatives": [{"answer": "other"}]}
    text = json.dumps(reply, ensure_ascii=ascii)
    said: list[str] = []
    stream = AnswerStream(said.append)
    for start in range(0, len(text), size):
        stream(text[start : start + size])
    assert "".join(said) == answer
