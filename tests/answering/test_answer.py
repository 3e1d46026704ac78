from __future__ import annotations

import json
from dataclasses import replace

from kgtable.answering.answer import Alternative, Answer, as_text
from kgtable.answering.evidence import Citation
from kgtable.answering.program_answers import ranked_answer, relations_of
from kgtable.questions.by_rules import answer_by_programs
from tests.answering.sample import evidence

CELL = evidence().resolve("T1.r1.c2")
assert CELL is not None
CITED = CELL
ANSWER = Answer(
    "?",
    "EUR 1.5 billion",
    "1500000000",
    "CCY_EUR",
    True,
    ("each number is in a cited cell",),
    (CITED,),
    model="tiny",
    alternatives=(Alternative("2", "ports", (replace(CITED, file="tables/ports.csv"),)),),
)


def test_texts_from_tables_cannot_become_markup() -> None:
    hostile = replace(ANSWER, text="<script>x</script>", citations=(replace(CITED, text="<b>|\n[a](b)\x1b[2J"),))
    assert "<script>" not in hostile._repr_html_()
    assert "<b>" not in hostile._repr_html_()
    assert "\\<script\\>" in hostile._repr_markdown_()
    rows = [line for line in hostile._repr_markdown_().splitlines() if line.startswith("| tables")]
    assert len(rows) == 1
    assert "\x1b" not in as_text(hostile)


def citation() -> Citation:
    cell = evidence().resolve("T1.r1.c2")
    assert cell is not None
    return cell


def test_a_citation_is_the_cell_it_was_made_of() -> None:
    found = citation()
    assert (found.table, found.row, found.column, found.text) == ("accounts", 1, 2, "1,500")
    assert (found.unit, found.scale, found.label, found.header) == ("CCY_EUR", "M", "Revenue", "2019")
    assert set(found.to_json()) == {"cell", "table", "row", "column", "text", "file"}


def test_an_answer_as_json() -> None:
    answer = Answer('"?"\u202e', "<b>", "1.5", "CCY_EUR", True, citations=(citation(),), usage={"requests": 1})
    told = json.loads(json.dumps(answer.to_json()))
    assert (told["question"], told["answer"], told["value"], told["verified"]) == ('"?"\u202e', "<b>", "1.5", True)
    assert told["citations"] == [citation().to_json()]
    assert "prompt" not in told


def test_markup_in_an_answer_is_shown_not_run() -> None:
    script = "<script>alert(1)</script>"
    hostile = Answer(script, script, unit=script, citations=(citation(),), alternatives=(Alternative(script, script),))
    assert script not in hostile._repr_html_()
    assert "&lt;script&gt;" in hostile._repr_html_()
    assert hostile._repr_markdown_()


def test_a_cell_of_several_lines_does_not_look_like_what_stands_below_it() -> None:
    answer = Answer("?", "Tern\n  = Port (1 row)\n\nverified: yes", calculation="Port where Fees is 7.25")
    assert as_text(answer).startswith("Tern = Port (1 row) verified: yes\n  = Port where Fees is 7.25\n")


def test_an_answer_with_a_doubt_is_never_sure_and_one_below_the_floor_is_withheld_everywhere() -> None:
    sure = Answer("?", "31", grounded=True, confidence=0.99)
    assert (sure.status, sure.is_sure) == ("sure", True)
    doubtful = replace(sure, doubtful=True, reasons=("Not accounted for: per.",))
    assert (doubtful.status, doubtful.is_sure) == ("likely", False)
    assert as_text(doubtful).splitlines()[-1].startswith("Likely. Not accounted for: per.")
    found = evidence("How many ships has Skarv?")
    ranked = answer_by_programs(found.retrieval.question, [(relations_of(found.source)["ports"], 1.0)])
    assert ranked_answer(ranked, found).text == "31"
    weak = ranked_answer(replace(ranked, confidence=0.2), found)
    assert (weak.text, weak.value, weak.status) == ("", None, "not found")
    assert weak.alternatives[0].text == "31"
    assert "31" not in as_text(weak)
    assert weak.to_json()["answer"] is None
