"""Ask a model for the names of columns without a header and tables without a title (DMRAL, section 2.3).

The model sees the columns that belong together by their meaning, not the whole table; what it proposes is kept with
the graph, survives builds as long as the table is the same, and yields to what a user writes into the mapping.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from kgtable.building.catalogue import Catalogue
from kgtable.building.generations import GraphDirectory
from kgtable.errors import LLMReplyError
from kgtable.graph.store import EmbeddedStore
from kgtable.graph.table_content import TableContent
from kgtable.graph.table_source import TableReader
from kgtable.graph.terms import Namespaces
from kgtable.index.embedding import Embedder, Matrix, embedder_or_lexical
from kgtable.index.graph_index import GraphIndex, build_index, indexed_contents, read_about
from kgtable.llm.protocol import LLM, reply_data
from kgtable.ontology.inferred_names import InferredName, InferredNames, is_missing_header, is_missing_title
from kgtable.resources import PACKAGE
from kgtable.storage import storage_errors
from kgtable.values.text import single_line

ROWS = 6
"""Rows of a table that are shown."""

LONGEST_CELL = 80
MOST_GROUP = 6
"""Columns that are shown together."""

MOST_COLUMNS = 60
"""Columns of a table up to which they are grouped by meaning; beyond, those that stand side by side are together."""

BELONG = 0.25
"""The mean cosine from which groups of columns belong together."""

LONGEST_NAME = 80

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "names": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "column": {"type": "integer"},
                    "name": {"type": "string"},
                    "confidence": {"type": "number"},
                },
                "required": ["column", "name", "confidence"],
                "additionalProperties": False,
            },
        },
        "title": {"type": "string"},
    },
    "required": ["names", "title"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class SampledTable:
    """A table's id, title, headers, and its first rows as texts."""

    id: str
    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, content: TableContent) -> SampledTable:
        """The first rows of a table's content."""
        width = len(content.columns)
        rows = []
        for row in islice((row for row in content.rows if not row.is_header), ROWS):
            texts = [""] * width
            for column, cell in row.cells:
                texts[column] = single_line(cell.text)[:LONGEST_CELL]
            rows.append(tuple(texts))
        title = ". ".join(filter(None, (content.title, *content.heading, content.caption)))
        return cls(content.id, title, tuple(single_line(name) for name, _ in content.columns), tuple(rows))

    @property
    def missing(self) -> list[int]:
        """The columns without a header that have a value in the rows."""
        return [
            column
            for column, name in enumerate(self.headers)
            if is_missing_header(name) and any(row[column] for row in self.rows)
        ]

    @property
    def is_untitled(self) -> bool:
        """Whether neither title nor id says what the table is about."""
        return is_missing_title(self.title, self.id)


def column_groups(table: SampledTable, embed: Callable[[Sequence[str]], Matrix] | None) -> list[list[int]]:
    """The columns that belong together by their headers and values; without vectors those side by side."""
    width = len(table.headers)
    if embed is None or width > MOST_COLUMNS:
        return [list(range(width))[start : start + MOST_GROUP] for start in range(0, width, MOST_GROUP)]
    texts = [
        f"{'' if is_missing_header(name) else name}: {', '.join(row[column] for row in table.rows)}"
        for column, name in enumerate(table.headers)
    ]
    vectors = embed(texts)
    alike = vectors @ vectors.T
    groups = [[column] for column in range(width)]
    while True:
        pairs = [
            (float(alike[one][:, other].mean()), -first, -second)
            for first, one in enumerate(groups)
            for second, other in enumerate(groups[:first])
            if len(one) + len(other) <= MOST_GROUP
        ]
        likeness, first, second = max(pairs, default=(0.0, 0, 0))
        if likeness < BELONG:
            return sorted(sorted(group) for group in groups)
        groups[-second] += groups.pop(-first)


def model_names(
    table: SampledTable, llm: LLM, embed: Callable[[Sequence[str]], Matrix] | None = None
) -> Iterator[InferredName]:
    """The names that a model proposes for what a table lacks; nothing for a reply that cannot be used.

    Raises leaves of `LLMError` other than `LLMReplyError`.
    """
    missing, untitled = set(table.missing), table.is_untitled
    for group in column_groups(table, embed):
        asked = [column for column in group if column in missing]
        if not asked and not untitled:
            continue
        reply = _reply(_shown(table, group, asked, untitled=untitled), llm)
        for found in reply.get("names", ()):
            name = single_line(str(found["name"])).strip()[:LONGEST_NAME]
            if found["column"] - 1 in asked and not is_missing_header(name):
                asked.remove(found["column"] - 1)
                yield InferredName(table.id, found["column"] - 1, name, _share(found["confidence"]), "model")
        title = single_line(str(reply.get("title", ""))).strip()[:LONGEST_NAME]
        if untitled and title:
            untitled = False
            yield InferredName(table.id, None, title, 0.5, "model")


def _share(number: float) -> float:
    return round(min(max(float(number), 0.0), 0.99), 2)


def _shown(table: SampledTable, group: Sequence[int], asked: Sequence[int], *, untitled: bool) -> str:
    headers = [table.headers[c] if c not in asked else f"[column {c + 1}]" for c in group]
    lines = [" | ".join(headers), *(" | ".join(row[column] for column in group) for row in table.rows)]
    data = "\n".join(lines).replace("<<<", "<<").replace(">>>", ">>")
    title = (table.title or "none").replace("<<<", "<<").replace(">>>", ">>")
    wanted = ", ".join(str(column + 1) for column in asked) or "none"
    return (
        f"Title: <<<{title}>>>\nColumns to name: {wanted}\nTitle to give: {'yes' if untitled else 'no'}\n"
        f"Columns:\n<<<\n{data}\n>>>"
    )


def _reply(said: str, llm: LLM) -> dict[str, Any]:
    system = (PACKAGE / "index" / "inferred" / "prompts" / "infer_names.txt").read_text(encoding="utf-8")
    try:
        return dict(reply_data(llm, system, said, schema=_SCHEMA, stage="infer_names", max_tokens=600))
    except LLMReplyError:
        return {}


def propose_with_model(
    directory: GraphDirectory, llm: LLM, load: Callable[[str], Embedder | None] = embedder_or_lexical
) -> int:
    """Ask a model for all missing names of a graph and make its index anew with them; gives how many it proposed.

    What a user called a column stays. Raises `GraphNotFoundError`, `GraphLockedError`, `VocabularyIndexError`,
    `StorageError`, leaves of `LLMError`.
    """
    with directory.building():
        current = directory.current()
        embedding = str(read_about(current.index_path)["asked"])
        embedder = load(embedding)
        given = [name for name in InferredNames.open(current.path) if name.basis == "user"]
        known = {(name.table, name.column) for name in given}
        spaces = Namespaces(current.base)
        store = EmbeddedStore(current.store_path, spaces.prefixes)
        read = indexed_contents(GraphIndex(current.index_path), TableReader(store, spaces), store)
        proposed = [
            name
            for content in map(read, Catalogue.load(current.catalogue_path).tables)
            for name in model_names(SampledTable.of(content), llm, None if embedder is None else embedder.embed)
            if (name.table, name.column) not in known
        ]
        generation = directory.begin_copy(current)
        try:
            with storage_errors(generation.path):
                InferredNames([*given, *proposed]).save(generation.path)
            build_index(generation, embedding=embedding, load=load)
        except BaseException:
            shutil.rmtree(generation.path, ignore_errors=True)
            raise
        directory.point_to(generation, generation.base)
    return len(proposed)
