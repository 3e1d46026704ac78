"""Answers to benchmark questions: by a model over what was retrieved, by rules, or with no context."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

from kgtable.answering.answer import Answer
from kgtable.answering.asking import nothing_found
from kgtable.answering.evidence import Evidence, TableSource
from kgtable.answering.generation import Generator
from kgtable.answering.offline.answerer import answer_by_rules
from kgtable.answering.presentations import presentation
from kgtable.answering.prompting import prompt_setting
from kgtable.answering.zero_shot import METHOD as ZERO_SHOT
from kgtable.answering.zero_shot import TEMPERATURE as ZERO_SHOT_TEMPERATURE
from kgtable.answering.zero_shot import read_zero_shot, zero_shot_request
from kgtable.config import Settings
from kgtable.evaluation.systems import DEFAULT_PRESENTATION, FORMATTED, System
from kgtable.llm.protocol import LLM
from kgtable.retrieval.result import Retrieval

TEMPERATURE = 0.3
"""The thesis's for answers from retrieved context (section 5.5)."""

WHOLE_TABLES = "html"
"""How the tables that `bm25` and `dense` found are shown, where nothing else is asked for."""


class Answerer(Protocol):
    """Answers the question of a retrieval from what was retrieved."""

    def __call__(self, found: Retrieval) -> Answer: ...


def model_answerer(
    system: System, llm: LLM, source: TableSource, settings: Settings, temperature: float | None = None
) -> Answerer:
    """The answerer of a system with a model; `temperature` None takes the thesis's."""
    if system.method == ZERO_SHOT:
        warmth = ZERO_SHOT_TEMPERATURE if temperature is None else temperature
        return lambda found: _zero_shot(llm, found.question, warmth)
    default = WHOLE_TABLES if system.method in FORMATTED else DEFAULT_PRESENTATION
    generator = Generator(
        llm,
        layout=presentation(system.presentation or default),
        setting=prompt_setting(system.prompt or settings.prompt),
        context_tokens=settings.context_tokens,
        max_tokens=settings.max_tokens,
        temperature=TEMPERATURE if temperature is None else temperature,
    )

    def answer(found: Retrieval) -> Answer:
        # as in `ask`, no model is asked about nothing
        return generator.answer(Evidence(found, source)) if found.triples else nothing_found(found, llm.model)

    return answer


def rule_answerer(source: TableSource) -> Answerer:
    """The answerer that computes answers by rules, without a model."""
    return lambda found: answer_by_rules(Evidence(found, source))


def _zero_shot(llm: LLM, question: str, temperature: float) -> Answer:
    request = zero_shot_request(question, temperature=temperature)
    return read_zero_shot(question, request, llm.complete(request))


def put(found: Retrieval, question: str) -> Retrieval:
    """The retrieval with the question as it is put to an answerer."""
    return replace(found, question=question)


def answer_json(answer: Answer) -> dict[str, Any]:
    """What a record keeps of an answer."""
    return {
        "text": answer.text,
        "value": answer.value,
        "unit": answer.unit,
        "verified": answer.verified,
        "calculation": answer.calculation,
        "citations": [[cell.table, cell.row, cell.column, cell.text] for cell in answer.citations],
        "context": dict(answer.context),
        "model": answer.model,
    }
