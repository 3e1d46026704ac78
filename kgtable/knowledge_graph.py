"""A knowledge graph opened for reading: its tables, SPARQL, retrieval, answers, programs and exports."""

from __future__ import annotations

import html
import logging
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Mapping as MappingOf
from contextlib import AbstractContextManager, nullcontext
from functools import cache, cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar, Unpack, overload

import pyoxigraph as ox

from kgtable.building.catalogue import Catalogue, missing_table
from kgtable.building.conversion_report import Progress, silent
from kgtable.building.export import Tables, all_graphs, column_list, table_list, to_dataset, write_csv_files, write_rdf
from kgtable.building.generations import GraphDirectory, catalogue_info
from kgtable.config import DEFAULT_K, MOST_LISTED, AskOptions, check_text, load_settings
from kgtable.config import Settings as AskSettings
from kgtable.errors import AnswerError, GraphClosedError, UsageError, VocabularyIndexError
from kgtable.graph.remote.dialects import StoreEndpoint
from kgtable.graph.sparql_text import Bindable
from kgtable.graph.store import EmbeddedStore, TripleStore, leased
from kgtable.graph.table_content import ColumnSource
from kgtable.graph.table_source import TableReader
from kgtable.graph.terms import Namespaces
from kgtable.graph.writers import Format
from kgtable.llm.protocol import LLM, OnText
from kgtable.resources import __version__
from kgtable.retrieval.result import Guide, Retrieval, ScoredTriple
from kgtable.storage import output_file
from kgtable.values.decimals import in_own_context

if TYPE_CHECKING:
    import owlready2
    import pandas as pd
    import rdflib

    from kgtable.answering.answer import Answer
    from kgtable.answering.ask import Asker
    from kgtable.answering.charts import Chart
    from kgtable.answering.chat import Chat
    from kgtable.answering.program_runs import Engine, GraphPrograms, ProgramRun
    from kgtable.building.pipeline import BuildReport
    from kgtable.graph.validate import ValidationReport
    from kgtable.index.graph_index import GraphIndex
    from kgtable.index.inferred.relations import TableRelations
    from kgtable.ontology.inferred_names import InferredNames
    from kgtable.programs.algebra import Program
    from kgtable.programs.compiled.sql_tables import SchemaCard, SqlDatabase
    from kgtable.programs.fields import Fields
    from kgtable.retrieval.registry import Retrievers

log = logging.getLogger(__name__)

PathLike: TypeAlias = Path | str

# Modules that only some calls need (converter, pandas, rdflib) are imported by these calls: a question
# from the shell starts sooner.


def _columns_beside(store: TripleStore, index: Callable[[], GraphIndex]) -> Callable[[str], ColumnSource | None]:
    """The tables of an index column by column, as long as it exists and matches the store."""

    @cache
    def columns() -> Callable[[str], ColumnSource | None]:
        from kgtable.index.graph_index import indexed_columns

        try:
            return indexed_columns(index(), store)
        except VocabularyIndexError:
            return lambda id: None

    return lambda table: columns()(table)


_OPEN_GRAPHS: weakref.WeakSet[KnowledgeGraph] = weakref.WeakSet()


_Made = TypeVar("_Made")


class _once(cached_property[_Made]):
    """A `cached_property` computed once, however many threads ask: from Python 3.12 `functools` takes no lock."""

    def __get__(self, graph: Any, owner: type | None = None) -> _Made:  # type: ignore[override]
        if graph is None:
            return self  # type: ignore[return-value]
        with graph.opening:
            name = self.attrname or ""
            if name not in graph.__dict__:
                graph.__dict__[name] = self.func(graph)
            found: _Made = graph.__dict__[name]
            return found


class KnowledgeGraph:
    """A graph opened for reading: one complete state of it, also while another build runs.

    Use it in a ``with`` block, or `close` it, to release its files, indexes and connections.

    Args:
        directory: where `kgtable.build` or `kgtable.connect` made the graph.
        built: the report of the build that it is opened after, if it is.

    Raises `GraphNotFoundError` if there is no graph, `GraphVersionError` for a foreign directory.

    The examples of all methods use this graph of the sample tables:

    >>> import kgtable
    >>> kg = kgtable.build("samples", "graph", embedding="none")
    >>> kg
    KnowledgeGraph('graph', 6 tables)
    """

    def __init__(self, directory: PathLike, built: BuildReport | None = None) -> None:
        self.path = Path(directory)
        self.built = built
        self._closed = False
        self.opening = threading.RLock()
        self._asking = threading.Lock()
        self._kept_asker: tuple[AskSettings, LLM | None, tuple[str, ...] | None, Asker] | None = None
        place = GraphDirectory(directory)
        self.endpoint = place.endpoint()
        if self.endpoint is None:
            self.generation = place.lease()
        else:
            from kgtable.building.engines import endpoint_generation

            self.generation = endpoint_generation(place, self.endpoint)
        self.names = Namespaces(self.generation.base)
        _OPEN_GRAPHS.add(self)
        log.info("opened %s, generation %s", self.endpoint or self.path, self.generation.number)

    @property
    def closed(self) -> bool:
        """Whether the graph was closed."""
        return self._closed

    def close(self) -> None:
        """Release the store, the indexes, the models and the connections. Idempotent.

        The embedding model is shared by all open graphs and goes with the last of them. Any later use of
        the graph, or of what reads it, raises `GraphClosedError`.
        """
        with self._asking:
            self._closed = True
            self._kept_asker = None
        store: TripleStore | None = self.__dict__.pop("store", None)
        for name in (
            "catalogue", "ontology", "relations", "retrievers", "index", "reader", "_programs", "sql_database",
        ):  # fmt: skip
            self.__dict__.pop(name, None)
        if store is not None:
            store.close()
        self.generation.release()
        _OPEN_GRAPHS.discard(self)
        if not _OPEN_GRAPHS and "kgtable.index.embedding" in sys.modules:
            from kgtable.index.embedding import release_embedders

            release_embedders()

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._closed:
            raise GraphClosedError(f"The graph in {self.path} was closed.", hint="Open it again with kgtable.open.")

    @_once
    def store(self) -> TripleStore:
        """The store of the graph: files in the directory, or the SPARQL endpoint it is connected to."""
        self._check_open()
        if self.endpoint is not None:
            from kgtable.graph.remote.endpoint import RemoteStore

            return RemoteStore(self.endpoint, self.names.prefixes)
        path, lease = leased(self.generation.first_store_path)
        functions = partial(_functions, weakref.proxy(self))
        return EmbeddedStore(path, self.names.prefixes, (self.generation.lease, lease), functions)

    @_once
    def catalogue(self) -> Catalogue:
        """The files and tables that the graph was built from; of a connected graph, the tables it holds."""
        self._check_open()
        if self.endpoint is not None:
            from kgtable.building.engines import list_tables

            return list_tables(self.store)
        return Catalogue.load(self.generation.catalogue_path)

    @property
    def tables(self) -> Tables:
        """The tables by id; each is read when it is looked up.

        >>> kg.tables["planets"]
        TableView('planets', 8 rows, 7 columns)
        """
        return Tables(self.catalogue.tables, self.reader.read, self.reader.values)

    @_once
    def ontology(self) -> rdflib.Graph:
        """The generated ontology; of a connected graph, the whole default graph, which includes it."""
        self._check_open()
        if self.endpoint is not None:
            from kgtable.building.engines import description

            return description(self.store, self.names)
        import rdflib

        graph = rdflib.Graph()
        graph.parse(self.generation.check_part(self.generation.path / "ontology.ttl"), format="turtle")
        return graph

    def owl(self, *, accept_equivalents: bool = False) -> owlready2.World:
        """The generated ontology as a world of owlready2, to walk classes, properties and their annotations.

        Args:
            accept_equivalents: make predicates that are proposed as equivalents ``equivalent_to`` each other, where
                both are properties of one kind. They are named by the annotation ``proposedEquivalent`` either way.

        >>> kg.owl().search_one(label="Diameter (km)").name
        'hasDiameter'
        """
        self._check_open()
        from kgtable.ontology.owl import owl_world

        described = self.ontology.serialize(format="nt", encoding="utf-8")
        return owl_world(described, self.names.ex, accept_equivalents=accept_equivalents)

    def preview(self, table: str, decisions: MappingOf[str, str] | None = None, *, column: str = "") -> dict[str, Any]:
        """Show how a table, or the tables of a sheet, are read: as they are, or under other decisions.

        Args:
            table: the id of the table.
            decisions: what would be decided, as `kgtable.decide` takes it; None shows what holds.
            column: the column that the decisions are about; empty for the table.

        Returns:
            ``tables``, each with ``header_rows``, ``label_column``, ``columns``, and its first and last rows with
            their kinds (``head``, ``tail``). A column has name, predicate, scales, a sample, its meaning with the
            evidence for it, its units with their sources, and the decisions about it.

        Raises `GraphNotFoundError`, `MappingError`, `TableError`, `UsageError`.

        >>> kg.preview("planets")["tables"][0]["header_rows"]
        '1'
        """
        self._check_open()
        from kgtable.building.decisions import file_of, preview_file
        from kgtable.ontology.mapping import UserMapping, check_column
        from kgtable.ontology.mapping_files import load_edits

        mapping = UserMapping.about(table, decisions or {}, column).over(load_edits(self.path).mapping)
        found = preview_file(file_of(self.catalogue, table), mapping, table)
        if column:
            check_column(table, column, [one["name"] for read in found["tables"] for one in read["columns"]])
        return found

    def decisions(self, table: str = "") -> list[dict[str, Any]]:
        """The users' decisions about tables and columns, or those that apply to one `table`.

        Each decision has ``table`` (ids or patterns, empty for all), ``column``, and ``decided``: names → texts as
        `kgtable.decide` takes them. Raises `MappingError`.

        >>> kg.decisions()
        []
        """
        self._check_open()
        from kgtable.ontology.mapping_files import load_edits

        return load_edits(self.path).mapping.listed(table)

    def sparql(
        self, query: str, *, bindings: MappingOf[str, Bindable] | None = None
    ) -> pd.DataFrame | bool | rdflib.Graph:
        """Run a SPARQL query: a frame for SELECT, a bool for ASK, else an rdflib graph.

        Args:
            query: any query; kgtable's prefixes need no declaration.
            bindings: values of variables that the query selects, by name.

        Raises `QueryError` for a query that cannot be parsed or evaluated.

        >>> kg.sparql("SELECT ?table WHERE { ?table a kgt:Table }").shape
        (6, 1)
        """
        check_text("query", query)
        from kgtable.graph.results import to_python

        return to_python(self.store.query(query, bindings=bindings), self.names.prefixes)

    def sparql_text(self, query: str, format: str | None = None, *, defuse: bool = False) -> str:
        """Run a SPARQL query and give its results as text.

        Args:
            query: any query.
            format: table, json, csv, tsv, xml or turtle; None takes a table, or Turtle for triples.
            defuse: put an apostrophe before what a spreadsheet would run as a formula (CSV only).

        Raises `QueryError`, `UsageError` for a format that does not fit the query.

        >>> print(kg.sparql_text("SELECT (COUNT(*) AS ?tables) WHERE { ?table a kgt:Table }", "csv"))
        tables
        6
        """
        check_text("query", query)
        from kgtable.graph.results import ResultFormat, to_text

        wanted = None if format is None else ResultFormat.of(format)
        return to_text(self.store.query(query), wanted, self.names.prefixes, defuse=defuse)

    def chart(self, query: str, title: str = "") -> Chart | None:
        """Draw the first rows of a SELECT query: their first numbers over the texts or periods next to them.

        Returns None if the result has no such columns, or is not one of a SELECT. Raises `QueryError`.

        >>> kg.chart("ASK {}") is None
        True
        """
        check_text("query", query)
        from kgtable.answering.charts import MOST_POINTS, chart_of_columns
        from kgtable.graph.results import to_columns

        found = self.store.query(query)
        return chart_of_columns(to_columns(found, MOST_POINTS), title) if isinstance(found, ox.QuerySolutions) else None

    @in_own_context
    def sql(self, query: str) -> pd.DataFrame:
        """Run one SELECT over the tables in DuckDB's SQL, into rows of exact decimals, dates and texts.

        `sql_schema` lists the names; the tables ``kgtable_tables`` and ``kgtable_columns`` do so in SQL.
        Raises `QueryError`, `EvaluationError` for a query that takes too long, `MissingExtraError` without DuckDB.

        >>> kg.sql("SELECT planet FROM planets ORDER BY diameter_km DESC LIMIT 1").iloc[0, 0]
        'Jupiter'
        """
        self._check_open()
        import pandas as pd

        found = self.sql_database.query(query)
        return pd.DataFrame(found.rows, columns=list(found.names), dtype=object)

    @overload
    def sql_schema(self, table: str) -> SchemaCard: ...
    @overload
    def sql_schema(self, table: None = None) -> list[SchemaCard]: ...
    def sql_schema(self, table: str | None = None) -> SchemaCard | list[SchemaCard]:
        """The names and SQL types of a table's columns; without a table, those of all tables.

        Raises `GraphNotFoundError` if there is no such table.

        >>> [card.name for card in kg.sql_schema()][:2]
        ['halden_segments', 'harbour_cargo']
        """
        if table is None:
            return list(map(self.sql_database.card, self.catalogue.tables))
        return self.sql_database.card(self._ids(table)[0])

    @_once
    def sql_database(self) -> SqlDatabase:
        """The tables of the graph as a DuckDB database, filled as queries name them."""
        self._check_open()
        from kgtable.answering.program_answers import relations_of
        from kgtable.programs.compiled.sql_tables import SqlDatabase

        return SqlDatabase(relations_of(self.reader), list(self.catalogue.tables))

    def retrieve(
        self,
        question: str,
        k: int | None = None,
        method: str = "hybrid",
        *,
        format: str | None = None,
        embedding: str | None = None,
        llm: LLM | None = None,
        rerank: bool = True,
        tables: Sequence[str] | None = None,
    ) -> Retrieval:
        """Find the triples that may answer a question, and rank their tables.

        Args:
            question: in plain words.
            k: maximum number of triples; None takes 300, or as many as the budget of ``thesis`` says.
            method: the name of a retrieval method, see ``kgtable retrieve --help``.
            format: the text form of whole tables for ``bm25`` and ``dense``; None is the method's default.
            embedding: the embedding model of ``dense``, ``thesis`` and ``tablerag``; None is the method's default.
            llm: a model that gives ``hybrid`` the question's labels, and describes each table once for the format
                ``written-schema``.
            rerank: let the model order the best tables. Ignored without `llm`.
            tables: search only the tables with these ids; None searches all.

        The first question by a method prepares it and is slower.

        Raises `RetrievalError` for an unknown method, option or format, `GraphNotFoundError` for an unknown table,
        `VocabularyIndexError` if the index is missing, a leaf of `LLMError`.

        >>> kg.retrieve("Which planet has the largest diameter?", k=5).tables[0].table
        'planets'
        """
        check_text("question", question)
        if k is not None and k < 0:
            raise UsageError(f"retrieve: k is {k}, and must be 0 or more.")
        from kgtable.retrieval.registry import Choice

        with self.index_faults():
            retriever = self.retrievers.get(method, Choice(format, embedding), llm)
            most = getattr(retriever, "budget", DEFAULT_K) if k is None else k
            named = None
            if tables is not None:
                named = tuple(id for table in dict.fromkeys(tables) for id in self._ids(table))
            found = retriever.retrieve(question, most, Guide(llm, rerank, named))
        times = ", ".join(f"{step} {ms:.1f} ms" for step, ms in found.timings_ms.items())
        log.info("retrieved %d triples by %s: %s", len(found.addresses), method, times)
        return found

    def rdf_of(self, triples: Sequence[ScoredTriple], format: str = "turtle") -> str:
        """Describe retrieved triples as RDF text: their rows, cells and numbers, in any RDF format.

        >>> "ex:hasDiameter" in kg.rdf_of(kg.retrieve("diameter of Jupiter", k=3).triples)
        True
        """
        from kgtable.retrieval.triples import described_rdf

        return described_rdf(self.store, self.names, triples, Format.of(format))

    @_once
    def retrievers(self) -> Retrievers:
        """The retrieval methods over this graph."""
        self._check_open()
        from kgtable.retrieval.registry import Material, Retrievers
        from kgtable.systems.methods import METHODS

        place = self.generation.index_path
        material = Material(self.store, self.names, lambda: self.catalogue.tables, place, lambda: self.index)
        return Retrievers(material, METHODS)

    @_once
    def index(self) -> GraphIndex:
        """The search index, opened once for all readers: it keeps about fifty files open.

        Raises `VocabularyIndexError` if it is missing or damaged, and for a connected graph, which has none.
        """
        self._check_open()
        from kgtable.index.graph_index import GraphIndex

        return GraphIndex(self.generation.index_path)

    def ask(
        self,
        question: str,
        *,
        llm: LLM | None = None,
        tables: Sequence[str] | None = None,
        on_text: OnText | None = None,
        on_found: Callable[[Retrieval], None] | None = None,
        **options: Unpack[AskOptions],
    ) -> Answer:
        """Answer a question, with the cells that the answer is computed from and the verdict of the check.

        Args:
            question: in plain words; without a model in English.
            llm: a model to ask; without one the options name it. Where no model is configured, or it is ``"none"``,
                the answer is computed by rules.
            tables: look only at the tables with these ids; None looks at all.
            on_text: receives the reply of a model as it arrives.
            on_found: receives the retrieval, before the answer is computed from it.
            options: those of `kgtable.config.AskOptions`: ``method``, ``k``, ``model`` and others. What is not given
                comes from ``kgtable.toml``, then the environment.

        Raises `UsageError` for an empty question (`ArgumentError` for a wrong name or type), `ConfigError`
        for an unknown presentation or a model without an endpoint, `GraphNotFoundError` for an unknown
        table, `RetrievalError`, a leaf of `LLMError`.

        >>> kg.ask("Which planet has the largest diameter?", model="none")
        Answer('Jupiter', sure, 9 citations, model='rules, no language model')
        """
        with self.index_faults():
            asker = self._asker("ask", question, llm, tables, options)
            return asker.ask(question, on_text=on_text, on_found=on_found)

    def index_faults(self) -> AbstractContextManager[None]:
        """Context in which an error is reported as damage of the index, if files of the index are damaged."""
        from kgtable.index.graph_index import index_faults

        return index_faults(self.generation.index_path) if self.endpoint is None else nullcontext()

    def chat(
        self, *, llm: LLM | None = None, tables: Sequence[str] | None = None, **options: Unpack[AskOptions]
    ) -> Chat:
        """Start a conversation: `Chat.ask` answers like `ask`, and understands follow-up questions.

        The arguments are those of `ask`; ``max_cost`` bounds the whole conversation.

        >>> chat = kg.chat(model="none")
        >>> print(chat.ask("What is the diameter of Mars?"))
        6,792 km
        """
        from kgtable.answering.chat import Chat

        return Chat(self._asker("ask", "?", llm, tables, options), self.index_faults)

    async def ask_async(
        self,
        question: str,
        *,
        llm: LLM | None = None,
        tables: Sequence[str] | None = None,
        on_text: OnText | None = None,
        on_found: Callable[[Retrieval], None] | None = None,
        **options: Unpack[AskOptions],
    ) -> Answer:
        """`ask` for async code, in a thread: `on_text` and `on_found` are called there."""
        import asyncio

        return await asyncio.to_thread(
            self.ask, question, llm=llm, tables=tables, on_text=on_text, on_found=on_found, **options
        )

    @in_own_context
    def run(
        self,
        program: Program | str | MappingOf[str, Any],
        *,
        engine: str = "memory",
        most: int | None = None,
    ) -> ProgramRun:
        """Run a program over tables of the graph; see ``docs/programs.md``.

        Args:
            program: a `kgtable.Program`, its JSON as text, or what that was decoded to; tables are named by their ids.
            engine: what computes the values: ``memory`` or ``sparql`` (the compiled query on the graph's store, also
                a connected one).
            most: how many rows are kept; None for 1,000.

        Returns:
            The result with the cells that were read.

        Raises leaves of `ProgramError`, with the place in the program, `UsageError` for an unknown engine,
        `QueryError`, `RemoteStoreError`.

        >>> print(kg.run({"op": "count", "rows": "planets"}).text)
        8
        """
        self._check_open()
        from kgtable.answering.program_runs import MOST_ROWS, read_given

        return self._programs.run(read_given(program), _engine(engine), most=MOST_ROWS if most is None else most)

    def explore(self, fields: Fields | str | MappingOf[str, Any], *, most: int | None = None) -> ProgramRun:
        """Compute fields: what is measured, how, by what, of which rows.

        Args:
            fields: `kgtable.programs.fields.Fields`, their JSON as text, or what that was decoded to.
            most: how many rows are kept; None for 1,000.

        Raises as `run` does.

        >>> print(kg.explore({"table": "planets", "how": "count"}).text)
        8
        """
        from kgtable.programs.fields import Fields, parse_fields

        asked = fields if isinstance(fields, Fields) else parse_fields(fields)
        return self.run(asked.program(), most=most)

    def compile(self, program: Program | str | MappingOf[str, Any]) -> str:
        """Translate a program to a SPARQL query, which `sparql` runs as it is.

        Raises leaves of `ProgramError`: `ProgramCompilationError` for what does not map to SPARQL.

        >>> kg.sparql(kg.compile({"op": "count", "rows": "planets"})).columns.tolist()
        ['count']
        """
        self._check_open()
        from kgtable.answering.program_runs import read_given

        return self._programs.compiled(read_given(program))

    def compile_sql(self, fields: Fields | str | MappingOf[str, Any]) -> str:
        """Translate fields to one SELECT, which `sql` runs as it is.

        Raises `ProgramCompilationError` for fields that the typed tables of SQL cannot express, `MissingExtraError`.

        >>> print(kg.compile_sql({"table": "planets", "how": "count"}))
        SELECT count(*) AS "count"
        FROM planets
        WHERE planets.row_kind = 'member'
        """
        from kgtable.answering.program_answers import relations_of
        from kgtable.programs.compiled.to_sql import sql_of
        from kgtable.programs.fields import Fields, parse_fields

        asked = fields if isinstance(fields, Fields) else parse_fields(fields)
        return sql_of(asked, self.sql_database, relations_of(self.reader))

    @_once
    def _programs(self) -> GraphPrograms:
        from kgtable.answering.program_runs import GraphPrograms

        return GraphPrograms(self.reader, self.store, self.catalogue.tables)

    def _asker(
        self, call: str, question: str, llm: LLM | None, tables: Sequence[str] | None, options: AskOptions
    ) -> Asker:
        """The answerer under these settings; cached for the next question under the same."""
        self._check_open()
        check_text("question", question)
        from kgtable.answering.ask import Asker
        from kgtable.llm import connect as connect_model
        from kgtable.llm.protocol import MeteredLLM, price
        from kgtable.systems.methods import make_solver

        settings = load_settings(**options)
        named = None if tables is None else tuple(tables)
        with self._asking:
            kept = self._kept_asker
            if kept is None or (kept[0], kept[2]) != (settings, named) or kept[1] is not llm:
                model = llm or connect_model(settings)
                log.info("answering by %s", "rules" if model is None else model.model)
                pricing = partial(price, own=settings.prices, shipped=settings.endpoint.is_openai)
                dry = settings.dry_run
                metered = None if model is None else MeteredLLM(model, pricing, settings.window, dry_run=dry)
                retrieved = partial(self._retrieved, metered, settings.rerank, named)
                solver = make_solver(settings.method, self.retrievers, self.reader, settings)
                asker = Asker(retrieved, self.reader, settings, metered, solver, lambda: self.relations)
                kept = self._kept_asker = (settings, llm, named, asker)
            return kept[3]

    def _retrieved(
        self,
        llm: LLM | None,
        rerank: bool,
        tables: tuple[str, ...] | None,
        question: str,
        k: int | None,
        method: str,
    ) -> Retrieval:
        found = self.retrieve(question, k, method, llm=llm, rerank=rerank, tables=tables)
        if not found.tables and not self.catalogue.tables and not self.catalogue.documents:
            raise AnswerError(f"The graph in {self.path} holds no table.", hint="Build it from a folder of tables.")
        return found

    @_once
    def relations(self) -> TableRelations:
        """The relations between tables: column pairs that join them, and tables that are parts of one, with scores."""
        self._check_open()
        from kgtable.index.inferred.relations import TableRelations

        if self.endpoint is not None:
            from kgtable.index.inferred.relations import stated_relations

            return stated_relations(self.store, self.names)
        return TableRelations.open(self.generation.index_path)

    @_once
    def inferred_names(self) -> InferredNames:
        """The names inferred for columns without a header and tables without a title, with their confidence."""
        self._check_open()
        from kgtable.ontology.inferred_names import InferredNames

        if self.endpoint is not None:
            from kgtable.index.inferred.name_inference import stated_names

            return stated_names(self.store, self.names)
        return InferredNames.open(self.generation.index_path)

    @_once
    def reader(self) -> TableReader:
        """Tables, rows and cells as the store holds them."""
        self._check_open()
        if self.endpoint is not None:
            return TableReader(self.store, self.names)
        return TableReader(self.store, self.names, _columns_beside(self.store, lambda: self.index))

    def to_rdflib(self) -> rdflib.Dataset:
        """Load the whole graph into memory, each table in its named graph.

        >>> len(list(kg.to_rdflib().graphs())) > 6
        True
        """
        return to_dataset(self.store, self._graphs(), self.names)

    def _graphs(self) -> list[str]:
        return all_graphs(self.store, self.catalogue.tables, self.names, self.catalogue.documents)

    def export(
        self, out: PathLike, *, table: str | None = None, format: str | None = None, defuse: bool = False
    ) -> list[Path]:
        """Write the graph, or one table of it, to a file or folder, and return the paths of the files.

        Args:
            out: as CSV each table is a file of its own, so `out` is a folder, or with the suffix ``.csv`` the file of
                the one table there is. As XLSX each table is a sheet, with the number formats it was read with.
            table: the id of one table; None writes all.
            format: csv, xlsx or an RDF format; None goes by the suffix of `out`.
            defuse: put an apostrophe before what a spreadsheet would run as a formula (CSV only).

        Raises `GraphNotFoundError` for a table that is not there, `UsageError` if several tables would have to
        share a CSV file or a table does not fit a sheet, `StorageError`.

        >>> kg.export("planets.csv", table="planets")
        [PosixPath('planets.csv')]
        """
        out = Path(out)
        ids = self._ids(table)
        wanted = (format or out.suffix.lstrip(".") or "csv").lower()
        if wanted in ("csv", "text/csv"):
            return write_csv_files(self.store, ids, self.names, out, as_file=table is not None, defuse=defuse)
        if wanted == "xlsx":
            from kgtable.building.workbook_export import write_workbook  # brings the reader of workbooks

            with output_file(out) as handle:
                write_workbook((self.tables[id].table for id in ids), handle)
            return [out]
        pieces = self.rdf(format or out.suffix, table=table)
        with output_file(out) as handle:
            for piece in pieces:
                handle.write(piece.encode("utf-8", "surrogatepass"))
        return [out]

    def rdf(self, format: str, *, table: str | None = None) -> Iterator[str]:
        """Write the graph with all its named graphs, or the graph of one table, as RDF text piece by piece.

        >>> sum(piece.count("a kgt:Row") for piece in kg.rdf("turtle", table="planets"))
        8
        """
        ids, form = self._ids(table), Format.of(format)
        graphs = self._graphs() if table is None else map(self.names.table_iri, ids)
        return write_rdf(self.store, graphs, self.names, form, description=table is None)

    def _ids(self, table: str | None) -> list[str]:
        if table is None:
            return list(self.catalogue.tables)
        if table not in self.catalogue.tables:
            raise missing_table(table, self.catalogue.tables)
        return [table]

    def validate(self, *, most: int = MOST_LISTED) -> ValidationReport:
        """Check the graph with QUDT's shapes and kgtable's; lists at most `most` violations.

        Raises `MissingExtraError` without pySHACL.

        >>> kg.validate().conforms
        True
        """
        self._check_open()
        from kgtable.graph.validate import validate as validate_graph

        if self.endpoint is not None:
            from kgtable.building.engines import in_memory

            return validate_graph(in_memory(self.rdf("nquads")), most=most)
        path, lease = leased(self.generation.first_store_path)
        try:
            EmbeddedStore(path).close()  # raises for damage, at which validation could count errors without end
            return validate_graph(path, most=most)
        finally:
            lease.release()

    def info(self, *, relations: bool = False, columns: bool = False) -> dict[str, Any]:
        """The graph's contents: counts of tables, cells by kind, quads and units, the tables, errors.

        Args:
            relations: add ``relations``, the joins and unions of the tables.
            columns: add to each table its ``column_list``, with the meaning of the columns.

        >>> kg.info()["tables"]
        6
        """
        catalogue = self.catalogue
        about: dict[str, Any] = {"path": str(self.path), "kgtable": __version__}
        if self.endpoint is not None:
            from kgtable.building.engines import endpoint_info

            about |= endpoint_info(self.endpoint, self.store)
        else:
            from kgtable.systems.trag.hyperedge_graph import hypergraph_info

            about |= catalogue_info(catalogue, self.generation)
            about["hypergraph"] = hypergraph_info(self.generation)
        about["table_list"] = table_list(catalogue.tables.values())
        if columns:
            for table in about["table_list"]:
                table["column_list"] = column_list(catalogue.tables[table["id"]])
        if relations:
            about["relations"] = self.relations.to_json()
        return about

    def push(self, url: str, *, dialect: str = "generic", again: bool = False, progress: Progress = silent) -> int:
        """Copy the graph to a Graph Store Protocol address, and return the number of triples sent.

        The state of a push is kept next to the graph: an interrupted push resumes, and one after a build sends what
        changed and deletes what is gone.

        Args:
            url: the address.
            dialect: the engine behind it, see ``docs/remote.md``.
            again: send everything.
            progress: is called as the transfer advances.

        Raises `UsageError`, `RemoteStoreError`.
        """
        from kgtable.building.engines import push as push_graph
        from kgtable.graph.remote.endpoint import RemoteStore
        from kgtable.graph.remote.http import checked_url

        target = RemoteStore(StoreEndpoint(url, dialect, self.names.base, checked_url(url)))
        graphs = self.catalogue.graphs(self.names)
        return push_graph(self.store, graphs, target, self.path, again=again, progress=progress)

    def __repr__(self) -> str:
        if self._closed:
            return f"KnowledgeGraph({str(self.path)!r}, closed)"
        count = len(self.catalogue.tables)
        return f"KnowledgeGraph({str(self.path)!r}, {count:,} table{'' if count == 1 else 's'})"

    def _repr_html_(self) -> str:
        info = self.info()
        facts = ", ".join(f"{info[name]:,} {name}" for name in ("tables", "rows", "cells") if name in info)
        return f"<p><b>{html.escape(info['path'])}</b>: {facts}</p>{self.tables._repr_html_()}"


def _engine(name: str) -> Engine:
    from kgtable.answering.program_runs import Engine

    try:
        return Engine(name)
    except ValueError:
        raise UsageError(f"There is no engine {name!r}.", hint=f"Use one of {', '.join(Engine)}.") from None


def _functions(graph: KnowledgeGraph, query: str) -> MappingOf[Any, Any]:
    """The functions beyond SPARQL's own that a query over a graph uses."""
    if "similarity" not in query:  # the index takes long to import
        return {}
    from kgtable.index.similarity import similarity

    return similarity(lambda: graph.index)
