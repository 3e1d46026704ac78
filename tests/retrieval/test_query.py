from __future__ import annotations

import pytest

from kgtable.index.open import GraphIndex
from kgtable.retrieval.question_terms import ASKING, Query


def test_terms_are_those_the_graph_knows_each_once(index: GraphIndex) -> None:
    query = Query.of("Total gold, gold and platinum: how many?", index.corpus)
    assert [index.corpus.terms[number] for number in query.terms.tolist()] == ["total", "gold"]
    assert query.asking.tolist() == [True, False]
    weights = index.corpus.statistics.term_weight[query.terms]
    assert query.weights.tolist() == pytest.approx([weights[0] * ASKING, weights[1]])


def test_texts_made_up_of_its_words_are_marked(index: GraphIndex) -> None:
    query = Query.of("Is the Old Bay Bridge older than Norway?", index.corpus)
    whole = {text for text, marked in zip(index.corpus.texts, query.whole, strict=True) if marked}
    assert whole == {"old bay bridge", "norway", "bridge"}


@pytest.mark.parametrize(
    ("question", "expected"),
    [("How many medals?", True), ("what was the change in revenue", True), ("Who won the race?", False)],
)
def test_whether_a_number_is_asked_for(index: GraphIndex, question: str, expected: bool) -> None:
    assert Query.of(question, index.corpus).asks_for_number is expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When was the bridge opened?", True),
        ("in which fiscal year was revenue largest", True),
        ("What years does the table show?", True),
        ("What was the change in 2019?", False),
        ("How many years did it take?", False),
    ],
)
def test_whether_a_date_is_asked_for(index: GraphIndex, question: str, expected: bool) -> None:
    assert Query.of(question, index.corpus).asks_for_date is expected
