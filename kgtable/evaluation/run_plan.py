"""The plan of a run, and the fingerprint by which a resumed run recognises it."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgtable.config import NO_MODEL, Settings
from kgtable.errors import BenchmarkError, ConfigError, UsageError
from kgtable.evaluation.benchmark import Benchmark, BenchmarkQuestion, check_benchmark
from kgtable.evaluation.evaluated_systems import LABELS, RERANK, RULES, System, is_guided, systems
from kgtable.resources import __version__
from kgtable.retrieval.table_texts import WRITTEN_SCHEMA

if TYPE_CHECKING:
    from kgtable.knowledge_graph import KnowledgeGraph


LISTS = ("methods", "formats", "embeddings", "presentations", "prompts", "models", "assists")
SINGLE: dict[str, type | tuple[type, ...]] = {
    "split": str,
    "limit": int,
    "k": int,
    "answers": bool,
    "judge": bool,
    "temperature": (int, float),
    "oracle_tables": bool,
    "scaling": bool,
}


@dataclass(frozen=True)
class SystemGrid:
    """The systems of a grid file, and its options for the run."""

    systems: tuple[System, ...]
    options: dict[str, Any]


def read_grid(path: Path) -> SystemGrid:
    """Read a grid file such as ``methods = ["bm25", "dense"]`` with ``formats = ["html", "csv"]``.

    Raises `ConfigError` for a file that cannot be read and for unknown or ill-typed entries, `UsageError`
    for names that do not exist.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not readable as TOML: {error}.") from error
    unknown = [name for name in table if name not in (*LISTS, *SINGLE)]
    if unknown:
        known = ", ".join((*LISTS, *SINGLE))
        raise ConfigError(f"{path}: there is no entry {unknown[0]!r}.", hint=f"The entries are: {known}.")
    lists = {name: _texts(path, name, table.get(name, [])) for name in LISTS}
    for name, kind in SINGLE.items():
        wrong = isinstance(table.get(name), bool) and kind is not bool
        if name in table and (wrong or not isinstance(table[name], kind)):
            raise ConfigError(f"{path}: {name} = {table[name]!r} is of the wrong type.")
    found = systems(lists.pop("methods"), **lists)
    return SystemGrid(found, {name: table[name] for name in SINGLE if name in table})


def _texts(path: Path, name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{path}: {name} = {value!r} is no list of names.")
    return tuple(value)


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
            "oracle_tables": self.oracle_tables,
            "scaling": self.scaling,
            "model": self.model,
            "assist": self.assist,
            "systems": [system.to_json() for system in self.systems],
        }

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
        raise BenchmarkError(
            f"{benchmark.folder} has several splits.", hint=f"Name one with --split: {', '.join(splits)}."
        )
    return splits[0] if len(splits) == 1 else "dev"


def shapes(kg: KnowledgeGraph) -> dict[str, tuple[int, int]]:
    """Number of grid rows and columns of each table of the graph."""
    return {id: (record.rows, record.width) for id, record in kg.catalogue.tables.items()}


def graph_state(kg: KnowledgeGraph) -> dict[str, Any]:
    """Identity of a graph's state: its base IRI and the hash of each table's file."""
    return {
        "base": kg.names.base,
        "tables": {id: record.sha256 for id, record in kg.catalogue.tables.items()},
    }
