"""The systems of a run, their answers, and a language model as judge (thesis, section 3.5.2)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from string import Template
from types import MappingProxyType
from typing import Any, Protocol

from kgtable.answering.answer import Answer
from kgtable.answering.ask import METHOD as ZERO_SHOT
from kgtable.answering.ask import TEMPERATURE as ZERO_SHOT_TEMPERATURE
from kgtable.answering.ask import Solver, nothing_found, read_zero_shot, zero_shot_request
from kgtable.answering.evidence import Evidence, TableSource
from kgtable.answering.generation import Generator
from kgtable.answering.presentations import PRESENTATIONS, presentation
from kgtable.answering.program_answers import RULES as BY_RULES
from kgtable.answering.program_answers import answer_by_rules
from kgtable.answering.prompting import PromptSetting, prompt_setting
from kgtable.config import Settings
from kgtable.errors import UsageError
from kgtable.index.inferred.relations import TableRelations
from kgtable.llm.protocol import LLM, Message, Request
from kgtable.resources import PACKAGE
from kgtable.retrieval.registry import read_method
from kgtable.retrieval.result import Retrieval
from kgtable.retrieval.table_texts import WRITTEN_SCHEMA
from kgtable.systems.methods import METHODS
from kgtable.tables.linearize import TableFormat

FORMATTED = ("bm25", "dense")
"""The methods that index whole tables as text."""

HYBRID = "hybrid"
RULES, LABELS, RERANK = "rules", "labels", "labels+rerank"
ASSISTS = (RULES, LABELS, RERANK)
"""What a language model does in the retrieval of `GUIDED`: nothing, name labels, order the tables too."""

GUIDED = (HYBRID, "tablerag")
"""The methods in whose retrieval a language model takes part."""

DEFAULT_PRESENTATION = "subtable"


@dataclass(frozen=True, slots=True)
class System:
    """One configuration. None means the default, or that the option does not apply."""

    method: str
    format: str | None = None
    embedding: str | None = None
    presentation: str | None = None
    prompt: str | None = None
    model: str | None = None
    assist: str | None = None

    @property
    def name(self) -> str:
        """The options joined by slashes.

        >>> System("bm25", "markdown").name
        'bm25/markdown'
        """
        return "/".join(filter(None, (value for value in asdict(self).values())))

    @property
    def retrieves(self) -> bool:
        """Whether the system retrieves anything (zero-shot does not)."""
        return self.method != ZERO_SHOT

    def to_json(self) -> dict[str, Any]:
        """The options as plain JSON values."""
        return {"name": self.name, **asdict(self)}


def systems(
    methods: tuple[str, ...],
    *,
    formats: tuple[str, ...] = (),
    embeddings: tuple[str, ...] = (),
    presentations: tuple[str, ...] = (),
    prompts: tuple[str, ...] = (),
    models: tuple[str, ...] = (),
    assists: tuple[str, ...] = (),
) -> tuple[System, ...]:
    """All valid combinations of the options, without duplicates, in a stable order.

    Formats go with `bm25` and `dense` only, embeddings with `dense`, assists with `GUIDED`; presentations
    and prompts are for answers, and `zero-shot` has no context to present. Raises `UsageError` for
    unknown names.
    """
    for method in methods:
        if method != ZERO_SHOT:
            read_method(method, METHODS)
    _known("table format", formats, (*TableFormat, WRITTEN_SCHEMA))
    _known("presentation", presentations, tuple(PRESENTATIONS))
    _known("assist", assists, ASSISTS)
    _known("prompt setting", prompts, tuple(PromptSetting))
    found: dict[System, None] = {}
    for method in methods:
        choices = product(
            (formats if method in FORMATTED else ()) or (None,),
            (embeddings if method == "dense" else ()) or (None,),
            (() if method == ZERO_SHOT else presentations) or (None,),
            (() if method == ZERO_SHOT else prompts) or (None,),
            models or (None,),
            (assists if is_guided(method) else ()) or (None,),
        )
        found.update((System(method, *choice), None) for choice in choices)
    if not found:
        raise UsageError("There is nothing to evaluate.", hint="Name a --method.")
    return tuple(found)


def is_guided(method: str) -> bool:
    """Whether a language model takes part in the retrieval of a method."""
    return method.partition(":")[0] in GUIDED


def _known(what: str, names: tuple[str, ...], known: tuple[str, ...]) -> None:
    for name in names:
        if name not in known:
            raise UsageError(f"There is no {what} {name!r}.", hint=f"There are: {', '.join(known)}.")


TEMPERATURE = 0.3
"""The thesis's for answers from retrieved context (section 5.5)."""

WHOLE_TABLES = "html"
"""How the tables that `bm25` and `dense` found are shown, where nothing else is asked for."""


class Answerer(Protocol):
    """Answers the question of a retrieval from its triples."""

    def __call__(self, found: Retrieval) -> Answer: ...


def model_answerer(
    system: System, llm: LLM, source: TableSource, settings: Settings, temperature: float | None = None
) -> Answerer:
    """Answer with a language model; without `temperature`, the thesis's temperatures are used."""
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


def rule_answerer(source: TableSource, relations: Callable[[], TableRelations] | None = None) -> Answerer:
    """Answer by rules, without a model; `relations` gives the joins that the graph states."""
    return lambda found: answer_by_rules(Evidence(found, source, relations))


def solver_answerer(solver: Solver, source: TableSource, llm: LLM | None) -> Answerer:
    """Answer by the procedure of a published system, with a model or without."""
    model = BY_RULES if llm is None else llm.model

    def answer(found: Retrieval) -> Answer:
        if not found.triples and not found.passages:
            return nothing_found(found, model)
        return solver.solve(Evidence(found, source), llm)

    return answer


def _zero_shot(llm: LLM, question: str, temperature: float) -> Answer:
    request = zero_shot_request(question, temperature=temperature)
    return read_zero_shot(question, request, llm.complete(request))


def put(found: Retrieval, question: str) -> Retrieval:
    """The retrieval with the question as it is asked: a statement becomes a yes-or-no question."""
    return replace(found, question=question)


def answer_json(answer: Answer) -> dict[str, Any]:
    """The fields of an answer that a record keeps."""
    return {
        "text": answer.text,
        "value": answer.value,
        "unit": answer.unit,
        "verified": answer.verified,
        "status": answer.status.value,
        "confidence": None if answer.confidence is None else round(answer.confidence, 4),
        "calculation": answer.calculation,
        "citations": [[cell.table, cell.row, cell.column, cell.text] for cell in answer.citations],
        "context": dict(answer.context),
        "model": answer.model,
    }


STAGE = "judge"
WEIGHTS: Mapping[str, float] = MappingProxyType({"exact": 1.0, "partial": 0.5, "none": 0.0})
"""What a verdict counts towards the weighted accuracy (equation 9)."""

_PROMPT = PACKAGE / "evaluation" / "prompts" / "judge.txt"
_REPLY: Mapping[str, Any] = {
    "title": "verdict",
    "type": "object",
    "properties": {
        "reason": {"type": "string"},
        "verdict": {"type": "string", "enum": list(WEIGHTS)},
    },
    "required": ["reason", "verdict"],
    "additionalProperties": False,
}


def judge_request(question: str, gold: Sequence[str], scale: str, answer: str) -> Request:
    """Request to compare an answer with the gold; `scale` is the gold's scale word or empty."""
    facts = {"question": question, "gold": list(gold), "scale": scale or None, "answer": answer}
    text = json.dumps(facts, ensure_ascii=False, indent=1)
    prompt = Template(_PROMPT.read_text(encoding="utf-8")).substitute(facts=text)
    message: Message = {"role": "user", "content": prompt}
    return Request((message,), schema=_REPLY, stage=STAGE, temperature=0.0, max_tokens=300)
