"""The one façade: a knowledge graph to build, open, ask and export. The command line calls nothing else."""

from __future__ import annotations

import asyncio
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

from kgtable.answering.answer import Answer
from kgtable.answering.asking import Asker
from kgtable.answering.graph_tables import GraphTables
from kgtable.config import Settings as AskSettings
from kgtable.config import load_settings
from kgtable.errors import AnswerError, GraphError, GraphNotFoundError, UsageError
from kgtable.graph.assembly import Progress, silent
from kgtable.graph.binding import Bindable
from kgtable.graph.build import BuildReport, build_graph
from kgtable.graph.catalogue import Catalogue
from kgtable.graph.connecting import connect as connect_directory
from kgtable.graph.connecting import description, endpoint_generation, endpoint_info, in_memory, list_tables
from kgtable.graph.connecting import push as push_graph
from kgtable.graph.conversion import Settings
from kgtable.graph.convert import convert_tables
from kgtable.graph.export import to_dataset, write_csv_folder, write_rdf
from kgtable.graph.findings import ValidationReport
from kgtable.graph.generation import Endpoint, GraphDirectory
from kgtable.graph.info import catalogue_info
from kgtable.graph.reading_back import read_table
from kgtable.graph.remote import RemoteStore
from kgtable.graph.report import ConversionReport
from kgtable.graph.results import ResultFormat, to_python, to_text
from kgtable.graph.storage import whole_file
from kgtable.graph.store import EmbeddedStore, TripleStore
from kgtable.graph.terms import DEFAULT_BASE, Namespaces
from kgtable.graph.validate import MOST_LISTED
from kgtable.graph.validate import validate as validate_graph
from kgtable.graph.views import Tables
from kgtable.graph.wire import checked_url
from kgtable.graph.writing import Format
from kgtable.index.build import ensure_index, index_step
from kgtable.index.embedding import embedder_or_lexical
from kgtable.index.remembering import RememberingEmbedder
from kgtable.llm import LLM
from kgtable.llm import connect as connect_model
from kgtable.llm.metering import MeteredLLM
from kgtable.llm.protocol import OnText
from kgtable.ontology.equivalents import propose
from kgtable.ontology.mapping import Mapping
from kgtable.retrieval.described import described_rdf
from kgtable.retrieval.hybrid import HybridRetriever
from kgtable.retrieval.methods import Choice, Material, Retrievers
from kgtable.retrieval.result import Retrieval, ScoredTriple
from kgtable.version import __version__

if TYPE_CHECKING:
    import pandas as pd
    import rdflib

RDF_SUFFIXES = frozenset({".ttl", ".trig", ".nt", ".nq", ".jsonld", ".rdf"})
"""Suffixes of files that `validate` reads as RDF; ``.json`` and ``.xml`` may be tables."""


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
        self.generation = (
            place.current() if self.endpoint is None else endpoint_generation(place, self.endpoint)
        )
        self.names = Namespaces(self.generation.base)
        self._asking = threading.Lock()
        self._kept_asker: tuple[AskSettings, LLM | None, Asker] | None = None

    @cached_property
    def store(self) -> TripleStore:
        """The store behind the graph: in the directory, or the endpoint the directory stands for."""
        if self.endpoint is not None:
            return RemoteStore(self.endpoint, self.names.prefixes)
        return EmbeddedStore(self.generation.store_path, self.names.prefixes)

    @cached_property
    def catalogue(self) -> Catalogue:
        """What the graph was made from; of a graph behind an endpoint, the tables it holds."""
        if self.endpoint is not None:
            return list_tables(self.store)
        return Catalogue.load(self.generation.catalogue_path)

    @property
    def tables(self) -> Tables:
        """The tables by id."""
        return Tables(self.catalogue.tables, lambda id: read_table(self.store, id, self.names))

    @cached_property
    def ontology(self) -> rdflib.Graph:
        """The generated ontology; of a graph behind an endpoint, the whole description it is part of."""
        if self.endpoint is not None:
            return description(self.store, self.names)
        import rdflib

        graph = rdflib.Graph()
        graph.parse(self.generation.path / "ontology.ttl", format="turtle")
        return graph

    def sparql(
        self, query: str, *, bindings: MappingOf[str, Bindable] | None = None
    ) -> pd.DataFrame | bool | rdflib.Graph:
        """The results of a SPARQL query: a frame for SELECT, a bool for ASK, else an rdflib graph.

        kgtable's prefixes need no declaration; `bindings` gives values to variables by name. Raises
        `QueryError` for a query that cannot be parsed or evaluated.
        """
        return to_python(self.store.query(query, bindings=bindings), self.names.prefixes)

    def sparql_text(self, query: str, format: str | None = None) -> str:
        """The results of a query printed as table, json, csv, tsv, xml or turtle."""
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
        from it and, with `rerank`, lets it order the best tables. What a method needs is made at its
        first question. Raises `RetrievalError` for an unknown method or format, `VocabularyIndexError`
        where the index is missing, a leaf of `LLMError`.
        """
        retriever = self.retrievers.get(method, Choice(format, embedding))
        if llm is not None and isinstance(retriever, HybridRetriever):
            retriever = retriever.with_model(llm, rerank=rerank)
        return retriever.retrieve(question, k)

    def rdf_of(self, triples: Sequence[ScoredTriple], format: str = "turtle") -> str:
        """What the graph says of retrieved triples, as RDF text: their rows, cells and numbers."""
        return described_rdf(self.store, self.names, triples, Format.of(format))

    @cached_property
    def retrievers(self) -> Retrievers:
        """The retrieval methods over this graph."""
        tables = tuple(self.catalogue.tables)
        return Retrievers(Material(self.store, self.names, tables, self.generation.index_path))

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
        asker = await asyncio.to_thread(self._asker, llm, options)
        return await asker.ask_async(question, on_text=on_text)

    def _asker(self, llm: LLM | None, options: MappingOf[str, Any]) -> Asker:
        """What answers under these settings; kept for the next question under the same."""
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
                    Asker(retrieved, self._source, settings, metered),
                )
            return kept[2]

    def _retrieved(self, llm: LLM | None, rerank: bool, question: str, k: int, method: str) -> Retrieval:
        if not self.catalogue.tables:
            raise AnswerError(
                f"The graph in {self.path} holds no table.", hint="Build it from a folder of tables."
            )
        return self.retrieve(question, k, method, llm=llm, rerank=rerank)

    @cached_property
    def _source(self) -> GraphTables:
        return GraphTables(self.store, self.names)

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
        if self.endpoint is not None:
            return validate_graph(in_memory(self.rdf("nquads")), most=most)
        return validate_graph(self.generation.store_path, most=most)

    def info(self) -> dict[str, Any]:
        """What the graph holds: tables, cells by kind, quads, units, errors."""
        about = {"path": str(self.path), "kgtable": __version__}
        if self.endpoint is not None:
            return {**about, **endpoint_info(self.endpoint, self.store)}
        return {**about, **catalogue_info(self.catalogue, self.generation)}

    def push(self, url: str, *, dialect: str = "generic", progress: Progress = silent) -> int:
        """Copies the graph to a Graph Store Protocol address; gives the number of triples sent.

        Raises `UsageError`, `RemoteStoreError`; see `kgtable.graph.connecting.push`.
        """
        target = RemoteStore(Endpoint(url, dialect, self.names.base, checked_url(url)))
        return push_graph(self.store, list(self.catalogue.tables), self.names, target, progress)

    def serve(self, **options: Any) -> None:
        """Serves the graph: SPARQL endpoint, pages and HTTP API. See `kgtable.server.serving.serve`."""
        # The server stands on this façade: it is looked up by whoever wants it, not imported here.
        import_module("kgtable.server.serving").serve(self.path, **options)

    def __repr__(self) -> str:
        return f"KnowledgeGraph({str(self.path)!r}, {len(self.catalogue.tables):,} tables)"

    def _repr_html_(self) -> str:
        info = self.info()
        facts = ", ".join(f"{info[name]:,} {name}" for name in ("tables", "rows", "cells") if name in info)
        return f"<p><b>{html.escape(info['path'])}</b>: {facts}</p>{self.tables._repr_html_()}"


def open(directory: Path | str) -> KnowledgeGraph:
    """Opens the graph in a directory; see `KnowledgeGraph`."""
    return KnowledgeGraph(directory)


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
    `kgtable.graph.dialects.DIALECTS`. See `kgtable.graph.connecting.connect` for the errors raised.
    """
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
    See `kgtable.graph.build.build_graph` for what is done and which errors are raised.
    """
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
    it is complete. See `kgtable.graph.convert.convert_tables`.
    """
    chosen = Format.of(format) if format else Format.from_suffix(str(out))
    if chosen is None:
        raise UsageError(f"The suffix of {out} names no RDF format.", hint="Give a format, such as turtle.")
    settings = Settings(Namespaces(base), chosen, _mapping(mapping))
    with whole_file(Path(out)) if isinstance(out, Path | str) else nullcontext(out) as handle:
        return convert_tables(_paths(paths), handle, settings, workers=workers, progress=progress)


def validate(path: Path | str, *, most: int = MOST_LISTED) -> ValidationReport:
    """Checks an RDF file, or the graph that the tables in a file or folder become, by SHACL.

    Raises `MissingExtraError` without pySHACL, `GraphError` for RDF that cannot be parsed, `UsageError`
    where there is no table.
    """
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
    model = embedder_or_lexical(embedding)
    if model is None:
        return None
    remembering = RememberingEmbedder(model)
    with suppress(GraphError):
        remembering.know_names_of(directory.current().index_path)
    return remembering


def _mapping(path: Path | str | None) -> Mapping | None:
    return None if path is None else Mapping.load(Path(path))
