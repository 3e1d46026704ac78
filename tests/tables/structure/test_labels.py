from __future__ import annotations

import pytest

from tests.tables.structure.grids import structure


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("Country|Gold\nItaly|3\nChina|2", 0),
        ("Rank|Nation|Gold\n1|Italy|3\n2|China|2\n3|Peru|1", 1),
        ("|Name|Gold\n|Italy|3\n|China|2", 1),
        ("x|Name|Gold\n1|Italy|3\n2|China|2\n3|Peru|0", 1),
        ("Year|Name\n1999|Ann\n2000|Bob\n2001|Eve", 0),
        ("Rank|Lane|Time\n1|4|9.8\n2|5|9.9", 0),
    ],
)
def test_label_column(text: str, column: int) -> None:
    assert structure(text).label_column == column
