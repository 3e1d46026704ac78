"""Models that misbehave, through `kg.ask` and the command line: a clear, unverified answer or one clear error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from click.testing import CliRunner

import kgtable
from kgtable.answering.answer import Status
from kgtable.cli.main import main
from kgtable.llm.protocol import Request
from kgtable.llm.scripted import ScriptedLLM
from tests.llm.scripted_server import Raw, ScriptedServer

PLANETS = 'Planet,Radius (km),Rings\nMercury,"2,440",no\nJupiter,"71,492",yes\nSaturn,"58,232",yes\n'
MOONS = "Moon,Discovered by,Width (km)\nTitan,Huygens,2575\nEuropa,Galilei,1561\n"
QUESTION = "What is the radius of Saturn?"
GOOD: dict[str, Any] = {
    "reasoning": "The row of Saturn.", "citations": ["T1.r3.c1"], "program": None, "found": True, "answer": "58,232 km",
    "alternatives": [],
}  # fmt: skip
STEPS: dict[str, Any] = {"labels": {"labels": ["Saturn", "radius"]}, "tables": {"tables": [1]}}
HUGE = 200_000


@dataclass(frozen=True)
class Case:
    """A reply that is given to every question, and what must be said of it.

    `reason` stands in the answer's reasons; without `text` the reply gives no answer, and is an error there.
    """

    reply: Any
    reason: str
    text: str = ""


def deep(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {"op": "not", "condition": True}
    for _ in range(levels):
        found = {"op": "not", "condition": found}
    return found


def sum_of(table: str, column: str = "Radius (km)") -> dict[str, Any]:
    return {"op": "sum", "argument": {"column": column}, "rows": {"op": "table", "table": table}}


CASES = {
    "wrong schema": Case({"answer": "42"}, "$.reasoning is missing"),
    "no JSON": Case("It is 42.", "holds no JSON object"),
    "a list": Case("[1, 2, 3]", "JSON object"),
    "citations of a wrong type": Case(GOOD | {"citations": [1, {"a": 2}]}, "citations"),
    "200 kB of prose": Case("word " * (HUGE // 5), "holds no JSON object"),
    "200 kB of brackets": Case("[" * HUGE, "JSON object"),
    "200 kB of objects": Case('{"a":' * (HUGE // 5), "JSON"),
    "200 kB of answer": Case(GOOD | {"answer": "9" * HUGE}, "too long to be checked", "999"),
    "200 kB of citations": Case(
        GOOD | {"citations": [f"T1.r{row}.c9" for row in range(HUGE // 10)]}, "does not exist", "58,232 km"
    ),
    "200 kB of program": Case(
        GOOD | {"program": {"op": "or", "conditions": [True] * (HUGE // 6)}}, "cannot be executed"
    ),
    "a program that nests": Case(GOOD | {"program": deep(90)}, "cannot be executed"),
    "a program that fails": Case(
        GOOD | {"program": {"op": "divide", "left": {"cell": "T1.r3.c1"}, "right": 0}},
        "divides by zero",
    ),
    "a program of no meaning": Case(
        GOOD | {"program": sum_of("T1", "Planet")}, "holds no numbers"
    ),
    "an unknown column": Case(GOOD | {"program": sum_of("T1", "Mass")}, "no column 'Mass'"),
    "a program that is code": Case(
        GOOD | {"program": {"op": "exec", "code": "import os"}}, "There is no operator 'exec'"
    ),
    "a table that is not there": Case(GOOD | {"program": sum_of("T9")}, "There is no table 'T9'"),
    "a cell that is not there": Case(GOOD | {"citations": ["T9.r3.c1"]}, "does not exist", "58,232 km"),
    "the wrong table": Case(
        GOOD | {"program": {"cell": "T2.r1.c2"}, "citations": [], "answer": "2575 km"}, "", "2575"
    ),
    "a sentence that contradicts its program": Case(
        GOOD | {"program": {"cell": "T1.r3.c1"}, "answer": "71,492 km"}, "71,492 is neither a result", "58,232"
    ),
    "a direction that nothing computed": Case(
        GOOD | {"answer": "It grew to 58,232 km"}, "direction", "It grew to 58,232 km"
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kgtable.KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("tables")
    (folder / "planets.csv").write_text(PLANETS, encoding="utf-8")
    (folder / "moons.csv").write_text(MOONS, encoding="utf-8")
    with kgtable.build(folder, folder / "kg", embedding="none") as graph:
        yield graph


@pytest.fixture(autouse=True)
def without_settings(unconfigured: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGTABLE_RETRIES", "0")


def asked_for(schema: Mapping[str, Any] | None) -> str:
    return "" if schema is None else schema["required"][0]


def scripted(reply: Any) -> ScriptedLLM:
    """A model that helps with retrieval, and gives the same reply to whatever else."""

    def answer(request: Request) -> Any:
        return STEPS.get(asked_for(request.schema)) or reply

    return ScriptedLLM(answer)


def test_a_model_that_behaves_is_verified(kg: kgtable.KnowledgeGraph) -> None:
    answer = kg.ask(QUESTION, llm=scripted(GOOD))
    assert (answer.text, answer.grounded) == ("58,232 km", True)


@pytest.mark.parametrize("name", CASES)
def test_what_a_model_does_wrong_ends_in_an_unverified_answer(name: str, kg: kgtable.KnowledgeGraph) -> None:
    case = CASES[name]
    answer = kg.ask(QUESTION, llm=scripted(case.reply))
    assert not answer.verified or "program" in name  # the result of a program is right whatever is said beside it
    assert answer.text.startswith(case.text)
    assert answer.found == bool(case.text)
    assert answer.reasons
    assert case.reason in " ".join(answer.reasons)
    assert all(len(reason) < 1_000 for reason in answer.reasons)
    assert len(answer.text) < 5_000
    assert len(answer.citations) < 300
    if not case.text:
        assert answer.status is Status.NOT_FOUND
        assert answer.failure or "cannot be executed" in answer.reasons[0]


@pytest.mark.parametrize("kind", [SyntaxError, MemoryError, RecursionError])
def test_a_reply_that_nothing_foresaw_ends_in_an_answer_that_says_what_failed(
    kind: type[Exception], kg: kgtable.KnowledgeGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise kind("too much of it")

    monkeypatch.setattr("kgtable.answering.ask.judge", fail)
    answer = kg.ask(QUESTION, llm=scripted(GOOD))
    assert (answer.text, answer.status) == ("", Status.NOT_FOUND)
    assert f"{kind.__name__}: too much of it" in answer.failure


def test_a_reply_that_is_no_reply_is_one_error(kg: kgtable.KnowledgeGraph) -> None:
    with ScriptedServer([Raw("x" * HUGE)] * 6) as server:
        options = ["--base-url", server.base_url, "--model", "tiny", "--kg", str(kg.path)]
        result = CliRunner().invoke(main, ["ask", QUESTION, *options])
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    assert len(line) < 1_000
