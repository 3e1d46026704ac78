from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from kgtable.evaluation.benchmark import BenchmarkQuestion
from kgtable.evaluation.scoring import ranking_scores

QUESTIONS = (
    BenchmarkQuestion("a", "?", tables=("x", "y")),
    BenchmarkQuestion("b", "?", tables=("z",)),
    BenchmarkQuestion("c", "?"),
)


def test_against_scikit_learn_and_by_hand() -> None:
    scores = ranking_scores(QUESTIONS, {"a": ("p", "x", "q", "y"), "b": ("p", "q")})
    expected = ndcg_score(np.array([[0, 1, 0, 1]]), np.array([[4, 3, 2, 1]]), k=10)
    assert scores["a"]["ndcg@10"] == pytest.approx(expected)
    assert scores["a"]["mrr"] == 0.5
    assert scores["b"] == {"mrr": 0.0, "ndcg@10": 0.0}
    assert "c" not in scores


def test_nothing_found_at_all() -> None:
    assert ranking_scores(QUESTIONS, {})["a"] == {"mrr": 0.0, "ndcg@10": 0.0}
