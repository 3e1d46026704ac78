"""Graphs made and files written: what `kgtable.api` offers beside opening a graph."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING

from kgtable.errors import GraphError, UsageError
from kgtable.graph.generation import GraphDirectory
from kgtable.graph.progress import Progress, silent
from kgtable.graph.storage import whole_file
from kgtable.graph.terms import DEFAULT_BASE, Namespaces
from kgtable.graph.writing import Format

if TYPE_CHECKING:
    from kgtable.api import KnowledgeGraph
    from kgtable.graph.findings import ValidationReport
    from kgtable.graph.report import ConversionReport
    from kgtable.index.remembering import RememberingEmbedder
    from kgtable.ontology.mapping import Mapping

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
    `kgtable.graph.dialects.DIALECTS`. See `kgtable.graph.connecting.connect` for the errors raised.
    """
    from kgtable.api import KnowledgeGraph
    from kgtable.graph.connecting import connect as connect_directory

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
    from kgtable.api import KnowledgeGraph
    from kgtable.graph.build import build_graph
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
    it is complete. See `kgtable.graph.convert.convert_tables`.
    """
    from kgtable.graph.conversion import Settings
    from kgtable.graph.convert import convert_tables

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
    from kgtable.index.embedding import embedder_or_lexical
    from kgtable.index.remembering import RememberingEmbedder

    model = embedder_or_lexical(embedding)
    if model is None:
        return None
    remembering = RememberingEmbedder(model)
    with suppress(GraphError):
        remembering.know_names_of(directory.current().index_path)
    return remembering


def _mapping(path: Path | str | None) -> Mapping | None:
    from kgtable.ontology.mapping import Mapping

    return None if path is None else Mapping.load(Path(path))
