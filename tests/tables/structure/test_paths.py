from __future__ import annotations

from kgtable.tables.layout.detect import detect_structure
from kgtable.tables.model import Area
from tests.tables.structure.grids import grid, structure


def paths(text: str) -> list[tuple[str, ...]]:
    return [column.path for column in structure(text).columns]


def test_left_aligned_spans() -> None:
    found = paths("|Revenues||Income|\n|2019|2018|2019|2018\nNorth|1|2|3|4\nSouth|5|6|7|8")
    assert found[1:] == [("Revenues", "2019"), ("Revenues", "2018"), ("Income", "2019"), ("Income", "2018")]


def test_one_centred_span_covers_all() -> None:
    found = paths("||Years ended|\n|2019|2018|2017\nSales|1|2|3\nCosts|3|4|5")
    assert found == [(), ("Years ended", "2019"), ("Years ended", "2018"), ("Years ended", "2017")]


def test_centred_spans_of_equal_blocks() -> None:
    found = paths("||2019|||2018|\n|a|b|c|a|b|c\nNorth|1|2|3|4|5|6\nSouth|1|2|3|4|5|6")
    assert [path[0] for path in found[1:]] == ["2019"] * 3 + ["2018"] * 3


def test_spans_stop_at_the_level_above() -> None:
    found = paths("|All|Under||Over|\n|%|%|Range|%|\n|||to||\nA|1|2|3|4|5\nB|1|2|3|4|5")
    assert found[4] == ("Over", "%")


def test_units_stay_out_of_paths_unless_they_tell_columns_apart() -> None:
    assert paths("|2019|2018\n|€m|€m\nSales|1|2\nCosts|3|4")[1] == ("2019",)
    twins = paths("Region|English|French|English|French\n|number||percent|\nA|1|2|3|4\nB|1|2|3|4")
    assert twins[1] == ("English", "number")
    assert twins[4] == ("French", "percent")


def test_a_period_does_not_cover_a_column_of_changes() -> None:
    found = paths("|Years ended December 31,||\n|2019|2018|Change\nA|1|2|3\nB|4|5|6")
    assert found[2] == ("Years ended December 31,", "2018")
    assert found[3] == ("Change",)


def test_merged_areas_say_what_is_spanned() -> None:
    table = grid("|Total||Men\n|n|%|n\nA|1|2|3\nB|4|5|6", merged=(Area(0, 1, 0, 2),))
    assert [column.name for column in detect_structure(table).columns] == ["", "Total n", "Total %", "Men n"]


def test_centred_texts_over_unequal_shares() -> None:
    found = paths(
        "||12 weeks||16 weeks\n|April|July|October|January\nHigh|1.5|2.5|3.5|4.5\nLow|1.1|2.2|3.3|4.4"
    )
    assert [path[0] for path in found[1:]] == ["12 weeks"] * 3 + ["16 weeks"]


def test_first_lines_of_names_do_not_go_on() -> None:
    found = paths(
        "|First|Second|Third|\n|quarter|quarter|quarter|Total\nA|1.5|2.5|3.5|7.5\nB|1.1|2.2|3.3|6.6"
    )
    assert found[3:] == [("Third", "quarter"), ("Total",)]


def test_a_period_spans_through_lower_spans() -> None:
    found = paths(
        "|Years ended July 31,|||||\n|2019||2018||Change|\n|Amount|Share|Amount|Share|Amount|Share\n"
        "A|1.5|2|3.5|4|5.5|6\nB|1.1|2|3.1|4|5.1|6"
    )
    assert found[4] == ("Years ended July 31,", "2018", "Share")
    assert found[6] == ("Change", "Share")
