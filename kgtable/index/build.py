"""Building the index of a graph's generation: the step that follows the conversion of its tables."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kgtable.errors import VocabularyIndexError
from kgtable.graph.catalogue import Catalogue
from kgtable.graph.generation import Generation, GraphDirectory
from kgtable.graph.storage import storage_errors
from kgtable.index.assembly import assemble
from kgtable.index.contents import are_kept, keep_contents, table_text
from kgtable.index.corpus import NONE, Corpus
from kgtable.index.embedding import DEFAULT, Embedder, embedder_or_lexical
from kgtable.index.lexical import write_grams
from kgtable.index.postings import Integers
from kgtable.index.reading import TableContent

VERSION = 3
"""Rises when the files of an index change."""

_NUMERAL = re.compile(r"[\W\d_]*")


def index_step(
    embedding: str = DEFAULT, workers: int = 1, load: Callable[[str], Embedder | None] = embedder_or_lexical
) -> Callable[[Generation], None]:
    """The step for `kgtable.graph.build.build_graph(after=…)` that builds the index of a generation."""
    return partial(build_index, embedding=embedding, workers=workers, load=load)


def build_index(
    generation: Generation,
    *,
    embedding: str = DEFAULT,
    workers: int = 1,
    load: Callable[[str], Embedder | None] = embedder_or_lexical,
) -> None:
    """Write the index of a generation into its folder.

    Tables that the previous generation held in the same state are not read again, and no text is
    embedded that was embedded there. Raises `StorageError`, `EmbeddingError`.
    """
    _write_index(generation, generation.index_path, embedding=embedding, workers=workers, load=load)


def _write_index(
    generation: Generation,
    folder: Path,
    *,
    embedding: str,
    workers: int,
    load: Callable[[str], Embedder | None],
) -> None:
    with storage_errors(folder), _sqlite_errors():
        folder.mkdir()
        previous = _previous(generation)
        ids = list(Catalogue.load(generation.catalogue_path).tables)
        table_texts: list[str] = []
        contents = keep_contents(generation, ids, previous, workers, folder)
        corpus = _write_corpus(_noting(contents, table_texts), folder)
        embedder = load(embedding)
        if embedder is not None:
            write_vectors(corpus, table_texts, folder, embedder, previous)
        _write_about(folder, embedding, "none" if embedder is None else embedder.name, len(ids))


def _noting(contents: Iterable[TableContent], texts: list[str]) -> Iterator[TableContent]:
    """The contents; what each table's vector will stand for is added to `texts` as they pass."""
    for content in contents:
        texts.append(table_text(content))
        yield content


@contextmanager
def _sqlite_errors() -> Iterator[None]:
    """SQLite's errors, such as that of a full disk, as those of the system."""
    try:
        yield
    except sqlite3.Error as error:
        raise OSError(str(error)) from error


def write_lexical(contents: Iterable[TableContent], folder: Path) -> None:
    """Write an index of these tables without vectors into an empty folder."""
    corpus = _write_corpus(contents, folder)
    _write_about(folder, "none", "none", len(corpus.table_ids))


def _write_corpus(contents: Iterable[TableContent], folder: Path) -> Corpus:
    corpus = assemble(contents, folder)
    write_grams(corpus.texts, folder)
    return corpus


def _write_about(folder: Path, asked: str, embedding: str, tables: int) -> None:
    about = {"version": VERSION, "asked": asked, "embedding": embedding, "tables": tables}
    (folder / "index.json").write_text(json.dumps(about), encoding="utf-8")


def ensure_index(
    directory: GraphDirectory,
    *,
    embedding: str = DEFAULT,
    workers: int = 1,
    load: Callable[[str], Embedder | None] = embedder_or_lexical,
) -> bool:
    """Build the index of the current generation again if it is missing or has another embedding.

    Readers see the old index or the new one, whole. Gives whether it was built.
    """
    with directory.building():
        generation = directory.current()
        if _fits(generation.index_path, embedding, load):
            return False
        draft, old = generation.path / "index.new", generation.path / "index.old"
        with storage_errors(generation.path):
            for stray in (draft, old):
                shutil.rmtree(stray, ignore_errors=True)
            _write_index(generation, draft, embedding=embedding, workers=workers, load=load)
            if generation.index_path.exists():
                generation.index_path.rename(old)
            draft.rename(generation.index_path)
            shutil.rmtree(old, ignore_errors=True)
    return True


def _fits(folder: Path, embedding: str, load: Callable[[str], Embedder | None]) -> bool:
    """Whether the index in the folder is what a build with this embedding would make."""
    try:
        about = read_about(folder)
    except VocabularyIndexError:
        return False
    if about["asked"] != embedding:
        return False
    lexical_for_want_of_packages = about["embedding"] == "none" != embedding
    return not lexical_for_want_of_packages or load(embedding) is None


def read_about(folder: Path) -> dict[str, Any]:
    """What ``index.json`` says. Raises `VocabularyIndexError` where there is no index of this version."""
    try:
        about = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise VocabularyIndexError(
            f"There is no index in {folder}.", hint="Build the graph again."
        ) from error
    if not isinstance(about, dict) or about.get("version") != VERSION:
        raise VocabularyIndexError(
            f"The index in {folder} was made by another version of kgtable.", hint="Build the graph again."
        )
    return about


def write_vectors(
    corpus: Corpus, table_texts: Sequence[str], folder: Path, embedder: Embedder, previous: Path | None
) -> None:
    """Embed tables, column names, subjects and groups into the index folder."""
    from kgtable.index import vectors

    usable = previous is not None and read_about(previous)["embedding"] == embedder.name
    cache = vectors.VectorCache.load(embedder, previous if usable else None)
    vectors.write_tables(cache, table_texts, folder)
    places = corpus.places
    kinds = {
        "predicates": np.unique(places.column_name),
        "groups": np.unique(places.row_group_label),
        "subjects": np.unique(places.row_label),
    }
    for kind, found in kinds.items():
        texts = [(number, corpus.texts[number]) for number in found[found != NONE].tolist()]
        worded = [
            (number, text) for number, text in texts if kind == "predicates" or not _NUMERAL.fullmatch(text)
        ]
        numbers: Integers = np.array([number for number, _ in worded], dtype=np.int64)
        vectors.write_vocabulary(cache, kind, [text for _, text in worded], numbers, folder)


def _previous(generation: Generation) -> Path | None:
    """The index folder of the generation before, where it can be used."""
    if generation.previous is None:
        return None
    folder = generation.previous.index_path
    try:
        read_about(folder)
        are_kept(folder)
    except (VocabularyIndexError, sqlite3.Error):
        return None
    return folder
