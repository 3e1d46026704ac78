"""The retrieval methods by name, each made once for an open graph and the choices of its user.

A method is named with its options, if it has any: ``hybrid``, ``trag:clusters=5,graph=no``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum
from functools import cached_property, lru_cache
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from kgtable.errors import MissingExtraError, RetrievalError
from kgtable.graph.store import EmbeddedStore, TripleStore
from kgtable.graph.table_source import TableReader
from kgtable.graph.terms import Namespaces
from kgtable.index.embedding import Embedder, load_stored
from kgtable.llm.protocol import LLM
from kgtable.retrieval.result import Retriever, ScoredTriple
from kgtable.retrieval.table_texts import WRITTEN_SCHEMA, TableTexts, TriplesOf, write_schemas
from kgtable.retrieval.triples import triples_of
from kgtable.tables.linearize import TableFormat

if TYPE_CHECKING:
    from kgtable.index.graph_index import GraphIndex

TABLES_REMEMBERED = 2_048


@dataclass(frozen=True)
class Choice:
    """The choices for a method: the text format of whole tables, the embedding's name, its own options.

    None stands for the method's own default; `options` is of the type that `Method.options` names.
    """

    format: str | None = None
    embedding: str | None = None
    options: Hashable | None = None


@dataclass(frozen=True)
class Material:
    """The inputs of retrieval methods: a graph's store, its table ids, its index, and a model if there is one."""

    store: TripleStore
    names: Namespaces
    tables: Callable[[], Iterable[str]]
    index_path: Path
    open_index: Callable[[], GraphIndex]
    llm: LLM | None = None
    """The model that writes the schemas of `WRITTEN_SCHEMA`."""

    def on_disk(self, method: str) -> EmbeddedStore:
        """The store of a graph that has an index. Raises `RetrievalError` for a graph behind an endpoint."""
        if not isinstance(self.store, EmbeddedStore):
            raise RetrievalError(
                f"The method {method} needs the index of a graph on disk.",
                hint="Build the tables into a directory, or use the method hybrid.",
            )
        return self.store

    @property
    def index(self) -> GraphIndex:
        """The graph's index, opened once for all readers.

        Raises `VocabularyIndexError` if it is missing or damaged.
        """
        return self.open_index()

    @property
    def index_if_any(self) -> GraphIndex | None:
        """The graph's index; None behind an endpoint that has none next to it. Raises as `index` does."""
        if not isinstance(self.store, EmbeddedStore) and not (self.index_path / "index.json").exists():
            return None
        return self.index

    @cached_property
    def reader(self) -> TableReader:
        """Tables out of the store."""
        return TableReader(self.store, self.names)

    @cached_property
    def triples_of(self) -> TriplesOf:
        """The triples of a table's body cells by its id, all scored 0; those of the last tables are cached."""

        @lru_cache(maxsize=TABLES_REMEMBERED)
        def read(id: str) -> tuple[ScoredTriple, ...]:
            return tuple(triples_of(self.reader.content(id), self.names))

        return read

    def texts(self, format: str) -> TableTexts:
        """Every table as text. Raises `RetrievalError` for an unknown format, or one that needs a model."""
        tables = (self.reader.read(id) for id in self.tables())
        if format == WRITTEN_SCHEMA:
            if self.llm is None:
                raise RetrievalError(
                    f"The format {WRITTEN_SCHEMA} is written by a language model, and there is none.",
                    hint="Give a model, or take the format schema, which needs none.",
                )
            return write_schemas(tables, self.llm)
        if format not in list(TableFormat):
            known = ", ".join([*TableFormat, WRITTEN_SCHEMA])
            raise RetrievalError(f"There is no table format {format!r}.", hint=f"There are: {known}.")
        return TableTexts.write(tables, format)


def make_bm25(retrievers: Retrievers, choice: Choice) -> Retriever:
    """Okapi BM25 over whole tables, by default as table schema (thesis, section 4.3.1)."""
    from kgtable.retrieval.whole_table import BM25Retriever  # takes long to import: numba and scipy

    material = retrievers.material
    texts = material.texts(choice.format or TableFormat.SCHEMA)
    return BM25Retriever(texts, material.triples_of)


def make_dense(retrievers: Retrievers, choice: Choice) -> Retriever:
    """Vectors of whole tables, by default as plaintext (thesis, section 4.3.2); kept on disk.

    Raises `RetrievalError` if the embedding is ``none``.
    """
    from kgtable.retrieval.whole_table import DenseRetriever

    embedder = _embedder(choice.embedding or "minilm")
    material = retrievers.material
    texts = material.texts(choice.format or TableFormat.PLAINTEXT)
    return DenseRetriever(texts, embedder, material.triples_of)


def _embedder(name: str) -> Embedder:
    try:
        embedder = load_stored(name)
    except MissingExtraError as error:
        raise RetrievalError(f"The method dense: {error.message}", hint=error.hint) from error
    if embedder is None:
        raise RetrievalError("The method dense cannot do without an embedding.", hint="Name one, such as minilm.")
    return embedder


@dataclass(frozen=True)
class HybridOptions:
    """The options of ``hybrid``: whether a learned ranking orders the first tables."""

    learned: bool = True


def make_hybrid(retrievers: Retrievers, choice: Choice) -> Retriever:
    """The thesis's hybrid method over the graph and its index (section 4.4).

    A graph behind an endpoint may have no index: there candidates are found by ``CONTAINS``. Raises
    `VocabularyIndexError` if a graph on disk has none.
    """
    from kgtable.retrieval.hybrid import HybridRetriever
    from kgtable.retrieval.indexless import IndexlessRetriever

    material = retrievers.material
    index = material.index_if_any
    if index is None:
        return IndexlessRetriever(material.store, material.names)
    options = choice.options if isinstance(choice.options, HybridOptions) else HybridOptions()
    return HybridRetriever(material.store, material.names, index, learned=options.learned)


Maker = Callable[["Retrievers", Choice], Retriever]


@dataclass(frozen=True)
class Method:
    """A retrieval method: the function that makes its retriever, and the type of its options.

    `options` is a frozen dataclass whose fields are numbers, texts, truth values or enumerations, each
    with a default; None if the method has no options.
    """

    make: Maker
    options: type | None = None


METHODS: Mapping[str, Method] = {
    "hybrid": Method(make_hybrid, HybridOptions),
    "bm25": Method(make_bm25),
    "dense": Method(make_dense),
}
"""The methods of this package; `kgtable.systems.methods` adds those of the published systems."""


def read_method(text: str, methods: Mapping[str, Method] = METHODS) -> tuple[str, Hashable | None]:
    """The name of a method and its options, from ``NAME`` or ``NAME:OPTION=VALUE,OPTION=VALUE``.

    Raises `RetrievalError` for an unknown name or option, or a value that is not of the option's type.

    >>> read_method("bm25")
    ('bm25', None)
    """
    name, _, given = text.partition(":")
    if name not in methods:
        raise RetrievalError(f"There is no method {name!r}.", hint=f"There are: {', '.join(methods)}.")
    kind = methods[name].options
    if kind is None:
        if given:
            raise RetrievalError(f"The method {name} has no options.", hint=f"Write {name} alone.")
        return name, None
    types, known = get_type_hints(kind), [field.name for field in fields(kind)]
    values: dict[str, Any] = {}
    for part in filter(None, given.split(",")):
        option, _, value = (piece.strip() for piece in part.partition("="))
        if option not in known:
            raise RetrievalError(f"The method {name} has no option {option!r}.", hint=f"It has: {', '.join(known)}.")
        kind_of, *_ = get_args(types[option]) or (types[option],)  # of "float | None" the float
        values[option] = _value_of(f"{name}:{option}", value, kind_of)
    options: Hashable = kind(**values)
    return name, options


def require_range(options: object, names: Sequence[str], least: float = 1, most: float = inf) -> None:
    """Refuse options that are out of range, both ends included. Raises `RetrievalError`."""
    for name in names:
        if not least <= getattr(options, name) <= most:
            limits = f"is at least {least}" if most == inf else f"lies between {least} and {most}"
            raise RetrievalError(f"The option {name} {limits}.")


_TRUTHS = {
    "yes": True,
    "true": True,
    "on": True,
    "1": True,
    "no": False,
    "false": False,
    "off": False,
    "0": False,
}


def _value_of(option: str, text: str, kind: type) -> object:
    """The value of an option; `kind` is bool, int, float, str or an enumeration."""
    try:
        return _TRUTHS[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError):
        wanted = {bool: "yes or no", int: "a whole number", float: "a number"}.get(kind)
        if wanted is None and issubclass(kind, Enum):
            wanted = "one of " + ", ".join(str(member.value) for member in kind)
        raise RetrievalError(f"{option} takes {wanted or 'a text'}, not {text!r}.") from None


class Retrievers:
    """The retrievers of one open graph, made at their first question. May be used from several threads."""

    def __init__(self, material: Material, methods: Mapping[str, Method] = METHODS) -> None:
        self.material = material
        """The inputs that they are made from."""
        self.methods = methods
        self._made: dict[tuple[str, Choice, str | None], Retriever] = {}
        self._making = threading.RLock()  # a method may be made of others

    def made(self) -> tuple[Retriever, ...]:
        """The retrievers made so far."""
        with self._making:
            return tuple(self._made.values())

    def get(self, method: str, choice: Choice | None = None, llm: LLM | None = None) -> Retriever:
        """The retriever of a method, named as `read_method` reads it. Raises `RetrievalError`.

        `llm` writes the texts that the choice leaves to a model; one name stands for one model.
        """
        name, options = read_method(method, self.methods)
        choice = replace(choice or Choice(), options=options)
        writes = llm is not None and choice.format == WRITTEN_SCHEMA
        key = (name, choice, llm.model if llm is not None and writes else None)
        with self._making:
            if key not in self._made:
                made_from = Retrievers(replace(self.material, llm=llm), self.methods) if writes else self
                self._made[key] = self.methods[name].make(made_from, choice)
            return self._made[key]
