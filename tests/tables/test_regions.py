from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import kgtable
from kgtable.tables.discovery import TableFile
from kgtable.tables.layout.detect import make_table
from kgtable.tables.layout.regions import split_regions
from kgtable.tables.limits import ReadingTime, ReadLimits
from kgtable.tables.model import Area, Grid, Row
from tests.tables.layout.grids import grid

STACKED = "Fruit|Crates|Weight\nPlum|46|552\nPear|31|434\n||\nHelper|Hours|Paid\nAda|7.5|97.5\nBob|9|117"
BESIDE = "Fruit|Weight||Helper|Paid\nPlum|552||Ada|97.5\nPear|434||Bob|117\nFig|12||Cy|5"
FOUR = f"{BESIDE}\n||||\nTool|Price||Town|People\nSaw|12||Ems|4120\nAxe|19||Inn|900"


def overlay(parts: Sequence[Grid]) -> list[list[str]]:
    """All parts laid over each other; no two may hold the same cell."""
    sheet: dict[tuple[int, int], str] = {}
    for part in parts:
        for row, cells in enumerate(part.head):
            for column, text in enumerate(cells):
                if text:
                    assert (row, column) not in sheet
                    sheet[row, column] = text
    height = max(row for row, _ in sheet) + 1
    width = max(column for _, column in sheet) + 1
    return [[sheet.get((row, column), "") for column in range(width)] for row in range(height)]


@pytest.mark.parametrize(("text", "count"), [(STACKED, 2), (BESIDE, 2), (FOUR, 4)])
def test_parts_laid_over_each_other_are_the_sheet(text: str, count: int) -> None:
    whole = grid(text)
    parts = split_regions(whole)
    assert len(parts) == count
    assert overlay(parts) == [list(row) for row in whole.head]


def test_positions_and_what_belongs_to_them_stay_those_of_the_sheet() -> None:
    whole = grid(STACKED, merged=(Area(4, 0, 4, 1),))
    lower = split_regions(whole)[1]
    assert lower.head[5][2] == "97.5"
    assert lower.merged == (Area(4, 0, 4, 1),)
    structure = make_table(lower).structure
    assert (structure.header, structure.body_start) == ((4,), 5)


def test_a_table_far_down_its_sheet_is_read_all_the_same() -> None:
    above: tuple[Row, ...] = (("a", "b"), ("x", "1"), ("y", "2"), *(("", ""),) * 60)
    rows = (*above, ("Name", "Paid (EUR)"), ("Ada", "5"), ("Bob", "6"))
    parts = split_regions(grid("\n".join("|".join(row) for row in rows)))
    structure = make_table(parts[1]).structure
    assert structure.header == (63,)
    assert structure.columns[1].path == ("Paid (EUR)",)


@pytest.mark.parametrize(
    "text",
    [
        "Item|2021|2022\nSchool|420|455\nRoads|310|265\n||\nCulture|100|120\nParks|30|35",
        "Item|2021|2022\nAssets||\nCash|420|455\n||\nDebts||\nLoans|100|120\nBonds|1|2",
        "Item|2021|2022||2023|2024\nSchool|420|455||1|2\nRoads|310|265||3|4",
        "Item|2021|2022\nSchool|420|455\nRoads|310|265\n||\nFounded|3 May 1999|\nResult|700|955\nTax|1|2",
        "Title||\n||\nItem|2021|2022\nSchool|420|455",
        "Item|2021|2022\nSchool|420|455\nRoads|310|265\n||\nSource: us||\nStand: May||",
        "Name|Town\nAda|Ems\nBob|Inn\n|\nCy|Ems\nDee|Inn",
        "From|Us|||\n||||\nOf|May|||\n||||\nItem|Code|2021|2022|2023\nSchool|A|420|455|5\nRoads|B|310|265|7",
    ],
)
def test_sections_notes_and_gaps_are_no_tables(text: str) -> None:
    (part,) = split_regions(grid(text))
    assert part.notices == ()


def test_the_caption_between_two_tables_goes_to_the_lower_one() -> None:
    text = STACKED.replace("||\nHelper", "||\nHelpers of May||\nHelper")
    upper, lower = split_regions(grid(text))
    assert all("Helpers of May" not in row for row in upper.head)
    assert make_table(lower).structure.titles[-1] == 4


def test_each_table_has_an_id_and_comes_back(tmp_path: Path) -> None:
    text = STACKED.replace("|", ",") + "\n"
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "day.csv").write_text(text)
    kg = kgtable.build(tmp_path / "in", tmp_path / "kg", embedding="none")
    assert sorted(kg.tables) == ["day#0", "day#1"]
    kg.export(tmp_path / "out", format="csv")
    sheet: dict[tuple[int, int], str] = {}
    for path in (tmp_path / "out").glob("*.csv"):
        for row, line in enumerate(path.read_text().splitlines()):
            sheet.update({(row, column): cell for column, cell in enumerate(line.split(",")) if cell})
    lines = [line.split("|") for line in STACKED.split("\n")]
    assert sheet == {(r, c): cell for r, line in enumerate(lines) for c, cell in enumerate(line) if cell}


@pytest.mark.parametrize("header", ["Fruit|Crates|Weight", "Nuts|Crates|Weight"])
@pytest.mark.parametrize(("between", "count"), [("||\n", 2), ("", 1), ("||\nTable 2, continued||\n", 2)])
def test_a_header_that_comes_again_begins_a_table_where_it_is_set_off(header: str, between: str, count: int) -> None:
    body = "\n".join(f"Plum {at}|{at + 46}|5{at}2" for at in range(1, 6))
    parts = split_regions(grid(f"Fruit|Crates|Weight\n{body}\n{between}{header}\n{body}"))
    assert len(parts) == count


NO_GAP = "Fruit|Crates|Weight (kg)\nPlum|46|552\nPear|31|434\nHelper|Hours|Paid (EUR)\nAda|7.5|97.5\nBob|9|117"


@pytest.mark.parametrize("middle", ["Fruit|Crates|Weight (kg)", "Total|77|986", "Nuts||", "Fruit|Fruit|Fruit"])
def test_other_rows_between_figures_begin_none(middle: str) -> None:
    assert len(split_regions(grid(NO_GAP.replace("Helper|Hours|Paid (EUR)", middle)))) == 1


def test_notes_beside_a_table_name_no_column_and_stand_after_it() -> None:
    table = make_table(grid("Energy|GWh||\nWind*|12||* onshore plants only\nSun|8||Source: own survey"))
    assert [column.name for column in table.columns] == ["Energy", "GWh", "", ""]
    assert table.context.after == ("* onshore plants only", "Source: own survey")
    assert dict(table.structure.marks) == {"*": "onshore plants only"}
    remarks = make_table(grid("Energy|GWh||Remark\nWind|12||new turbine in May\nSun|8||"))
    assert (remarks.columns[3].name, remarks.context.after) == ("Remark", ())


@pytest.mark.parametrize("lines", ["a|b\n1|2", "a|b\n|\n1|2\n|", "x|1\ny|2\n|", "x|y\nz|w\n|"])
def test_rows_that_repeat_are_looked_at_in_time_that_grows_with_their_number(lines: str, tmp_path: Path) -> None:
    sheet = grid("name|value\n" + "\n".join([lines] * 20_000))
    with ReadingTime(TableFile(tmp_path, "sheet.csv", "sheet"), ReadLimits.of_seconds(20)):
        assert len(split_regions(sheet)) == 1


def test_a_line_that_stands_among_the_data_begins_no_table_further_down() -> None:
    text = "name|value\n" + "a|b\n1|2\n" * 6 + "|\na|b\n3|4"
    assert len(split_regions(grid(text))) == 1
