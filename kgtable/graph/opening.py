"""Any source of statements as an Oxigraph store to read from."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import rdflib
from pyoxigraph import RdfFormat, Store

from kgtable.errors import GraphError


@contextmanager
def opened(source: Store | Path | rdflib.Graph) -> Iterator[Store]:
    """A store on disk with the statements of the source, which keeps those of one subject together.

    A store's directory is opened as it is; files, rdflib graphs and stores that may be in memory are
    copied to a temporary one. Raises `GraphError` where a file or directory is missing, of no known
    kind, or cannot be parsed.
    """
    if isinstance(source, Path) and source.is_dir():
        yield _read_only(source)
        return
    with tempfile.TemporaryDirectory(prefix="kgtable-") as folder:
        store = Store(folder)
        if isinstance(source, Path):
            _load(store, source)
        else:
            text = _nquads(source)
            store.bulk_load(text, format=RdfFormat.N_QUADS)
        yield store
        del store


def _nquads(source: Store | rdflib.Graph) -> bytes:
    if isinstance(source, Store):
        return source.dump(format=RdfFormat.N_QUADS) or b""
    format_ = "nquads" if isinstance(source, rdflib.Dataset) else "nt"
    return source.serialize(format=format_, encoding="utf-8")


def _read_only(directory: Path) -> Store:
    try:
        return Store.read_only(str(directory))
    except (OSError, RuntimeError) as error:  # a RuntimeError tells of damaged files
        raise GraphError(
            f"{directory} cannot be opened as a store: {error}.",
            hint="Give an RDF file or a store's directory.",
        ) from error


def _load(store: Store, path: Path) -> None:
    format_ = RdfFormat.from_extension(path.suffix.lstrip(".").lower())
    if format_ is None:
        raise GraphError(
            f"{path}: the suffix names no RDF format.", hint="Use .ttl, .trig, .nt, .nq, .jsonld or .rdf."
        )
    try:
        store.bulk_load(path=str(path), format=format_)
    except SyntaxError as error:
        raise GraphError(f"{path}, line {error.lineno}: {error.msg}.") from error
    except OSError as error:
        raise GraphError(f"{path} cannot be read: {error.strerror or error}.") from error
