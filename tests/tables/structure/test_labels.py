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


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("District|Lighthouse|Height\nNorth|Skarv|31\n|Tern|22\nSouth|Alder|45\n|Gull|17\n|Harbour|12", 1),
        ("Age|Sex|n\n9 to 13|Male|3\n|Female|4\n14 to 18|Male|5\n|Female|6", 0),
        ("owner_id|name|age\n11|Ann|30\n17|Bob|41", 1),
        ("MPG|Cylinders\n18|8\n15|8", 0),
        ("#|Date|Score\n1|3 May 2001|2–1\n2|9 May 2001|0–0\n3|1 June 2001|4–2", 1),
        ("Pos|Driver|Laps\n1|Prost|64\n2|Senna|64\nRet|Berg|12\nDNS|Lamy|", 1),
    ],
)
def test_columns_that_name_rows_better(text: str, column: int) -> None:
    assert structure(text).label_column == column
