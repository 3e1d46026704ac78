"""A question over a built graph by the hybrid method: by rules, and with a model in every step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kgtable import api
from kgtable.answering.answer import Answer
from kgtable.answering.evidence import Evidence
from kgtable.answering.presentations import presentation
from kgtable.answering.prompting import make_context
from kgtable.graph.store import EmbeddedStore
from kgtable.llm.protocol import Request
from kgtable.llm.scripted import ScriptedLLM
from tests.llm.scripted_server import ScriptedServer

REPLIES: dict[str, dict[str, Any]] = {"labels": {"labels": ["Saturn", "moons"]}, "rerank": {"tables": [1]}}


@pytest.fixture(scope="module")
def kg(samples_path: Path) -> api.KnowledgeGraph:
    return api.open(samples_path)


pytestmark = pytest.mark.usefixtures("unconfigured")


def planets_row(kg: api.KnowledgeGraph, name: str) -> int:
    return next(row for row, cells in kg.tables["planets"].table.body() if cells[0] == name)


def answer_reply(prompt: str, row: int) -> dict[str, Any]:
    """What a model would say that found the row in the first table of its context."""
    column = next(part for part in prompt.split("| ") if part.startswith("c") and "Diameter" in part)
    cell = f"T1.r{row}.{column.split()[0]}"
    return {
        "reasoning": "The row of Saturn.", "citations": [cell], "program": None, "found": True, "answer": "120,536 km",
        "alternatives": [],
    }  # fmt: skip


def check(answer: Answer) -> None:
    assert answer.verified, answer.reasons
    assert answer.value == "120536"
    assert answer.unit == "KiloM"
    assert answer.citations[0].table == "planets"


def test_rules_find_the_cell(kg: api.KnowledgeGraph) -> None:
    answer = kg.ask("What is the diameter of Saturn?")
    assert answer.citations[0].table == "planets"
    assert answer.value == "120536"


def test_a_model_helps_in_every_step_and_each_is_counted(kg: api.KnowledgeGraph) -> None:
    row = planets_row(kg, "Saturn")

    def reply(request: Request) -> dict[str, Any]:
        return REPLIES.get(request.stage) or answer_reply(request.messages[-1]["content"], row)

    answer = kg.ask("What is the diameter of Saturn?", llm=ScriptedLLM(reply))
    check(answer)
    assert list(answer.usage["stages"]) == ["labels", "rerank", "answer"]
    assert answer.usage["requests"] == 3


def test_the_same_over_http(kg: api.KnowledgeGraph) -> None:
    row = planets_row(kg, "Saturn")

    def reply(body: Any) -> dict[str, Any]:
        asked = body["response_format"]["json_schema"]["schema"]["required"][0]
        return REPLIES.get({"tables": "rerank"}.get(asked, asked)) or answer_reply(body["messages"][-1]["content"], row)

    with ScriptedServer(reply) as server:
        check(kg.ask("What is the diameter of Saturn?", base_url=server.base_url, model="tiny"))
    assert len(server.requests) == 3


@pytest.mark.parametrize("name", ["subtable", "sequential", "by-table", "by-subject"])
def test_a_models_context_is_read_in_a_few_queries(
    name: str, kg: api.KnowledgeGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    kg = api.open(kg.path)
    asked: list[str] = []
    query = EmbeddedStore.query

    def counted(store: EmbeddedStore, text: str, **options: Any) -> Any:
        asked.append(text)
        return query(store, text, **options)

    monkeypatch.setattr(EmbeddedStore, "query", counted)
    evidence = Evidence(kg.retrieve("How many moons does Saturn have?", 1_000), kg.reader)
    context = make_context(evidence, presentation(name), 6_000)
    assert len({unit.table for unit in context.shown}) > 3
    assert len(asked) <= 3


def test_a_cell_of_several_lines_or_a_list_in_json_is_said_on_one_line(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    shops = "| Shop | Opening days |\n|---|---|\n| North | Monday<br>Friday |\n| South | Sunday |\n"
    (tmp_path / "in" / "shops.md").write_text(shops, encoding="utf-8")
    people = '[{"name": "Ana", "phones": ["12", "7"]}, {"name": "Ben", "phones": ["3"]}]'
    (tmp_path / "in" / "people.json").write_text(people, encoding="utf-8")
    with api.build(tmp_path / "in", tmp_path / "kg", embedding="none") as kg:
        days = kg.ask("On which days is North open?", model="none")
        assert (str(days), days.text) == ("Monday, Friday", "Monday\nFriday")
        assert str(kg.ask("What are the phones of Ana?", model="none")) == "12, 7"
