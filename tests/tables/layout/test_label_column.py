from __future__ import annotations

from types import MappingProxyType

from kgtable.tables.layout.detect import detect_structure
from kgtable.tables.model import Area, Grid, Source
from tests.tables.layout.grids import structure


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
