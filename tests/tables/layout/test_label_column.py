from __future__ import annotations

from types import MappingProxyType

import pytest

from kgtable.graph.cell_areas import parse_areas
from kgtable.tables.layout.detect import detect_structure
from kgtable.tables.model import Area, Grid, Source
from tests.tables.layout.grids import structure


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("Country|Gold\nItaly|3\nChina|2", 0), ("Rank|Nation|Gold\n1|Italy|3\n2|China|2\n3|Peru|1", 1),
        ("|Name|Gold\n|Italy|3\n|China|2", 1), ("x|Name|Gold\n1|Italy|3\n2|China|2\n3|Peru|0", 1),
        ("Year|Name\n1999|Ann\n2000|Bob\n2001|Eve", 0), ("Rank|Lane|Time\n1|4|9.8\n2|5|9.9", 0),
    ],
)  # fmt: skip
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


def test_a_table_that_begins_further_right() -> None:
    found = structure("|||\n||2019|2018\n|Sales|1,200|1,100\n|Costs|700|650")
    assert (found.titles, found.header, found.label_column) == ((0,), (1,), 1)
    assert [column.path for column in found.columns] == [(), (), ("2019",), ("2018",)]
    assert [column.index for column in found.columns] == [0, 1, 2, 3]


def test_merged_areas_and_indents_move_along() -> None:
    rows = (("", "", "2019", ""), ("", "", "Q1", "Q2"), ("", "Sales", "10", "20"), ("", "Cloud", "3", "4"))
    indents = MappingProxyType({(3, 1): 1})
    found = detect_structure(Grid("t", Source("t.xlsx"), rows, 4, merged=(Area(0, 2, 0, 3),), indents=indents))
    assert found.columns[3].path == ("2019", "Q2")
    assert found.parents == {3: 2}


def test_a_blank_grid_has_no_margin() -> None:
    assert structure("|\n|").label_column == 0


@pytest.mark.parametrize(
    ("text", "shared", "label"),
    [
        ("Year|Region|Births\n2020|Oslo|5\n|Bergen|3\n2021|Oslo|6\n|Bergen|2", ["A2:A3", "A4:A5"], 1),
        (
            "Area|Year|Quarter|Sales\nN|2020|Q1|1\n||Q2|2\n|2021|Q1|3\nS|2020|Q1|4\n||Q2|5",
            ["A2:A4", "A5:A6", "B2:B3", "B5:B6"],
            0,
        ),
        ("Area|Town|Shops\nNorth|Ems|4" + "\n|Inn|3\n|Alt|5\n|Ost|2\n|Au|1" * 3 + "\nTotal||37", ["A2:A14"], 0),
        ("Area|Town|Shops\nNorth|Ems|4\n||3\n|Alt|5\n|Ost|7", [], 0),
        ("Ward|Town|Shops\n12|Ems|4\n|Inn|3\n14|Alt|5\n|Ost|5", [], 1),
        ("Town|Shops|Note\nEms|4|\nInn|3|new\nAlt|5|", [], 0),
    ],
)
def test_cells_of_first_columns_hold_for_the_blank_ones_below(text: str, shared: list[str], label: int) -> None:
    found = structure(text)
    assert found.shared == parse_areas(" ".join(shared))
    assert found.label_column == label
