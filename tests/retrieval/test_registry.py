from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import kgtable
from kgtable.errors import RetrievalError
from kgtable.index import embedding
from kgtable.retrieval.table_texts import TableTexts
from kgtable.retrieval.whole_table import BM25Retriever


class Letters:
    """Embeds a text as its counts of letters."""

    name = "letters"
    dimension = 26

    def __init__(self) -> None:
        self.texts = 0

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.texts += len(texts)
        counts = np.array([[text.lower().count(chr(97 + i)) for i in range(26)] for text in texts])
        return (counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1)).astype(np.float32)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> kgtable.KnowledgeGraph:
    folder = tmp_path_factory.mktemp("tables")
    (folder / "moons.csv").write_text("Moon,Planet\nTitan,Saturn\nEuropa,Jupiter\n", encoding="utf-8")
    (folder / "rivers.csv").write_text("River,Country\nGlomma,Norway\n", encoding="utf-8")
    (folder / "prizes.csv").write_text("Prize,Year\nPhysics,1903\n", encoding="utf-8")
    return kgtable.build(folder, folder.with_name("graph"), embedding="none")


def test_bm25_over_the_graph_is_bm25_over_its_tables(graph: kgtable.KnowledgeGraph) -> None:
    question = "Which planet has the moon Titan?"
    found = graph.retrieve(question, k=3, method="bm25", format="markdown")
    tables = [view.table for view in graph.tables.values()]
    direct = BM25Retriever(TableTexts.write(tables, "markdown"), lambda _: ()).retrieve(question, 3)
    assert found.tables == direct.tables
    assert found.tables[0].table == "moons"
    assert [(t.row, t.column) for t in found.triples] == [(1, 0), (1, 1), (2, 0)]
    assert found.trace["format"] == "markdown"


def test_dense_keeps_its_vectors_on_disk(
    graph: kgtable.KnowledgeGraph, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGTABLE_CACHE", str(tmp_path))
    embedder = Letters()
    monkeypatch.setattr(embedding, "load_embedder", lambda name: embedder)
    assert graph.retrieve("Glomma Norway", method="dense", format="csv").tables[0].table == "rivers"
    embedded = embedder.texts
    again = kgtable.open(graph.path).retrieve("Glomma Norway", method="dense", format="csv")
    assert again.tables[0].table == "rivers"
    assert embedder.texts == embedded


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "oracle"}, "no method 'oracle'"),
        ({"method": "bm25", "format": "poem"}, "no table format 'poem'"),
        ({"method": "dense", "embedding": "none"}, "cannot do without an embedding"),
        ({"method": "bm25", "format": "written-schema"}, "written by a language model"),
    ],
)
def test_what_cannot_be_chosen(graph: kgtable.KnowledgeGraph, options: dict[str, str], message: str) -> None:
    with pytest.raises(RetrievalError, match=message):
        graph.retrieve("?", **options)
