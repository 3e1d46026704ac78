"""Settings of answers: each method obeys them in what the model is sent, or refuses them by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kgtable
from kgtable.errors import ConfigError, RetrievalError
from kgtable.llm.protocol import Request
from kgtable.llm.scripted import ScriptedLLM
from kgtable.systems.methods import METHODS

QUESTION = "What is the radius of Saturn?"
REPLY: dict[str, Any] = {
    "reasoning": "The row of Saturn.", "citations": ["T1.r2.c1"], "program": None, "found": True, "answer": "58,232 km",
    "alternatives": [],
}  # fmt: skip
OTHER_REPLIES: dict[str, dict[str, Any]] = {
    "labels": {"labels": ["Saturn"]}, "tables": {"tables": [1]}, "queries": {"queries": ["Saturn"]},
    "thought": {"thought": "", "action": None, "answer": "58,232"}, "steps": {"steps": [], "program": None},
    "residual": {"residual": ""}, "subquestions": {"subquestions": []}, "sql": {
        "sql": "", "text": "", "passage": "", "words": ""
    },
}  # fmt: skip
SETTINGS: list[tuple[str, Any]] = [
    ("prompt", "instructions-first"), ("presentation", "html"), ("temperature", 0.7), ("max_tokens", 77),
    ("context_tokens", 100), ("k", 1),
]  # fmt: skip
OPTIONS = (
    "thesis:budget=1", "thesis:grouping=sequential", "trag:tables=1", "trag:published=yes,tables=1", "trag:graph=no",
    "trag:reasoning=no", "dmral:tables=1", "dmral:reasoning=no", "tablerag:tables=1", "tablerag:top_k=1",
    "tablerag:votes=2", "tablerag:votes=2,temperature=0.2", "read-table:tables=1", "rand-row-sampling:rows=1",
    "row-col-retrieval:rows=1", "documents:keep=1", "documents:recall=1", "documents:rounds=1", "documents:sql=no",
    "documents:context=no",
)  # fmt: skip
"""Options that change what a model is sent; what an option changes is compared with the method without it."""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kgtable.KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("planets")
    planets = ["Mercury,2440", "Saturn,58232", *(f"Planet {number},{1000 + number}" for number in range(60))]
    (folder / "planets.csv").write_text("\n".join(["Planet,Radius (km)", *planets]), encoding="utf-8")
    (folder / "moons.csv").write_text("Moon,Planet,Radius (km)\nTitan,Saturn,2575\nRhea,Saturn,764\n", encoding="utf-8")
    for name in ("rents", "wages", "rains"):
        (folder / f"{name}.csv").write_text(f"Town,{name}\nOslo,3\nRome,4\n", encoding="utf-8")
    with kgtable.build(folder, folder / "kg") as opened:
        yield opened


def sent(graph: kgtable.KnowledgeGraph, method: str, **settings: Any) -> list[tuple[Any, ...]]:
    """All requests for a question, as far as settings can change them."""

    def reply(request: Request) -> Any:
        required = (request.schema or {}).get("required", [""])
        if "subquery" in required:
            return {"reasoning": "", "subquery": "" if len(model.requests) > 2 else QUESTION, "answer": "58,232"}
        return next((made for name, made in OTHER_REPLIES.items() if name in required), REPLY)

    model = ScriptedLLM(reply)
    graph.ask(QUESTION, method=method, llm=model, **settings)
    return [(str(request.messages), request.temperature, request.max_tokens) for request in model.requests]


OBEYED = {
    **dict.fromkeys(("hybrid", "bm25", "dense"), tuple(name for name, _ in SETTINGS)),
    **dict.fromkeys(("thesis", "trag"), ("k", "prompt", "temperature", "max_tokens", "context_tokens")),
    "dmral": ("temperature", "max_tokens"),
    **dict.fromkeys(
        ("tablerag", "read-table", "read-schema", "rand-row-sampling", "row-col-retrieval", "documents"), ()
    ),
}


def test_every_method_is_listed() -> None:
    assert set(OBEYED) == set(METHODS)


@pytest.mark.parametrize("method", OBEYED)
@pytest.mark.parametrize(("setting", "value"), SETTINGS)
def test_a_setting_changes_the_request_or_is_refused(
    method: str, setting: str, value: Any, graph: kgtable.KnowledgeGraph
) -> None:
    if setting not in OBEYED[method]:
        with pytest.raises((ConfigError, RetrievalError), match=f"{method} .* {setting}"):
            sent(graph, method, **{setting: value})
        return
    after = sent(graph, method, **{setting: value})
    assert after
    assert after != sent(graph, method)


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_changes_the_requests(option: str, graph: kgtable.KnowledgeGraph) -> None:
    name, _, given = option.partition(":")
    kept = ",".join(part for part in given.split(",")[:-1])
    after = sent(graph, option)
    assert after
    assert after != sent(graph, f"{name}:{kept}" if kept else name)


def test_fifty_tables_of_trag_are_more_than_the_usual_thirty(tmp_path: Path) -> None:
    for number in range(34):
        text = f"Planet,Radius (km)\nSaturn {number},{number}\n"
        (tmp_path / f"planets-{number}.csv").write_text(text, encoding="utf-8")
    with kgtable.build(tmp_path, tmp_path / "kg") as many:
        shown = {
            tables: str(sent(many, f"trag:published=yes,clusters=1,tables={tables}")).count("<caption>")
            for tables in (10, 20, 50)
        }
    assert shown == {10: 10, 20: 20, 50: 34}


def test_the_budget_of_thesis_is_the_number_of_triples(graph: kgtable.KnowledgeGraph) -> None:
    assert len(graph.retrieve(QUESTION, method="thesis:budget=3").triples) == 3
    assert len(graph.retrieve(QUESTION, 2, "thesis:budget=3").triples) == 2
