"""Features, hyperedges and their upkeep."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kgtable.index.embedding import Matrix, normalise
from kgtable.index.inferred.column_profiles import TableHead
from kgtable.systems.trag.hypergraph import Hypergraph
from kgtable.systems.trag.table_features import FeatureSpace, linearised
from kgtable.systems.trag.trag_options import Feature

TOPICS = {"river": ("River", "Length (km)", "Mouth"), "match": ("Date", "Opponent", "Score", "Attendance", "Result")}


def corpus(count: int = 12) -> tuple[list[str], list[str], Matrix]:
    """Tables of two topics by turns: ids, linearised texts, vectors near one of two directions."""
    ids, texts, rows = [], [], []
    for number in range(count):
        topic = list(TOPICS)[number % 2]
        ids.append(f"{topic}-{number}")
        texts.append(linearised(TableHead(ids[-1], f"{topic} tables {number}", (), TOPICS[topic])))
        rows.append([1.0, 0.01 * number] if topic == "river" else [0.01 * number, 1.0])
    return ids, texts, normalise(np.array(rows).reshape(-1, 2))


def topics(hypergraph: Hypergraph, feature: Feature) -> list[set[str]]:
    """The topics of the members of each hyperedge of a feature."""
    return [
        {hypergraph.tables[member].split("-")[0] for member in edge.members}
        for edge in hypergraph.hyperedges
        if edge.feature is feature
    ]


def test_each_feature_tells_the_topics_apart() -> None:
    ids, texts, vectors = corpus()
    made = Hypergraph.build(ids, texts, FeatureSpace.of(texts, vectors), 2, 3)
    for feature in Feature:
        assert sorted(map(sorted, topics(made, feature))) == [["match"], ["river"]]
    assert [len(edge.typical) for edge in made.hyperedges] == [3] * 6
    assert {edge.name for edge in made.hyperedges} >= {"semantic-0", "structural-1", "heuristic-1"}


def test_a_question_goes_to_the_hyperedge_of_its_topic() -> None:
    ids, texts, vectors = corpus()
    space = FeatureSpace.of(texts, vectors)
    made = Hypergraph.build(ids, texts, space, 2, 3)
    asked = space.of_question("Which opponent had the best score?", np.array([0.1, 0.9], dtype=np.float32))
    for edge in made.nearest({name: asked[name] for name in (Feature.SEMANTIC, Feature.HEURISTIC)}):
        assert {ids[member].split("-")[0] for member in edge.members} == {"match"}


def test_what_is_saved_is_what_is_loaded(tmp_path: Path) -> None:
    ids, texts, vectors = corpus()
    space = FeatureSpace.of(texts, vectors)
    made = Hypergraph.build(ids, texts, space, 2, 3, "words")
    made.save(tmp_path / "saved.json")
    loaded = Hypergraph.load(tmp_path / "saved.json", ids, texts, space, "words")
    assert loaded is not None
    assert [(e.name, e.members.tolist(), e.typical.tolist()) for e in loaded.hyperedges] == [
        (e.name, e.members.tolist(), e.typical.tolist()) for e in made.hyperedges
    ]
    assert Hypergraph.load(tmp_path / "saved.json", ids, texts, space, "another") is None
    for damaged in ("{", "[]", '{"version": 1}', '{"version": 0}'):
        (tmp_path / "saved.json").write_text(damaged)
        assert Hypergraph.load(tmp_path / "saved.json", ids, texts, space, "words") is None
