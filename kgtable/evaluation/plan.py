"""What a run is to do, and the fingerprint by which a later run knows the same work."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from kgtable.config import Settings
from kgtable.errors import BenchmarkError, UsageError
from kgtable.evaluation.benchmark import Benchmark, Question, check_benchmark
from kgtable.evaluation.systems import HYBRID, LABELS, RERANK, RULES, System
from kgtable.retrieval.written_schemas import WRITTEN_SCHEMA
from kgtable.version import __version__

if TYPE_CHECKING:
    from kgtable.api import KnowledgeGraph

TRIPLES = 1_000
FAULTS_SHOWN = 3


@dataclass(frozen=True)
class Plan:
    """A run: questions of one split, and the systems that are to answer or only to find them.

    `k` is the number of triples asked for; `temperature` None takes the thesis's temperatures; `model` and
    `assist` stand for systems that name none, once `settled`.
    """

    benchmark: str
    split: str
    questions: tuple[Question, ...]
    systems: tuple[System, ...]
    k: int = TRIPLES
    answers: bool = False
    judge: bool = False
    temperature: float | None = None
    tables: int = 0
    model: str | None = None
    assist: str = RULES

    def settings(self) -> dict[str, Any]:
        """The settings as plain JSON values, questions aside."""
        return {
            "kgtable": __version__,
            "benchmark": self.benchmark,
            "split": self.split,
            "questions": len(self.questions),
            "tables": self.tables,
            "k": self.k,
            "answers": self.answers,
            "judge": self.judge,
            "temperature": self.temperature,
            "model": self.model,
            "assist": self.assist,
            "systems": [system.to_json() for system in self.systems],
        }

    def settled(self, settings: Settings, *, reachable: bool) -> Plan:
        """The plan with what the settings say of models; `reachable`: whether there is one.

        Where answers come from a model, `hybrid` is assisted by it as in `ask`. Retrieval alone is left
        to the rules, so that it costs nothing unless a system says otherwise.
        """
        by_model = self.answers and reachable
        assist = RULES if not by_model else RERANK if settings.rerank else LABELS
        plan = replace(self, assist=assist)
        guided = any(plan.asks_in_retrieval(system) for system in plan.systems)
        return replace(plan, model=settings.model if by_model or self.judge or guided else None)

    def assist_of(self, system: System) -> str:
        """What a model does in the system's retrieval, one of `ASSISTS`."""
        return RULES if system.method != HYBRID else system.assist or self.assist

    def asks_in_retrieval(self, system: System) -> bool:
        """Whether the system's retrieval asks a model, for questions or once for each table."""
        return self.assist_of(system) != RULES or system.format == WRITTEN_SCHEMA

    def fingerprint(self, graph: Mapping[str, Any]) -> str:
        """A hash of the settings, the questions with their gold, and `graph`: what was indexed."""
        questions = [asdict(question) for question in self.questions]
        content = [self.settings(), questions, dict(graph)]
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
) -> Plan:
    """The plan for a benchmark folder over a graph that holds its tables.

    `split` None takes the only one there is, else ``dev``; `limit` the first questions. Raises
    `BenchmarkError` for a split that is absent and for gold that the graph does not hold.
    """
    chosen = split or default_split(benchmark)
    questions = benchmark.questions(chosen)[:limit]
    if not questions:
        raise BenchmarkError(f"{benchmark.folder}: the split “{chosen}” holds no question.")
    if k < 1:
        raise UsageError("At least one triple has to be asked for.", hint="Give -k a number above 0.")
    faults = check_benchmark(benchmark, shapes(kg), chosen)
    if faults:
        shown = "; ".join(map(str, faults[:FAULTS_SHOWN]))
        more = f" and {len(faults) - FAULTS_SHOWN} more" if len(faults) > FAULTS_SHOWN else ""
        raise BenchmarkError(
            f"{benchmark.folder} does not fit the graph {kg.path}: {shown}{more}.",
            hint=f"Build the graph from {benchmark.tables}; --check lists every fault.",
        )
    return Plan(
        benchmark.name,
        chosen,
        questions,
        tuple(systems),
        k,
        answers or judge,
        judge,
        temperature,
        len(kg.catalogue.tables),
    )


def default_split(benchmark: Benchmark) -> str:
    """The only split, or ``dev``. Raises `BenchmarkError` where neither can be."""
    splits = benchmark.splits()
    if len(splits) > 1 and "dev" not in splits:
        raise BenchmarkError(
            f"{benchmark.folder} has several splits.", hint=f"Name one with --split: {', '.join(splits)}."
        )
    return splits[0] if len(splits) == 1 else "dev"


def shapes(kg: KnowledgeGraph) -> dict[str, tuple[int, int]]:
    """Each table's number of grid rows and columns in the graph."""
    return {id: (record.rows, record.width) for id, record in kg.catalogue.tables.items()}


def graph_state(kg: KnowledgeGraph) -> dict[str, Any]:
    """What tells one state of a graph from another: its base and the hash of every table's file."""
    return {
        "base": kg.names.base,
        "tables": {id: record.sha256 for id, record in kg.catalogue.tables.items()},
    }
