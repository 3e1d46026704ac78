from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import kgtable
from kgtable.llm.scripted import ScriptedLLM

TABLES = {
    "clubs": "Club ID,Club,Town\nC1,Rovers,Hull\nC2,Harriers,York\nC3,Wanderers,Bath\nC4,Swifts,Ely\n",
    "players": "Player ID,Player,Club ID,Born\nP1,Ann Lee,C1,1990\nP2,Bo Dahl,C2,1988\nP3,Cy Fox,C1,1995\n"
    "P4,Di Gray,C3,1991\n",
    "wells": "Well,Depth\nNorth Well,30\nSouth Well,45\n",
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kgtable.KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("clubs")
    for name, text in TABLES.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
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
                "labels": {"labels": ["players", "clubs"]},
                "rerank": {"tables": [1]},
                "decompose": {"subquestions": []},
                "residual": {"residual": ""},
            }.get(request.stage)
            or {
                "steps": ["count the players"],
                "program": program("T99" if len(request.messages) == 2 else "T1"),
            }
        )
    )
    found = graph.ask("How many players are there?", method="dmral", llm=model)
    assert found.text == "4"
    assert found.reasoning == "count the players"
    faults = [request.messages[-1]["content"] for request in model.requests if len(request.messages) == 4]
    assert "There is no table 'T99'" in faults[0]


@pytest.mark.parametrize("language", ["program", "sql"])
def test_without_reasoning_a_model_writes_one_program_at_once(graph: kgtable.KnowledgeGraph, language: str) -> None:
    written = {"program": program("T1"), "sql": "SELECT count(*) FROM T1"}
    other = {"labels": {"labels": ["players"]}, "rerank": {"tables": [1]}, "decompose": {"subquestions": []}}
    model = ScriptedLLM(lambda request: other.get(request.stage) or {language: written[language]})
    method = f"dmral:reasoning=no,gaps=no,language={language}"
    found = graph.ask("How many players are there?", method=method, llm=model)
    assert (found.text, found.reasoning) == ("4", "")
    told = " ".join(str(message["content"]) for message in model.requests[-1].messages)
    assert "ub-questions" not in told
    assert "step" not in told.lower()


def test_without_refinement_a_program_that_fails_is_not_sent_back(graph: kgtable.KnowledgeGraph) -> None:
    pytest.importorskip("duckdb")
    model = in_sql("SELECT nonsense FROM T99", "SELECT 1")
    assert graph.ask("How many players are there?", method="dmral:language=sql,steps=0", llm=model).text == ""


def in_sql(*statements: str | None) -> ScriptedLLM:
    """A model that writes these statements one after the other."""
    left = list(statements)
    other = {
        "labels": {"labels": ["players", "clubs"]},
        "rerank": {"tables": [1]},
        "decompose": {"subquestions": []},
        "residual": {"residual": ""},
    }
    return ScriptedLLM(lambda request: other.get(request.stage) or {"steps": ["join them"], "sql": left.pop(0)})


def test_a_model_may_write_sql_and_repair_it(graph: kgtable.KnowledgeGraph) -> None:
    pytest.importorskip("duckdb")
    question = "How many players play for the club Rovers?"
    ranked = [table.table for table in graph.retrieve(question, 50, "dmral").tables]
    aliases = {id: f"T{number}" for number, id in enumerate(ranked, 1)}
    clubs, players = aliases["clubs"], aliases["players"]
    joined = f'SELECT count(*) FROM {players} p JOIN {clubs} c ON p."Club ID" = c."Club ID" WHERE c."Club" = \'Rovers\''
    model = in_sql("SELECT nonsense FROM T99", f"{joined} AND 1 = 0 HAVING count(*) > 0", joined)
    found = graph.ask(question, method="dmral:language=sql", llm=model)
    assert (found.text, found.value, found.grounded, found.verified) == ("2", "2", True, False)
    assert {cell.table for cell in found.citations} == {"clubs", "players"}
    assert found.calculation == joined
    solving = [request for request in model.requests if request.stage == "answer"]
    assert "Put names in double quotes" in solving[0].messages[0]["content"]
    assert "T99" in solving[1].messages[-1]["content"]
    assert "empty" in solving[2].messages[-1]["content"]


def test_sql_cannot_leave_its_process_and_what_never_works_is_no_answer(
    graph: kgtable.KnowledgeGraph,
) -> None:
    pytest.importorskip("duckdb")
    model = in_sql("SELECT * FROM read_csv('/etc/passwd')", "ATTACH '/tmp/other.db'", "DROP TABLE T1; SELECT")
    found = graph.ask("How many players are there?", method="dmral:language=sql", llm=model)
    assert found.text == ""
    assert "No program could be executed" in found.reasons[0]
    assert graph.ask("How many players are there?", method="dmral:language=sql", llm=in_sql(None)).text == ""


def test_what_reads_no_cell_is_not_grounded(graph: kgtable.KnowledgeGraph) -> None:
    pytest.importorskip("duckdb")
    question = "How many players are there?"
    found = graph.ask(question, method="dmral:language=sql", llm=in_sql("SELECT 'Atlantis'"))
    assert (found.text, found.grounded, found.verified, found.citations) == ("Atlantis", False, False, ())
    assert found.reasons[0] == "No cell of the tables was read for it."
