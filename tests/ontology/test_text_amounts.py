from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.ontology.unit_evidence import scale_of_amounts
from kgtable.tables.model import Context
from tests.ontology.support import table


def scale(text: str, *cells: str) -> int | None:
    rows = ((f"r{number}", cell) for number, cell in enumerate(cells))
    return scale_of_amounts(table(("", "2019"), *rows, context=Context(paragraphs=(text,))))


@pytest.mark.parametrize(
    ("text", "cells", "found"),
    [
        ("income of $24.2 million and depreciation of $47.6 million", ("24,193", "47,625"), 3),
        ("income of $24.2 million and depreciation of $47.6 million", ("24.193", "47.625"), 6),
        ("income of $24.2 million and depreciation of $47.6 million", ("24,193,000", "47,600,001"), 0),
        ("€ 1.25 billion, then RMB 3,450 million", ("1,250", "3,450"), 6),
        ("income of $24.2 million", ("24,193", "47,625"), None),
        ("income of $24.2 million, again $24.2 million", ("24,193",), None),
        ("income of $24.2 million and $84.2 million and $97.6 million", ("24,193",), None),
        ("income of $24 million and $47 million", ("24,193", "47,125"), None),
        ("growth of 24.2 million and 47.6 million", ("24,193", "47,625"), None),
        ("income of $24.2 million and $47.6 million", ("24,193%", "47,625%"), None),
        ("income of $24.2 million and $47.6 million", (), None),
    ],
)
def test_amounts_that_cells_repeat(text: str, cells: tuple[str, ...], found: int | None) -> None:
    assert scale(text, *cells) == found


def test_cells_that_could_be_either_decide_nothing() -> None:
    assert scale("$24.2 million and $47.6 million", "24,200", "24,200,000", "47,600", "47,600,000") is None


@given(
    st.lists(
        st.sampled_from(
            ["$ 24.2 million", "€1,234 thousand", "$" + "9" * 30 + " billion", "$٢٤٫٢ million", '"']
        ),
        max_size=4,
    ),
    st.lists(st.sampled_from(["24,200", "1,234", "9" * 30, "٢٤", "-1", "", "<b>"]), max_size=4),
)
def test_any_amounts_and_cells_give_a_scale_or_none(amounts: list[str], cells: list[str]) -> None:
    assert scale(" and ".join(amounts), *cells) in {None, 0, 3, 6, 9}
