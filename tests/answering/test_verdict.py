"""What a model's reply is worth: grounded, ambiguous, verified; the wrong verdicts there once were."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtable.answering.answer import Answer
from kgtable.answering.evidence import Evidence
from kgtable.answering.prompting import Draft
from kgtable.answering.verdict import Judgement, judge
from kgtable.retrieval.result import Retrieval, ScoredTable
from tests.answering.memory_tables import MemoryTables
from tests.answering.sample import evidence, quantities, table


def cell(id: str) -> dict[str, Any]:
    return {"cell": id}


def op(name: str, left: Any, right: Any) -> dict[str, Any]:
    return {"op": name, "left": left, "right": right}


def over(question: str, id: str, rows: tuple[tuple[str, ...], ...], unit: str = "CCY_USD", power: int = 6) -> Evidence:
    """One table of numbers in a unit, in millions."""
    made = table(id, rows, title="Norrvik Ltd")
    source = MemoryTables([made], {id: quantities(made, unit, "M" if power else None, power)})
    return Evidence(Retrieval(question, (), (ScoredTable(id, 1.0),)), source)


def judgement(question: str, text: str, program: Any = None, *cells: str) -> Judgement:
    return judge(Draft(text, cells, program), evidence(question))


def judged(question: str, text: str, program: Any = None, *cells: str) -> Answer:
    return judgement(question, text, program, *cells).answer


RISE = op("percent_change", cell("T1.r1.c1"), cell("T1.r1.c2"))
CLOUD = op("subtract", cell("T1.r4.c2"), cell("T1.r4.c1"))
MOST = {
    "op": "project",
    "source": {
        "op": "limit",
        "source": {"op": "sort", "source": "T2", "keys": [{"expression": {"column": "Ships"}, "descending": True}]},
        "count": 1,
    },
    "columns": [{"column": "Port"}],
}
NORWAY = {"op": "filter", "source": "T2", "condition": op("=", {"column": "Country"}, "Norway")}


@pytest.mark.parametrize(
    ("question", "text", "program", "cells", "value", "unit"),
    [
        ("How many ships has Skarv?", "31", None, ["T2.r1.c2"], "31", "NUM"),
        ("What was the revenue in 2019?", "1,500 million EUR", None, ["T1.r1.c2"], "1500000000", "CCY_EUR"),
        ("What was the revenue in 2019?", "EUR 1.5 billion", cell("T1.r1.c2"), [], "1500000000", "CCY_EUR"),
        ("What was the result in 2019?", "(955) million EUR", None, ["T1.r5.c2"], "-955000000", "CCY_EUR"),
        ("What was the percent change of revenue from 2018 to 2019?", "25%", RISE, [], "25", "PERCENT"),
        ("Did revenue grow from 2018 to 2019?", "Yes", op(">", cell("T1.r1.c2"), cell("T1.r1.c1")), [], None, None),
        ("Which port has the most ships?", "Fjell", MOST, [], None, None),
        ("Which port has the most ships?", "Fjell with 44 ships", MOST, [], None, None),
        ("How many ports are in Norway?", "2", {"op": "count", "rows": NORWAY}, [], "2", "NUM"),
        (
            "How many ships have the ports of Norway in total?", "75",
            {"op": "sum", "argument": {"column": "c2"}, "rows": NORWAY}, [], "75", "NUM",
        ),
    ],
)  # fmt: skip
def test_answers_that_are_verified(
    question: str, text: str, program: Any, cells: list[str], value: str | None, unit: str | None
) -> None:
    found = judged(question, text, program, *cells)
    assert found.verified, found.reasons
    assert found.grounded
    assert not found.ambiguous
    assert (found.value, found.unit) == (value, unit)
    assert found.calculation
    assert found.citations
    assert found.program is not None


def test_a_program_runs_over_all_rows_and_is_told_in_words() -> None:
    found = judged("How many ports are in Norway?", "2", {"op": "count", "rows": NORWAY})
    assert found.calculation == 'number of rows where Country is "Norway", 2 rows'
    assert {(c.table, c.row) for c in found.citations} == {("ports", 1), ("ports", 2)}
    assert found.cells_read == 4


@pytest.mark.parametrize(
    ("question", "text", "program", "cells", "reason"),
    [
        ("What was the revenue in 2019?", "$1,500 million", None, ["T1.r1.c2"], "the result is 1,500 million EUR"),
        ("What was the revenue in 2019?", "1,500 million kg", None, ["T1.r1.c2"], "1,500 million kg is in no cited"),
        ("What was the revenue in 2019?", "revenue grew", None, ["T1.r1.c2"], "which the answer does not say"),
        ("What was the revenue in 2019?", "Revenue grew to 1,500 million EUR", None, ["T1.r1.c2"], "states a direction"),  # noqa: E501
        ("What were the costs in 2018?", "0", None, ["T1.r2.c1"], "Cell T1.r2.c1 is cited but does not exist or is blank"),  # noqa: E501
        ("What was the revenue in 2019?", "1,500", None, [], "no cell is cited"),
        ("What was the revenue in 2019?", "1,500", None, ["T9.r1.c2"], "does not exist"),
        ("How many ships has Skarv?", "42", None, ["T2.r1.c3"], ""),
    ],
)  # fmt: skip
def test_answers_that_are_not_grounded(question: str, text: str, program: Any, cells: list[str], reason: str) -> None:
    found = judged(question, text, program, *cells)
    assert not found.verified
    assert any(reason in said for said in found.reasons), found.reasons
    if reason:
        assert not found.grounded
        assert found.value is None


@pytest.mark.parametrize(
    ("question", "text", "program", "cells", "reason"),
    [
        ("What was the revenue in 2019?", "15,000 million EUR", op("multiply", cell("T1.r1.c2"), 10), [], "does not say: 10"),  # noqa: E501
        ("How many ports are there?", "2", {"op": "count", "rows": NORWAY}, [], "does not say: Norway"),
        ("Which port has the fewest ships?", "Fjell", MOST, [], "Not accounted for: fewest"),
        ("Which port has the most ships?", "Fjell", None, ["T2.r2.c0"], "Not accounted for: most"),
        ("Which port has the most ships?", "Fjell", None, ["T2.r2.c0", "T2.r2.c2"], "nothing computed it"),
        ("What is the number of ships?", "34.3", {"op": "mean", "argument": {"column": "Ships"}, "rows": "T2"}, [], "asks for no average"),  # noqa: E501
        ("How many lighthouses has Skarv?", "31", None, ["T2.r1.c2"], "Not found in the table: lighthouses"),
        ("How many ships does Skarv not have?", "31", None, ["T2.r1.c2"], "not"),
        ("How many ships has Fjell?", "Fjell", None, ["T2.r2.c0"], "another kind of answer"),
        ("By how much did cloud costs rise from 2018 to 2019?", "-5 million EUR", CLOUD, [], "opposite direction"),
    ],
)  # fmt: skip
def test_answers_that_are_grounded_and_not_verified(
    question: str, text: str, program: Any, cells: list[str], reason: str
) -> None:
    found = judged(question, text, program, *cells)
    assert found.grounded, found.reasons
    assert not found.verified
    assert any(reason in said for said in found.reasons), found.reasons


@pytest.mark.parametrize(
    ("text", "remark", "contradicts"),
    [
        ("", "", False), ("See the result of the program.", "", False), ("2", "", False), ("3", "", True),
        ("There are 3 ports", "", True), ("They are the 2 ports of Norway", "They are the 2 ports of Norway", False),
        ("The number of ports grew to 2", "", True),
    ],
)  # fmt: skip
def test_the_result_of_a_program_is_the_answer_whatever_the_sentence_says(
    text: str, remark: str, contradicts: bool
) -> None:
    found = judgement("How many ports are in Norway?", text, {"op": "count", "rows": NORWAY})
    answer = found.answer
    assert (answer.text, answer.value, answer.unit, answer.verified) == ("2", "2", "NUM", True), answer.reasons
    assert (answer.remark, bool(found.contradiction)) == (remark, contradicts)
    assert ("left out" in " ".join(answer.reasons)) is contradicts


def test_a_group_is_a_table_of_names_and_values() -> None:
    ships = {"op": "sum", "argument": {"column": "Ships"}}
    program = {
        "op": "group", "source": "T2", "keys": [{"column": "Country"}],
        "measures": [{"expression": ships, "name": "ships"}],
    }  # fmt: skip
    found = judged("How many ships are there by country?", "see the program", program)
    assert found.grounded
    assert found.names == ("Country", "ships")
    assert next([str(cell) for cell in row] for row in found.rows) == ["Norway", "75"]
    assert found.text.startswith("Norway: 75")
    assert found.to_json()["rows"][0][1]["value"] == "75"


def test_a_ratio_told_in_percent_keeps_its_value() -> None:
    program = op("divide", op("subtract", cell("T1.r1.c2"), cell("T1.r1.c1")), cell("T1.r1.c1"))
    found = judged("What was the percent change of revenue from 2018 to 2019?", "25%", program)
    assert (found.grounded, found.value, found.unit) == (True, "0.25", "UNITLESS")


def test_the_lowest_of_costs_in_brackets_is_ambiguous() -> None:
    rows = (
        ("", "2017", "2018"), ("Staff costs", "(500)", "(400)"), ("Rent", "(600)", "(1)"), ("Energy", "(660)", "(2)"),
    )  # fmt: skip
    question = "What was the lowest cost in 2017?"
    lowest = {"op": "min", "argument": {"column": "2017"}, "rows": "T1"}
    found = judge(Draft("(660) million USD", (), lowest), over(question, "costs", rows)).answer
    assert (found.grounded, found.ambiguous, found.verified) == (True, True, False), found.reasons
    assert any("(500)" in other.text or "500" in other.text for other in found.alternatives)


def test_another_table_that_answers_too_makes_it_ambiguous() -> None:
    rows = (("", "2019"), ("Revenue", "1,500"))
    other = (("", "2019"), ("Revenue", "900"))
    tables = [table("norrvik", rows), table("halden", other)]
    source = MemoryTables(tables, {t.id: quantities(t, "CCY_EUR", "M", 6) for t in tables})
    question = "What was the revenue in 2019?"
    scores = tuple(ScoredTable(t.id, 1.0 - place / 10) for place, t in enumerate(tables))
    found = judge(Draft("1,500 million EUR", ("T1.r1.c1",)), Evidence(Retrieval(question, (), scores), source)).answer
    assert (found.ambiguous, found.verified) == (True, False), found.reasons
    assert [(a.text, a.table) for a in found.alternatives] == [("900", "halden")]


@pytest.mark.parametrize(
    ("program", "fault"),
    [
        ({"op": "bogus"}, "There is no operator 'bogus'"), ({}, "has no 'op'"), ([], "The program is not an object"),
        ("drop table", "not an object"), (7, "The program is not an object"),
        ({"op": "count", "rows": "T9"}, "The tables are called T1 to T2"),
        ({"op": "count", "rows": "users; --"}, "There is no table"), (cell("T1.r99.c1"), "does not exist or is blank"),
        (cell("T1.r0.c1"), "is a header"),
        ({"op": "sum", "argument": {"column": "Port"}, "rows": "T2"}, "holds no numbers"),
        ({"op": "sum", "argument": {"column": "Boats"}, "rows": "T2"}, "no column 'Boats'"),
        (op("divide", 1, 0), "zero"), (op("power", 10, 100_000), ""),
        ({"op": "lookup", "rows": "T2", "value": {"column": "Port"}}, "rows match"),
        (op("add", cell("T1.r1.c1"), cell("T2.r1.c0")), ""),
    ],
)  # fmt: skip
def test_a_program_that_cannot_be_executed_says_why(program: Any, fault: str) -> None:
    judgement_ = judgement("What?", "5", program)
    assert judgement_.fault
    assert fault in judgement_.fault
    found = judgement_.answer
    assert not found.found
    assert not found.grounded
    assert not found.ambiguous
    assert not found.verified
    assert found.reasons[0].startswith("The program cannot be executed: ")


def test_deep_and_wide_programs_end_in_a_fault() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = {"op": "negate", "operand": deep}
    assert "deep" in judgement("?", "1", deep).fault
    wide = {"op": "and", "conditions": [True] * 100_000}
    assert judgement("?", "1", wide).fault


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["T1", "T2", "Ships", "2019"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["op", "rows", "left", "right", "column", "cell", "source", "condition", "argument"])
        | st.text(max_size=4),
        inner | st.sampled_from(["count", "sum", "filter", "lookup", "add", "=", "T1.r1.c1"]),
        max_size=5,
    ),
    max_leaves=15,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(_JSON, st.text(max_size=40))
def test_nothing_a_model_writes_is_an_error(program: Any, text: str) -> None:
    found = judged("How many ships has Skarv?", text or "x", program)
    assert not found.verified or found.program is not None


def test_a_blank_cell_of_a_row_that_is_there_is_an_answer_with_its_row_cited() -> None:
    def note(port: str) -> Any:
        there = {"op": "=", "left": {"column": "Port"}, "right": port}
        return {
            "op": "lookup",
            "rows": {"op": "filter", "source": "T2", "condition": there},
            "value": {"column": "Note"},
        }

    given = judgement("What is the note of Halden?", "", note("Halden"))
    assert (given.fault, given.answer.text, given.answer.value) == ("", "no value given", None)
    assert (given.answer.grounded, given.answer.is_sure) == (True, False)
    assert [(c.table, c.row, c.text) for c in given.answer.citations] == [("ports", 3, "Halden")]
    assert "no row fits" in judgement("What is the note of Oslo?", "", note("Oslo")).fault
