"""Means with bootstrap confidence intervals, and the paired comparison of two runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]

SEED = 20_240_229
RESAMPLES = 2_000
LEVEL = 0.95
DRAWS_AT_ONCE = 1_000_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its confidence interval, and over how many questions."""

    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """The mean difference of two runs on the same questions, and how often a resample turned it.

    `p` is the two-sided bootstrap p-value; `wins`, `losses` and `ties` count questions.
    """

    difference: Interval
    p: float
    wins: int
    losses: int
    ties: int


def mean_interval(scores: Sequence[float]) -> Interval:
    """The mean of one score a question with its percentile bootstrap interval, seed fixed.

    >>> mean_interval([1.0, 1.0])
    Interval(mean=1.0, low=1.0, high=1.0, n=2)
    """
    if not scores:
        return Interval(0.0, 0.0, 0.0, 0)
    means = _resampled_means(np.asarray(scores, dtype=np.float64))
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(np.mean(scores)), float(low), float(high), len(scores))


def compare(first: Sequence[float], second: Sequence[float]) -> Comparison:
    """How `second` differs from `first`, question by question.

    Raises `ValueError` where the runs do not have the same number of questions.
    """
    if len(first) != len(second):
        raise ValueError("the two runs have different numbers of questions")
    differences = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    interval = mean_interval([float(value) for value in differences])
    if not differences.size or not differences.any():
        return Comparison(interval, 1.0, 0, 0, len(differences))
    means = _resampled_means(differences)
    tail = min(float(np.mean(means <= 0)), float(np.mean(means >= 0)))
    return Comparison(
        interval,
        min(1.0, 2 * max(tail, 1 / RESAMPLES)),
        int((differences > 0).sum()),
        int((differences < 0).sum()),
        int((differences == 0).sum()),
    )


def _resampled_means(values: Numbers) -> Numbers:
    random = np.random.default_rng(SEED)
    at_once = max(1, DRAWS_AT_ONCE // len(values))
    means = [
        values[random.integers(0, len(values), (min(at_once, RESAMPLES - start), len(values)))].mean(axis=1)
        for start in range(0, RESAMPLES, at_once)
    ]
    return np.concatenate(means)
