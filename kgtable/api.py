"""Functions of the public API: build, convert and validate tables, open and connect graphs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Any

from kgtable.building.conversion_report import Progress, silent
from kgtable.building.generations import GraphDirectory
from kgtable.config import MOST_LISTED, load_settings
from kgtable.errors import (
    ArgumentError,
    ConfigError,
    UsageError,
)
from kgtable.graph.terms import DEFAULT_BASE, Namespaces
from kgtable.graph.writers import Format
from kgtable.storage import output_file

if TYPE_CHECKING:
    from kgtable.building.conversion_report import ConversionReport
    from kgtable.building.convert import JobRunner
    from kgtable.building.pipeline import BuildReport
    from kgtable.graph.validate import ValidationReport
    from kgtable.knowledge_graph import KnowledgeGraph, PathLike
    from kgtable.llm.protocol import LLM
    from kgtable.ontology.mapping import UserMapping
    from kgtable.ontology.proposals import AnnotationReport
    from kgtable.tables.discovery import Walk

# Modules that only some calls need (converter, pandas, rdflib) are imported by these calls: a question
# from the shell starts sooner.

RDF_SUFFIXES = frozenset({".ttl", ".trig", ".nt", ".nq", ".jsonld", ".rdf"})
"""Suffixes of files that `validate` reads as RDF; ``.json`` and ``.xml`` may be tables."""


def connect(
    url: str,
    directory: PathLike,
    *,
    store: str | None = None,
    dialect: str = "generic",
    base: str | None = None,
    index: str | None = None,
) -> KnowledgeGraph:
    """Connect a directory to the graph behind a SPARQL endpoint, and open that graph.

    `store` is the endpoint's Graph Store Protocol address, `dialect` a name of
    `kgtable.graph.remote.dialects.DIALECTS`, `base` the prefix of the graph's IRIs (None asks the
    endpoint). `index` names an embedding (``minilm``, ``none``): the tables are read once and indexed in the
    directory, so that retrieval has expansion and vectors. Raises `UsageError`, `RemoteStoreError`,
    `GraphVersionError` for a directory that holds something else, `StorageError`, `EmbeddingError`.
    """
    from kgtable.building.engines import connect as connect_directory

    connect_directory(directory, url, store=store, dialect=dialect, base=base)
    graph = open(directory)
    if index is not None:
        from kgtable.index.graph_index import index_endpoint

        index_endpoint(graph.store, graph.names, graph.catalogue.tables, graph.generation.index_path, index)
    return graph


def build(
    paths: PathLike | Sequence[PathLike],
    directory: PathLike,
    *,
    mapping: PathLike | UserMapping | None = None,
    base: str | None = None,
    embedding: str = "minilm",
    workers: int = 1,
    scheduler: str | None = None,
    parts: str | None = None,
    file_seconds: int | None = None,
    encoding: str | None = None,
    model: str | LLM | None = None,
    dry_run: bool = False,
    progress: Progress = silent,
) -> KnowledgeGraph:
    """Bring the graph in `directory` up to date with the tables under `paths`, and open it.

    Args:
        paths: files and folders.
        directory: where the graph is, or will be.
        mapping: decisions about columns, or a CSV or XLSX file of them.
        base: what generated IRIs begin with; None keeps that of the last build.
        embedding: the model of the search index; ``"none"`` makes a lexical one.
        workers: number of processes. Each beyond the first imports the calling script again, which must then be guarded
            by ``if __name__ == "__main__"``; the command line, which is safe, uses all processors.
        scheduler: address of a Dask scheduler whose workers convert the tables; needs `parts`.
        parts: a folder or fsspec URL (``s3://…``) for their part files; those that are there already are kept.
        file_seconds: processor time for reading one file (None: 30 seconds, more for a large one), plus one second for
            each MiB and half a one for each page of a PDF.
        encoding: that of the text files, such as ``windows-1251``; None detects it, and one in the mapping wins.
        model: a model, or its name, that is asked about undecided properties of tables, see `annotate`. One that fails
            leaves the graph as it is without it.
        dry_run: call no model; the report has the estimated usage.
        progress: is called as the build advances.

    Returns:
        The graph; the report is in `built`.

    Raises `UsageError` if there is no table, `ConfigError` for a model without an endpoint, `MappingError`,
    `GraphLockedError` if another process builds the graph, `GraphVersionError` for a foreign directory,
    `StorageError`, `MissingExtraError`.

    >>> import kgtable
    >>> kg = kgtable.build("samples", "graph", embedding="none")
    >>> kg.built.changes.added[:2]
    ('halden-segments', 'harbour-cargo')
    """
    runner = _runner(scheduler, parts)
    from kgtable.index.inferred.model_proposals import propose_about_tables
    from kgtable.tables.limits import ReadLimits

    if dry_run and model is None:
        raise UsageError("A dry run estimates the usage of a model.", hint="Name one with --model.")
    llm = None if model is None else _model(model, dry_run)
    walked = _paths(paths)
    options: dict[str, Any] = {"mapping": _mapping(mapping), "base": base}
    options |= {"runner": runner, "workers": workers}
    options |= {"limits": ReadLimits.of_seconds(file_seconds), "encoding": _codec(encoding), "progress": progress}
    built = _built(walked, directory, embedding, **options)
    if llm is not None:
        report = propose_about_tables(GraphDirectory(directory), *llm)
        if not dry_run:
            again = _built(walked, directory, embedding, **options)
            built = replace(again, changes=built.changes, messages=built.messages + again.messages)
        messages = tuple(dict.fromkeys((*built.messages, *report.messages)))
        built = replace(built, annotation=report, messages=messages)
    from kgtable.knowledge_graph import KnowledgeGraph

    return KnowledgeGraph(directory, built)


def _built(paths: Sequence[PathLike] | Walk, directory: PathLike, embedding: str, **options: Any) -> BuildReport:
    from kgtable.building.pipeline import build_graph
    from kgtable.index.graph_index import BuildEmbedding, index_step, is_indexed
    from kgtable.systems.trag.hyperedge_graph import refresh_hyperedges

    model = BuildEmbedding(embedding, GraphDirectory(directory))
    return build_graph(
        paths,
        directory,
        before=model.load,
        after=(index_step(embedding, int(options.get("workers", 1)), model.load), refresh_hyperedges),
        is_complete=partial(is_indexed, embedding=embedding, load=model.load),
        propose=model.propose,
        **options,
    )


def annotate(directory: PathLike, *, model: str | LLM | None = None, dry_run: bool = False) -> AnnotationReport:
    """Ask a model about undecided properties of a graph's tables, and update the graph with its proposals.

    It is asked for names of columns and titles of tables that have none, for role and kind of columns whose meaning is
    not sure, and for units and scales of measures that print none, once for each table that was not shown to it before.
    Its proposals are in the mapping; what is printed or decided there takes precedence.

    Args:
        directory: where the graph is.
        model: the name of a model as for `KnowledgeGraph.ask`, or a model; None takes that of the settings.
        dry_run: call no model, and report the estimated usage.

    Raises `ConfigError` without a model, `GraphNotFoundError`, `GraphLockedError`, `VocabularyIndexError`,
    `MappingError`, leaves of `LLMError` if the model fails (earlier proposals are kept), `StorageError`.
    """
    from kgtable.index.inferred.model_proposals import propose_about_tables

    place = GraphDirectory(directory)
    place.current()
    report = propose_about_tables(place, *_model(model, dry_run))
    if not dry_run:
        _built_again(place)
    if report.failure is not None:
        raise report.failure
    return report


def decide(directory: PathLike, table: str, decisions: Mapping[str, str], *, column: str = "") -> KnowledgeGraph:
    """Record a decision about a table of the graph in `directory`, rebuild the graph, and open it.

    `KnowledgeGraph.preview` shows the effect of a decision without recording it. Decisions are in the mapping.

    Args:
        table: the id of a table, or of a sheet that holds several.
        decisions: names → texts as in the mapping's sheet ``tables``: ``header rows`` (``1-2``), ``label column``,
            ``skip rows``, ``note rows``, ``title``, ``unit``, ``scale``, ``encoding``, ``tables begin at``. Rows count
            from 1; an empty text takes a decision back.
        column: the name of a column, for decisions about it as in the mapping: ``role``, ``measure kind``, ``unit``,
            ``scale``, ``variant``, ``datatype``, ``predicate``.

    Raises `MappingError` for a decision that makes no sense, `GraphNotFoundError`, `GraphLockedError`, `TableError`,
    `UsageError` if the table's file is gone, `StorageError`.
    """
    from kgtable.knowledge_graph import KnowledgeGraph
    from kgtable.ontology.mapping import UserMapping

    with KnowledgeGraph(directory) as graph:
        graph.preview(table, decisions, column=column)
    built = _built_again(GraphDirectory(directory), mapping=UserMapping.about(table, decisions, column))
    return KnowledgeGraph(directory, built)


def _built_again(place: GraphDirectory, **options: Any) -> BuildReport:
    """Bring a graph up to date with the files that it was built from."""
    from kgtable.building.catalogue import Catalogue
    from kgtable.index.graph_index import read_about
    from kgtable.tables.discovery import Walk, assign_ids

    current = place.current()
    records = list(Catalogue.load(current.catalogue_path).files.values())
    files = assign_ids((Path(record.location), record.path) for record in records)
    known = tuple(replace(file, id=record.id) for file, record in zip(files, records, strict=True))
    return _built(Walk(known), place.path, str(read_about(current.index_path)["asked"]), **options)


def _model(model: str | LLM | None, dry_run: bool) -> tuple[str, LLM | None]:
    """The name of a model and, unless nothing is to be asked, the model. Raises `ConfigError` if there is none."""
    from kgtable.llm import connect as connect_model

    if model is not None and not isinstance(model, str):
        return model.model, None if dry_run else model
    settings = load_settings(model=model)
    llm = None if dry_run and model else connect_model(settings)
    if llm is None and not (dry_run and model):
        raise ConfigError("There is no model to ask.", hint="Name one with --model, or KGTABLE_MODEL.")
    return settings.model, None if dry_run else llm


def write_hypergraph(directory: PathLike, *, clusters: int = 10, typical: int = 100) -> KnowledgeGraph:
    """Write the hyperedges of T-RAG to the graph in `directory` and open it; see ``docs/trag.md``.

    The tables are clustered by meaning, shape and words into `clusters` each; `typical` tables stand for
    each cluster. Later builds keep them up to date. Raises `GraphNotFoundError`, `GraphLockedError`,
    `VocabularyIndexError` if the graph has no index, `MissingExtraError` without scikit-learn, `StorageError`.
    """
    from kgtable.systems.trag.hyperedge_graph import write_hypergraph

    write_hypergraph(directory, clusters=clusters, typical=typical)
    return open(directory)


def convert(
    paths: PathLike | IO[bytes] | Sequence[PathLike | IO[bytes]],
    out: PathLike | IO[bytes],
    *,
    format: str | None = None,
    format_in: str | None = None,
    mapping: PathLike | None = None,
    base: str = DEFAULT_BASE,
    workers: int = 1,
    scheduler: str | None = None,
    parts: str | None = None,
    file_seconds: int | None = None,
    encoding: str | None = None,
    progress: Progress = silent,
) -> ConversionReport:
    """Write the tables under `paths` as RDF to a file or an open stream.

    The file appears when it is complete; where no table could be read, `out` is left as it was.

    Args:
        paths: files and folders; one of them may be an open binary stream with one file's content.
        out: a file, or an open binary stream.
        format: the RDF format by name, suffix or media type; None goes by the suffix of `out`.
        format_in: what the stream holds (``csv``, ``xlsx``, ``text/html``, …); None looks at the content.
        mapping: as for `build`, like `base`, `workers`, `scheduler`, `parts`, `file_seconds`, `encoding`, `progress`.

    Raises `UsageError` if there is no table or no format, `MappingError`, `StorageError`, `MissingExtraError`.

    >>> import kgtable
    >>> report = kgtable.convert("samples/planets.csv", "planets.ttl")
    >>> [table.id for table in report.tables], report.errors
    (['planets'], ())
    """
    runner = _runner(scheduler, parts)
    from kgtable.building.assembly import convert_tables
    from kgtable.building.convert import ConversionOptions
    from kgtable.tables.limits import ReadLimits

    named = isinstance(out, str | os.PathLike)
    chosen = Format.of(format) if format else Format.from_suffix(str(out) if named else "")
    if chosen is None:
        problem = f"The suffix of {out} names no RDF format." if named else "A stream has no suffix."
        raise UsageError(problem, hint="Give a format, such as turtle.")
    limits = ReadLimits.of_seconds(file_seconds)
    settings = ConversionOptions(Namespaces(base), chosen, _mapping(mapping), limits, _codec(encoding))
    with ExitStack() as stack:
        files = _files(paths, format_in, stack)
        if not isinstance(out, str | os.PathLike):
            return convert_tables(files, out, settings, workers=workers, progress=progress, runner=runner)
        with suppress(_NothingReadError), output_file(Path(out)) as handle:
            report = convert_tables(files, handle, settings, workers=workers, progress=progress, runner=runner)
            if not report.tables:
                raise _NothingReadError
    return report


def _runner(scheduler: str | None, parts: str | None) -> JobRunner | None:
    if scheduler is None and parts is None:
        return None
    if scheduler is None or parts is None:
        raise UsageError(
            "A Dask scheduler and a place for the parts belong together.",
            hint="Give scheduler, such as tcp://host:8786, and parts, a folder that the workers can write.",
        )
    from kgtable.building.distributed import Scheduler

    return Scheduler(scheduler, parts).run


class _NothingReadError(Exception):
    """No file could be read as a table: the output is discarded."""


def validate(path: PathLike, *, most: int = MOST_LISTED) -> ValidationReport:
    """Check an RDF file, or the graph that the tables in a file or folder become, by SHACL.

    At most `most` violations are listed. Raises `MissingExtraError` without pySHACL, `GraphError` for RDF
    that cannot be parsed, `UsageError` if there is no table.
    """
    from kgtable.graph.validate import validate as validate_graph

    path = Path(path)
    if path.is_file() and path.suffix.lower() in RDF_SUFFIXES:
        return validate_graph(path, most=most)
    with TemporaryDirectory(prefix="kgtable-") as folder:
        text = Path(folder) / "tables.nq"
        if not convert(path, text).tables:
            raise UsageError(f"Nothing in {path} could be read as a table.")
        return validate_graph(text, most=most)


def _paths(paths: PathLike | Sequence[PathLike]) -> Sequence[PathLike]:
    listed = [paths] if isinstance(paths, str | os.PathLike) else paths
    if not isinstance(listed, Sequence) or not all(isinstance(path, str | os.PathLike) for path in listed):
        raise ArgumentError(f"paths takes a path or a list of paths, not {paths!r}.")
    return listed


def _files(
    paths: PathLike | IO[bytes] | Sequence[PathLike | IO[bytes]], format_in: str | None, stack: ExitStack
) -> Sequence[PathLike]:
    """The paths, an open stream among them saved to a file that lives as long as the `stack`."""
    from kgtable.tables.discovery import save_stream

    listed = paths if isinstance(paths, Sequence) and not isinstance(paths, str) else [paths]
    streams = [path for path in listed if not isinstance(path, str | os.PathLike)]
    if len(streams) > 1:
        raise UsageError("Only one stream can be read at once.", hint="Save the others to files.")
    if format_in is not None and not streams:
        raise UsageError("Files are known by their suffix: format_in is for a stream.", hint="Rename the file instead.")
    found: list[PathLike] = []
    for path in listed:
        if isinstance(path, str | os.PathLike):
            found.append(path)
        elif hasattr(path, "read"):
            folder = stack.enter_context(TemporaryDirectory(prefix="kgtable-"))
            found.append(save_stream(path, Path(folder), format_in))
        else:
            raise ArgumentError(f"convert: paths takes paths or an open binary stream, not {path!r}.")
    return found


def _mapping(given: PathLike | UserMapping | None) -> UserMapping | None:
    from kgtable.ontology.mapping import UserMapping

    if given is None or isinstance(given, UserMapping):
        return given
    return UserMapping.load(Path(given))


def _codec(encoding: str | None) -> str | None:
    from kgtable.tables.readers.encoding import UNKNOWN_ENCODING_HINT, codec_of

    codec = None if encoding is None else codec_of(encoding)
    if encoding is not None and codec is None:
        raise UsageError(f"Unknown encoding {encoding!r}.", hint=UNKNOWN_ENCODING_HINT)
    return codec


def open(directory: PathLike) -> KnowledgeGraph:
    """Open the graph in a directory.

    Raises `GraphNotFoundError` if there is none, `GraphVersionError` for a foreign directory.
    """
    from kgtable.knowledge_graph import KnowledgeGraph

    return KnowledgeGraph(directory)
