from __future__ import annotations

from kgtable.tables.linearize import as_text
from tests.tables.formats.figures import hierarchical, normal, with_header
from tests.tables.formats.test_linear import folded

FIGURE_5 = """
Ungrouped:
Net Income:
- has 2016: 615
- has 2017: 585
- has 2018: 595

Group: Net Income
Profit:
- has 2016: 671
- has 2017: 654
- has 2018: 695

Costs:
- has 2016: 562
- has 2017: 678
- has 2018: 706

Sales:
- has 2016: 1233
- has 2017: 1332
- has 2018: 1401
"""


def test_hierarchical_table_as_in_figure_5() -> None:
    assert folded(as_text(hierarchical())) == folded(FIGURE_5)


def test_normal_table_as_in_figure_6() -> None:
    lines = as_text(normal()).splitlines()
    assert lines[:4] == ["Ungrouped:", "2011:", "- has Pension: 574", "- has Retiree medical and other: 173"]
    assert len(lines) == 1 + 5 * 3


def test_nested_groups_are_named_by_their_path_and_units_follow_the_value() -> None:
    rows = (("€", "2024"), ("Sales:", ""), ("Cloud:", ""), ("North", "1"), ("Total", "2"))
    table = with_header(rows, groups=frozenset({1, 2}), parents={2: 1, 3: 2})
    assert as_text(table, lambda row, column: "EUR M") == (
        "Group: Sales > Cloud\nNorth:\n- has 2024: 1 EUR M\n\nUngrouped:\nTotal:\n- has 2024: 2 EUR M\n"
    )
