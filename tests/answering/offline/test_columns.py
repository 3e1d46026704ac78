from __future__ import annotations

import pytest

from kgtable.answering.offline.linking import columns_named
from tests.answering.offline.rows import view

SHOPS = (
    ("Shop_ID", "Name", "Manager_Name", "Year_of_Opening", "PhoneNo", ""),
    ("1", "Kelp", "Ane Moe", "1999", "11", "x"),
    ("2", "Reef", "Tor Lie", "2004", "12", "y"),
)


@pytest.mark.parametrize(
    ("phrase", "columns"),
    [
        ("the name and manager name", (1, 2)),
        ("the manager name of the shop", (2,)),
        ("names of shops", (1,)),
        ("shop ids", (0,)),
        ("year of opening and the phone no", (3, 4)),
        ("opening", ()),
        ("column 6", ()),
        ("", ()),
    ],
)
def test_columns_are_those_whose_whole_header_is_said(phrase: str, columns: tuple[int, ...]) -> None:
    assert columns_named(view(SHOPS), phrase) == columns
