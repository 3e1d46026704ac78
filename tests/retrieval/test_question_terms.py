from __future__ import annotations

import pytest

from kgtable.index.graph_index import GraphIndex
from kgtable.llm.scripted import ScriptedLLM
from kgtable.retrieval.labels import MOST_LABELS, extract_labels, labels_by_model
from kgtable.retrieval.question_terms import ASKING, Query


@pytest.mark.parametrize(
    ("question", "labels"),
    [
        ("How long is the Old Bay Bridge?", ("old bay bridge",)), ("How many nations won gold?", ("nation", "gold")),
        ('Which cost is called "- Cloud" in 2019?', ("- cloud", "cost", "2019")),
        ("What is Norway's silver count?", ("norway", "silver")), ("What about the 7?", ()),
        ("Was heißt das auf Deutsch?", ()), ("", ()), ("?!", ()),
    ],
)  # fmt: skip
def test_labels_of_a_question(index: GraphIndex, question: str, labels: tuple[str, ...]) -> None:
    assert extract_labels(question, index) == labels


def test_an_endless_question_has_few_labels(index: GraphIndex) -> None:
    question = " ".join(f"norway{'x' * (number % 3)} gold bridge income{number}" for number in range(30_000))
    assert 0 < len(extract_labels(question, index)) <= MOST_LABELS


def test_labels_by_a_model_are_folded_and_distinct() -> None:
    llm = ScriptedLLM([{"labels": ["Net Income", " net income ", "", "2019"]}])
    assert labels_by_model("Net income 2019?", llm) == ("net income", "2019")
    assert llm.requests[0].stage == "labels"
    assert llm.requests[0].messages[-1]["content"] == "Net income 2019?"


def test_terms_are_those_the_graph_knows_each_once(index: GraphIndex) -> None:
    query = Query.of("Total gold, gold and platinum: how many?", index.corpus)
    assert [index.corpus.terms[number] for number in query.terms.tolist()] == ["total", "gold"]
    assert query.asking.tolist() == [True, False]
    weights = index.corpus.statistics.term_weight[query.terms]
    assert query.weights.tolist() == pytest.approx([weights[0] * ASKING, weights[1]])


@pytest.mark.parametrize(
    ("question", "expected"),
    [("How many medals?", True), ("what was the change in revenue", True), ("Who won the race?", False)],
)
def test_whether_a_number_is_asked_for(index: GraphIndex, question: str, expected: bool) -> None:
    assert Query.of(question, index.corpus).asks_for_number is expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When was the bridge opened?", True), ("in which fiscal year was revenue largest", True),
        ("What years does the table show?", True), ("What was the change in 2019?", False),
        ("How many years did it take?", False),
    ],
)  # fmt: skip
def test_whether_a_date_is_asked_for(index: GraphIndex, question: str, expected: bool) -> None:
    assert Query.of(question, index.corpus).asks_for_date is expected
