"""Questions over HTTP: answered by rules, by a scripted model, and streamed on the way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kgtable.llm.scripted_server import Fail, ScriptedServer
from kgtable.server.options import ServerSettings
from kgtable.server.state import GraphFolder
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
        "reasoning": "It stands there.",
        "found": True,
        "answer": "812,400 thousand euros",
        "citations": [f"{table}.r2.c1"],
        "calculation": None,
        "alternatives": [],
    }


@pytest.fixture
def modelled(graph_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Running, ScriptedServer]]:
    with ScriptedServer(reply) as model:
        monkeypatch.setenv("KGTABLE_BASE_URL", model.base_url)
        monkeypatch.setenv("KGTABLE_API_KEY", "a-test-key")
        monkeypatch.setenv("KGTABLE_MODEL", "scripted")
        with running(ServerSettings(port=0), GraphFolder(graph_folder)) as server:
            yield server, model


def events(server: Running, question: str) -> list[tuple[str, Any]]:
    headers = {"accept": "text/event-stream"}
    answer = server.client.post("/api/ask", json={"question": question}, headers=headers)
    assert answer.headers["content-type"].startswith("text/event-stream")
    blocks = [block.split("\n", 1) for block in answer.text.strip().split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


def test_rules_answer_without_a_model(exploring: Running) -> None:
    answer = exploring.client.post("/api/ask", json={"question": QUESTION})
    assert answer.status_code == 200
    found = answer.json()
    assert found["answer"] == "812,400"
    assert (found["value"], found["unit"], found["verified"]) == ("812400000", "CCY_EUR", True)
    assert [citation["cell"] for citation in found["citations"]] == [CELL]
    assert found["offline"] is True
    assert found["trace"]["labels"]
    query = found["trace"]["queries"][0]
    assert exploring.query(query).json()["results"]["bindings"][0]["value"]["value"] == "812400000"


def test_steps_come_before_the_answer(exploring: Running) -> None:
    told = events(exploring, QUESTION)
    assert [name for name, _ in told[-1:]] == ["answer"]
    assert "step" in [name for name, _ in told[:-1]]


def test_retrieval(exploring: Running) -> None:
    answer = exploring.client.get("/api/retrieve", params={"question": QUESTION, "k": 5})
    found = answer.json()
    assert len(found["triples"]) == 5
    assert found["triples"][0]["cell"] == CELL
    assert found["tables"][0]["table"] == "halden-segments"


def test_an_unknown_method_is_refused(exploring: Running) -> None:
    answer = exploring.client.get("/api/retrieve", params={"question": QUESTION, "method": "magic"})
    assert answer.status_code == 400
    assert "magic" in answer.json()["detail"]
    assert (
        exploring.client.post("/api/ask", json={"question": QUESTION, "method": "magic"}).status_code == 400
    )


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


def test_a_model_that_fails_is_said(graph_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer([Fail(401, "no such key")]) as model:
        monkeypatch.setenv("KGTABLE_BASE_URL", model.base_url)
        monkeypatch.setenv("KGTABLE_API_KEY", "a-test-key")
        monkeypatch.setenv("KGTABLE_MODEL", "scripted")
        with running(ServerSettings(port=0), GraphFolder(graph_folder)) as server:
            answer = server.client.post("/api/ask", json={"question": QUESTION})
            assert answer.status_code == 503
            assert "a-test-key" not in answer.text
            name, problem = events(server, QUESTION)[-1]
            assert name == "problem"
            assert problem["status"] == 503
