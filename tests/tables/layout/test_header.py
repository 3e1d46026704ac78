from __future__ import annotations

from kgtable.tables.layout.detect import detect_structure
from kgtable.tables.model import Area, Grid, Source
from tests.tables.layout.grids import grid, structure


def test_merged_corner_tells_where_the_header_ends() -> None:
    table = grid("Farm type|Share\n||\nGoat|41.3\nHorse|43.2", merged=(Area(0, 0, 1, 0),))
    assert detect_structure(table).body_start == 2


def test_th_cells_tell_the_header() -> None:
    rows = (("", "Men", "Women"), ("Age", "n", "n"), ("30", "5", "6"), ("40", "7", "8"))
    cells = frozenset({(0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 0), (3, 0)})
    found = detect_structure(Grid("t", Source("t.html"), rows, 3, header_cells=cells))
    assert found.header == (0, 1)
    assert found.columns[1].path == ("Men", "n")


def paths(text: str) -> list[tuple[str, ...]]:
    return [column.path for column in structure(text).columns]


def test_centred_spans_of_equal_blocks() -> None:
    found = paths("||2019|||2018|\n|a|b|c|a|b|c\nNorth|1|2|3|4|5|6\nSouth|1|2|3|4|5|6")
    assert [path[0] for path in found[1:]] == ["2019"] * 3 + ["2018"] * 3


def test_merged_areas_say_what_is_spanned() -> None:
    table = grid("|Total||Men\n|n|%|n\nA|1|2|3\nB|4|5|6", merged=(Area(0, 1, 0, 2),))
    assert [column.name for column in detect_structure(table).columns] == ["", "Total n", "Total %", "Men n"]


def test_centred_texts_over_unequal_shares() -> None:
    found = paths("||12 weeks||16 weeks\n|April|July|October|January\nHigh|1.5|2.5|3.5|4.5\nLow|1.1|2.2|3.3|4.4")
    assert [path[0] for path in found[1:]] == ["12 weeks"] * 3 + ["16 weeks"]


def test_first_lines_of_names_do_not_go_on() -> None:
    found = paths("|First|Second|Third|\n|quarter|quarter|quarter|Total\nA|1.5|2.5|3.5|7.5\nB|1.1|2.2|3.3|6.6")
    assert found[3:] == [("Third", "quarter"), ("Total",)]


def test_a_name_with_a_colon_is_that_of_its_row() -> None:
    found = paths(
        "|Sample Type:|ground water|rain\n|Site:|A|B\nParameter|Units||\nNitrate|mg/L|3.2|1.2\nLead|mg/L|0.4|0.5"
    )
    assert found == [("Parameter",), ("Units",), ("ground water", "A"), ("rain", "B")]


def test_names_broken_over_lines_are_put_together() -> None:
    found = structure(
        "|Annual|Per|Rod-reel|Costs||Weight\nPlace|deaths|cent of|combi-|fixed|variable|kg\n||cases|nations|||\n"
        "Ems|12|3.5|40|7|8|9\nInn|14|4.1|50|6|5|4"
    )
    names = [column.path for column in found.columns]
    assert names[1:4] == [("Annual deaths",), ("Per cent of cases",), ("Rod-reel combi-nations",)]
    assert names[4:] == [("Costs", "fixed"), ("Costs", "variable"), ("Weight", "kg")]
