from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kgtable import api
from kgtable.cli.main import main
from tests.answering.word_retrieval import retrieve
from tests.llm.scripted_server import Fail, ScriptedServer

PLANETS = 'Planet,Radius (km),Rings\nMercury,"2,440",no\nSaturn,"58,232",yes\n'
QUESTION = "What is the radius of Saturn?"

GOOD = {
    "reasoning": "Row Saturn.",
    "citations": ["T1.r2.c1"],
    "program": None,
    "found": True,
    "answer": "58,232 km",
    "alternatives": [],
}


@pytest.fixture
def kg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "KGTABLE_API_KEY", "KGTABLE_BASE_URL", "KGTABLE_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(api.KnowledgeGraph, "retrieve", retrieve)
    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / "planets.csv").write_text(PLANETS, encoding="utf-8")
    api.build(tables, tmp_path / "kg", embedding="none")
    return str(tmp_path / "kg")


def ask(kg: str, *arguments: str, code: int = 0, text: str | None = None) -> Result:
    command = ["ask", *arguments, "--kg", kg]
    result = CliRunner().invoke(main, command, input=text)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def test_the_answer_stands_above_its_evidence(kg: str) -> None:
    lines = ask(kg, QUESTION).stdout.splitlines()
    assert lines[0] == "58,232 km"
    assert lines[1].startswith("  = ")
    assert lines[3].split() == ["file", "cell", "row", "column", "text", "unit"]
    assert lines[4].split()[:2] == ["planets.csv", "B3"]
    assert "58,232" in lines[4]
    assert any(line.startswith("grounded: ") for line in lines)


def test_a_question_may_come_from_standard_input(kg: str) -> None:
    assert ask(kg, "-", text=QUESTION + "\n").stdout.startswith("58,232")


def test_json_is_one_object_of_the_fields_agreed_on(kg: str) -> None:
    found = json.loads(ask(kg, QUESTION, "--json").stdout)
    assert list(found) == [
        "question", "answer", "value", "unit", "verified", "citations", "calculation", "method", "model",
        "usage", "timings_ms", "status", "confidence", "reasons", "program", "alternatives",
    ]  # fmt: skip
    assert (found["answer"], found["value"], found["unit"]) == ("58,232", "58232", "KiloM")
    assert found["citations"][0]["cell"].endswith("/table/planets/cell/2/1")


def test_a_model_is_asked_and_its_prompt_shown(kg: str) -> None:
    with ScriptedServer([GOOD]) as server:
        result = ask(kg, QUESTION, "--base-url", server.base_url, "--model", "tiny", "--show", "prompt")
    assert result.stdout.startswith("58,232 km\n")
    assert "verified: " in result.stdout
    assert "(tiny)" in result.stdout
    assert "used: 1 request, " in result.stdout
    assert "=== CONTEXT START ===" in result.stdout


def test_the_program_is_shown_as_json_and_as_sparql_that_runs(kg: str) -> None:
    text = ask(kg, QUESTION, "--show", "program", "--show", "sparql").stdout
    above, _, below = text.partition("\nprogram:\n")
    program, _, query = below.partition("\nsparql:\n")
    assert above.startswith("58,232 km")
    again = CliRunner().invoke(main, ["run", program, "--kg", kg])
    assert again.stdout.splitlines()[1] == above.splitlines()[1]
    result = CliRunner().invoke(main, ["sparql", query, "--kg", kg, "-f", "csv"])
    assert result.stdout.split()[1] == "58232"


def test_json_has_the_program_and_where_asked_for_the_sparql(kg: str) -> None:
    result = ask(kg, QUESTION, "--json", "--show", "program", "--show", "sparql")
    found = json.loads(result.stdout)
    assert result.stderr == ""
    assert found["program"] == json.loads(ask(kg, QUESTION, "--json").stdout)["program"]
    assert list(found)[-1] == "sparql"
    shown = CliRunner().invoke(main, ["sparql", "-", "--kg", kg, "-f", "csv"], input=found["sparql"])
    assert shown.stdout.split()[1] == "58232"


def test_nothing_found_ends_with_one(kg: str) -> None:
    assert "Nothing was found" in ask(kg, "zzz qqq", code=1).stdout
    assert json.loads(ask(kg, "zzz qqq", "--json", code=1).stdout)["answer"] is None


def test_errors_are_one_line_and_end_with_two(kg: str, tmp_path: Path) -> None:
    assert ask(kg, "", code=2).stderr.startswith("Error: The question is empty.")
    assert ask(str(tmp_path / "none"), QUESTION, code=2).stderr.startswith("Error: ")
    with ScriptedServer([Fail(401)]) as server:
        result = ask(kg, QUESTION, "--base-url", server.base_url, code=2)
    assert "refused the key" in result.stderr
    assert len(result.stderr.splitlines()) == 1
