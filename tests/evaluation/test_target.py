from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import pytest

from kgtable.errors import RetrievalError
from kgtable.evaluation.benchmarks import target
from kgtable.evaluation.benchmarks.target import TargetRetriever, as_target_class

PORTS = [["Port", "Country"], ["Skarv", "Norway"]]
CORPUS = [
    {
        "database_id": [1, 1],
        "table_id": ["ports", "rivers"],
        "table": [PORTS, [["River", "Length"], ["Rhine", 1230], ["Elbe", None]]],
        "context": [{"table_page_title": "Harbours"}, {}],
    },
    {
        "database_id": [2],
        "table_id": ["ports"],
        "table": [[["Prize", "Year"], ["Physics", 1903]]],
        "context": [None],
    },
]


class Base(ABC):
    """What TARGET's class of retrievers asks of its subclasses."""

    def __init__(self, expected_corpus_format: str = "nested array") -> None:
        self.expected_corpus_format = expected_corpus_format

    def retrieve_batch(self, queries: dict[str, list[str]], dataset_name: str, top_k: int) -> list[object]:
        return [self.retrieve(query, dataset_name, top_k) for query in queries["query"]]

    @abstractmethod
    def embed_corpus(self, dataset_name: str, corpus: object) -> None: ...

    @abstractmethod
    def retrieve(self, query: str, dataset_name: str, top_k: int, **kwargs: object) -> object: ...


@pytest.mark.parametrize("format", ["csv", "schema", "heading-table"])
def test_tables_are_named_by_database_and_table(format: str) -> None:
    retriever = TargetRetriever(format=format)
    retriever.embed_corpus("small", iter(CORPUS))
    assert retriever.retrieve("How long is the Rhine?", "small", 1) == [(1, "rivers")]
    assert retriever.retrieve("prize of physics", "small", 5) == [(2, "ports")]
    assert retriever.retrieve("wind", "small", 5) == []


def test_it_can_be_made_a_subclass_of_targets_class() -> None:
    retriever = as_target_class(Base)(method="bm25", format="csv")
    assert isinstance(retriever, Base)
    assert retriever.expected_corpus_format == "nested array"
    retriever.embed_corpus("small", CORPUS)
    assert retriever.retrieve_batch({"query": ["Skarv"]}, dataset_name="small", top_k=3) == [[(1, "ports")]]


def test_dense(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    class Lengths:
        name, dimension = "lengths", 2

        def embed(self, texts: Sequence[str]) -> np.ndarray:
            found = np.array([[1.0, float("Rhine" in text)] for text in texts], dtype=np.float32)
            return found / np.linalg.norm(found, axis=1, keepdims=True)

    monkeypatch.setenv("KGTABLE_CACHE", str(tmp_path))
    monkeypatch.setattr(target, "load_embedder", lambda name: Lengths())
    retriever = TargetRetriever("dense")
    retriever.embed_corpus("small", CORPUS)
    assert retriever.retrieve("Rhine", "small", 1) == [(1, "rivers")]


def test_what_is_wrong_is_told() -> None:
    with pytest.raises(RetrievalError, match="no method 'hybrid'"):
        TargetRetriever("hybrid")
    with pytest.raises(RetrievalError, match="no table format"):
        TargetRetriever(format="pdf")
    retriever = TargetRetriever()
    with pytest.raises(RetrievalError, match="no corpus 'small'"):
        retriever.retrieve("?", "small", 1)
    with pytest.raises(RetrievalError, match="no 'table'"):
        retriever.embed_corpus("small", [{"database_id": [1], "table_id": [1]}])
    with pytest.raises(RetrievalError, match="differ in length"):
        retriever.embed_corpus("small", [{**CORPUS[1], "table": []}])
