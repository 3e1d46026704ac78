"""The one result type of every retriever: scored triples, the tables they lie in, and timings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    import pandas as pd


class ScoredTriple(NamedTuple):
    """One cell as a triple of its row, with all that the graph knows of it.

    `table` is the table id, `row` and `column` grid coordinates. `subject` is the row's label, empty
    for a cell above the body; `predicate` an IRI; `group` the label of the heading the row stands
    under. `object` is the cell's text as printed; `value` the number (scale applied) as a decimal
    string, or the lexical form of a typed literal, if any; `unit` the QUDT unit's local name, `scale`
    one of ``T M B TN``, `cell` the cell's IRI.
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


@dataclass(frozen=True, slots=True)
class ScoredTable:
    """A table and how well it fits the question."""

    table: str
    score: float


@dataclass(frozen=True)
class Retrieval:
    """What a retriever found: triples and tables by falling score, ties in a stable order.

    `trace` keeps what each step did (labels, expanded terms, queries run, counts), for people.
    """

    question: str
    triples: tuple[ScoredTriple, ...]
    tables: tuple[ScoredTable, ...]
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    method: str = "hybrid"
    trace: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self, id: str | None = None) -> dict[str, Any]:
        """The object `kgtable retrieve --format json` prints; `id` is the question's, if it has one."""
        return {
            "id": id,
            "question": self.question,
            "triples": [triple._asdict() for triple in self.triples],
            "tables": [asdict(table) for table in self.tables],
            "timings_ms": {step: round(time, 3) for step, time in self.timings_ms.items()},
        }

    def to_frame(self) -> pd.DataFrame:
        """One row a triple, the best first."""
        import pandas

        columns = pandas.Index(ScoredTriple._fields, dtype=object)
        return pandas.DataFrame(list(self.triples), columns=columns)

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html(notebook=True, max_rows=20))


class Retriever(Protocol):
    """A way to find the triples that answer a question."""

    name: str

    def retrieve(self, question: str, k: int) -> Retrieval:
        """At most `k` triples for the question, the best first."""
        ...


@runtime_checkable
class ModelRetriever(Retriever, Protocol):
    """A retriever that can make use of a language model."""

    def with_model(self, llm: Any, *, rerank: bool = True) -> Retriever:
        """The same retriever with this model; `rerank` lets it order the best tables."""
        ...
