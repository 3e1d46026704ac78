from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kgtable
from kgtable.llm.scripted import ScriptedLLM
from tests.table_files import write_files

TABLES = {
    "clubs": "Club ID,Club,Town\nC1,Rovers,Hull\nC2,Harriers,York\nC3,Wanderers,Bath\nC4,Swifts,Ely\n",
    "players": "Player ID,Player,Club ID,Born\nP1,Ann Lee,C1,1990\nP2,Bo Dahl,C2,1988\nP3,Cy Fox,C1,1995\n"
    "P4,Di Gray,C3,1991\n",
    "wells": "Well,Depth\nNorth Well,30\nSouth Well,45\n",
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kgtable.KnowledgeGraph]:
    folder = write_files(tmp_path_factory.mktemp("clubs"), TABLES)
    with kgtable.build(folder, folder / "graph", embedding="none") as built:
        yield built


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Show the town of the clubs that have more than 1 player.", "Hull"),
        ("What is the name of the club with the most players?", "Rovers"),
        ("Which clubs do not have any players?", "Swifts"),
        ("Show the number of players of each club.", "Rovers: 2; Harriers: 1; Wanderers: 1"),
        ("How many players play for the club Rovers?", "2"),
        ("List the players of clubs in the town Bath.", "Di Gray"),
    ],
)  # fmt: skip
def test_questions_over_two_tables_without_a_model(graph: kgtable.KnowledgeGraph, question: str, answer: str) -> None:
    found = graph.ask(question, method="dmral", model="none")
    assert found.text == answer
    assert found.grounded
    assert found.citations


def program(alias: str) -> dict[str, Any]:
    return {"op": "count", "rows": {"op": "table", "table": alias}}


def test_a_model_repairs_a_program_that_fails(graph: kgtable.KnowledgeGraph) -> None:
    model = ScriptedLLM(
        lambda request: (
            {
                "labels": {"labels": ["players", "clubs"]}, "rerank": {"tables": [1]},
                "decompose": {"subquestions": []}, "residual": {"residual": ""},
            }.get(request.stage)
            or {"steps": ["count the players"], "program": program("T99" if len(request.messages) == 2 else "T1")}
        )
    )  # fmt: skip
    found = graph.ask("How many players are there?", method="dmral", llm=model)
    assert found.text == "4"
    assert found.reasoning == "count the players"
    faults = [request.messages[-1]["content"] for request in model.requests if len(request.messages) == 4]
    assert "There is no table 'T99'" in faults[0]


def test_without_reasoning_a_model_writes_one_program_at_once(graph: kgtable.KnowledgeGraph) -> None:
    other = {"labels": {"labels": ["players"]}, "rerank": {"tables": [1]}, "decompose": {"subquestions": []}}
    model = ScriptedLLM(lambda request: other.get(request.stage) or {"program": program("T1")})
    method = "dmral:reasoning=no,gap=0"
    found = graph.ask("How many players are there?", method=method, llm=model)
    assert (found.text, found.reasoning) == ("4", "")
    told = " ".join(str(message["content"]) for message in model.requests[-1].messages)
    assert "ub-questions" not in told
    assert "step" not in told.lower()
    assert "Player ID | Player | Club ID | Born\n  P1 | Ann Lee | C1 | 1990\n" in told


def test_without_refinement_a_program_that_fails_is_not_sent_back(graph: kgtable.KnowledgeGraph) -> None:
    other = {"labels": {"labels": ["players"]}, "rerank": {"tables": [1]}, "decompose": {"subquestions": []}}
    written = iter(({"steps": [], "program": program("T99")}, {"steps": [], "program": program("T1")}))
    model = ScriptedLLM(lambda request: other.get(request.stage) or next(written))
    found = graph.ask("How many players are there?", method="dmral:gap=0,steps=0", llm=model)
    assert found.text == ""
    assert "No program could be executed" in found.reasons[0]


def test_a_model_sees_the_values_of_a_category(tmp_path: Path) -> None:
    rows = "".join(f"W{n},{('open', 'shut', 'dry')[n // 4]},{n}0\n" for n in range(12))
    folder = write_files(tmp_path, {"wells": f"Well,State,Depth\n{rows}"})
    model = ScriptedLLM(lambda request: {"program": program("T1")})
    with kgtable.build(folder, folder / "graph", embedding="none") as graph:
        graph.ask("How deep are dry wells?", method="dmral:reasoning=no,gap=0,subquestions=no", llm=model, rerank=False)
    assert "State: open; shut; dry" in str(model.requests[-1].messages[-1]["content"])
