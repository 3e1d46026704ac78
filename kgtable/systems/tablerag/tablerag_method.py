"""TableRAG and the paper's baselines as methods: their views of a table, options, retrievers and solvers.

The baselines are the paper's other ways to show a table to a model (section 4.2), under the same solver: ReadTable
shows all of it, ReadSchema the columns alone, RandRowSampling rows drawn at random, RowColRetrieval the rows and
columns nearest to the question. As in the reference implementation, a table is refused to ReadTable where three
tokens a cell exceed the context, and RowColRetrieval encodes the first B / 2M rows of a table of M columns.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache, partial
from pathlib import Path

from kgtable.answering.evidence import TableSource
from kgtable.building.catalogue import Catalogue
from kgtable.config import Settings
from kgtable.errors import RetrievalError
from kgtable.graph.store import EmbeddedStore, store_state
from kgtable.graph.table_content import ContentRow, TableContent
from kgtable.graph.terms import CellAddress
from kgtable.index.embedding import DEFAULT, Embedder, embedder_or_lexical
from kgtable.index.graph_index import indexed_contents
from kgtable.resources import cache_folder
from kgtable.retrieval.labels import extract_labels, plain_labels
from kgtable.retrieval.registry import Choice, Material, Method, Retrievers, require_range
from kgtable.retrieval.result import Retriever
from kgtable.systems.tablerag.databases import DatabaseShelf, EntrySearch, Searched, SearchMode, TableDatabases, best
from kgtable.systems.tablerag.react import ReactSolver
from kgtable.systems.tablerag.retriever import (
    CUT,
    Asked,
    SchemaCellView,
    ShowingRetriever,
    TableShowing,
    ViewRefusedError,
)
from kgtable.systems.tablerag.vocabulary import BUDGET, ColumnEntry, ShownTable, TableVocabulary, cut, json_lines

TOKENS_PER_CELL = 3
"""What the reference implementation takes a cell for when it decides whether a table fits."""

TABLES_KEPT = 16
"""Tables whose rows and vectors are kept in memory."""


class ReadSchemaView:
    """Names and types of all columns, and no value."""

    name = "read-schema"
    expands = False

    def show(self, asked: Asked, found: TableDatabases) -> tuple[ShownTable, Iterable[CellAddress]]:
        """All columns; the cells are those of the first rows."""
        vocabulary = found.vocabulary
        shown_as = zip(vocabulary.columns, vocabulary.names, strict=True)
        lines = [entry.typed(name) for entry, name in shown_as]
        columns = tuple(range(len(vocabulary.columns)))
        shown = ShownTable(vocabulary.table, f"Columns:\n{json_lines(lines)}", columns)
        return shown, _places(vocabulary.table, vocabulary.rows, columns)


class ReadTableView:
    """The whole table. Args: the token budget of a prompt."""

    name = "read-table"
    expands = False

    def __init__(self, shelf: DatabaseShelf, context: int) -> None:
        self._shelf, self._context = shelf, context

    def show(self, asked: Asked, found: TableDatabases) -> tuple[ShownTable, Iterable[CellAddress]]:
        """All rows and columns; raises `ViewRefusedError` for a table that is too large."""
        vocabulary = found.vocabulary
        if TOKENS_PER_CELL * vocabulary.size > self._context:
            raise ViewRefusedError(
                f"The table {vocabulary.table} has {vocabulary.size:,} cells, too many for a context of "
                f"{self._context:,} tokens."
            )
        return _rows_shown(found, _body(self._shelf.content(vocabulary.table)))


class RandomRowsView:
    """Rows drawn at random, the same for the same table and seed. Args: how many rows, and the seed."""

    name = "rand-row-sampling"
    expands = False

    def __init__(self, shelf: DatabaseShelf, rows: int, seed: int) -> None:
        self._shelf, self._rows, self._seed = shelf, rows, seed
        self._draw = lru_cache(TABLES_KEPT)(self._drawn)

    def show(self, asked: Asked, found: TableDatabases) -> tuple[ShownTable, Iterable[CellAddress]]:
        """The rows in the table's order, with all columns."""
        return _rows_shown(found, self._draw(found.vocabulary.table))

    def _drawn(self, id: str) -> list[ContentRow]:
        body = _body(self._shelf.content(id))
        drawn = random.Random(f"{self._seed} {id}")  # noqa: S311
        return [body[place] for place in sorted(drawn.sample(range(len(body)), min(self._rows, len(body))))]


class RowColumnView:
    """The rows and the columns nearest to the question.

    Args:
        rows: how many of each.
        budget: the paper's B: of a table of M columns the first B / 2M rows are encoded.
    """

    name = "row-col-retrieval"
    expands = False

    def __init__(self, shelf: DatabaseShelf, rows: int, budget: int) -> None:
        self._shelf, self._rows, self._budget = shelf, rows, budget
        self._searches = lru_cache(TABLES_KEPT)(self._made)

    def show(self, asked: Asked, found: TableDatabases) -> tuple[ShownTable, Iterable[CellAddress]]:
        """The nearest rows and columns, both in the table's order."""
        body, rows, columns = self._searches(found.vocabulary)
        text, vector = asked.question, self._shelf.encode_query(asked.question)
        chosen = sorted(best(rows.scores(text, vector), self._rows, -1.0))
        named = sorted(best(columns.scores(text, vector), self._rows, -1.0))
        return _rows_shown(found, [body[place] for place in chosen], named)

    def _made(self, vocabulary: TableVocabulary) -> tuple[list[ContentRow], EntrySearch, EntrySearch]:
        entries = vocabulary.columns
        body = _body(self._shelf.content(vocabulary.table), max(self._budget // (2 * max(len(entries), 1)), 1))
        by_column: dict[int, list[str]] = {entry.column: [] for entry in entries}
        for row in body:
            for column, cell in row.cells:
                if column in by_column:
                    by_column[column].append(cell.text)
        rows = [_row_text(row, entries) for row in body]
        columns = [f"{entry.text}: {', '.join(by_column[entry.column])}" for entry in entries]
        return body, self._search(rows), self._search(columns)

    def _search(self, texts: Sequence[str]) -> EntrySearch:
        vectors = self._shelf.encode([cut(text, 2_000) for text in texts])
        return EntrySearch([Searched(text) for text in texts], SearchMode.DENSE, vectors)


def _body(content: TableContent, most: int | None = None) -> list[ContentRow]:
    """The rows of the body, or the first of them."""
    found: list[ContentRow] = []
    for row in content.rows:
        if not row.is_header:
            if most is not None and len(found) >= most:
                break
            found.append(row)
    return found


def _row_text(row: ContentRow, columns: Sequence[ColumnEntry]) -> str:
    cells = ((columns[column].text, cell.text) for column, cell in row.cells if column < len(columns))
    return ", ".join(f"{name}: {' '.join(text.split())}" for name, text in cells)


def _rows_shown(
    found: TableDatabases, rows: Sequence[ContentRow], columns: Sequence[int] | None = None
) -> tuple[ShownTable, Iterable[CellAddress]]:
    """Rows under their headers, cells apart by bars."""
    vocabulary = found.vocabulary
    named = tuple(range(len(vocabulary.columns))) if columns is None else tuple(columns)
    names = vocabulary.names
    lines = [" | ".join(cut(names[column]) for column in named)]
    values: dict[tuple[int, str], None] = {}
    for row in rows:
        texts = {column: " ".join(cell.text.split()) for column, cell in row.cells}
        lines.append(" | ".join(cut(texts.get(column, "")).replace("|", "/") for column in named))
        values.update(dict.fromkeys((column, texts[column]) for column in named if texts.get(column)))
    shown = tuple(row.row for row in rows)
    table = ShownTable(vocabulary.table, "\n".join(lines), named, tuple(values), shown)
    return table, _places(vocabulary.table, shown, named)


def _places(table: str, rows: Sequence[int], columns: Sequence[int]) -> Iterator[CellAddress]:
    return (CellAddress(table, row, column) for row in rows for column in columns)


PAPER_ROWS = 30
"""Rows (and columns) of the paper's baselines."""

HOTTEST = 2
"""The highest temperature that model interfaces take."""


class ActionLanguage(StrEnum):
    """Language of the solver's steps."""

    PROGRAM = "program"
    PYTHON = "python"


@dataclass(frozen=True)
class SolverOptions:
    """Options of answers by a model.

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
    """Options of ``tablerag``.

    - `top_k` entries a query, a `budget` of cell entries a table, and how entries are compared with queries (`search`);
      in a graph without vectors they are compared by words.
    - `cut`: the share of a query's best score that an entry must reach.
    - `expansion`: whether the question is expanded to queries.
    - `schema`: whether columns are retrieved, or all shown; `values`: whether cells are retrieved, or none shown.
    """

    top_k: int = 5
    budget: int = BUDGET
    search: SearchMode = SearchMode.BOTH
    cut: float = CUT
    expansion: bool = True
    schema: bool = True
    values: bool = True


@dataclass(frozen=True)
class BaselineOptions(SolverOptions):
    """Options of the paper's baselines: how many `rows` are shown, the `seed` that draws them, the `budget`
    of encoded cells, the tokens of the `context`."""

    rows: int = PAPER_ROWS
    seed: int = 0
    budget: int = BUDGET
    context: int = 12_000


def make_tablerag(retrievers: Retrievers, choice: Choice) -> Retriever:
    """Schema and cell retrieval. Raises `RetrievalError` for options out of range."""
    options = choice.options if isinstance(choice.options, TableRagOptions) else TableRagOptions()
    _check(options, "top_k", "budget")
    require_range(options, ("cut",), 0, 1)
    shelf = make_shelf(retrievers.material, options.budget, options.search, choice.embedding)
    view = SchemaCellView(options.top_k, options.cut, schema=options.schema, values=options.values)
    return _retriever(retrievers, options, shelf, view, expands=options.expansion)


def make_baseline(
    make: Callable[[DatabaseShelf, BaselineOptions], TableShowing], retrievers: Retrievers, choice: Choice
) -> Retriever:
    """A baseline's retriever."""
    options = choice.options if isinstance(choice.options, BaselineOptions) else BaselineOptions()
    _check(options, "rows", "budget", "context")
    material = retrievers.material
    shelf = make_shelf(material, options.budget, SearchMode.LEXICAL, choice.embedding)
    return _retriever(retrievers, options, shelf, make(shelf, options))


def make_shelf(material: Material, budget: int, search: SearchMode, embedding: str | None = None) -> DatabaseShelf:
    """The databases of a graph's tables, kept in the user's cache."""
    return DatabaseShelf(
        _content(material),
        _table_keys(material),
        cache_folder() / "tablerag",
        budget=budget,
        search=search,
        embedder=partial(_embedder, material, embedding),
    )


def _retriever(
    retrievers: Retrievers, options: SolverOptions, shelf: DatabaseShelf, view: TableShowing, *, expands: bool = True
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
        expands=expands,
    )


def _labels(material: Material) -> Callable[[str], Sequence[str]]:
    """The rules that find a question's labels: by the graph's index where there is one."""
    if not isinstance(material.store, EmbeddedStore):
        return plain_labels

    return lambda question: extract_labels(question, material.index)


def _embedder(material: Material, name: str | None) -> Embedder | None:
    """The embedding that is named, or that of the graph's index."""
    if name is None and isinstance(material.store, EmbeddedStore):
        name = material.index.embedding
    return embedder_or_lexical(name or DEFAULT)


def _content(material: Material) -> Callable[[str], TableContent]:
    """The reader of a table's texts: from the index, or if that is out of date, from the store."""
    if not isinstance(material.store, EmbeddedStore):
        return material.reader.content
    return indexed_contents(material.index, material.reader, material.store)


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
        if not material.index.describes(store):
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


def make_solver(
    retrievers: Retrievers, source: TableSource, options: Hashable | None, settings: Settings
) -> ReactSolver:
    """The solver of TableRAG and the baselines."""
    del retrievers, source, settings
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
OBEYED = ()
