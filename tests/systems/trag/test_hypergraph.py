"""Features, hyperedges and their upkeep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from kgtable.graph.table_content import TableContent
from kgtable.index.embedding import Matrix, normalise
from kgtable.index.postings import FloatArray
from kgtable.systems.trag.hypergraph import Hypergraph
from kgtable.systems.trag.table_features import SHAPE, FeatureSpace, linearised, shape_of, similarities
from kgtable.systems.trag.trag_options import Feature

TOPICS = {
    "river": ("River", "Length (km)", "Mouth"),
    "match": ("Date", "Opponent", "Score", "Attendance", "Result"),
}


def corpus(count: int = 12) -> tuple[list[str], list[str], Matrix]:
    """Tables of two topics by turns: ids, linearised texts, vectors near one of two directions."""
    ids, texts, rows = [], [], []
    for number in range(count):
        topic = list(TOPICS)[number % 2]
        columns = tuple((name, f"ex:{name}") for name in TOPICS[topic])
        ids.append(f"{topic}-{number}")
        texts.append(linearised(TableContent(ids[-1], f"{topic} tables {number}", columns=columns)))
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


def test_typical_tables_are_those_nearest_to_the_centre() -> None:
    ids, texts, vectors = corpus()
    edge = Hypergraph.build(ids, texts, FeatureSpace.of(texts, vectors), 1, 2).hyperedges[0]
    centre = vectors.mean(0)
    assert set(edge.typical) == set(np.argsort(-(vectors @ centre), kind="stable")[:2])


def test_a_question_goes_to_the_hyperedge_of_its_topic() -> None:
    ids, texts, vectors = corpus()
    space = FeatureSpace.of(texts, vectors)
    made = Hypergraph.build(ids, texts, space, 2, 3)
    asked = space.of_question("Which opponent had the best score?", np.array([0.1, 0.9], dtype=np.float32))
    for edge in made.nearest({name: asked[name] for name in (Feature.SEMANTIC, Feature.HEURISTIC)}):
        assert {ids[member].split("-")[0] for member in edge.members} == {"match"}


def test_the_mean_cosine_with_the_typical_tables_decides() -> None:
    ids, texts, vectors = corpus()
    space = FeatureSpace.of(texts, vectors)
    made = Hypergraph.build(ids, texts, space, 2, 3)
    question = space.of_question("scores", normalise(np.array([[0.7, 0.6]]))[0])
    for chosen in made.nearest(question):
        vector = question[chosen.feature]
        means = {
            edge.number: float(similarities(space.rows[edge.feature][edge.typical], vector).mean())
            for edge in made.hyperedges
            if edge.feature is chosen.feature
        }
        assert chosen.number == max(means, key=lambda number: means[number])


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
    assert Hypergraph.load(tmp_path / "saved.json", ids[1:], texts[1:], space, "words") is None
    for damaged in ("{", "[]", '{"version": 1}', '{"version": 0}'):
        (tmp_path / "saved.json").write_text(damaged)
        assert Hypergraph.load(tmp_path / "saved.json", ids, texts, space, "words") is None


@pytest.mark.parametrize("count", [0, 1, 3])
def test_few_tables_make_few_hyperedges(count: int) -> None:
    ids, texts, vectors = corpus(count)
    made = Hypergraph.build(ids, texts, FeatureSpace.of(texts, vectors), 10, 100)
    assert all(len(edge.members) for edge in made.hyperedges)
    assert len([e for e in made.hyperedges if e.feature is Feature.SEMANTIC]) == count


def test_equal_tables_make_one_hyperedge() -> None:
    texts = ["[Table] [Caption] same [Header] a"] * 5
    made = Hypergraph.build(list("abcde"), texts, FeatureSpace.of(texts, None), 3, 2)
    assert [len(edge.members) for edge in made.hyperedges] == [5, 5]


def test_the_shape_of_a_text() -> None:
    shape = dict(
        zip(SHAPE, shape_of("[Table] [Caption] GDP of 2019 (est.) [Header] Total growth"), strict=True)
    )
    assert shape["headers"] == pytest.approx(np.log1p(1))
    assert shape["words in a header"] == pytest.approx(np.log1p(2))
    assert shape["numbers, share"] == shape["years, share"] == pytest.approx(1 / 9)
    assert shape["punctuation, share"] == pytest.approx(3 / 9)
    assert shape["abbreviations, share"] == pytest.approx(1 / 5)
    assert shape_of("") == shape_of("[Table] [Caption]")


def test_the_structural_feature_is_standardised() -> None:
    ids, texts, vectors = corpus()
    long = [f"{text} " + "words " * 200 for text in texts[:1]] + texts[1:]
    rows = np.asarray(FeatureSpace.of(long, vectors).rows[Feature.STRUCTURAL])
    assert np.abs(rows).max(axis=0).min(initial=1, where=np.ptp(rows, axis=0) > 0) > 0.05
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1)
    assert len(ids) == len(rows)


class LettersAndGaps:
    """A shape of two numbers."""

    name = "letters and gaps"

    def measure(self, texts: Sequence[str]) -> FloatArray:
        return np.array([(len(text), text.count(" ")) for text in texts], dtype=np.float32)


def test_the_structural_feature_may_be_measured_otherwise() -> None:
    texts = ["[Table] [Caption] a", "[Table] [Caption] a b c", "[Table] [Caption] a b c d e"]
    space = FeatureSpace.of(texts, None, LettersAndGaps())
    rows = space.rows[Feature.STRUCTURAL]
    assert rows.shape == (3, 2)
    assert space.of_question("a b c d e f", None)[Feature.STRUCTURAL].shape == (2,)
    assert float(rows[0] @ rows[2]) < 0  # standardised: the shortest and the longest lie on either side
    assert FeatureSpace.of([], None).rows[Feature.STRUCTURAL].shape == (0, len(SHAPE))
