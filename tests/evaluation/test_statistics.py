from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.evaluation.summary import compare, mean_interval

SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(SCORES)
def test_the_interval_holds_the_mean_and_is_the_same_every_time(scores: list[float]) -> None:
    interval = mean_interval(scores)
    assert interval.mean == pytest.approx(np.mean(scores))
    assert interval.low - 1e-9 <= interval.mean <= interval.high + 1e-9
    assert interval == mean_interval(scores)


def test_the_interval_is_near_the_normal_one() -> None:
    scores = [0.0, 1.0] * 200
    interval = mean_interval(scores)
    half = 1.96 * 0.5 / 400**0.5
    assert interval.low == pytest.approx(0.5 - half, abs=0.01)
    assert interval.high == pytest.approx(0.5 + half, abs=0.01)


def test_no_scores() -> None:
    assert mean_interval([]).n == 0


def test_a_clear_difference_is_found_and_an_even_one_is_not() -> None:
    better = compare([0.0] * 50 + [1.0] * 50, [1.0] * 40 + [0.0] * 10 + [1.0] * 50)
    assert (better.wins, better.losses, better.ties) == (40, 0, 60)
    assert better.difference.mean == pytest.approx(0.4)
    assert better.p < 0.01
    assert compare([0.0, 1.0] * 20, [1.0, 0.0] * 20).p > 0.5
    assert compare([1.0], [1.0]).p == 1.0


def test_runs_of_different_length() -> None:
    with pytest.raises(ValueError, match="different numbers"):
        compare([1.0], [])
