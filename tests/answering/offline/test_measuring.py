from __future__ import annotations

from decimal import Decimal

import pytest

from kgtable.answering.offline.comparisons import (
    named_size_column,
    order_column,
    ranked,
    size_column,
    sums_the_others,
    value,
)
from tests.answering.offline.rows import CRAFT, MEDALS, RACES, linking

TRACKS = (("No", "Title", "Length"), ("1", "Dawn", "3:11"), ("2", "Noon", "1:02:03"), ("3", "Dusk", "2:59"))


@pytest.mark.parametrize(
    ("question", "rows", "column"),
    [
        ("Which nation won the most gold?", MEDALS, 2),
        ("What is the gold of the nation with the most silver?", MEDALS, 3),
        ("Which boat is the longest?", CRAFT, 2),
        ("Which track is the longest?", TRACKS, 2),
        ("Which nation is the most famous?", MEDALS, None),
    ],
)
def test_the_column_of_sizes_is_named_or_hinted_at(
    question: str, rows: tuple[tuple[str, ...], ...], column: int | None
) -> None:
    assert named_size_column(linking(question, rows)) == column


def test_unnamed_a_total_or_the_only_numbers_are_meant() -> None:
    assert size_column(linking("Which nation was the most successful?", MEDALS)) == 4
    assert size_column(linking("Which race was the most famous?", RACES)) == 3


def test_times_and_durations_are_ordered() -> None:
    assert order_column(linking("Which race was held first?", RACES)) == 0
    assert order_column(linking("Which nation was first?", MEDALS)) is None
    tracks = linking("Which track is the longest?", TRACKS)
    assert value(tracks, 2, 2) == Decimal(3723)
    assert [row for _, row in ranked(tracks, (1, 2, 3), 2)] == [3, 1, 2]
    assert value(tracks, 2, None) == Decimal(2)


def test_an_unnamed_total_is_about_the_sum_of_the_others() -> None:
    numbers = {1: Decimal(20), 2: Decimal(30), 3: Decimal(51)}
    assert sums_the_others(numbers, 3)
    assert not sums_the_others(numbers, 2)
    assert not sums_the_others({**numbers, 3: Decimal(53)}, 3)
