from __future__ import annotations

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import P, R

from kgtable.evaluation.benchmark import BenchmarkQuestion
from kgtable.evaluation.scoring import cell_scores, precision, recall, table_scores

TABLES = st.lists(st.sampled_from("abcdefgh"), max_size=8, unique=True)


@given(TABLES, TABLES.filter(bool), st.integers(1, 8))
def test_recall_and_precision_agree_with_ir_measures(found: list[str], gold: list[str], k: int) -> None:
    run = [ir_measures.ScoredDoc("q", table, float(-rank)) for rank, table in enumerate(found)]
    qrels = [ir_measures.Qrel("q", table, 1) for table in gold]
    theirs = ir_measures.calc_aggregate([R @ k, P @ k], qrels, run) if run else {R @ k: 0.0, P @ k: 0.0}
    assert recall(found, gold, k) == pytest.approx(theirs[R @ k])
    # Precision of a list shorter than k is over the list here (thesis, equation 6), over k there.
    assert precision(found, gold, k) * min(k, len(found)) == pytest.approx(theirs[P @ k] * k)


def test_one_gold_table_is_enough_where_the_question_says_so() -> None:
    question = BenchmarkQuestion("q", "?", tables=("a", "b"), any_of=True)
    assert table_scores(question, ["b"], [1])["recall@1"] == 1.0
    strict = BenchmarkQuestion("q", "?", tables=("a", "b"))
    assert table_scores(strict, ["b"], [1]) == {
        "recall@1": 0.5,
        "precision@1": 1.0,
        "any@1": 1.0,
        "all@1": 0.0,
    }


def test_nothing_found_counts_as_zero() -> None:
    question = BenchmarkQuestion("q", "?", tables=("a",), cells=(("a", 1, 1),))
    assert set(table_scores(question, [], [1, 5]).values()) == {0.0}
    assert cell_scores(question, [], [10]) == {"cells@10": 0.0}


def test_a_cell_found_twice_counts_at_its_first_place() -> None:
    question = BenchmarkQuestion("q", "?", cells=(("a", 1, 1),))
    assert cell_scores(question, [("a", 1, 1), ("a", 1, 1)], [1]) == {"cells@1": 1.0}
