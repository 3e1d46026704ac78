"""Words out of passages: which sentence, which of its parts, and what a question asks for."""

from __future__ import annotations

import pytest

from kgtable.answering.answer import Answer
from kgtable.retrieval.result import ScoredPassage
from kgtable.systems.documents.document_answers import TableAnswers
from kgtable.systems.documents.extraction import candidate_spans, extract
from kgtable.systems.documents.passage_sentences import AskedText, question_kind, question_sort

TEXT = """The mill

Wages of the mill rose by $4 million in 2019. The increase was mainly due to new shifts in Bergen. Unpaid leave of
$1.2 million will be settled over a period of 2.5 years. The mill's paper consists of straw, rags and wood. Goodwill is
the excess of the price over the net assets. Officers are elected annually by the owners.

The loan is repaid in March 2024. The mill sold 375,000 reams of paper to 12 printers."""


def passage(text: str, score: float = 1.0) -> ScoredPassage:
    return ScoredPassage("", "d", "a.md", None, (), "", text, score)


@pytest.mark.parametrize(
    ("question", "kind", "sort"),
    [
        ("How many years does the lease run?", "how-long", "time"),
        ("In which year were sales higher?", "when", "time"),
        ("What was the maturity date of the loan?", "when", "time"),
        ("How often does the board meet?", "how-often", "time"),
        ("How many ships were sold?", "how-much", "figure"),
        ("What was the total revenue in 2019?", "amount", "figure"),
        ("What does the cost of sales consist of?", "what-of", "words"),
        ("What is excluded when revenue is stated?", "what-of", "words"),
        ("What caused the increase in costs?", "why", "reason"),
        ("Why did costs increase?", "why", "reason"),
        ("What is goodwill?", "definition", "words"),
        ("According to the report, who is the auditor?", "who", "name"),
        ("Did the company pay a dividend?", "whether", "words"),
        ("Sales of 2019", "other", "words"),
    ],
)
def test_what_is_asked_for(question: str, kind: str, sort: str) -> None:
    assert question_kind(question) == kind
    assert question_sort(kind) == sort


@pytest.mark.parametrize(
    "question", ["what is " + "a" * 50_000 + "!", "what is " + "a " * 50_000, "how " * 20_000]
)
def test_a_long_question_has_a_kind(question: str) -> None:
    assert question_kind(question) in (
        "definition",
        "what-is",
        "how",
    )  # a pattern that tried all splits would hang here


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Over how many years will unpaid leave be settled?", "2.5 years"),
        ("How many reams of paper were sold?", "375,000"),
        ("What was the unpaid leave of the mill?", "$1.2 million"),
        ("When is the loan repaid?", "March 2024"),
        ("Why did wages of the mill rise in 2019?", "new shifts in Bergen"),
        ("What does the paper of the mill consist of?", "straw, rags and wood"),
        ("What is goodwill?", "the excess of the price over the net assets"),
    ],
)
def test_the_words_that_are_asked_for(question: str, said: str) -> None:
    found = extract(question, [passage(TEXT)])
    assert found is not None
    assert said in found.text
    assert found.text in found.sentence.text
    assert 0 < found.share <= found.sentence.share <= 1


def test_a_reason_is_found_in_the_sentence_behind() -> None:
    asked = AskedText("Why did wages of the mill rise in 2019?", [passage(TEXT)])
    [first, *_] = asked.likely_sentences(3)
    assert first.text.startswith("The increase was")
    best_fit = max(asked.sentences, key=lambda sentence: sentence.fit)
    assert best_fit.text.startswith("Wages of the mill")


def test_sentences_without_a_word_of_the_question_are_left_out() -> None:
    assert AskedText("What is zinc?", [passage(TEXT)]).likely_sentences(3) == []
    assert extract("What is zinc?", [passage(TEXT)]) is None
    assert extract("What is zinc?", []) is None


def test_parts_keep_figures_whole() -> None:
    asked = AskedText(
        "What was the price of a share?", [passage("The price of a share was 386.1p, up 3.5%.")]
    )
    said = {span.extract().text for span in candidate_spans(asked, asked.sentences[0])}
    assert "386.1p" in said
    assert not said & {"386", "1p", "3", "5%"}


def test_the_best_table_alone_is_believed_but_never_verified() -> None:
    weights = {"best": -1.0, "confidence-all": -1.0, "confidence-best": 1.0}
    unsure = Answer("q", "5", confidence=0.1)
    sure = Answer("q", "7", confidence=0.9, verified=True)
    chosen = TableAnswers(unsure, sure, 0.05, 0.6).chosen(weights)
    assert (chosen.text, chosen.verified) == ("7", False)
    assert chosen.confidence == pytest.approx(0.54)
    assert "5" in chosen.reasons[1]
    assert TableAnswers(sure, unsure, 0.05, 0.6).chosen(weights) is sure
    assert TableAnswers(unsure, Answer("q", ""), 0.05, 0.6).chosen(weights) is unsure
    assert TableAnswers(unsure).chosen(weights) is unsure
