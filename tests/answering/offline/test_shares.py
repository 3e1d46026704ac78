from __future__ import annotations

import pytest

from kgtable.answering.offline.comparisons import share_of_columns, share_of_rows
from tests.answering.offline.rows import ACCOUNT, REPORT, ask, linking

CROPS = (
    ("Crop", "Country", "East", "West", "North"),
    ("Garlic", "1,000", "220", "530", "250"),
    ("Spelt", "4,000", "1,000", "2,900", "100"),
)


def test_shares_of_one_row_in_another() -> None:
    found = share_of_rows(linking("What percent of total assets were inventories in 2018?", REPORT))
    assert found is not None
    assert (found.text, found.calculation) == ("10%", "T1.r5.c2 / T1.r3.c2 * 100")


@pytest.mark.parametrize(
    ("question", "rows", "answer"),
    [
        ("What is the percentage of boats in the total sales in 2023?", ACCOUNT, "75%"),
        ("What is the percentage contribution of repairs in total sales in 2023?", ACCOUNT, "25%"),
        ("What was cost of sales as a percentage of net sales in 2018?", REPORT, "50%"),
        ("What fraction of the garlic was in East?", CROPS, "22%"),
        ("What percentage of the country garlic was in West?", CROPS, "53%"),
    ],
)
def test_a_part_is_never_taken_for_its_whole(
    question: str, rows: tuple[tuple[str, ...], ...], answer: str
) -> None:
    found = ask(question, rows)
    assert found.text == answer, found.reasons
    assert found.calculation


def test_no_share_is_taken_of_a_percentage_in_a_number() -> None:
    rows = (("Region", "Staff", "Share"), ("North", "40", "20%"), ("Total", "200", "100%"))
    assert share_of_columns(linking("What percent of the staff share was North?", rows)) is None
