"""Questions and tables over HTTP: answered by rules, by a scripted model, and streamed."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

import kgtable
from kgtable.building.generations import GraphDirectory
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.resources import PACKAGE
from kgtable.server.options import ServerSettings
from kgtable.server.state import GraphFolder
from kgtable.server.views import answer_card, explorer
from kgtable.server.views.explorer import OPERATIONS, Explorer
from tests.llm.scripted_server import Fail, Hang, ScriptedServer
from tests.server.refusals import refused
from tests.server.serving import Running, running

QUESTION = "What was the revenue of Laboratory in 2024?"
CELL = "http://example.org/data/table/halden-segments/cell/2/1"


def reply(request: dict[str, Any]) -> dict[str, Any]:
    """What a model would say: labels where labels are asked for, else the cell of the question."""
    prompt = json.dumps(request["messages"], ensure_ascii=False)
    if "response_format" in request and "labels" in json.dumps(request["response_format"]):
        return {"labels": ["Laboratory", "2024"], "entities": [], "terms": ["revenue"]}
    if "response_format" in request and "tables" in json.dumps(request["response_format"]):
        return {"tables": []}
    row = next((part for part in prompt.split("|") if "r2.c1" in part), "T1.r2.c1")
    table = row[row.index("T") :].partition(".")[0] if ".r2.c1" in row else "T1"
    return {
        "reasoning": "It stands there.", "program": None, "citations": [f"{table}.r2.c1"], "found": True,
        "answer": "812,400 thousand euros", "alternatives": [],
    }  # fmt: skip


@pytest.fixture(scope="module")
def modelled(graph_folder: Path) -> Iterator[tuple[Running, ScriptedServer]]:
    with ScriptedServer(reply) as model, ExitStack() as opened:
        with pytest.MonkeyPatch.context() as patch:  # for the processes that the server starts with
            patch.setenv("KGTABLE_BASE_URL", model.base_url)
            patch.setenv("KGTABLE_API_KEY", "a-test-key")
            patch.setenv("KGTABLE_MODEL", "scripted")
            server = opened.enter_context(running(ServerSettings(port=0), GraphFolder(graph_folder)))
            assert server.client.get("/api/info").status_code == 200
        yield server, model


def events(server: Running, question: str) -> list[tuple[str, Any]]:
    headers = {"accept": "text/event-stream"}
    answer = server.client.post("/api/ask", json={"question": question}, headers=headers)
    assert answer.headers["content-type"].startswith("text/event-stream")
    blocks = [block.split("\n", 1) for block in answer.text.strip().split("\n\n") if block[0] != ":"]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


def test_an_answer_carries_its_status_its_program_and_its_readings(exploring: Running) -> None:
    found = exploring.client.post("/api/ask", json={"question": "What was the total revenue in 2023?"}).json()
    assert found["status"] in ("several", "sure", "likely")
    assert found["verified"] is False
    assert 0 < found["confidence"] < 1
    assert found["reasons"]
    assert (found["display"], found["exact"]) == ("$1,562.0 million", "1,562,000,000 US dollars")
    assert (found["unit_label"], found["period"]) == ("US dollars", "year to 30 Sep 2023")
    assert found["program"]["op"]
    assert "Total revenue" in found["calculation"]
    other = next(other for other in found["alternatives"] if other["table"] == "halden-segments")
    assert (other["display"], other["exact"]) == ("€1,431.3 million", "1,431,300,000 euros")
    assert other["words"] == "sum of 2023, 4 rows"
    assert [cell["text"] for cell in other["citations"]] == ["760,100", "330,700", "224,300", "116,200"]
    rows = exploring.query(other["sparql"]).json()["results"]["bindings"]
    assert [next(iter(row.values()))["value"] for row in rows] == ["1431300000"]
    none = exploring.client.post("/api/ask", json={"question": "qwertz yxcvb"}).json()
    assert (none["status"], none["program"], none["sparql"], none["display"]) == ("not found", None, None, None)


def test_programs_over_long_tables_are_not_compiled_on_the_way(
    graph_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = {"question": "What is the diameter of Saturn?", "method": None, "k": None}
    with KnowledgeGraph(graph_folder) as graph:
        assert explorer.ask(graph, job, lambda *_: None)["sparql"]
        monkeypatch.setattr(answer_card, "MOST_CELLS_COMPILED", 10)
        found = explorer.ask(graph, job, lambda *_: None)
    assert found["program"]
    assert found["sparql"] is None


def test_rules_answer_without_a_model(exploring: Running) -> None:
    answer = exploring.client.post("/api/ask", json={"question": QUESTION})
    assert answer.status_code == 200
    found = answer.json()
    assert found["answer"] == "812,400"
    assert (found["value"], found["unit"], found["status"]) == ("812400000", "CCY_EUR", "sure")
    label = CELL.replace("/cell/2/1", "/row/2")
    assert [citation["cell"] for citation in found["citations"]] == [CELL, label]
    assert found["offline"] is True
    assert found["trace"]["labels"]
    query = found["trace"]["queries"][0]
    assert exploring.query(query).json()["results"]["bindings"][0]["value"]["value"] == "812400000"


def test_stages_and_what_was_found_come_before_the_answer(exploring: Running) -> None:
    told = events(exploring, QUESTION)
    assert [name for name, _ in told] == ["stage", "found", "answer"]
    assert told[0][1]["text"] == "Searching 6 tables"
    found = told[1][1]
    assert found["tables"][0]["id"] == "halden-segments"
    assert found["text"].startswith("Found ")


@pytest.mark.parametrize(
    ("question", "meant", "answer"),
    [
        ("And in 2023?", "What was the revenue of Laboratory in 2023?", "760,100"),
        ("what about Calibration?", "What was the revenue of Calibration in 2024?", "251,600"),
        ("Which planet has the largest diameter?", None, "Jupiter"),
        ("and qwertz?", None, None),
    ],
)
def test_a_question_may_follow_another(
    exploring: Running, question: str, meant: str | None, answer: str | None
) -> None:
    headers = {"accept": "text/event-stream"}
    asked = {"question": question, "after": QUESTION}
    told = exploring.client.post("/api/ask", json=asked, headers=headers).text
    understood = re.findall(r"^event: question\ndata: (.*)$", told, re.MULTILINE)
    assert [json.loads(data)["question"] for data in understood] == ([meant] if meant else [])
    found = exploring.client.post("/api/ask", json=asked).json()
    assert found["question"] == (meant or question)
    if answer:
        assert found["answer"] == answer


def test_retrieval(exploring: Running) -> None:
    answer = exploring.client.get("/api/retrieve", params={"question": QUESTION, "k": 5})
    found = answer.json()
    assert len(found["triples"]) == 5
    assert found["triples"][0]["cell"] == CELL
    assert found["tables"][0]["table"] == "halden-segments"


def test_a_question_without_an_answer(exploring: Running) -> None:
    found = exploring.client.post("/api/ask", json={"question": "qwertz yxcvb?"}).json()
    assert found["answer"] is None
    assert found["verified"] is False


def test_a_models_words_stream(modelled: tuple[Running, ScriptedServer]) -> None:
    server, _ = modelled
    told = events(server, QUESTION)
    assert "".join(data["text"] for name, data in told if name == "text").startswith("812,400")
    name, found = told[-1]
    assert name == "answer"
    assert found["offline"] is False
    assert [citation["cell"] for citation in found["citations"]] == [CELL]
    assert "a-test-key" not in json.dumps(told)


def test_a_model_that_fails_is_said(modelled: tuple[Running, ScriptedServer]) -> None:
    server, model = modelled
    model.act(Fail(401, "no such key"))
    answer = server.client.post("/api/ask", json={"question": QUESTION})
    assert answer.status_code == 503
    assert "a-test-key" not in answer.text
    name, problem = events(server, QUESTION)[-1]
    assert name == "problem"
    assert problem["status"] == 503


def test_a_question_that_nobody_waits_for_ends_its_process(modelled: tuple[Running, ScriptedServer]) -> None:
    """The last with the model: the process that takes the other's place does not know it."""
    server, model = modelled
    model.act(Hang(300))
    headers = {"accept": "text/event-stream"}
    pool = server.state.explorers
    with server.client.stream("POST", "/api/ask", json={"question": QUESTION}, headers=headers) as answer:
        assert next(answer.iter_lines()) == "event: stage"
        assert pool.running == 1
    deadline = time.monotonic() + 60
    while pool.running and time.monotonic() < deadline:
        time.sleep(0.05)
    assert pool.running == 0
    assert pool.counts.died == 1
    assert server.client.get("/api/info").status_code == 200


@pytest.fixture
def asked(graph_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An explorer that has opened the sample graph: operation and job to answer."""
    monkeypatch.setattr(explorer, "OPENING_PAUSES", (0.0,))
    found = Explorer()
    found.answer({"op": "info", "open": {"directory": str(graph_folder)}}, b"", lambda head, body: None)

    def ask(op: str, **job: Any) -> Any:
        head, body = found.answer({"op": op, **job}, b"", lambda head, body: None)
        assert head == {"status": 200}
        return body

    return ask


@pytest.mark.parametrize(
    ("op", "job", "kind"),
    [
        ("file", {"id": "nowhere", "form": "csv"}, "not-found"),
        ("cell", {"id": "planets", "row": 9_999, "column": 0}, "not-found"),
        ("resource", {"iri": "no iri"}, "bad-request"),
    ],
)
def test_errors_are_problems(op: str, job: dict[str, Any], kind: str, asked: Any) -> None:
    with refused(kind):
        asked(op, **job)
    assert json.loads(asked("info"))["tables"] == 6


def test_files_that_moved_under_a_reader_are_looked_for_again(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fails = [OSError("gone"), RuntimeError("moved")]

    def moving(graph: object, job: object, tell: object) -> str:
        if fails:
            raise fails.pop()
        return "found"

    monkeypatch.setitem(OPERATIONS, "info", moving)
    monkeypatch.setattr(explorer, "OPENING_PAUSES", (0.0, 0.0))
    assert json.loads(asked("info")) == "found"


@pytest.mark.skipif(sys.platform != "linux", reason="counts the descriptors that Linux lists")
def test_a_newer_version_takes_the_place_of_the_one_before(graph_folder: Path) -> None:
    explorer, counts = Explorer(), []
    for _ in range(4):
        job = {
            "op": "ask", "question": "What is the diameter of Saturn?", "k": 50, "method": "hybrid",
            "open": {"directory": str(graph_folder)},
        }  # fmt: skip
        head, _body = explorer.answer(job, b"", lambda head, content: None)
        assert head["status"] == 200
        counts.append(len(os.listdir("/proc/self/fd")))
    assert max(counts[1:]) <= counts[0] + 2


@pytest.mark.skipif(sys.platform != "linux", reason="reads the descriptors that Linux lists")
def test_whatever_is_asked_the_index_is_opened_once_and_closed_with_its_graph(tmp_path: Path) -> None:
    tables, place = tmp_path / "tables", tmp_path / "kg"
    shutil.copytree(PACKAGE / "samples", tables)
    explorer = Explorer()
    asked = {"op": "ask", "k": 50, "method": "hybrid"}
    window = {"row": 0, "rows": 50, "around": (), "column": 0, "columns": 50, "across": ()}
    jobs = (
        {"op": "tables", "q": "saturn", "sort": "title", "offset": 0, "limit": 50},
        {**asked, "question": "What is the diameter of Saturn?"},
        {**asked, "question": "What is the average diameter of the planets?"},
        {**asked, "op": "retrieve", "question": "diameter of Saturn"},
        {"op": "table", "id": "planets", "find": "saturn", **window},
    )
    for number in range(2):
        (tables / "more.csv").write_text(f"Year,Rain\n2020,{number}\n", encoding="utf-8")
        kgtable.build(tables, place, embedding="none").close()
        for opening in ({"open": {"directory": str(place)}}, {}):
            for job in jobs:
                head, _body = explorer.answer({**job, **opening}, b"", lambda head, content: None)
                assert head["status"] == 200
        counts = Counter(path for path in open_files() if path.startswith(str(place)) and "/index/" in path)
        assert len(counts) > 20
        assert set(counts.values()) == {1}
        assert {Path(path).parent for path in counts} == {GraphDirectory(place).current().index_path}


def open_files() -> list[str]:
    """What the open descriptors of this process lead to."""
    found = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the one that the folder was listed by
            found.append(os.readlink(link))
    return found
