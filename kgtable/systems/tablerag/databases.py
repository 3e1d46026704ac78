"""The schema and cell databases of the tables of a graph, made when first asked for and kept on disk.

A table's databases are kept under a key of the table's own content, so that after another build only the
tables that changed are read and encoded again. Nothing is written into the graph's directory: the folder
is a part of the user's cache, and may be removed at any time.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kgtable.graph.table_content import TableContent
from kgtable.index.embedding import Embedder, Matrix
from kgtable.systems.tablerag.entry_search import EntrySearch, Searched, SearchMode
from kgtable.systems.tablerag.vocabulary import CellEntry, TableVocabulary, make_vocabulary

log = logging.getLogger(__name__)

FORMAT = 1
KEPT_ENTRIES = 400_000
"""Entries of tables that are kept in memory."""

BATCH = 512


@dataclass(frozen=True)
class TableDatabases:
    """A table's vocabulary with the search over its columns and over its cells.

    `encoded` counts the texts that had to be encoded for it.
    """

    vocabulary: TableVocabulary
    columns: EntrySearch
    cells: EntrySearch
    encoded: int = 0


class DatabaseShelf:
    """The databases of a graph's tables.

    Args:
        content: reads a table's texts.
        key: what a table's databases are kept on disk under; None where they are not to be kept.
        folder: where they are kept.
        budget: cell entries of a table.
        columns: how columns are compared with queries.
        cells: how cells are compared with queries.
        embedder: encodes them; None leaves the comparison lexical.

    May be used from several threads.
    """

    def __init__(
        self,
        content: Callable[[str], TableContent],
        key: Callable[[str], str | None],
        folder: Path,
        *,
        budget: int,
        columns: SearchMode,
        cells: SearchMode,
        embedder: Callable[[], Embedder | None],
    ) -> None:
        self._content, self._key, self._folder = content, key, folder
        self._budget, self._load = budget, embedder
        self._columns, self._cells = columns, cells
        self._kept: OrderedDict[str, TableDatabases] = OrderedDict()
        self._lock = threading.RLock()
        self.encoded = 0
        """Texts encoded so far: those of queries are not counted."""

    def get(self, id: str) -> TableDatabases:
        """The databases of a table. Raises `GraphNotFoundError` where there is none."""
        with self._lock:
            if id in self._kept:
                self._kept.move_to_end(id)
                return self._kept[id]
            found = self._kept[id] = self._open(id)
            self.encoded += found.encoded
            while len(self._kept) > 1 and self._size() > KEPT_ENTRIES:
                self._kept.popitem(last=False)
            return found

    def vectors(self, texts: Sequence[str]) -> list[Matrix | None]:
        """The vector of each query; None where the comparison is lexical."""
        embedder = self._embedder()
        if embedder is None or not texts:
            return [None] * len(texts)
        return list(embedder.embed(texts))

    def encode(self, texts: Sequence[str]) -> Matrix | None:
        """Vectors of texts that a baseline looks among, counted and not kept; None without an embedding."""
        embedder = self._load()
        if embedder is None or not texts:
            return None
        self.encoded += len(texts)
        return embedder.embed(texts)

    def encode_query(self, text: str) -> Matrix | None:
        """The vector of a question that a baseline asks with; None without an embedding."""
        embedder = self._load()
        return None if embedder is None else np.asarray(embedder.embed([text])[0])

    def content(self, id: str) -> TableContent:
        """The texts of a table, read anew."""
        return self._content(id)

    def _size(self) -> int:
        return sum(len(kept.vocabulary.cells) for kept in self._kept.values())

    def _embedder(self) -> Embedder | None:
        return self._load() if self._columns.embeds or self._cells.embeds else None

    def _open(self, id: str) -> TableDatabases:
        key = self._key(id)
        vocabulary = self._vocabulary(id, key)
        columns = [Searched(entry.text) for entry in vocabulary.columns]
        cells = [Searched(entry.value, entry.name) for entry in vocabulary.cells]
        names, new_names = self._encoded([entry.text for entry in vocabulary.columns], key, self._columns)
        values, new_values = self._encoded(list(map(encoded_text, vocabulary.cells)), key, self._cells)
        return TableDatabases(
            vocabulary,
            EntrySearch(columns, self._columns, names),
            EntrySearch(cells, self._cells, values),
            new_names + new_values,
        )

    def _vocabulary(self, id: str, key: str | None) -> TableVocabulary:
        path = None if key is None else self._path(key, "json")
        if path is not None:
            with suppress(OSError, ValueError, KeyError, TypeError):
                return TableVocabulary.from_json(json.loads(path.read_text(encoding="utf-8")))
        made = make_vocabulary(self._content(id), self._budget)
        if path is not None:
            text = json.dumps(made.to_json(), ensure_ascii=True, separators=(",", ":"))
            _write(path, text.encode("ascii"))
        return made

    def _encoded(self, texts: Sequence[str], key: str | None, mode: SearchMode) -> tuple[Matrix | None, int]:
        """A vector for each text, and how many had to be made."""
        embedder = self._load() if mode.embeds else None
        if embedder is None:
            return None, 0
        content = hashlib.blake2b("\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=16)
        path = None if key is None else self._path(f"{embedder.name}\0{content.hexdigest()}", "npy")
        if path is not None:
            with suppress(OSError, ValueError):
                found = np.load(path, allow_pickle=False)
                if found.shape == (len(texts), embedder.dimension):
                    return np.asarray(found, dtype=np.float32), 0
        different = list(dict.fromkeys(texts))
        parts = [
            embedder.embed(different[start : start + BATCH]) for start in range(0, len(different), BATCH)
        ]
        rows = np.concatenate(parts) if parts else np.zeros((0, embedder.dimension), dtype=np.float32)
        places = {text: place for place, text in enumerate(different)}
        vectors = rows[[places[text] for text in texts]]
        if path is not None:
            _save(path, vectors.astype(np.float16))
        return np.asarray(vectors.astype(np.float16), dtype=np.float32), len(different)

    def _path(self, key: str, suffix: str) -> Path:
        text = f"{FORMAT}\0{self._budget}\0{key}"
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        return self._folder / digest[:2] / f"{digest}.{suffix}"


def encoded_text(entry: CellEntry) -> str:
    """The text that the vector of a cell entry stands for."""
    return f"{entry.name}: {' '.join(entry.value.split())[:400]}"


def _save(path: Path, array: npt.NDArray[np.float16]) -> None:
    from io import BytesIO

    out = BytesIO()
    np.save(out, array, allow_pickle=False)
    _write(path, out.getvalue())


def _write(path: Path, content: bytes) -> None:
    """Write a file of the cache as a whole; what cannot be kept is made again the next time."""
    partial = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(content)
        partial.replace(path)
    except OSError as error:
        log.warning("The databases of tables cannot be kept in %s: %s", path.parent, error.strerror or error)
