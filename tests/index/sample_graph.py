"""A small graph for the tests of index and retrieval, and an embedding that needs no model."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from kgtable.building.generations import Generation
from kgtable.building.pipeline import build_graph
from kgtable.index.embedding import Embedder, Matrix, normalise
from kgtable.index.graph_index import index_step, is_indexed
from kgtable.text.words import terms
from tests.table_files import write_files

TABLES = {
    "medals": "Rank,Nation,Gold,Silver\n1,Norway,12,8\n2,Kenya,7,9\n3,Peru,7,1\n",
    "bridges": ('Bridge,Opened,Length (m)\nOld Bay Bridge,31 Dec. 1921,"1,766"\nNew Bay Bridge,1 May 1988,884\n'),
    "income": (
        ",2018,2019\nRevenue:,,\n- Cloud,120,150\n- Licences,80,70\nTotal revenue,200,220\n"
        "Costs:,,\n- Cloud,60,75\nTotal costs,60,75\n"
    ),
}
SIDECARS = {
    "medals": '{"title": "Winter games", "heading": ["Medal table"]}',
    "income": ('{"title": "Annual report", "pre_text": ["Acme plc sells software. Amounts are in $ millions."]}'),
}


class WordEmbedder:
    """A vector a text from its words' hashes: texts that share words are similar."""

    name = "words"
    dimension = 64

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.asked += texts
        rows = np.zeros((len(texts), self.dimension))
        for row, text in enumerate(texts):
            for term in terms(text):
                rows[row, zlib.crc32(term.encode()) % self.dimension] += 1
        return normalise(rows)


def load_words(name: str) -> Embedder | None:
    """Stands in for `kgtable.index.embedding.embedder_or_lexical`."""
    return None if name == "none" else WordEmbedder()


def write_tables(folder: Path) -> Path:
    """Write `TABLES` and `SIDECARS` into a folder."""
    write_files(folder, SIDECARS, ".json")
    return write_files(folder, TABLES)


def build(folder: Path, directory: Path, embedding: str = "words") -> Generation:
    """Bring graph and index up to date, as `kgtable.api.build` does."""
    return build_graph(
        [folder], directory, after=[index_step(embedding, load=load_words)],
        is_complete=partial(is_indexed, embedding=embedding, load=load_words),
    ).generation  # fmt: skip
