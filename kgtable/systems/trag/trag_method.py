"""The method ``trag``: its retriever, and its solver (T-RAG, section 3.4 and appendix A.2).

The solver is a model that sees how the retrieved tables are related. Its reply has the form of every other method's:
a program or cited cells, executed, grounded and judged alike.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from kgtable.answering.answer import Answer
from kgtable.answering.ask import Generator, Solver
from kgtable.answering.evidence import Evidence, TableSource
from kgtable.answering.presentations import presentation
from kgtable.answering.program_answers import answer_by_rules
from kgtable.answering.prompting import ContextUnit, Kind, Presentation
from kgtable.config import Settings
from kgtable.errors import MissingExtraError
from kgtable.index.inferred.relations import TableRelations
from kgtable.llm.protocol import LLM, OnText
from kgtable.resources import read_packaged
from kgtable.retrieval.hybrid import HybridRetriever
from kgtable.retrieval.registry import Choice, Method, Retrievers
from kgtable.retrieval.result import Retriever
from kgtable.systems.trag.trag_options import TableRelation, TragOptions

Related = Callable[[Sequence[str]], Sequence[tuple[str, str, TableRelation, float]]]
"""The edges between some tables: both ids, the relation and its weight."""

TABLES_RELATED = 10
"""Number of the best tables whose relations are listed."""

MOST_LINES = 12
"""Number of relations that are listed, keys first, then the strongest."""


class RelatedTables:
    """Another presentation, followed by the relations between its tables; its reading asks for three steps.

    Without `graph` the relations are left out, without `reasoning` the steps.
    """

    narrower = None

    def __init__(self, inner: Presentation, related: Related, *, graph: bool = True, reasoning: bool = True) -> None:
        self._inner, self._related, self._graph = inner, related, graph
        self.name = f"{inner.name}, related"
        self.kind: Kind = inner.kind
        parts = [*(["relations"] if graph else []), "three_steps" if reasoning else "no_reasoning"]
        told = [read_packaged(f"systems/trag/prompts/{part}.txt").strip() for part in parts]
        self.reading = "\n\n".join([inner.reading, *told])

    def units(self, evidence: Evidence) -> Sequence[ContextUnit]:
        """Those of the other presentation."""
        return self._inner.units(evidence)

    def render(self, units: Sequence[ContextUnit], evidence: Evidence) -> str:
        """The other presentation's text, then a line for each pair of related tables in it."""
        text = self._inner.render(units, evidence)
        tables = list(dict.fromkeys(unit.table for unit in units))[:TABLES_RELATED]
        lines = [*key_lines(tables, evidence), *relation_lines(self._related(tables), evidence)] if self._graph else []
        lines = lines[:MOST_LINES]
        return "\n".join([text, "", "Relations between the tables:", *lines]) if lines else text


def relation_lines(related: Sequence[tuple[str, str, TableRelation, float]], evidence: Evidence) -> list[str]:
    """The relations as lines, the strongest first, tables by their short names.

    Parts of one table come before all others, since an answer may have to join them.
    """
    ranked = sorted(related, key=lambda edge: (edge[2] is not TableRelation.PARTS, -edge[3], *edge[:3]))
    return [
        f"{evidence.alias(first)} – {evidence.alias(second)}: {relation} ({min(weight, 1.0):.2f})"
        for first, second, relation, weight in ranked
    ]


def key_lines(tables: Sequence[str], evidence: Evidence) -> list[str]:
    """The columns that join two of the tables, as lines."""
    shown = set(tables)
    return [
        " = ".join(f"{evidence.alias(at.table)} c{at.column} {at.name}" for at in (join.left, join.right)) + ": key"
        for join in evidence.relations.joins
        if {join.left.table, join.right.table} <= shown
    ]


class GraphAwareSolver:
    """Answers by the model over tables and their relations; without a model by kgtable's rules."""

    def __init__(self, related: Related, options: TragOptions, settings: Settings) -> None:
        self._related, self._options, self._settings = related, options, settings

    def solve(self, evidence: Evidence, llm: LLM | None, *, on_text: OnText | None = None) -> Answer:
        """See `Solver.solve`."""
        if self._options.tables:
            evidence = evidence.best(self._options.tables)
        if llm is None:
            return answer_by_rules(evidence)
        options, shown = self._options, presentation(self._options.shown)
        layout = RelatedTables(shown, self._related, graph=options.graph, reasoning=options.reasoning)
        return Generator.from_settings(llm, self._settings, layout).answer(evidence, on_text=on_text)


def make_retriever(retrievers: Retrievers, choice: Choice) -> Retriever:
    """The retriever; those of a graph share its features and hyperedges.

    Raises `RetrievalError` for a graph without an index, `MissingExtraError` without scikit-learn or scipy.
    """
    try:
        from kgtable.systems.trag.coarse_to_fine import TragRetriever, open_hypergraph
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("scipy", "sklearn"):
            raise MissingExtraError("The method trag", "trag") from None
        raise
    material = retrievers.material
    hybrid = retrievers.get("hybrid")
    material.on_disk("trag")
    assert isinstance(hybrid, HybridRetriever)
    options = choice.options if isinstance(choice.options, TragOptions) else TragOptions()
    made = (other.hypergraph for other in retrievers.made() if isinstance(other, TragRetriever))
    hypergraph = next(made, None) or open_hypergraph(hybrid.index, material.names)
    relations = TableRelations.open(material.index_path)
    return TragRetriever(hypergraph, hybrid, material.triples_of, relations, options)


def make_solver(retrievers: Retrievers, source: TableSource, options: Hashable | None, settings: Settings) -> Solver:
    """The solver."""
    del source
    chosen = options if isinstance(options, TragOptions) else TragOptions()

    def related(tables: Sequence[str]) -> Sequence[tuple[str, str, TableRelation, float]]:
        from kgtable.systems.trag.coarse_to_fine import TragRetriever

        retriever = retrievers.get("trag")
        return retriever.relations_among(tables) if isinstance(retriever, TragRetriever) else ()

    return GraphAwareSolver(related, chosen, settings)


METHODS = {"trag": Method(make_retriever, TragOptions)}
SOLVERS = dict.fromkeys(METHODS, make_solver)
OBEYED = ("k", "prompt", "temperature", "context_tokens", "max_tokens")
