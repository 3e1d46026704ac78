"""`trag:published=yes` beside the paper's procedure (sections 3.2 and 3.3), written once more with dense matrices."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

import kgtable
from kgtable.index.postings import FloatArray
from kgtable.systems.trag.coarse_to_fine import TragRetriever
from kgtable.systems.trag.trag_options import Feature

THINGS, PLACES, WORDS = map(
    str.split,
    (
        "rivers lakes towers bridges mines ports schools banks farms clubs",
        "Norway Chile Kenya Japan Peru Latvia Oman Fiji Cuba Nepal Ghana Malta",
        "list oldest by height with owner and depth per region largest in use staff closed since record yearly",
    ),
)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> kgtable.KnowledgeGraph:
    folder = tmp_path_factory.mktemp("things")
    (folder / "tables").mkdir()
    random = Random(1)
    for number, (thing, place) in enumerate((thing, place) for thing in THINGS for place in PLACES):
        title = f"{thing} of {place} {' '.join(random.sample(WORDS, random.randint(1, 7)))}"
        names = [word.capitalize() for word in random.sample(WORDS, random.randint(2, 6))]
        path = folder / "tables" / f"t{number}.csv"
        path.write_text(",".join(names) + "\n" + ",".join(f"{number}" for _ in names) + "\n", encoding="utf-8")
        path.with_suffix(".json").write_text(f'{{"title": "{title}"}}', encoding="utf-8")
    return kgtable.build(folder / "tables", folder / "kg")


def of_length_one(rows: FloatArray) -> FloatArray:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9))


class DenseProcedure:
    """The order of tables by the paper's equations 3 to 9; by the features of kgtable, and of nothing else."""

    def __init__(self, retriever: TragRetriever, clusters: int, typical: int, tau: float) -> None:
        self.space, self.index = retriever.hypergraph.space, retriever.hypergraph.index
        self.typical, self.tau = typical, tau
        semantic = self.index.embed(list(retriever.hypergraph.texts))
        assert semantic is not None
        self.semantic = semantic
        self.rows = {
            name: np.asarray(found if isinstance(found, np.ndarray) else found.toarray())
            for name, found in self.space.rows.items()
        } | {Feature.SEMANTIC: semantic}
        self.clusters: dict[str, list[FloatArray]] = {}
        for name in self.rows:
            given = semantic if name is Feature.SEMANTIC else self.space.rows[name]  # KMeans may differ on dense rows
            with threadpool_limits(1):
                labels = KMeans(clusters, random_state=42, n_init=10).fit_predict(given)
            self.clusters[name] = [np.flatnonzero(labels == cluster) for cluster in range(clusters)]

    def ranking(self, question: str) -> list[str]:
        asked_vector = self.index.embed([question])
        assert asked_vector is not None
        asked = self.space.of_question(question, asked_vector[0])
        chosen: set[int] = set()
        for name, found in self.rows.items():
            fits: list[tuple[float, list[int]]] = []
            for members in self.clusters[name]:
                near = of_length_one(found[members]) @ of_length_one(found[members].mean(0))
                best = members[np.argsort(-near, kind="stable")[: self.typical]]
                fits.append((float((of_length_one(found[best]) @ of_length_one(asked[name])).mean()), members.tolist()))
            chosen |= set(max(fits, key=lambda fit: fit[0])[1])
        nodes = np.array(sorted(chosen))
        similar = self.semantic[nodes] @ self.semantic[nodes].T
        similar[similar < self.tau] = 0
        step = similar / similar.sum(axis=1, keepdims=True)
        start = np.clip(self.semantic[nodes] @ asked_vector[0], 0, None)
        start = start / start.sum()
        found = np.linalg.solve(np.eye(len(nodes)) - 0.85 * step, 0.15 * start)
        ids = self.index.corpus.table_ids
        return [ids[node] for node in nodes[np.argsort(-found, kind="stable")]]


def test_its_ten_best_tables_are_those_of_the_dense_procedure(
    graph: kgtable.KnowledgeGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGTABLE_CACHE", str(tmp_path))
    questions = [f"How high are the {thing} in {place}?" for thing, place in zip(THINGS, PLACES, strict=False)]
    method = "trag:published=yes,clusters=4,typical=10"
    retriever = graph.retrievers.get(method)
    assert isinstance(retriever, TragRetriever)
    dense = DenseProcedure(retriever, clusters=4, typical=10, tau=0.3)
    shared = [
        len(
            set(dense.ranking(question)[:10])
            & {found.table for found in graph.retrieve(question, 1, method).tables[:10]}
        )
        for question in questions
    ]
    assert sum(shared) / (10 * len(shared)) >= 0.99
