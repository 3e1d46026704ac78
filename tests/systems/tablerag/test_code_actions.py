"""Steps in Python: results, state, cells read, verdicts."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kgtable
from kgtable.answering.evidence import Evidence
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.llm.scripted import ScriptedLLM
from kgtable.retrieval.result import Retrieval, ScoredTable
from kgtable.systems.tablerag.code_actions import PythonActions

needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
QUESTION = "What is the total amount paid by the customer Acme?"
NO_QUERIES: dict[str, Any] = {"queries": []}
AMOUNT, CUSTOMER = 4, 1


@pytest.fixture(scope="module")
def found(graph_folder: Path) -> Iterator[Evidence]:
    with kgtable.open(graph_folder) as graph:
        yield Evidence(Retrieval("?", (), (ScoredTable("orders", 1.0),)), graph.reader)


@pytest.fixture(scope="module")
def python(found: Evidence) -> Iterator[PythonActions]:
    actions = PythonActions(found, ["orders"])
    yield actions
    actions.close()


@needs_bwrap
def test_python_gives_its_last_value_and_keeps_variables(python: PythonActions) -> None:
    assert python.run("acme = T1[T1['Customer'] == 'Acme']").text == "Done."
    observed = python.run("acme['Amount (EUR)'].sum()")
    assert observed.text == "55"
    assert python.run("print('hello')").text == "hello"
    rows = python.run("T1[T1['Customer'] == 'Acme'][['Customer', 'Amount (EUR)']]")
    assert {row for _, row, _ in rows.cells} == {1, 3}
    assert "KeyError" in python.run("T1['Price']").text
    assert "SyntaxError" in python.run("T1[").text


@needs_bwrap
@pytest.mark.parametrize("code", ["(", "(" * 1_000, "-" * 5_000 + "1", "a\0b"])
def test_code_that_only_its_own_process_can_parse_is_told(code: str, found: Evidence) -> None:
    actions = PythonActions(found, ["orders"])
    try:
        actions.run("import ast; whole = ast.parse; ast.parse = lambda code: whole('7')")
        assert actions.run(code).text == "Error: the result cannot be read."
    finally:
        actions.close()


def reply(action: str | None = None, answer: str | None = None) -> dict[str, Any]:
    return {"thought": "", "action": action, "answer": answer}


CODE = "T1[T1['Customer'] == 'Acme']['Amount (EUR)'].sum()"


@needs_bwrap
def test_an_answer_by_code_is_verified_by_a_program_that_gives_the_same(graph: KnowledgeGraph) -> None:
    model = ScriptedLLM([NO_QUERIES, NO_QUERIES, reply(CODE), reply(answer="55 EUR")])
    answer = graph.ask(QUESTION, method="tablerag:tables=1,language=python", llm=model)
    assert (answer.display, answer.value, answer.unit) == ("€55", "55", "CCY_EUR")
    assert answer.verified, answer.reasons
    assert answer.program is not None
    assert {cell.text for cell in answer.citations} >= {"30.00", "25.00"}


@needs_bwrap
def test_an_answer_by_code_alone_is_grounded_and_cites_what_was_read(graph: KnowledgeGraph) -> None:
    model = ScriptedLLM([NO_QUERIES, NO_QUERIES, reply(f"3 * {CODE}"), reply(answer="165 EUR")])
    answer = graph.ask(QUESTION, method="tablerag:tables=1,language=python", llm=model)
    assert (answer.grounded, answer.verified) == (True, False)
    assert {cell.text for cell in answer.citations} >= {"Acme", "30.00", "25.00"}


@needs_bwrap
def test_endless_code_ends_with_who_asked_it(graph_folder: Path) -> None:
    script = f"""
import os, sys, threading, time
import kgtable
from kgtable.answering.evidence import Evidence
from kgtable.retrieval.result import Retrieval, ScoredTable
from kgtable.systems.tablerag.code_actions import PythonActions
graph = kgtable.open({str(graph_folder)!r})
found = Evidence(Retrieval("?", (), (ScoredTable("orders", 1.0),)), graph.reader)
actions = PythonActions(found, ["orders"], seconds=60)
actions.run("1")
print(actions._process._child.pid, flush=True)
threading.Timer(0.5, os._exit, (0,)).start()
actions.run("while True: pass")
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    pid = int(ended.stdout)
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split(")")[1][:3]:
            return
        time.sleep(0.1)
    pytest.fail("the process still runs")


@pytest.mark.parametrize(
    ("language", "action"),
    [
        ("program", {"op": "project", "source": "T1", "columns": [{"column": 2}]}),
        pytest.param("python", 'T1["Name 2"]', marks=needs_bwrap),
    ],
)
def test_columns_of_one_header_are_told_apart(tmp_path: Path, language: str, action: Any) -> None:
    """A model is shown the names under which the language has them; hostile headers stay in their block."""
    head = 'City,Name,Name,"""; DROP TABLE T1; --"'
    (tmp_path / "ports.csv").write_text(f"{head}\nOslo,Ada,Bob,1\nBergen,Cy,Di,2\n", encoding="utf-8")
    replies = ({"thought": "", "action": action, "answer": None}, {"thought": "", "action": None, "answer": "Bob; Di"})
    model = ScriptedLLM([NO_QUERIES, NO_QUERIES, *replies])
    with kgtable.build(tmp_path, tmp_path / "graph", embedding="none") as graph:
        answer = graph.ask("Who is the Name?", method=f"tablerag:language={language}", llm=model)
    assert (answer.text, answer.grounded) == ("Bob; Di", True)
    assert [cell.text for cell in answer.citations] == ["Bob", "Di"]
    first = model.requests[2].messages[-1]["content"]
    assert '{"column_name": "Name 2", "dtype": "text", "index": 2, "cell_examples": ["Bob", "Di"]}' in first
    listed = '"Name 2" text, "\\"; DROP TABLE T1; --" '
    assert language == "program" or any(listed in block for block in first.split("===\n")[1::2])
    assert not any("DROP" in text for text in first.split("===\n")[::2])
