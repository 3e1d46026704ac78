"""The plan of a run: the systems that answer, a language model as judge (thesis, section 3.5.2), and their settings.

A resumed run recognises its plan by a fingerprint.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import product
from string import Template
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from kgtable.answering.answer import Answer
from kgtable.answering.ask import METHOD as ZERO_SHOT
from kgtable.answering.ask import TEMPERATURE as ZERO_SHOT_TEMPERATURE
from kgtable.answering.ask import Generator, Solver, nothing_found, read_zero_shot, zero_shot_request
from kgtable.answering.evidence import Evidence, TableSource
from kgtable.answering.presentations import PRESENTATIONS, presentation
from kgtable.answering.program_answers import RULES as BY_RULES
from kgtable.answering.prompting import PromptSetting, prompt_setting
from kgtable.config import NO_MODEL, Settings
from kgtable.errors import BenchmarkError, UsageError
from kgtable.evaluation.benchmark import Benchmark, BenchmarkQuestion, check_benchmark
from kgtable.llm.protocol import LLM, Message, Request
from kgtable.resources import PACKAGE, __version__
from kgtable.retrieval.registry import read_method
from kgtable.retrieval.result import Retrieval
from kgtable.retrieval.table_texts import WRITTEN_SCHEMA
from kgtable.systems.methods import METHODS
from kgtable.tables.linearize import TableFormat

if TYPE_CHECKING:
    from kgtable.knowledge_graph import KnowledgeGraph


FORMATTED = ("bm25", "dense")
"""The methods that index whole tables as text."""

EMBEDDED = ("dense", "thesis", "tablerag")
"""The methods that can take another embedding than the graph's."""

HYBRID = "hybrid"
RULES, LABELS, RERANK = "rules", "labels", "labels+rerank"
ASSISTS = (RULES, LABELS, RERANK)
"""Role of a language model in the retrieval of `GUIDED`: none, naming labels, or also ordering the tables."""

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
        return "/".join(filter(None, asdict(self).values()))

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

    Formats go with `bm25` and `dense` only, embeddings with `EMBEDDED`, assists with `GUIDED`; presentations
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
            (embeddings if method.partition(":")[0] in EMBEDDED else ()) or (None,),
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
    if unknown := [name for name in names if name not in known]:
        raise UsageError(f"There is no {what} {unknown[0]!r}.", hint=f"There are: {', '.join(known)}.")


TEMPERATURE = 0.3
"""The thesis's for answers from retrieved context (section 5.5)."""

WHOLE_TABLES = "html"
"""Default presentation of the tables found by `bm25` and `dense`."""


Answerer: TypeAlias = Callable[[Retrieval], Answer]
"""Answers the question of a retrieval from its triples."""


def model_answerer(
    system: System, llm: LLM, source: TableSource, settings: Settings, temperature: float | None = None
) -> Answerer:
    """Answer with a language model; without `temperature`, the thesis's temperatures are used."""
    if system.method == ZERO_SHOT:
        warmth = ZERO_SHOT_TEMPERATURE if temperature is None else temperature

        def zero_shot(found: Retrieval) -> Answer:
            request = zero_shot_request(found.question, temperature=warmth)
            return read_zero_shot(found.question, request, llm.complete(request))

        return zero_shot
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


def solver_answerer(solver: Solver, source: TableSource, llm: LLM | None) -> Answerer:
    """Answer by the procedure of a published system, with or without a model."""
    model = BY_RULES if llm is None else llm.model

    def answer(found: Retrieval) -> Answer:
        if not found.triples and not found.passages:
            return nothing_found(found, model)
        return solver.solve(Evidence(found, source), llm)

    return answer


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
"""Weight of a verdict in the weighted accuracy (equation 9)."""

_PROMPT = PACKAGE / "evaluation" / "prompts" / "judge.txt"
_REPLY: Mapping[str, Any] = {
    "title": "verdict",
    "type": "object",
    "properties": {"reason": {"type": "string"}, "verdict": {"type": "string", "enum": list(WEIGHTS)}},
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


TRIPLES = 1_000
FAULTS_SHOWN = 3


@dataclass(frozen=True)
class RunPlan:
    """Plan of a run: the questions of one split, and the systems that retrieve or answer them.

    `k` is the number of triples; `temperature` None means the thesis's temperatures; with `oracle_tables`
    answers are made from the gold tables alone, and so they are with `scaling`, which measures prompts and encoded
    texts by the size of tables; after `settled`, `model` and `assist` apply to systems that
    name none.
    """

    benchmark: str
    split: str
    questions: tuple[BenchmarkQuestion, ...]
    systems: tuple[System, ...]
    k: int = TRIPLES
    answers: bool = False
    judge: bool = False
    temperature: float | None = None
    oracle_tables: bool = False
    scaling: bool = False
    tables: int = 0
    model: str | None = None
    assist: str = RULES

    def settings(self) -> dict[str, Any]:
        """The settings as plain JSON values, without the questions."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        systems = [system.to_json() for system in self.systems]
        return {"kgtable": __version__, **named, "questions": len(self.questions), "systems": systems}

    def settled(self, settings: Settings, *, reachable: bool) -> RunPlan:
        """Fill in model and assist from the settings; `reachable`: whether a model is configured.

        If a model answers, `hybrid` uses it as `ask` does. A run of retrieval alone uses rules, and so costs
        nothing, unless a system asks for a model.
        """
        by_model = self.answers and reachable
        assist = RULES if not by_model else RERANK if settings.rerank else LABELS
        plan = replace(self, assist=assist)
        guided = any(plan.asks_in_retrieval(system) for system in plan.systems)
        return replace(plan, model=settings.model if by_model or self.judge or guided else None)

    def assist_of(self, system: System) -> str:
        """The part of the model in the system's retrieval, one of `ASSISTS`; without a model the rules."""
        guided = is_guided(system.method) and system.model != NO_MODEL
        return system.assist or self.assist if guided else RULES

    def asks_in_retrieval(self, system: System) -> bool:
        """Whether the system's retrieval calls a model, for questions or once per table."""
        return self.assist_of(system) != RULES or system.format == WRITTEN_SCHEMA

    def fingerprint(self, graph: Mapping[str, Any]) -> str:
        """Hash of the settings, the questions with their gold, and the state of the graph."""
        content = [self.settings(), list(map(asdict, self.questions)), dict(graph)]
        text = json.dumps(content, sort_keys=True, ensure_ascii=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()


def make_plan(
    kg: KnowledgeGraph,
    benchmark: Benchmark,
    systems: Sequence[System],
    *,
    split: str | None = None,
    limit: int | None = None,
    k: int = TRIPLES,
    answers: bool = False,
    judge: bool = False,
    temperature: float | None = None,
    oracle_tables: bool = False,
    scaling: bool = False,
) -> RunPlan:
    """Plan a run of a benchmark folder over a graph that holds its tables.

    Without `split`, the only split or ``dev`` is used; `limit` takes the first questions.

    Raises `BenchmarkError` for a missing split and for gold that the graph does not hold.
    """
    chosen = split or default_split(benchmark)
    questions = benchmark.questions(chosen)[:limit]
    if not questions:
        raise BenchmarkError(f"{benchmark.folder}: the split “{chosen}” holds no question.")
    if k < 1:
        raise UsageError("The number of triples must be at least 1.", hint="Give -k a number above 0.")
    faults = check_benchmark(benchmark, shapes(kg), chosen)
    if faults:
        shown = "; ".join(map(str, faults[:FAULTS_SHOWN]))
        more = f" and {len(faults) - FAULTS_SHOWN} more" if len(faults) > FAULTS_SHOWN else ""
        raise BenchmarkError(
            f"{benchmark.folder} does not fit the graph {kg.path}: {shown}{more}.",
            hint=f"Build the graph from {benchmark.tables}; --check lists every fault.",
        )
    return RunPlan(
        benchmark.name,
        chosen,
        questions,
        tuple(systems),
        k,
        answers or judge,
        judge,
        temperature,
        oracle_tables or scaling,
        scaling,
        len(kg.catalogue.tables),
    )


def default_split(benchmark: Benchmark) -> str:
    """The only split, or ``dev``. Raises `BenchmarkError` if there is neither."""
    splits = benchmark.splits()
    if len(splits) > 1 and "dev" not in splits:
        hint = f"Name one with --split: {', '.join(splits)}."
        raise BenchmarkError(f"{benchmark.folder} has several splits.", hint=hint)
    return splits[0] if len(splits) == 1 else "dev"


def shapes(kg: KnowledgeGraph) -> dict[str, tuple[int, int]]:
    """Number of grid rows and columns of each table of the graph."""
    return {id: (record.rows, record.width) for id, record in kg.catalogue.tables.items()}


def graph_state(kg: KnowledgeGraph) -> dict[str, Any]:
    """Identity of a graph's state: its base IRI and the hash of each table's file."""
    return {"base": kg.names.base, "tables": {id: record.sha256 for id, record in kg.catalogue.tables.items()}}
