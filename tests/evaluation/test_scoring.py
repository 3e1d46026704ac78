from __future__ import annotations

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import RR, P, R, nDCG

from kgtable.evaluation.benchmark import BenchmarkQuestion
from kgtable.evaluation.scoring import (
    answer_scores,
    asked,
    precision,
    ranking_scores,
    recall,
    retrieval_scores,
    table_scores,
)
from kgtable.retrieval.result import Retrieval, ScoredTable, ScoredTriple


def triple(table: str, row: int, column: int) -> ScoredTriple:
    return ScoredTriple(table, row, column, "s", "p", "o", None, None, None, None, "cell", 1.0)


FOUND = Retrieval("?", (triple("a", 1, 1), triple("b", 2, 0)), (ScoredTable("a", 2.0), ScoredTable("b", 1.0)))


def test_traced_cells_are_counted_apart_from_matched_ones() -> None:
    cells = (("b", 2, 0), ("c", 1, 1))
    strict = retrieval_scores(
        BenchmarkQuestion("q", "?", (), ("b",), cells, extra={"cells_from": "squall"}), FOUND, 1_000
    )
    assert (strict["recall@1"], strict["recall@3"], strict["cells@100"]) == (0.0, 1.0, 0.5)
    assert strict["mrr"] == 0.5
    mixed = BenchmarkQuestion("q", "?", (), ("b",), cells, extra={"cells_from": "squall+answer"})
    loose = retrieval_scores(mixed, FOUND, 1_000)
    assert loose["matched_cells@1000"] == 0.5
    assert not any(name.startswith("cells@") for name in loose)


def test_budgets_end_at_what_was_asked_for() -> None:
    question = BenchmarkQuestion("q", "?", cells=(("b", 2, 0),), extra={"cells_from": "sql"})
    names = {name for name in retrieval_scores(question, FOUND, 200) if name.startswith("cells")}
    assert names == {"cells@100", "cells@200"}


def test_nothing_found_is_zero_and_counted_as_failed() -> None:
    question = BenchmarkQuestion("q", "?", tables=("z",), cells=(("z", 1, 1),), extra={"cells_from": "sql"})
    scores = retrieval_scores(question, FOUND, 100)
    assert (scores["no_table"], scores["no_cell"], scores["recall@30"]) == (1.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("text", "gold", "scale", "expected"),
    [
        ("44 ships", ("44",), "", {"exact": 0.0, "numeric": 1.0, "contained": 1.0, "match": 1.0}),
        ("Skarv; Fjell", ("Fjell", "Skarv"), "", {"exact": 1.0, "match": 1.0}),
        ("Skarv, Fjell", ("Fjell", "Skarv"), "", {"exact": 1.0}),
        ("Skarv; 2; Fjell; 3", ("Skarv", "2", "Skarv", "2", "Fjell", "3"), "", {"exact": 1.0}),
        ("Skarv and Fjell", ("Fjell", "Skarv"), "", {"exact": 1.0}),
        ("Skarv", ("Fjell", "Skarv"), "", {"exact": 0.0, "contained": 0.0, "match": 0.0}),
        ("Oslo, Norway", ("Oslo, Norway",), "", {"exact": 1.0}),
        ("1,234,000", ("1234",), "thousand", {"exact": 0.0, "numeric": 1.0}),
        ("", ("44",), "", {"exact": 0.0, "numeric": 0.0, "contained": 0.0, "f1": 0.0, "match": 0.0}),
    ],
)
def test_answers(text: str, gold: tuple[str, ...], scale: str, expected: dict[str, float]) -> None:
    scores = answer_scores(BenchmarkQuestion("q", "?", gold, extra={"scale": scale}), text)
    assert expected.items() <= scores.items()


def test_the_resolved_value_of_an_answer_counts_as_well() -> None:
    question = BenchmarkQuestion("q", "?", ("1234",), extra={"scale": "million"})
    assert answer_scores(question, "about one billion", "1234000000")["numeric"] == 1.0


@pytest.mark.parametrize(
    ("text", "label", "right"),
    [("Yes.", 1, 1.0), ("No, in 1903.", 0, 1.0), ("False", 1, 0.0), ("I cannot tell", 0, 0.0), ("", 0, 0.0)],
)
def test_statements(text: str, label: int, right: float) -> None:
    fact = BenchmarkQuestion("q", "It rained.", ("0",), extra={"label": label})
    assert answer_scores(fact, text) == {"fact": right, "match": right}
    assert asked(fact).endswith("Statement: It rained.")


TABLES = st.lists(st.sampled_from("abcdefgh"), max_size=8, unique=True)


@given(TABLES, TABLES.filter(bool), st.integers(1, 8))
def test_measures_of_a_ranking_agree_with_ir_measures(found: list[str], gold: list[str], k: int) -> None:
    run = [ir_measures.ScoredDoc("q", table, float(-rank)) for rank, table in enumerate(found)]
    qrels = [ir_measures.Qrel("q", table, 1) for table in gold]
    measures = [R @ k, P @ k, RR, nDCG @ 10]
    theirs = ir_measures.calc_aggregate(measures, qrels, run) if run else dict.fromkeys(measures, 0.0)
    ours = ranking_scores(found, gold)
    assert (ours["mrr"], ours["ndcg@10"]) == pytest.approx((theirs[RR], theirs[nDCG @ 10]), abs=1e-6)
    assert recall(found, gold, k) == pytest.approx(theirs[R @ k])
    # Precision of a list shorter than k is over the list here (thesis, equation 6), over k there.
    assert precision(found, gold, k) * min(k, len(found)) == pytest.approx(theirs[P @ k] * k)


def test_one_gold_table_is_enough_where_the_question_says_so() -> None:
    question = BenchmarkQuestion("q", "?", tables=("a", "b"), any_of=True)
    assert table_scores(question, ["b"], [1])["recall@1"] == 1.0
    strict = BenchmarkQuestion("q", "?", tables=("a", "b"))
    assert table_scores(strict, ["b"], [1]) == {"recall@1": 0.5, "precision@1": 1.0, "any@1": 1.0, "all@1": 0.0}


def test_finding_nothing_is_right_for_a_question_without_an_answer() -> None:
    question = BenchmarkQuestion("q", "?", is_unanswerable=True)
    assert answer_scores(question, "")["match"] == 1.0
    assert answer_scores(question, "12")["match"] == 0.0
    assert answer_scores(BenchmarkQuestion("q", "?", ("98,5",)), "98.5", "98.5")["match"] == 1.0
