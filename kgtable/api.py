"""The one façade: a knowledge graph to build, open, ask and export. The command line calls nothing else."""

from __future__ import annotations

import html
import threading
from collections.abc import Iterator, Sequence
from collections.abc import Mapping as MappingOf
from contextlib import nullcontext, suppress
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Any

from kgtable.building.catalogue import Catalogue
from kgtable.building.conversion_report import Progress, silent
from kgtable.building.generations import GraphDirectory, catalogue_info
from kgtable.building.table_views import Tables
from kgtable.config import Settings as AskSettings
from kgtable.config import load_settings
from kgtable.errors import AnswerError, GraphError, GraphNotFoundError, UsageError
from kgtable.graph.export import to_dataset, write_csv_folder, write_rdf
from kgtable.graph.remote.dialects import StoreEndpoint
from kgtable.graph.sparql_text import Bindable
from kgtable.graph.store import EmbeddedStore, TripleStore
from kgtable.graph.table_source import TableReader
from kgtable.graph.terms import DEFAULT_BASE, Namespaces
from kgtable.graph.writers import Format
from kgtable.llm.protocol import LLM, OnText
from kgtable.retrieval.result import ModelRetriever, Retrieval, ScoredTriple
from kgtable.retrieval.triples import described_rdf
from kgtable.storage import whole_file
from kgtable.version import __version__

if TYPE_CHECKING:
    import pandas as pd
    import rdflib

    from kgtable.answering.answer import Answer
    from kgtable.answering.ask import Asker
    from kgtable.building.conversion_report import ConversionReport
    from kgtable.building.pipeline import BuildReport
    from kgtable.graph.validation_report import ValidationReport
    from kgtable.index.build import RememberingEmbedder
    from kgtable.ontology.mapping import UserMapping
    from kgtable.retrieval.registry import Retrievers


# What only some calls need is imported by them: a question from a cold shell waits for no converter.

MOST_LISTED = 1_000
"""Violations a validation lists."""

RDF_SUFFIXES = frozenset({".ttl", ".trig", ".nt", ".nq", ".jsonld", ".rdf"})
"""Suffixes of files that `validate` reads as RDF; ``.json`` and ``.xml`` may be tables."""


def connect(
    url: str,
    directory: Path | str,
    *,
    store: str | None = None,
    dialect: str = "generic",
    base: str | None = None,
) -> KnowledgeGraph:
    """Makes `directory` stand for the graph behind a SPARQL endpoint and opens it.

    `store` is the endpoint's Graph Store Protocol address, `dialect` a name of
    `kgtable.graph.remote.dialects.DIALECTS`. See `kgtable.building.connect.connect` for the errors raised.
    """
    from kgtable.building.connect import connect as connect_directory

    connect_directory(directory, url, store=store, dialect=dialect, base=base)
    return KnowledgeGraph(directory)


def build(
    paths: Path | str | Sequence[Path | str],
    directory: Path | str,
    *,
    mapping: Path | str | None = None,
    base: str | None = None,
    embedding: str = "minilm",
    workers: int = 1,
    progress: Progress = silent,
) -> KnowledgeGraph:
    """Brings the graph in `directory` up to date with the tables under `paths` and opens it.

    `mapping` is a CSV or XLSX file of decisions about columns, `embedding` the name of the model of
    the search index (``"none"`` for a lexical one), `workers` the number of processes.
    See `kgtable.building.pipeline.build_graph` for what is done and which errors are raised.
    """
    from kgtable.building.pipeline import build_graph
    from kgtable.index.build import ensure_index, index_step
    from kgtable.ontology.equivalents import propose

    embedder = _remembering(embedding, GraphDirectory(directory))

    def load(name: str) -> RememberingEmbedder | None:
        return embedder

    built = build_graph(
        _paths(paths),
        directory,
        mapping=_mapping(mapping),
        base=base,
        workers=workers,
        after=(index_step(embedding, workers, load),),
        propose=partial(propose, embed=None if embedder is None else embedder.embed_names),
        progress=progress,
    )
    ensure_index(GraphDirectory(directory), embedding=embedding, workers=workers, load=load)
    return KnowledgeGraph(directory, built)


def convert(
    paths: Path | str | Sequence[Path | str],
    out: Path | str | IO[bytes],
    *,
    format: str | None = None,
    mapping: Path | str | None = None,
    base: str = DEFAULT_BASE,
    workers: int = 1,
    progress: Progress = silent,
) -> ConversionReport:
    """Writes the tables under `paths` as RDF to a file or an open stream.

    `format` is a name, suffix or media type; None goes by the suffix of `out`. The file appears when
    it is complete. See `kgtable.building.assembly.convert_tables`.
    """
    from kgtable.building.assembly import convert_tables
    from kgtable.building.convert import ConversionOptions

    chosen = Format.of(format) if format else Format.from_suffix(str(out))
    if chosen is None:
        raise UsageError(f"The suffix of {out} names no RDF format.", hint="Give a format, such as turtle.")
    settings = ConversionOptions(Namespaces(base), chosen, _mapping(mapping))
    with whole_file(Path(out)) if isinstance(out, Path | str) else nullcontext(out) as handle:
        return convert_tables(_paths(paths), handle, settings, workers=workers, progress=progress)


def validate(path: Path | str, *, most: int = MOST_LISTED) -> ValidationReport:
    """Checks an RDF file, or the graph that the tables in a file or folder become, by SHACL.

    Raises `MissingExtraError` without pySHACL, `GraphError` for RDF that cannot be parsed, `UsageError`
    where there is no table.
    """
    from kgtable.graph.validate import validate as validate_graph

    path = Path(path)
    if path.is_file() and path.suffix.lower() in RDF_SUFFIXES:
        return validate_graph(path, most=most)
    with TemporaryDirectory(prefix="kgtable-") as folder:
        text = Path(folder) / "tables.nq"
        convert(path, text)
        return validate_graph(text, most=most)


def _paths(paths: Path | str | Sequence[Path | str]) -> Sequence[Path | str]:
    return [paths] if isinstance(paths, Path | str) else paths


def _remembering(embedding: str, directory: GraphDirectory) -> RememberingEmbedder | None:
    """The embedding of a build, with the column names of the graph as it is; None for a lexical one."""
    from kgtable.index.build import RememberingEmbedder
    from kgtable.index.embedding_models import embedder_or_lexical

    model = embedder_or_lexical(embedding)
    if model is None:
        return None
    remembering = RememberingEmbedder(model)
    with suppress(GraphError):
        remembering.know_names_of(directory.current().index_path)
    return remembering


def _mapping(path: Path | str | None) -> UserMapping | None:
    from kgtable.ontology.mapping import UserMapping

    return None if path is None else UserMapping.load(Path(path))


# What only some calls need is imported by them: a question from a cold shell waits for no pandas.


class KnowledgeGraph:
    """A graph opened for reading: one complete state of it, whatever is built beside.

    `built` is the report of the build that this was opened after, if it was.

    Raises `GraphNotFoundError` where there is none, `GraphVersionError` for a foreign directory.
    """

    def __init__(self, directory: Path | str, built: BuildReport | None = None) -> None:
        self.path = Path(directory)
        self.built = built
        place = GraphDirectory(directory)
        self.endpoint = place.endpoint()
        if self.endpoint is None:
            self.generation = place.current()
        else:
            from kgtable.building.connect import endpoint_generation

            self.generation = endpoint_generation(place, self.endpoint)
        self.names = Namespaces(self.generation.base)
        self._asking = threading.Lock()
        self._kept_asker: tuple[AskSettings, LLM | None, Asker] | None = None

    @cached_property
    def store(self) -> TripleStore:
        """The store behind the graph: in the directory, or the endpoint the directory stands for."""
        if self.endpoint is not None:
            from kgtable.graph.remote.endpoint import RemoteStore

            return RemoteStore(self.endpoint, self.names.prefixes)
        return EmbeddedStore(self.generation.store_path, self.names.prefixes)

    @cached_property
    def catalogue(self) -> Catalogue:
        """What the graph was made from; of a graph behind an endpoint, the tables it holds."""
        if self.endpoint is not None:
            from kgtable.building.connect import list_tables

            return list_tables(self.store)
        return Catalogue.load(self.generation.catalogue_path)

    @property
    def tables(self) -> Tables:
        """The tables by id."""
        return Tables(self.catalogue.tables, self.reader.read)

    @cached_property
    def ontology(self) -> rdflib.Graph:
        """The generated ontology; of a graph behind an endpoint, the whole description it is part of."""
        if self.endpoint is not None:
            from kgtable.building.connect import description

            return description(self.store, self.names)
        import rdflib

        graph = rdflib.Graph()
        graph.parse(self.generation.path / "ontology.ttl", format="turtle")
        return graph

    def sparql(
        self, query: str, *, bindings: MappingOf[str, Bindable] | None = None
    ) -> pd.DataFrame | bool | rdflib.Graph:
        """The results of a SPARQL query: a frame for SELECT, a bool for ASK, else an rdflib graph.

        kgtable's prefixes need no declaration; `bindings` gives values to the
        variables it selects, by name. Raises `QueryError` for a query that cannot be parsed or evaluated.
        """
        from kgtable.graph.results import to_python

        return to_python(self.store.query(query, bindings=bindings), self.names.prefixes)

    def sparql_text(self, query: str, format: str | None = None) -> str:
        """The results of a query printed as table, json, csv, tsv, xml or turtle."""
        from kgtable.graph.results import ResultFormat, to_text

        wanted = None if format is None else ResultFormat.of(format)
        return to_text(self.store.query(query), wanted, self.names.prefixes)

    def retrieve(
        self,
        question: str,
        k: int = 1_000,
        method: str = "hybrid",
        *,
        format: str | None = None,
        embedding: str | None = None,
        llm: LLM | None = None,
        rerank: bool = True,
    ) -> Retrieval:
        """At most `k` triples for a question, the best first, and the tables they lie in.

        `format` is the text form of whole tables for ``bm25`` and ``dense``, `embedding` the model of
        ``dense``; None is the method's default. With a model, ``hybrid`` takes the question's labels
        from it and, with `rerank`, lets it order the best tables; for the format ``written-schema`` it
        describes each table once. What a method needs is made at its first question. Raises
        `RetrievalError` for an unknown method or format, `VocabularyIndexError` where the index is
        missing, a leaf of `LLMError`.
        """
        from kgtable.retrieval.registry import Choice

        retriever = self.retrievers.get(method, Choice(format, embedding), llm)
        if llm is not None and isinstance(retriever, ModelRetriever):
            retriever = retriever.with_model(llm, rerank=rerank)
        return retriever.retrieve(question, k)

    def rdf_of(self, triples: Sequence[ScoredTriple], format: str = "turtle") -> str:
        """What the graph says of retrieved triples, as RDF text: their rows, cells and numbers."""
        return described_rdf(self.store, self.names, triples, Format.of(format))

    @cached_property
    def retrievers(self) -> Retrievers:
        """The retrieval methods over this graph."""
        from kgtable.retrieval.registry import Material, Retrievers

        place = self.generation.index_path
        return Retrievers(Material(self.store, self.names, lambda: self.catalogue.tables, place))

    def ask(
        self, question: str, *, llm: LLM | None = None, on_text: OnText | None = None, **options: Any
    ) -> Answer:
        """The answer to a question, with the cells it rests on and whether they bear it out.

        `llm` is a model to ask; without one the settings name it, or none: then the answer is computed
        by rules. `options` go before all other settings (see `kgtable.config.Settings`): ``model``,
        ``method``, ``k``, ``presentation`` and so on. `on_text` receives a model's answer as it
        arrives. Raises `UsageError`, `ConfigError`, `RetrievalError`, a leaf of `LLMError`.
        """
        return self._asker(llm, options).ask(question, on_text=on_text)

    async def ask_async(
        self, question: str, *, llm: LLM | None = None, on_text: OnText | None = None, **options: Any
    ) -> Answer:
        """The async twin of `ask`."""
        import asyncio

        asker = await asyncio.to_thread(self._asker, llm, options)
        return await asker.ask_async(question, on_text=on_text)

    def _asker(self, llm: LLM | None, options: MappingOf[str, Any]) -> Asker:
        """What answers under these settings; kept for the next question under the same."""
        from kgtable.answering.ask import Asker
        from kgtable.llm import connect as connect_model
        from kgtable.llm.metering import MeteredLLM

        settings = load_settings(**options)
        with self._asking:
            kept = self._kept_asker
            if kept is None or kept[0] != settings or kept[1] is not llm:
                model = llm or connect_model(settings)
                metered = None if model is None else MeteredLLM(model)
                retrieved = partial(self._retrieved, metered, settings.rerank)
                kept = self._kept_asker = (
                    settings,
                    llm,
                    Asker(retrieved, self.reader, settings, metered),
                )
            return kept[2]

    def _retrieved(self, llm: LLM | None, rerank: bool, question: str, k: int, method: str) -> Retrieval:
        found = self.retrieve(question, k, method, llm=llm, rerank=rerank)
        if not found.tables and not self.catalogue.tables:
            raise AnswerError(
                f"The graph in {self.path} holds no table.", hint="Build it from a folder of tables."
            )
        return found

    @cached_property
    def reader(self) -> TableReader:
        """Tables, rows and cells as the store holds them."""
        return TableReader(self.store, self.names)

    def to_rdflib(self) -> rdflib.Dataset:
        """The whole graph in memory, each table in its named graph."""
        return to_dataset(self.store, self.catalogue.tables, self.names)

    def export(self, out: Path | str, *, table: str | None = None, format: str | None = None) -> list[Path]:
        """Writes the graph, or one table of it, to `out`; gives the files written.

        `format` is csv (a folder with one file a table, or one file for one table) or an RDF format;
        None goes by the suffix of `out`. Raises `GraphNotFoundError` for a table that is not there,
        `UsageError`, `StorageError`.
        """
        out = Path(out)
        ids = self._ids(table)
        if (format or out.suffix.lstrip(".") or "csv").lower() in ("csv", "text/csv"):
            if table is None or not out.suffix:
                return write_csv_folder(self.store, ids, self.names, out)
            pieces: Iterator[str] = iter([self.tables[table].to_csv()])
        else:
            pieces = self.rdf(format or out.suffix, table=table)
        with whole_file(out) as handle:
            for piece in pieces:
                handle.write(piece.encode("utf-8", "surrogatepass"))
        return [out]

    def rdf(self, format: str, *, table: str | None = None) -> Iterator[str]:
        """The graph, or the graph of one table, as RDF text piece by piece."""
        ids = self._ids(table)
        return write_rdf(self.store, ids, self.names, Format.of(format), description=table is None)

    def _ids(self, table: str | None) -> list[str]:
        if table is None:
            return list(self.catalogue.tables)
        if table not in self.catalogue.tables:
            raise GraphNotFoundError(
                f"The graph holds no table {table!r}.", hint="kgtable info --json lists the tables."
            )
        return [table]

    def validate(self, *, most: int = MOST_LISTED) -> ValidationReport:
        """Checks the graph with QUDT's shapes and kgtable's; lists at most `most` violations.

        Raises `MissingExtraError` without pySHACL.
        """
        from kgtable.graph.validate import validate as validate_graph

        if self.endpoint is not None:
            from kgtable.building.connect import in_memory

            return validate_graph(in_memory(self.rdf("nquads")), most=most)
        return validate_graph(self.generation.store_path, most=most)

    def info(self) -> dict[str, Any]:
        """What the graph holds: tables, cells by kind, quads, units, errors."""
        about = {"path": str(self.path), "kgtable": __version__}
        if self.endpoint is not None:
            from kgtable.building.connect import endpoint_info

            return {**about, **endpoint_info(self.endpoint, self.store)}
        return {**about, **catalogue_info(self.catalogue, self.generation)}

    def push(self, url: str, *, dialect: str = "generic", progress: Progress = silent) -> int:
        """Copies the graph to a Graph Store Protocol address; gives the number of triples sent.

        Raises `UsageError`, `RemoteStoreError`; see `kgtable.building.connect.push`.
        """
        from kgtable.building.connect import push as push_graph
        from kgtable.graph.remote.endpoint import RemoteStore
        from kgtable.graph.remote.http import checked_url

        target = RemoteStore(StoreEndpoint(url, dialect, self.names.base, checked_url(url)))
        return push_graph(self.store, list(self.catalogue.tables), self.names, target, progress)

    def serve(self, **options: Any) -> None:
        """Serves the graph: SPARQL endpoint, pages and HTTP API. See `kgtable.server.running.serve`."""
        # The server stands on this façade: it is looked up by whoever wants it, not imported here.
        import_module("kgtable.server.running").serve(self.path, **options)

    def __repr__(self) -> str:
        return f"KnowledgeGraph({str(self.path)!r}, {len(self.catalogue.tables):,} tables)"

    def _repr_html_(self) -> str:
        info = self.info()
        facts = ", ".join(f"{info[name]:,} {name}" for name in ("tables", "rows", "cells") if name in info)
        return f"<p><b>{html.escape(info['path'])}</b>: {facts}</p>{self.tables._repr_html_()}"


def open(directory: Path | str) -> KnowledgeGraph:
    """Opens the graph in a directory; see `KnowledgeGraph`."""
    return KnowledgeGraph(directory)
