from __future__ import annotations

from types import MappingProxyType

from kgtable.tables.layout.detect import detect_structure
from kgtable.tables.model import Grid, Source, Structure
from tests.tables.layout.grids import structure


def parents(found: Structure) -> dict[int, int]:
    return dict(found.parents)


def test_indents_of_a_sheet() -> None:
    rows = (("", "2019"), ("Revenue", "30"), ("Cloud", "20"), ("Licences", "10"), ("Costs", "5"))
    indents = MappingProxyType({(2, 0): 1, (3, 0): 1})
    found = detect_structure(Grid("t", Source("t.xlsx"), rows, 2, indents=indents))
    assert parents(found) == {2: 1, 3: 1}


def test_streamed_tables_have_no_groups() -> None:
    class Streamed:
        def __iter__(self):  # type: ignore[no-untyped-def]
            return iter([("", "2019"), ("Assets:", ""), ("Cash", "5"), ("Stock", "6")])

    found = detect_structure(Grid("t", Source("t.csv"), Streamed(), 2))
    assert found.header == (0,)
    assert not found.groups


def test_nesting_is_bounded() -> None:
    found = structure("\n".join(["|2019|2018", *(" " * depth + f"part {depth}|1|2" for depth in range(60))]))
    deepest = max(depth_of(found, row) for row in found.parents)
    assert deepest == 24


def depth_of(found: Structure, row: int) -> int:
    parent = found.parents.get(row)
    return 0 if parent is None else 1 + depth_of(found, parent)
