from __future__ import annotations

import csv
from pathlib import Path

import openpyxl
import pytest

from kgtable.errors import MappingError
from kgtable.ontology import mapping_files
from kgtable.ontology.column_stats import MISSING, QUANTITY, ColumnFact, by_name
from kgtable.ontology.mapping import ColumnMapping, UserMapping
from kgtable.ontology.mapping_files import generated_rows, load_edits, real_decisions, save_mapping
from kgtable.ontology.mapping_rows import FIELDS

SALES = ColumnFact("t1", 1, "Sales", "hasSales", {QUANTITY: 2}, {"CCY_USD": 2}, {6: 2})
NAME = ColumnFact("t1", 0, "Name", "hasName", {"http://www.w3.org/2001/XMLSchema#string": 2})
MIXED = ColumnFact("t2", 1, "Mixed", "hasMixed", {QUANTITY: 2}, {"CCY_USD": 1, "NUM": 1}, {0: 2})


def build(directory: Path, *facts: ColumnFact) -> tuple[str, ...]:
    return save_mapping(directory, load_edits(directory), by_name(facts or (SALES, NAME, MIXED)))


def csv_table(directory: Path) -> dict[str, dict[str, str]]:
    with (directory / "ontology.csv").open(encoding="utf-8", newline="") as file:
        return {row["column name"]: row for row in csv.DictReader(file)}


def edit_csv(directory: Path, name: str, **cells: str) -> None:
    table = csv_table(directory)
    table.setdefault(name, {"column name": name}).update(cells)
    with (directory / "ontology.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(table.values())


def edit_xlsx(directory: Path, name: str, **cells: str) -> None:
    book = openpyxl.load_workbook(directory / "ontology.xlsx")
    sheet = book.active
    for row in sheet.iter_rows(min_row=2):
        if row[0].value == name:
            for field, text in cells.items():
                row[FIELDS.index(field)].value = text
    book.save(directory / "ontology.xlsx")


def lookup(directory: Path, name: str) -> ColumnMapping | None:
    return load_edits(directory).mapping.lookup(name, "t1")


def test_what_the_generator_found_is_shown_and_decides_nothing(tmp_path: Path) -> None:
    build(tmp_path)
    table = csv_table(tmp_path)
    assert list(table) == ["Mixed", "Name", "Sales"]
    sales = table["Sales"]
    assert [sales[f] for f in FIELDS[1:5]] == ["hasSales", "CCY_USD", "M", "number"]
    assert table["Mixed"]["unit"] == ""
    assert table["Mixed"]["units found"] == "CCY_USD 1; NUM 1"
    assert table["Name"]["datatype"] == "text"
    assert table["Name"]["tables"] == "t1"
    assert load_edits(tmp_path).mapping == UserMapping()


@pytest.mark.parametrize("edit", [edit_csv, edit_xlsx])
def test_an_edit_wins_survives_and_shows_in_both_files(tmp_path: Path, edit: object) -> None:
    build(tmp_path)
    edit(tmp_path, "Sales", predicate="hasRevenue", unit="EUR")  # type: ignore[operator]
    for _ in range(2):
        assert lookup(tmp_path, "Sales") == ColumnMapping("hasRevenue", "CCY_EUR")
        edited = ColumnFact("t1", 1, "Sales", "hasRevenue", {QUANTITY: 2}, {"CCY_EUR": 2}, {6: 2}, "hasSales")
        assert build(tmp_path, edited, NAME, MIXED, ColumnFact("t3", 0, "New", "hasNew")) == ()
        assert csv_table(tmp_path)["Sales"]["unit"] == "CCY_EUR"
    sheet = openpyxl.load_workbook(tmp_path / "ontology.xlsx").active
    assert ["Sales", "hasRevenue", "CCY_EUR"] in [[c.value for c in row[:3]] for row in sheet.iter_rows()]


def test_what_the_generator_changes_is_no_edit(tmp_path: Path) -> None:
    build(tmp_path)
    edit_csv(tmp_path, "Name", predicate="hasTitle")
    build(tmp_path, SALES, NAME, ColumnFact("t9", 0, "Sales", "hasSales", {QUANTITY: 1}, {"CCY_EUR": 1}, {0: 1}))
    assert csv_table(tmp_path)["Sales"]["unit"] == ""
    assert lookup(tmp_path, "Sales") is None
    assert lookup(tmp_path, "Name") == ColumnMapping("hasTitle")


def test_rows_that_a_user_adds_stay(tmp_path: Path) -> None:
    build(tmp_path)
    edit_csv(tmp_path, "Later", unit="kg")
    build(tmp_path)
    assert lookup(tmp_path, "Later") == ColumnMapping(unit="KiloGM")
    assert csv_table(tmp_path)["Later"]["unit"] == "KiloGM"


def test_both_edited_differently_is_an_error_that_names_the_cell(tmp_path: Path) -> None:
    build(tmp_path)
    edit_csv(tmp_path, "Sales", unit="EUR")
    edit_xlsx(tmp_path, "Sales", unit="GBP")
    with pytest.raises(MappingError, match="both edited and differ: for column 'Sales' the unit is 'CCY_EUR'"):
        load_edits(tmp_path)


def test_one_file_may_be_deleted(tmp_path: Path) -> None:
    build(tmp_path)
    edit_csv(tmp_path, "Sales", unit="EUR")
    (tmp_path / "ontology.xlsx").unlink()
    build(tmp_path)
    assert lookup(tmp_path, "Sales") == ColumnMapping(unit="CCY_EUR")
    assert (tmp_path / "ontology.xlsx").exists()


def test_an_edit_during_the_build_is_left_alone_and_told(tmp_path: Path) -> None:
    build(tmp_path)
    read = load_edits(tmp_path)
    edit_csv(tmp_path, "Sales", unit="EUR")
    (message,) = save_mapping(tmp_path, read, by_name([SALES]))
    assert "edited during the build" in message
    assert lookup(tmp_path, "Sales") == ColumnMapping(unit="CCY_EUR")


@pytest.mark.parametrize("writes", range(4))
def test_a_build_killed_while_writing_leaves_no_false_edit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    build(tmp_path)
    edit_csv(tmp_path, "Name", predicate="hasTitle")
    real, left = mapping_files._replace, iter(range(writes))

    def replace(path: Path, data: bytes) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        real(path, data)

    monkeypatch.setattr(mapping_files, "_replace", replace)
    changed = ColumnFact("t9", 0, "Sales", "hasSales", {QUANTITY: 1}, {"CCY_EUR": 1}, {0: 1})
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path, changed, NAME)
    monkeypatch.undo()
    assert load_edits(tmp_path).mapping == UserMapping({("Name", ""): {"predicate": "hasTitle"}})
    build(tmp_path, changed, NAME)
    assert load_edits(tmp_path).mapping == UserMapping({("Name", ""): {"predicate": "hasTitle"}})


def test_a_damaged_state_is_one_clear_error(tmp_path: Path) -> None:
    build(tmp_path)
    (tmp_path / mapping_files.STATE).write_text("[]", encoding="utf-8")
    with pytest.raises(MappingError, match="cannot be used"):
        load_edits(tmp_path)


def test_a_state_with_another_word_is_no_edit(tmp_path: Path) -> None:
    build(tmp_path)
    path = tmp_path / mapping_files.STATE
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("hasSales", "hasTales"), encoding="utf-8")
    assert path.read_text(encoding="utf-8") != text
    with pytest.raises(MappingError, match="not what was written"):
        load_edits(tmp_path)


SALES_WITH_GAP = ColumnFact("t1", 1, "Sales", "hasSales", {QUANTITY: 2, MISSING: 1}, {"CCY_USD": 2}, {6: 2})
IN_EUROS = ColumnFact("t2", 1, "Sales", "hasSales", {QUANTITY: 3}, {"CCY_EUR": 3}, {6: 3})


def test_what_all_columns_of_a_name_agree_on_is_filled_in() -> None:
    row = generated_rows(by_name([SALES_WITH_GAP]), UserMapping(), {})["Sales", ""]
    assert (row["predicate"], row["unit"], row["scale"], row["datatype"]) == ("hasSales", "CCY_USD", "M", "number")
    assert row["tables"] == "t1"
    both = generated_rows(by_name([SALES_WITH_GAP, IN_EUROS]), UserMapping(), {})["Sales", ""]
    assert (both["unit"], both["scale"], both["units found"]) == ("", "M", "CCY_EUR 3; CCY_USD 2")
    assert both["tables"] == "t1; t2"


def test_decisions_lie_over_what_was_found_and_stand_for_themselves() -> None:
    mapping = UserMapping(
        {("Sales", ""): {"unit": "CCY_GBP"}, ("Sales", "t2"): {"unit": "KiloGM"}, ("New", ""): {"scale": "M"}}
    )
    rows = generated_rows(by_name([SALES_WITH_GAP]), mapping, {"Sales": ("Revenue", 'Turn"over')})
    assert list(rows) == [("New", ""), ("Sales", ""), ("Sales", "t2")]
    assert (rows["Sales", ""]["unit"], rows["Sales", ""]["predicate"]) == ("CCY_GBP", "hasSales")
    assert rows["Sales", ""]["same as"] == 'Revenue; Turn"over'
    assert rows["Sales", "t2"]["unit"] == "KiloGM"
    assert "predicate" not in rows["Sales", "t2"]
    assert all(set(row) <= set(FIELDS) for row in rows.values())


def test_a_predicate_the_generator_gives_anyway_is_no_decision() -> None:
    summaries = by_name([SALES_WITH_GAP])
    written = {
        ("Sales", ""): {"predicate": "hasSales", "unit": "CCY_GBP"},
        ("Sales", "t1"): {"predicate": "hasSales"},
        ("Other", ""): {"predicate": "hasOther"},
    }
    kept = real_decisions(UserMapping(written), summaries)
    assert kept.edits == {
        ("Sales", ""): {"unit": "CCY_GBP"},
        ("Sales", "t1"): {"predicate": "hasSales"},
        ("Other", ""): {"predicate": "hasOther"},
    }
    assert real_decisions(kept, summaries).edits == kept.edits
    only = UserMapping({("Sales", ""): {"predicate": "hasSales"}})
    assert real_decisions(only, summaries).edits == {}
