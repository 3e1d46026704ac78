from __future__ import annotations

from kgtable.tables.layout.detect import detect_structure
from kgtable.tables.model import Context
from tests.tables.structure.grids import grid, structure


def test_notes_and_sources_at_the_end() -> None:
    found = structure(
        "Region|2019|2018\nNorth (1)|10|20\nSouth*|30|40\n||"
        "\n(1) Includes islands.||\n* estimated||\nSource: Census||"
    )
    assert found.footnotes == {4, 5, 6}
    assert found.marks == {"(1)": "Includes islands.", "*": "estimated"}
    assert found.groups == frozenset()


def test_notes_around_the_table_explain_marks() -> None:
    context = Context(
        after=("1 Amounts owed are unsecured.",), paragraphs=("(a) Adjusted for one-off items.", "Text.")
    )
    table = grid("|2019|2018 (a)\nAmounts owed by subsidiaries1|5|6\nTax|7|8", context=context)
    assert detect_structure(table).marks == {
        "(a)": "Adjusted for one-off items.",
        "1": "Amounts owed are unsecured.",
    }


def test_marks_without_a_note_are_left_out() -> None:
    assert structure("|2019\nRevenue (1)|5\nTax|7").marks == {}


def test_a_starred_row_with_values_is_no_footnote() -> None:
    assert structure("|2019|2018\nGains*|5|6\n* of these realised|3|4").footnotes == frozenset()
