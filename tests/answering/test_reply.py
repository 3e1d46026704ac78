from __future__ import annotations

import pytest

from kgtable.answering.reply import Draft, draft_from_object, draft_from_text

FULL = {
    "reasoning": " why ",
    "citations": ["[T1.r1.c1]", "T1.r1.c1", ""],
    "calculation": "null",
    "found": True,
    "answer": " 12 ",
    "alternatives": [{"answer": "13", "citations": ["T2.r1.c1"]}, {"answer": "", "citations": []}],
}


def test_an_object_is_read() -> None:
    assert draft_from_object(FULL) == Draft("12", ("T1.r1.c1",), None, True, "why", (("13", ("T2.r1.c1",)),))
    assert not draft_from_object(FULL | {"answer": " "}).found
    assert not draft_from_object(FULL | {"found": False}).found


@pytest.mark.parametrize(
    ("text", "draft"),
    [
        ("1,500 million EUR [T1.r1.c2]", Draft("1,500 million EUR", ("T1.r1.c2",))),
        ("Skarv (T2.r1.c0 and T2.r1.c2).", Draft("Skarv.", ("T2.r1.c0", "T2.r1.c2"))),
        (
            "25%\n**Calculation:** (T1.r1.c2 - T1.r1.c1) / T1.r1.c1",
            Draft("25%", ("T1.r1.c2", "T1.r1.c1"), "(T1.r1.c2 - T1.r1.c1) / T1.r1.c1"),
        ),
        ("<think>maybe T9.r9.c9</think>Norway", Draft("Norway")),
        ("NOT FOUND", Draft("NOT FOUND", found=False)),
        ("", Draft("", found=False)),
    ],
)
def test_free_text_is_read(text: str, draft: Draft) -> None:
    assert draft_from_text(text) == draft
