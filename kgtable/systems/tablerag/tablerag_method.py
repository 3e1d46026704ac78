"""TableRAG and the paper's baselines as methods: their options, retrievers and solvers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, partial
from pathlib import Path

from kgtable.answering.evidence import TableSource
from kgtable.building.catalogue import Catalogue
from kgtable.building.contents import contents_state, read_contents
from kgtable.building.generations import Generation
from kgtable.errors import RetrievalError
from kgtable.graph.store import EmbeddedStore, store_state
from kgtable.graph.table_content import ContentRow, TableContent
from kgtable.index.embedding import DEFAULT, Embedder, embedder_or_lexical
from kgtable.index.graph_index import GraphIndex
from kgtable.resources import cache_folder
from kgtable.retrieval.question_terms import extract_labels, plain_labels
from kgtable.retrieval.registry import Choice, Material, Method, Retrievers, require_range
from kgtable.retrieval.result import Retriever
from kgtable.systems.tablerag.baselines import (
    RandomRowsView,
    ReadSchemaView,
    ReadTableView,
    RowColumnView,
)
from kgtable.systems.tablerag.databases import DatabaseShelf, SearchMode
from kgtable.systems.tablerag.react import ReactSolver
from kgtable.systems.tablerag.retriever import SchemaCellView, ShowingRetriever, TableShowing
from kgtable.systems.tablerag.vocabulary import BUDGET

PAPER_ROWS = 30
"""Rows (and columns) of the paper's baselines."""


HOTTEST = 2
"""The highest temperature that model interfaces take."""


class ActionLanguage(StrEnum):
    """What the steps of the solver are written in."""

    PROGRAM = "program"
    SQL = "sql"
    PYTHON = "python"


@dataclass(frozen=True)
class SolverOptions:
    """How questions are answered with a model.

    `tables` are looked at, the best of the corpus; `language` is that of the steps, of which there are at
    most `steps`; with more than one of `votes` the answer is that of most runs at `temperature`.
    """

    tables: int = 3
    base: str = "hybrid"
    language: ActionLanguage = ActionLanguage.PROGRAM
    steps: int = 5
    votes: int = 1
    temperature: float = 0.8


@dataclass(frozen=True)
class TableRagOptions(SolverOptions):
    """Options of ``tablerag``: `top_k` entries a query, a `budget` of cell entries a table, how `columns`
    and `cells` are compared with queries."""

    top_k: int = 5
    budget: int = BUDGET
    columns: SearchMode = SearchMode.BOTH
    cells: SearchMode = SearchMode.LEXICAL


@dataclass(frozen=True)
class BaselineOptions(SolverOptions):
    """Options of the paper's baselines: how many `rows` are shown, the `seed` that draws them, the `budget`
    of encoded cells, the tokens of the `context`."""

    rows: int = PAPER_ROWS
    seed: int = 0
    budget: int = BUDGET
    context: int = 12_000


def make_tablerag(retrievers: Retrievers, choice: Choice) -> Retriever:
    """Schema and cell retrieval. Raises `RetrievalError` for options that make no sense."""
    options = choice.options if isinstance(choice.options, TableRagOptions) else TableRagOptions()
    _check(options, "top_k", "budget")
    shelf = make_shelf(retrievers.material, options.budget, options.columns, options.cells, choice.embedding)
    return _retriever(retrievers, options, shelf, SchemaCellView(options.top_k))


def make_baseline(
    make: Callable[[DatabaseShelf, BaselineOptions], TableShowing], retrievers: Retrievers, choice: Choice
) -> Retriever:
    """A baseline's retriever."""
    options = choice.options if isinstance(choice.options, BaselineOptions) else BaselineOptions()
    _check(options, "rows", "budget", "context")
    material = retrievers.material
    shelf = make_shelf(material, options.budget, SearchMode.LEXICAL, SearchMode.LEXICAL, choice.embedding)
    return _retriever(retrievers, options, shelf, make(shelf, options))


def make_shelf(
    material: Material, budget: int, columns: SearchMode, cells: SearchMode, embedding: str | None = None
) -> DatabaseShelf:
    """The databases of a graph's tables, kept in the user's cache."""
    return DatabaseShelf(
        _content(material),
        _table_keys(material),
        cache_folder() / "tablerag",
        budget=budget,
        columns=columns,
        cells=cells,
        embedder=partial(_embedder, material, embedding),
    )


def _retriever(
    retrievers: Retrievers, options: SolverOptions, shelf: DatabaseShelf, view: TableShowing
) -> Retriever:
    material = retrievers.material
    if options.base.partition(":")[0] in METHODS:
        raise RetrievalError(f"{options.base} does not pick tables.", hint="Take base=hybrid, bm25 or dense.")
    return ShowingRetriever(
        view,
        retrievers.get(options.base),
        shelf,
        material.reader,
        _labels(material),
        most_tables=options.tables,
    )


def _labels(material: Material) -> Callable[[str], Sequence[str]]:
    """The rules that find a question's labels: by the graph's index where there is one."""
    if not isinstance(material.store, EmbeddedStore):
        return plain_labels

    @cache
    def index() -> GraphIndex:
        return GraphIndex(material.index_path)

    return lambda question: extract_labels(question, index())


def _embedder(material: Material, name: str | None) -> Embedder | None:
    """The embedding that is named, or that of the graph's index."""
    if name is None and isinstance(material.store, EmbeddedStore):
        name = GraphIndex(material.index_path).embedding
    return embedder_or_lexical(name or DEFAULT)


def _content(material: Material) -> Callable[[str], TableContent]:
    """What reads a table's texts: from what the build kept of them, or where that is out of date, the store."""
    store = material.store
    if not isinstance(store, EmbeddedStore):
        return material.reader.content
    generation = Generation(0, material.index_path.parent, material.names.base)

    @cache
    def is_current() -> bool:
        return contents_state(generation) == store_state(store.path)

    def content(id: str) -> TableContent:
        if not is_current():
            return material.reader.content(id)
        contents = read_contents(generation, [id])
        found = next(contents)
        return replace(found, rows=_walked(found.rows, contents))

    return content


def _walked(rows: Iterable[ContentRow], contents: Iterator[TableContent]) -> Iterator[ContentRow]:
    """The rows; what they are read from stays open as long as they are walked."""
    yield from rows
    next(contents, None)


def _table_keys(material: Material) -> Callable[[str], str | None]:
    """What changes with the content of a table, by its id.

    A table that another build left unchanged keeps its key. Where the store was written to after the build,
    the state of the store stands for all tables; a remote graph has no keys, since it may change unseen.
    """
    store = material.store
    if not isinstance(store, EmbeddedStore):
        return lambda id: None

    @cache
    def keys() -> dict[str, str]:
        if not GraphIndex(material.index_path).describes(store):
            return {}
        catalogue = Catalogue.load(material.index_path.parent / "catalogue.sqlite")
        return {
            table.id: "\0".join((material.names.base, file.digest, file.settings, table.id))
            for file in catalogue.files.values()
            for table in file.tables
        }

    def key(id: str) -> str:
        return keys().get(id) or f"{Path(store.path).absolute()}\0{store_state(store.path)}\0{id}"

    return key


def _check(options: SolverOptions, *names: str) -> None:
    """Raise `RetrievalError` for options that make no sense."""
    require_range(options, ("tables", "steps", "votes", *names))
    require_range(options, ("temperature",), 0, HOTTEST)


def make_solver(retrievers: Retrievers, source: TableSource, options: Hashable | None) -> ReactSolver:
    """What answers for TableRAG and for the baselines."""
    del retrievers, source
    chosen = options if isinstance(options, SolverOptions) else SolverOptions()
    return ReactSolver(
        language=chosen.language.value,
        tables=chosen.tables,
        steps=chosen.steps,
        votes=chosen.votes,
        temperature=chosen.temperature,
    )


def _baseline(make: Callable[[DatabaseShelf, BaselineOptions], TableShowing]) -> Method:
    return Method(partial(make_baseline, make), BaselineOptions)


METHODS = {
    "tablerag": Method(make_tablerag, TableRagOptions),
    ReadTableView.name: _baseline(lambda shelf, options: ReadTableView(shelf, options.context)),
    ReadSchemaView.name: _baseline(lambda shelf, options: ReadSchemaView()),
    RandomRowsView.name: _baseline(lambda shelf, options: RandomRowsView(shelf, options.rows, options.seed)),
    RowColumnView.name: _baseline(lambda shelf, options: RowColumnView(shelf, options.rows, options.budget)),
}
"""TableRAG and the four baselines of its paper, by name."""

SOLVERS = dict.fromkeys(METHODS, make_solver)
