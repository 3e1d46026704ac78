"""Settings of answers: each method obeys them in what the model is sent, or refuses them by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import kgtable
from kgtable.errors import ConfigError
from kgtable.llm.protocol import Request
from kgtable.llm.scripted import ScriptedLLM

QUESTION = "What is the radius of Saturn?"
REPLY: dict[str, Any] = {
    "reasoning": "The row of Saturn.", "citations": ["T1.r2.c1"], "program": None, "found": True, "answer": "58,232 km",
    "alternatives": [],
}  # fmt: skip
SETTINGS: list[tuple[str, Any]] = [
    ("prompt", "instructions-first"), ("presentation", "html"), ("temperature", 0.7), ("max_tokens", 77),
]  # fmt: skip


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kgtable.KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("planets")
    (folder / "planets.csv").write_text("Planet,Radius (km)\nMercury,2440\nSaturn,58232\n", encoding="utf-8")
    with kgtable.build(folder, folder / "kg") as opened:
        yield opened


def sent(graph: kgtable.KnowledgeGraph, method: str, **settings: Any) -> list[tuple[Any, ...]]:
    """Requests for an answer, as far as settings can change them."""

    def reply(request: Request) -> Any:
        first = (request.schema or {}).get("required", [""])[0]
        return {"labels": {"labels": ["Saturn"]}, "tables": {"tables": [1]}}.get(first) or REPLY

    model = ScriptedLLM(reply)
    graph.ask(QUESTION, method=method, llm=model, **settings)
    asked = [request for request in model.requests if request.stage == "answer"]
    return [(str(request.messages), request.temperature, request.max_tokens) for request in asked]


OBEYED = {
    "hybrid": {"prompt", "presentation", "temperature", "max_tokens"},
    "thesis": {"prompt", "temperature", "max_tokens"}, "trag": {"prompt", "temperature", "max_tokens"},
    "dmral": {"temperature", "max_tokens"}, "tablerag": set(), "documents": set(),
}  # fmt: skip


@pytest.mark.parametrize("method", OBEYED)
@pytest.mark.parametrize(("setting", "value"), SETTINGS)
def test_a_setting_changes_the_request_or_is_refused(
    method: str, setting: str, value: Any, graph: kgtable.KnowledgeGraph
) -> None:
    if setting not in OBEYED[method]:
        with pytest.raises(ConfigError, match=f"{method} .* {setting}"):
            sent(graph, method, **{setting: value})
        return
    after = sent(graph, method, **{setting: value})
    assert after
    assert after != sent(graph, method)
