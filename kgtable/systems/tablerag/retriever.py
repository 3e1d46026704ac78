"""TableRAG's retrieval: columns and cells of the tables that fit a question (paper, section 3.3, Algorithm 1).

On a corpus another method picks the tables first; where tables are named, those are taken. The question is expanded
to queries for columns and queries for cells. With a language model two calls give them (paper, appendices D and E);
without one, or where its reply cannot be used, they are the labels that the rules find in the question. The question
itself is always a query too: it finds the columns that it asks for without naming them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from string import Template
from typing import Any, Protocol

from kgtable.errors import LLMReplyError
from kgtable.graph.table_source import TableReader
from kgtable.graph.terms import CellAddress
from kgtable.index.embedding import Matrix
from kgtable.llm.protocol import LLM, Message, Request, fence
from kgtable.llm.request_parts import TEXT, object_schema
from kgtable.retrieval.result import UNGUIDED, Clock, Guide, LateTriples, Retriever, ScoredTable, ScoredTriple
from kgtable.retrieval.triples import scored_triple
from kgtable.systems.tablerag.actions import read_prompt
from kgtable.systems.tablerag.databases import DatabaseShelf, EntrySearch, TableDatabases, best
from kgtable.systems.tablerag.vocabulary import ShownRetrieval, ShownTable, TableVocabulary, json_lines

MOST_QUERIES = 8
LONGEST_QUERY = 200
READ_UP_TO = 2_000
"""Characters of a question that a model is shown."""

LONGEST_TITLE = 200

STAGES = {"expand_schema": "schema queries", "expand_cells": "cell queries"}

_SCHEMA = object_schema("queries", queries={"type": "array", "items": TEXT})


@dataclass(frozen=True, slots=True)
class ExpandedQuestion:
    """The queries for columns and for cells; `refused` says why a model's queries were not used."""

    schema: tuple[str, ...]
    cells: tuple[str, ...]
    refused: str = ""


def expand_question(
    question: str, titles: Sequence[str], llm: LLM | None, by_rule: Callable[[str], Sequence[str]]
) -> ExpandedQuestion:
    """Expand a question to queries for columns and for cells; the question itself is the last of each.

    Args:
        question: as it was asked.
        titles: what the tables are about, shown to the model.
        llm: None for the rules alone.
        by_rule: returns the labels of a question.
    """
    if llm is not None:
        about = " / ".join(dict.fromkeys(filter(None, titles)))[:LONGEST_TITLE]
        try:
            schema = _asked(question, about, "expand_schema", llm)
            cells = [query for query in _asked(question, about, "expand_cells", llm) if not _is_number(query)]
            return ExpandedQuestion(_with(schema, question), _with(cells, question))
        except LLMReplyError as error:
            refused = error.message
    else:
        refused = ""
    labels = [label for label in by_rule(question) if label.strip()]
    words = [label for label in labels if not _is_number(label)]
    return ExpandedQuestion(_with(labels, question), _with(words, question), refused)


def _asked(question: str, title: str, prompt: str, llm: LLM) -> list[str]:
    """What the model suggests. Raises `LLMReplyError` if its reply cannot be used."""
    put = question[:READ_UP_TO]
    text = Template(read_prompt(prompt)).substitute(
        question=put, title=title or "various subjects", fence=fence(put, title)
    )
    messages = (Message(role="user", content=text),)
    reply = llm.complete(Request(messages, schema=_SCHEMA, stage=STAGES[prompt], max_tokens=400))
    given = (reply.data or {}).get("queries", [])
    return [query.strip()[:LONGEST_QUERY] for query in given if query.strip()][:MOST_QUERIES]


def _with(queries: Sequence[str], question: str) -> tuple[str, ...]:
    found = {query.casefold(): query for query in reversed([*queries[:MOST_QUERIES], question])}
    return tuple(reversed(found.values()))


def _is_number(query: str) -> bool:
    return not any(letter.isalpha() for letter in query)


PICKED_FROM = 300
"""Triples that the method which picks tables is asked for."""

CUT = 0.5
"""The share of a query's best score below which an entry of its best K is left out."""


@dataclass(frozen=True)
class Asked:
    """A question with its queries and their vectors."""

    question: str
    expanded: ExpandedQuestion
    schema: tuple[tuple[str, Matrix | None], ...]
    cells: tuple[tuple[str, Matrix | None], ...]


class TableShowing(Protocol):
    """A way to show tables to a model: TableRAG's own, or that of a baseline."""

    name: str
    expands: bool
    """Whether the question is expanded to queries."""

    def show(self, asked: Asked, found: TableDatabases) -> tuple[ShownTable, Iterable[CellAddress]]:
        """The view of a table, and its cells by how well they fit; raises `ViewRefusedError`."""
        ...


class ViewRefusedError(Exception):
    """A table cannot be shown in this way; the text says why."""


class SchemaCellView:
    """TableRAG's own view of a table: the best columns and the best cells of each query.

    Args:
        top_k: entries that each query finds in each table.
        cut: the share of a query's best score that an entry must reach.
        schema, values: whether columns and cells are retrieved; otherwise all columns are shown, and no cell.
    """

    name = "tablerag"
    expands = True

    def __init__(self, top_k: int, cut: float = CUT, *, schema: bool = True, values: bool = True) -> None:
        self._top_k, self._cut, self._schema, self._values = top_k, cut, schema, values

    def show(self, asked: Asked, found: TableDatabases) -> tuple[ShownTable, Iterable[CellAddress]]:
        """The columns and cells that were found, as JSON lines (paper, appendix F)."""
        vocabulary = found.vocabulary
        every = list(range(len(vocabulary.columns)))
        columns = hits(found.columns, asked.schema, self._top_k, self._cut) if self._schema else every
        columns = columns or every[: self._top_k]
        cells = hits(found.cells, asked.cells, self._top_k, self._cut) if self._values else []
        named = dict.fromkeys((*columns, *(vocabulary.cells[place].column for place in cells)))
        names, entries = vocabulary.names, [vocabulary.cells[place] for place in cells]
        lines = [
            "Schema retrieval results:",
            json_lines([vocabulary.columns[place].shown(names[place]) for place in named]),
        ]
        if self._values:
            told = json_lines([entry.shown(names[entry.column]) for entry in entries])
            lines += ["Cell retrieval results:", told or "none"]
        values = tuple((entry.column, entry.value) for entry in entries)
        shown = ShownTable(vocabulary.table, "\n".join(lines), tuple(named), values)
        return shown, _addresses(vocabulary, list(named), cells)


def hits(database: EntrySearch, queries: Sequence[tuple[str, Matrix | None]], most: int, cut: float) -> list[int]:
    """The entries that are among the best `most` of a query, by their best score, ties in their order."""
    found: dict[int, float] = {}
    for text, vector in queries:
        scores = database.scores(text, vector)
        places = best(scores, most)
        for place in places:
            score = float(scores[place])
            if score >= cut * float(scores[places[0]]):
                found[place] = max(found.get(place, 0.0), score)
    return sorted(found, key=lambda place: (-found[place], place))


def _addresses(vocabulary: TableVocabulary, columns: Sequence[int], cells: Sequence[int]) -> Iterator[CellAddress]:
    """The cells that were found, then those next to them in the found columns, then the rest of these."""
    entries = [vocabulary.cells[place] for place in cells]
    found = dict.fromkeys((row, entry.column) for entry in entries for row in entry.rows)
    rows = dict.fromkeys(row for entry in entries for row in entry.rows)
    yield from (CellAddress(vocabulary.table, row, column) for row, column in found)
    for row in (*rows, *(row for row in vocabulary.rows if row not in rows)):
        for column in columns:
            if (row, column) not in found:
                yield CellAddress(vocabulary.table, row, column)


class ShowingRetriever:
    """Picks tables and shows them in one of the paper's ways.

    Args:
        view: what is shown of a table.
        base: picks the tables of a corpus.
        shelf: the databases of the tables.
        reader: reads triples.
        labels: the labels of a question by rule.
        most_tables: tables that are shown.
        expands: whether the question is expanded, if the view allows it; otherwise it is the only query.
    """

    def __init__(
        self,
        view: TableShowing,
        base: Retriever,
        shelf: DatabaseShelf,
        reader: TableReader,
        labels: Callable[[str], Sequence[str]],
        *,
        most_tables: int,
        expands: bool = True,
    ) -> None:
        self.name = view.name
        self._expands = expands and view.expands
        self._view, self._base, self._shelf, self._reader = view, base, shelf, reader
        self._labels, self._most = labels, most_tables

    def prepare(self, question: str, folder: Path | None = None) -> None:
        """Preload what a first question needs, without reading any table.

        With a `folder`, databases that were made before are forgotten, and new ones are kept there.
        """
        if folder is not None:
            self._shelf.start_afresh(folder)
        self._picked(question)
        self._asked(question, (), None)

    def picked(self, question: str) -> tuple[ScoredTable, ...]:
        """The tables of the corpus in the order in which they are searched."""
        return tuple(self._picked(question))

    def retrieve(self, question: str, k: int, guide: Guide = UNGUIDED) -> ShownRetrieval:
        """At most `k` triples of the columns and cells that were found, and what a model is shown.

        Raises what the base method raises, and a leaf of `LLMError` if the model cannot be reached.
        """
        clock, trace = Clock(), dict[str, Any]()
        with clock("tables"):
            tables = self._picked(question, guide.tables)
        before = self._shelf.encoded
        with clock("databases"):
            looked_at = tables[: self._most] if guide.tables is None else tables
            databases = [self._shelf.get(table.table) for table in looked_at]
        with clock("queries"):
            asked = self._asked(question, databases, guide.llm)
        if self._expands:
            trace["labels"] = asked.expanded.schema
            trace["cell_queries"] = asked.expanded.cells
            if asked.expanded.refused:
                trace["labels_refused"] = asked.expanded.refused
        shown: list[ShownTable] = []
        addresses: list[CellAddress] = []
        refused = ""
        with clock("entries"):
            for found in databases:
                try:
                    table, places = self._view.show(asked, found)
                except ViewRefusedError as error:
                    refused = refused or str(error)
                    continue
                shown.append(table)
                addresses += islice(places, max(k - len(addresses), 0))
        if refused and not shown:
            trace["refused"] = refused
        trace["columns_shown"] = sum(len(table.columns) for table in shown)
        trace["cells_shown"] = sum(len(table.cells) for table in shown)
        scores = {table.table: table.score for table in tables}
        triples = LateTriples(
            addresses,
            lambda first, last: self._read(addresses[first:last], scores),
            lambda: self._reader.queries_for(addresses),
        )
        return ShownRetrieval(
            question,
            triples,
            tuple(tables),
            clock.times,
            self.name,
            trace,
            shown=tuple(shown),
            refused="" if shown else refused,
            encoded=self._shelf.encoded - before,
        )

    def _picked(self, question: str, named: Sequence[str] | None = None) -> list[ScoredTable]:
        # The tables are picked without a model: the solver sees several of them.
        found = self._base.retrieve(question, PICKED_FROM, Guide(tables=None if named is None else tuple(named))).tables
        ranked = {table.table: table for table in found}
        return [*ranked.values(), *(ScoredTable(id, 0.0) for id in named or () if id not in ranked)]

    def _asked(self, question: str, databases: Sequence[TableDatabases], llm: LLM | None) -> Asked:
        if not self._expands:
            vector = self._shelf.vectors([question])[0]
            return Asked(question, ExpandedQuestion((), ()), ((question, vector),), ((question, vector),))
        titles = [found.vocabulary.title for found in databases]
        expanded = expand_question(question, titles, llm, self._labels)
        texts = list(dict.fromkeys((*expanded.schema, *expanded.cells)))
        vectors = dict(zip(texts, self._shelf.vectors(texts), strict=True))
        return Asked(
            question,
            expanded,
            tuple((text, vectors[text]) for text in expanded.schema),
            tuple((text, vectors[text]) for text in expanded.cells),
        )

    def _read(self, addresses: Sequence[CellAddress], scores: dict[str, float]) -> Iterator[ScoredTriple]:
        """The triples at these places; a blank cell has none."""
        wanted = []
        for address in addresses:
            columns = self._shelf.get(address.table).vocabulary.columns
            wanted.append((address, columns[address.column].predicate))
        for (address, predicate), cell in zip(wanted, self._reader.cells(wanted), strict=True):
            if cell is not None:
                score = scores.get(address.table, 0.0)
                yield scored_triple(address, predicate, cell, self._reader.names, score)
