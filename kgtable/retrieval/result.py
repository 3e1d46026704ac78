"""The result type of every retriever: scored triples and tables, timings, and an explanation of the steps."""

from __future__ import annotations

import html
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property
from textwrap import indent
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, overload

from kgtable.errors import spreadsheet_reference
from kgtable.graph.document_statements import StoredPassage
from kgtable.graph.terms import CellAddress

if TYPE_CHECKING:
    import pandas as pd

    from kgtable.llm.protocol import LLM


SHOWN = 10
"""Number of the best tables and triples in an explanation."""

_TRACED: Mapping[str, tuple[str, ...]] = {
    "labels": ("labels", "labels_refused"),
    "contains": ("contains",),
    "expansion": ("expanded",),
    "sparql": ("brought", "candidates", "compared", "query"),
    "filter": ("filter", "embedding", "sentences"),
    "candidates": ("candidates",),
    "scores": ("scored", "moved"),
    "tables": ("hyperedges", "candidate_tables"),
    "reranking": ("reranked", "rerank_refused", "none_fits"),
    "triples": ("read_from",),
    "rank": ("format", "pieces", "substitutes"),
}
"""The details of each step in the trace of a retrieval."""

_PHRASES: Mapping[str, str] = {
    "labels_refused": "the model's labels were unusable",
    "candidates": "cells matched",
    "scored": "cells scored",
    "moved": "moved up",
    "rerank_refused": "the model's order was unusable",
    "reranked": "put first",
    "none_fits": "no table fits, says the model",
    "candidate_tables": "candidates",
    "compared": "candidates compared",
    "filter": "by",
    "sentences": "distinct sentences",
    "pieces": "texts compared",
    "read_from": "read when looked at, from the",
}


@dataclass(frozen=True, slots=True)
class ExplainedStep:
    """One step of a retrieval: its name, its time in milliseconds, and its findings."""

    name: str
    ms: float
    found: Mapping[str, Any]

    def __str__(self) -> str:
        parts = []
        for name, value in self.found.items():
            if name in ("labels", "expanded", "contains", "brought"):
                parts.append(_words(value))
            elif name == "query":
                parts.append("\n" + indent(str(value).strip(), " " * 4))
            else:
                parts.append(f"{_PHRASES.get(name, name)}: {_words(value)}")
        return f"{self.name:<11}{self.ms:>9.1f} ms  {'; '.join(filter(None, parts))}".rstrip()


@dataclass(frozen=True, slots=True)
class Explanation:
    """The steps of a retrieval in order, and its top tables and triples.

    `tables` are pairs of table id and score, `triples` pairs of a one-line text and score.
    """

    question: str
    method: str
    steps: tuple[ExplainedStep, ...]
    total_ms: float
    tables: tuple[tuple[str, float], ...]
    triples: tuple[tuple[str, float], ...]

    def to_json(self) -> dict[str, Any]:
        """The value of ``"explanation"`` in ``kgtable retrieve --explain --format json``."""
        return {
            "method": self.method,
            "steps": [{"step": step.name, "ms": round(step.ms, 3), **step.found} for step in self.steps],
            "total_ms": round(self.total_ms, 3),
            "tables": [{"table": table, "score": score} for table, score in self.tables],
            "triples": [{"triple": triple, "score": score} for triple, score in self.triples],
        }

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def _lines(self) -> Iterator[str]:
        yield f"method {self.method}"
        yield from map(str, self.steps)
        yield f"{'total':<11}{self.total_ms:>9.1f} ms"
        for title, ranked in (("tables", self.tables), ("triples", self.triples)):
            if ranked:
                yield f"best {title}"
                yield from (f"  {score:.4f}  {name}" for name, score in ranked)


def explain(
    question: str,
    method: str,
    trace: Mapping[str, Any],
    timings_ms: Mapping[str, float],
    tables: Sequence[tuple[str, float]],
    triples: Sequence[tuple[str, float]],
) -> Explanation:
    """Explain a retrieval from its trace and timings; only the best `SHOWN` tables and triples are kept."""
    steps = []
    for name, ms in timings_ms.items():
        if name == "total":
            continue
        found = {key: _plain(trace[key]) for key in _TRACED.get(name, ()) if key in trace}
        steps.append(ExplainedStep(name, ms, found))
    total = timings_ms.get("total", sum(timings_ms.values()))
    return Explanation(question, method, tuple(steps), total, tuple(tables[:SHOWN]), tuple(triples[:SHOWN]))


def _plain(value: Any) -> Any:
    """The value as JSON has it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list | set | frozenset):
        return [_plain(inner) for inner in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_words(inner)}" for key, inner in value.items() if inner)
    if isinstance(value, list):
        return ", ".join(_words(inner) for inner in value)
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return "".join(sign if sign.isprintable() else " " for sign in text)


FIRST_BATCH, LARGEST_BATCH = 64, 2_000
"""Triples in the first batch read; each further batch is twice as large, up to a limit."""


class ScoredTriple(NamedTuple):
    """One cell as a triple of its row, with everything the graph states about it.

    `table` is the table id, `row` and `column` grid coordinates. `subject` is the row's label, empty
    for a cell above the body; `predicate` an IRI; `group` the label of the heading that the row is
    under. `object` is the cell's text as printed; `value` the number (scale applied) as a decimal
    string, or the lexical form of a typed literal, if any; `unit` the QUDT unit's local name, `scale`
    one of ``T M B TN``. `cell` is the cell's own node, or that of its row where the cell is a mere text.
    """

    table: str
    row: int
    column: int
    subject: str
    predicate: str
    object: str
    value: str | None
    unit: str | None
    scale: str | None
    group: str | None
    cell: str
    score: float
    note: str | None = None
    period: str | None = None

    def typed_value(self) -> Decimal | date | time | bool | str | None:
        """`value` as a Python value: numbers as exact `Decimal`, dates and times as such.

        What has no type of its own, such as a month ("2019-12"), stays text.
        """
        value = self.value
        if value in ("true", "false"):
            return value == "true"
        for form, kind in _FORMS:
            if value is not None and form.fullmatch(value):
                with suppress(ValueError):
                    return kind(value)
        return value


_FORMS: Sequence[tuple[re.Pattern[str], Callable[[str], Decimal | date | time]]] = (
    (re.compile(r"[+-]?\d+(\.\d+)?"), Decimal),
    (re.compile(r"\d{4}-\d\d-\d\d"), date.fromisoformat),
    (re.compile(r"\d{4}-\d\d-\d\dT.+"), datetime.fromisoformat),
    (re.compile(r"\d\d:\d\d:\d\d"), time.fromisoformat),
)
"""The lexical forms of numbers, dates and times, with their parsers."""


class LateTriples(Sequence[ScoredTriple]):
    """Triples identified by their cells' addresses, read lazily in batches.

    `read` takes the numbers of the first address and of the one after the last, and returns the triples of
    those that the graph still holds. `queries` returns SPARQL queries that show the same. May be used from
    several threads.
    """

    def __init__(
        self,
        addresses: Sequence[CellAddress],
        read: Callable[[int, int], Iterable[ScoredTriple]],
        queries: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self.addresses = addresses
        self.queries = queries
        self._read = read
        self._known: list[ScoredTriple] = []
        self._asked = 0
        self._lock = threading.Lock()

    def _look(self, wanted: int | None) -> None:
        """Reads until this many triples are known, or with None until all are."""
        with self._lock:
            while self._asked < len(self.addresses) and (wanted is None or len(self._known) < wanted):
                size = min(max(self._asked, FIRST_BATCH), LARGEST_BATCH) if wanted is not None else None
                end = len(self.addresses) if size is None else min(self._asked + size, len(self.addresses))
                self._known += self._read(self._asked, end)
                self._asked = end

    @overload
    def __getitem__(self, index: int) -> ScoredTriple: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ScoredTriple]: ...
    def __getitem__(self, index: int | slice) -> ScoredTriple | Sequence[ScoredTriple]:
        if isinstance(index, slice):
            ends = (index.start, index.stop)
            counted = index.stop is not None and all(end is None or end >= 0 for end in ends)
            self._look(index.stop if counted and (index.step or 1) > 0 else None)
            return tuple(self._known[index])
        self._look(index + 1 if index >= 0 else None)
        return self._known[index]

    def __iter__(self) -> Iterator[ScoredTriple]:
        place = 0
        while True:
            self._look(place + 1)
            if place >= len(self._known):
                return
            yield self._known[place]
            place += 1

    def __len__(self) -> int:
        self._look(None)
        return len(self._known)

    def __bool__(self) -> bool:
        self._look(1)
        return bool(self._known)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self.addresses))


@dataclass(frozen=True, slots=True)
class ScoredTable:
    """A table and how well it fits the question."""

    table: str
    score: float


@dataclass(frozen=True)
class Retrieval:
    """Result of a retriever: triples and tables by descending score, ties in a stable order.

    `triples` may be read lazily; `addresses` are known from the start. `trace` keeps what
    each step did (labels, expanded terms, counts), for people. `passages` are those of methods that
    look at the text of documents, too.
    """

    question: str
    triples: Sequence[ScoredTriple]
    tables: tuple[ScoredTable, ...]
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    method: str = "hybrid"
    trace: Mapping[str, Any] = field(default_factory=dict)
    passages: tuple[StoredPassage, ...] = ()

    @cached_property
    def addresses(self) -> Sequence[CellAddress]:
        """The positions of the triples, the best first; reads none of them."""
        if isinstance(self.triples, LateTriples):
            return self.triples.addresses
        return tuple(CellAddress(*triple[:3]) for triple in self.triples)

    @property
    def queries(self) -> Sequence[str]:
        """SPARQL queries that show the rows of the triples; none if whole tables were ranked."""
        return self.triples.queries() if isinstance(self.triples, LateTriples) else ()

    def to_json(self, id: str | None = None) -> dict[str, Any]:
        """The object `kgtable retrieve --format json` prints; `id` is the question's, if it has one."""
        return {
            "id": id,
            "question": self.question,
            "triples": [triple._asdict() for triple in self.triples],
            "tables": [asdict(table) for table in self.tables],
            "timings_ms": {step: round(time, 3) for step, time in self.timings_ms.items()},
            **({"passages": [asdict(passage) for passage in self.passages]} if self.passages else {}),
        }

    def to_frame(self) -> pd.DataFrame:
        """One row for each triple, the best first; `value` holds numbers, dates and booleans as such."""
        import pandas

        columns = pandas.Index(ScoredTriple._fields, dtype=object)
        frame = pandas.DataFrame(list(self.triples), columns=columns)
        values = [triple.typed_value() for triple in self.triples]
        frame["value"] = pandas.Series(values, dtype=object)  # pandas would make floats and texts of some
        return frame

    def explain(self) -> Explanation:
        """Explain the retrieval: labels, expansion, candidates and scores, with the time of each step."""
        tables = [(found.table, found.score) for found in self.tables]
        triples = [
            (
                f"{found.table} {spreadsheet_reference(found.row, found.column)}  {found.subject} | {found.object}",
                found.score,
            )
            for found in self.triples[:SHOWN]
        ]
        return explain(self.question, self.method, self.trace, self.timings_ms, tables, triples)

    def __repr__(self) -> str:
        question = self.question if len(self.question) <= 60 else self.question[:59] + "…"
        return (
            f"Retrieval({question!r}, {len(self.addresses):,} triples, {len(self.tables):,} tables, "
            f"method={self.method!r})"
        )

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html(notebook=True, max_rows=20))


class Clock:
    """Milliseconds of each step."""

    def __init__(self) -> None:
        self.times: dict[str, float] = {}
        self._started = perf_counter()

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        started = perf_counter()
        try:
            yield
        finally:
            ended = perf_counter()
            self.times[step] = (ended - started) * 1e3
            self.times["total"] = (ended - self._started) * 1e3


@dataclass(frozen=True, slots=True)
class Guide:
    """The hints that guide a retrieval.

    - `llm`: a language model that names the question's labels; None for the rules.
    - `rerank`: whether it also orders the best tables.
    - `tables`: the ids of the tables that are searched; None for all.
    """

    llm: LLM | None = None
    rerank: bool = True
    tables: tuple[str, ...] | None = None


UNGUIDED = Guide()


class Retriever(Protocol):
    """Protocol of a retriever: finds the triples that may answer a question."""

    name: str

    def retrieve(self, question: str, k: int, guide: Guide = UNGUIDED) -> Retrieval:
        """At most `k` triples for the question, the best first."""
        ...
