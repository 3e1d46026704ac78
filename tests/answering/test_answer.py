from __future__ import annotations

import json

from kgtable.answering.answer import Alternative, Answer, Citation
from tests.answering.sample import evidence


def citation() -> Citation:
    cell = evidence().resolve("T1.r1.c2")
    assert cell is not None
    return Citation.of(cell)


def test_a_citation_is_the_cell_it_was_made_of() -> None:
    found = citation()
    assert (found.table, found.row, found.column, found.text) == ("accounts", 1, 2, "1,500")
    assert (found.unit, found.scale, found.label, found.header) == ("CCY_EUR", "M", "Revenue", "2019")
    assert set(found.to_json()) == {"cell", "table", "row", "column", "text", "file"}


def test_an_answer_as_json() -> None:
    answer = Answer(
        '"?"\u202e', "<b>", "1.5", "CCY_EUR", True, citations=(citation(),), usage={"requests": 1}
    )
    told = json.loads(json.dumps(answer.to_json()))
    assert (told["question"], told["answer"], told["value"], told["verified"]) == (
        '"?"\u202e',
        "<b>",
        "1.5",
        True,
    )
    assert told["citations"] == [citation().to_json()]
    assert "prompt" not in told


def test_nothing_found_is_said_so() -> None:
    nothing = Answer("?", "")
    assert not nothing.found
    assert nothing.to_json()["answer"] is None
    assert str(nothing) == "Nothing was found."
    assert str(Answer("?", "42")) == "42"


def test_markup_in_an_answer_is_shown_not_run() -> None:
    script = "<script>alert(1)</script>"
    hostile = Answer(
        script, script, unit=script, citations=(citation(),), alternatives=(Alternative(script, script),)
    )
    assert script not in hostile._repr_html_()
    assert "&lt;script&gt;" in hostile._repr_html_()
    assert hostile._repr_markdown_()
