"""The solver's loop against a scripted model: steps, state, failures, votes, verdicts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import kgtable
from kgtable.answering.answer import Answer
from kgtable.errors import LLMReplyError
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.llm.protocol import Request
from kgtable.llm.scripted import ScriptedLLM
from tests.llm.scripted_server import Fail, ScriptedServer

QUESTION = "What is the total amount paid by the customer Acme?"
METHOD = "tablerag:tables=1"
NO_QUERIES: Mapping[str, Any] = {"queries": []}

ACME = {"op": "filter", "source": "T1", "condition": {"op": "=", "left": {"column": "Customer"}, "right": "Acme"}}
TOTAL = {"op": "sum", "argument": {"column": "Amount (EUR)"}, "rows": ACME}


def step(action: Any = None, answer: str | None = None, thought: str = "Next.") -> dict[str, Any]:
    return {"thought": thought, "action": action, "answer": answer}


def asked(
    graph: KnowledgeGraph, replies: Sequence[Any], method: str = METHOD, question: str = QUESTION
) -> tuple[Answer, ScriptedLLM]:
    """The answer when the model replies so after its queries, and the model with what it was asked."""
    model = ScriptedLLM([NO_QUERIES, NO_QUERIES, *replies])
    return graph.ask(question, method=method, llm=model), model


def solving(model: ScriptedLLM) -> list[Request]:
    return [request for request in model.requests if request.stage == "solve"]


def last_told(request: Request) -> str:
    return request.messages[-1]["content"]


def test_a_program_is_run_and_its_answer_verified(graph: KnowledgeGraph) -> None:
    answer, model = asked(graph, [step(TOTAL), step(answer="55 EUR")])
    assert (answer.display, answer.value, answer.unit) == ("€55", "55", "CCY_EUR")
    assert answer.verified, answer.reasons
    assert {cell.text for cell in answer.citations} >= {"30.00", "25.00"}
    first, second = solving(model)
    assert "Schema retrieval results" in last_told(first)
    assert '"cell_value": "Acme"' in last_told(first)
    assert last_told(second).startswith("Observation:\n===\n€55")


def test_the_prompt_has_no_row_of_the_table(graph: KnowledgeGraph) -> None:
    _, model = asked(graph, [step(TOTAL), step(answer="55 EUR")])
    prompt = last_told(solving(model)[0])
    assert "Umbrella" not in prompt
    assert "1005" not in prompt


def test_state_is_kept_between_steps(graph: KnowledgeGraph) -> None:
    later = {"op": "sum", "argument": {"column": "Amount (EUR)"}, "rows": {"step": 1}}
    answer, model = asked(graph, [step(ACME), step(later), step(answer="55 EUR")])
    assert answer.verified, answer.reasons
    assert "Leather belt" in last_told(solving(model)[1])


@pytest.mark.parametrize(
    ("action", "told"),
    [
        ({"op": "no such"}, "Error:"),
        ({"op": "sum", "argument": {"column": "Amount (EUR)"}, "rows": "T9"}, "no table 'T9'"),
        ({**TOTAL, "rows": {**ACME, "condition": {**ACME["condition"], "right": "Nobody"}}}, "empty"),
        ({"op": "sum", "argument": {"column": "Order"}, "rows": "T1"}, "Error:"),
    ],
    ids=["no program", "unknown table", "empty result", "sum of identifiers"],
)
def test_what_fails_is_told_and_can_be_mended(graph: KnowledgeGraph, action: Any, told: str) -> None:
    answer, model = asked(graph, [step(action), step(TOTAL), step(answer="55 EUR")])
    assert told in last_told(solving(model)[1])
    assert answer.verified, answer.reasons


def test_an_answer_without_any_action_is_not_grounded(graph: KnowledgeGraph) -> None:
    answer, model = asked(graph, [step(answer="55 EUR"), step(answer="55 EUR")])
    assert "does not follow" in last_told(solving(model)[1])
    assert (answer.text, answer.grounded, answer.citations) == ("55 EUR", False, ())


def test_a_contradiction_is_returned_once_and_leaves_the_result_of_the_program(graph: KnowledgeGraph) -> None:
    answer, model = asked(graph, [step(TOTAL), step(answer="99 EUR"), step(answer="99 EUR")])
    assert "does not follow from the actions" in last_told(solving(model)[2])
    assert (answer.display, answer.grounded, answer.verified) == ("€55", True, False)


def test_endless_steps_end_with_one_last_question(graph: KnowledgeGraph) -> None:
    method = "tablerag:tables=1,steps=2"
    answer, model = asked(graph, [step(ACME), step(TOTAL), step(answer="55 EUR")], method)
    assert "There are no further actions" in last_told(solving(model)[2])
    assert answer.verified
    answer, model = asked(graph, [step(ACME)] * 3, method)
    assert not answer.found
    assert "no answer after 2 actions" in answer.reasons[0]
    assert len(solving(model)) == 3


def test_text_of_tables_is_fenced(graph: KnowledgeGraph) -> None:
    _, model = asked(graph, [step(TOTAL), step(answer="55 EUR")])
    assert "it is data" in solving(model)[0].messages[0]["content"]
    assert last_told(solving(model)[1]).endswith("\n===")


def test_votes_are_counted_over_normal_answers_and_end_early(graph: KnowledgeGraph) -> None:
    run = [step(TOTAL), step(answer="55 EUR")]
    wrong = [step({"op": "count", "rows": "T1"}), step(answer="6")]
    method = "tablerag:tables=1,votes=5"
    answer, model = asked(graph, [*wrong, *run, *run, *run], method)
    assert answer.text == "55"
    assert "3 of 4 runs" in answer.reasoning
    assert answer.verified
    requests = solving(model)
    assert len(requests) == 8  # four runs of five: a fifth could not change it
    assert {request.temperature for request in requests} == {0.8}
    assert len({request.fingerprint("m", "u") for request in requests}) == 8


def test_without_a_majority_nothing_is_verified(graph: KnowledgeGraph) -> None:
    run = [step(TOTAL), step(answer="55 EUR")]
    others = [[step({"op": "count", "rows": "T1"}), step(answer=str(n))] * 2 for n in (6, 7)]
    replies = [*run, *others[0][:2], step(answer="6"), *others[1][:2], step(answer="7")]
    answer, _ = asked(graph, replies, "tablerag:tables=1,votes=3")
    assert answer.found
    assert not answer.verified


def test_every_failure_in_one_run_over_a_server_ends_in_a_right_answer(graph: KnowledgeGraph) -> None:
    nobody = {**TOTAL, "rows": {**ACME, "condition": {**ACME["condition"], "right": "Nobody"}}}
    replies = [
        step(),  # no action
        step({"op": "sum", "argument": "Amount"}),  # an error of syntax
        step(nobody),  # an empty result
        step(TOTAL),
        step(answer="99 EUR"),  # a contradiction
        step(answer="55 EUR"),
    ]
    script = ["{broken", NO_QUERIES, NO_QUERIES, "no step", *replies]
    texts = [reply if isinstance(reply, str) else json.dumps(reply) for reply in script]
    method = f"{METHOD},steps=6"
    with ScriptedServer([Fail(500), *texts]) as server:
        answer = graph.ask(QUESTION, method=method, model="any", base_url=server.base_url, retries=2)
    assert (answer.text, answer.verified) == ("55", True)
    for told in ("no action was given", "Error:", "The result is empty", "55", "does not follow"):
        assert told in answer.prompt
    with ScriptedServer([json.dumps(reply) for reply in (NO_QUERIES, NO_QUERIES, *[step(ACME)] * 3)]) as server:
        endless = graph.ask(QUESTION, method=f"{METHOD},steps=2", model="any", base_url=server.base_url, retries=2)
    assert (endless.text, endless.verified) == ("", False)
    assert "no answer after 2 actions" in endless.reasons[0]


def test_a_model_that_ends_raises_nothing_but_its_own_error(graph: KnowledgeGraph) -> None:
    with pytest.raises(LLMReplyError, match="no further reply"):
        asked(graph, [step(TOTAL)])


def test_of_a_wide_table_the_rules_read_the_columns_found_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGTABLE_CACHE", str(tmp_path / "cache"))
    fillers = [f"Gauge {n}" for n in range(60)]
    rows = [["River", *fillers, "Length (km)"], *([f"River {n}", *["7"] * 60, str(90 + n)] for n in range(5))]
    rows[2][0] = "Torne"
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "wide.csv").write_text("\n".join(map(",".join, rows)), encoding="utf-8")
    with kgtable.build(folder, tmp_path / "graph", embedding="none") as graph:
        answer = graph.ask("What is the length of the river Torne?", method="tablerag", model="none")
        assert (answer.text, answer.unit) == ("91", "KiloM")
        assert {(cell.column, cell.text) for cell in answer.citations} == {(0, "Torne"), (61, "91")}
        assert answer.program is not None
        assert graph.run(answer.program).text == "91 km"
