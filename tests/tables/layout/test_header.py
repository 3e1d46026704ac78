from __future__ import annotations

import pytest

from kgtable.tables.layout.detect import detect_structure
from kgtable.tables.model import Area, Grid, Source
from tests.tables.layout.grids import grid, structure


def test_years_are_a_header() -> None:
    assert structure("|2019|2018\nSales|1,200|1,100\nCosts|700|650").header == (0,)


def test_centred_heading_and_units() -> None:
    found = structure("||Years ended|\n|2019|2018|2017\n||(in millions)|\nSales|1|2|3\nCosts|3|4|5")
    assert found.header == (0, 1, 2)
    assert found.unit_rows == {2}
    assert found.body_start == 3


def test_a_heading_of_rows_is_no_header() -> None:
    found = structure("|2019|2018\nAssets:||\nCash|10|20\nStock|30|40")
    assert found.header == (0,)


@pytest.mark.parametrize(
    "text",
    [
        "Earth|5.97|12756\nMars|0.642|6792\nVenus|4.87|12104",
        "current assets|$ 28.1\ngoodwill|258.9\ntotal|287.0",
        "2008|$ 689\n2009|542\n2010|462",
    ],
)
def test_no_header(text: str) -> None:
    found = structure(text)
    assert (found.header, found.body_start) == ((), 0)


@pytest.mark.parametrize(
    "text",
    [
        "Year|Entrant|1|2|3|4|Points\n1998|Benetton|9|5|Ret|7|33\n1999|Jordan|4|4|6|4|21",
        "id|name|age\n1|Ann|30\n2|Bob|41",
    ],
)
def test_numbers_that_are_a_header(text: str) -> None:
    assert structure(text).header == (0,)


def test_titles_above_the_header() -> None:
    found = structure("Sales by region||\n||\nRegion|2019|2018\nNorth|10|20\nSouth|30|40")
    assert found.titles == (0, 1)
    assert found.header == (2,)


def test_a_title_that_names_a_period_stands_above_a_blank_corner() -> None:
    found = structure("Profit by quarter of 2023 (USD million)||\n|Q1 2023|Q2 2023\nSales|120|131\nCosts|71|77")
    assert found.titles == (0,)
    assert found.header == (1,)


def test_rows_below_a_full_header_stay_in_the_body() -> None:
    found = structure("|2014|2013\nshares at first|1945|1974\nbought back|-46|-27\nshares at last|1899|1947")
    assert found.header == (0,)


def test_merged_corner_tells_where_the_header_ends() -> None:
    table = grid("Farm type|Share\n||\nGoat|41.3\nHorse|43.2", merged=(Area(0, 0, 1, 0),))
    assert detect_structure(table).body_start == 2


def test_columns_of_one_shape_tell_that_there_is_no_header() -> None:
    assert (
        structure("2024-03-01|06:10|3.42 m|calm\n2024-03-01|12:25|0.87 m|calm\n2024-03-02|00:55|0.79 m|windy").header
        == ()
    )
    assert structure("day|at|level|wind\n2024-03-01|06:10|3.42 m|calm\n2024-03-01|12:25|0.87 m|calm").header == (0,)


def test_units_below_a_name_over_the_labels() -> None:
    found = structure("|2019|2018\nRevenue by country|$M|$M\nUK|83.2|73.5\nUS|10.1|11.2")
    assert found.unit_rows == {1}
    assert found.columns[1].path == ("2019",)


def test_th_cells_tell_the_header() -> None:
    rows = (("", "Men", "Women"), ("Age", "n", "n"), ("30", "5", "6"), ("40", "7", "8"))
    cells = frozenset({(0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 0), (3, 0)})
    found = detect_structure(Grid("t", Source("t.html"), rows, 3, header_cells=cells))
    assert found.header == (0, 1)
    assert found.columns[1].path == ("Men", "n")


def test_one_line_is_a_header_unless_it_has_numbers() -> None:
    assert structure("Name|City").header == (0,)
    assert structure("Oslo|5|6").header == ()


@pytest.mark.parametrize("text", ["", " ", "|", "\n\n", "||\n||"])
def test_blank_grids(text: str) -> None:
    assert structure(text).header == ()


def test_a_row_of_text_without_a_label_stays_in_the_body() -> None:
    text = "Image|Place|Notes|Number\n|Wren|Choir|none\n|Gate|North|12\n|Wall|South|15\n|Arch|West|18"
    assert structure(text).header == (0,)


def paths(text: str) -> list[tuple[str, ...]]:
    return [column.path for column in structure(text).columns]


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
    found = paths("||12 weeks||16 weeks\n|April|July|October|January\nHigh|1.5|2.5|3.5|4.5\nLow|1.1|2.2|3.3|4.4")
    assert [path[0] for path in found[1:]] == ["12 weeks"] * 3 + ["16 weeks"]


def test_first_lines_of_names_do_not_go_on() -> None:
    found = paths("|First|Second|Third|\n|quarter|quarter|quarter|Total\nA|1.5|2.5|3.5|7.5\nB|1.1|2.2|3.3|6.6")
    assert found[3:] == [("Third", "quarter"), ("Total",)]


def test_a_period_spans_through_lower_spans() -> None:
    found = paths(
        "|Years ended July 31,|||||\n|2019||2018||Change|\n|Amount|Share|Amount|Share|Amount|Share\n"
        "A|1.5|2|3.5|4|5.5|6\nB|1.1|2|3.1|4|5.1|6"
    )
    assert found[4] == ("Years ended July 31,", "2018", "Share")
    assert found[6] == ("Change", "Share")


def test_titles_go_on_below_a_blank_row() -> None:
    top = "Example 1|||||\n|||||\nA couple without children|||||\nPaid by wage|||||\nGross|Old|New|Old|New|Gain\n"
    found = structure(f"{top}100|1|2|3|4|1\n200|2|3|4|5|2")
    assert found.header == (4,)


def test_a_row_above_the_units_is_of_the_header() -> None:
    top = "Gross|Levy||Gain|Gain\nincome|old|new|in all|in part\n|||(a year)|(a week)\n€|€|€|€|€\n"
    found = structure(f"{top}17500|435.8|0|435.8|8.3\n25000|734.2|499.2|741.2|14.2\n30000|934.2|699.2|741.2|14.2")
    assert found.header == (0, 1, 2, 3)
    assert found.unit_rows == {3}


def test_names_broken_over_lines_are_put_together() -> None:
    found = structure(
        "|Annual|Per|Rod-reel|Costs||Weight\nPlace|deaths|cent of|combi-|fixed|variable|kg\n||cases|nations|||\n"
        "Ems|12|3.5|40|7|8|9\nInn|14|4.1|50|6|5|4"
    )
    names = [column.path for column in found.columns]
    assert names[1:4] == [("Annual deaths",), ("Per cent of cases",), ("Rod-reel combi-nations",)]
    assert names[4:] == [("Costs", "fixed"), ("Costs", "variable"), ("Weight", "kg")]


def test_few_cells_above_a_unit_of_their_own_are_titles() -> None:
    top = "3|Boats by harbour|||||\n||||||thousands\n|All|||By size||\n|Now|Then||Small|Middle|Large\n"
    found = structure(f"{top}Inley|12.5|11.0||4.1|4.2|4.2\nOban|9.5|8.0||3.1|3.2|3.2")
    assert found.titles == (0, 1)
    assert found.header == (2, 3)
