from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgtable.errors import MappingError
from kgtable.ontology.column_stats import clean_text
from kgtable.ontology.mapping import ColumnMapping, UserMapping
from kgtable.ontology.mapping_rows import (
    COLUMNS,
    FIELDS,
    NAME,
    TABLES,
    csv_bytes,
    parse_predicate,
    parse_scale,
    parse_unit,
    read_rows,
    xlsx_bytes,
)

HOSTILE = [
    "=1+1", "+a", "-a", "@a", "'a", "'=a", "''=a", "a_x000a_b", "a\x01\x1bb\x7f", 'a "b", c;d', "Größe €", "\U0001f680",
    "2013", "1e5", "TRUE",
]  # fmt: skip


def line(name: str, predicate: str = "hasX") -> list[str]:
    return [name, predicate, *[""] * (len(FIELDS) - 2)]


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
def test_every_text_comes_back(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"m.{suffix}"
    lines = [line(name) for name in HOSTILE]
    path.write_bytes(csv_bytes(COLUMNS, lines) if suffix == "csv" else xlsx_bytes((COLUMNS, lines)))
    rows = read_rows(path, COLUMNS)
    assert [row.values[NAME] for row in rows] == HOSTILE
    assert [row.line for row in rows] == list(range(2, len(HOSTILE) + 2))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(names=st.lists(st.text().map(clean_text).filter(bool), min_size=1, max_size=5, unique=True))
def test_any_text_comes_back_from_csv(tmp_path: Path, names: list[str]) -> None:
    path = tmp_path / "m.csv"
    path.write_bytes(csv_bytes(COLUMNS, map(line, names)))
    assert [row.values[NAME] for row in read_rows(path, COLUMNS)] == names


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
def test_line_ends_within_a_text_come_back(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"m.{suffix}"
    lines = [line("a\rb"), line("a\r\nb")]
    path.write_bytes(csv_bytes(COLUMNS, lines) if suffix == "csv" else xlsx_bytes((COLUMNS, lines)))
    assert [row.values[NAME] for row in read_rows(path, COLUMNS)] == ["a\rb", "a\r\nb"]


def test_text_that_no_workbook_can_hold_is_escaped(tmp_path: Path) -> None:
    path = tmp_path / "m.xlsx"
    path.write_bytes(xlsx_bytes((COLUMNS, [line("a\ud800\ufffe")])))
    assert [row.values[NAME] for row in read_rows(path, COLUMNS)] == ["a_xD800__xFFFE_"]


def test_a_cell_far_away_is_one_clear_error(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active["A1"], book.active["XFD1048576"] = "column name", "x"
    book.save(tmp_path / "m.xlsx")
    for sheet in (COLUMNS, TABLES):
        with pytest.raises(MappingError, match="cannot be read"):
            read_rows(tmp_path / "m.xlsx", sheet)


def test_no_formula_is_written(tmp_path: Path) -> None:
    path = tmp_path / "m.xlsx"
    path.write_bytes(xlsx_bytes((COLUMNS, [line("=HYPERLINK(1)")])))
    cell = openpyxl.load_workbook(path).active["A2"]
    assert (cell.data_type, cell.value, cell.quotePrefix) == ("s", "=HYPERLINK(1)", True)
    assert b"\n'=HYPERLINK(1)," in csv_bytes(COLUMNS, [line("=HYPERLINK(1)")])


@pytest.mark.parametrize(
    "data",
    [
        "column name;predicate\nGröße;hasX\n".encode(),
        "column name\tpredicate\nGröße\thasX\n".encode("utf-8-sig"),
        "Column Name,Predicate\r\nGröße,hasX\r\n".encode("cp1252"),
        "column name,predicate\nGröße,hasX\n".encode("utf-16"),
    ],
)
def test_what_spreadsheet_programs_save_is_read(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "m.csv"
    path.write_bytes(data)
    (row,) = read_rows(path, COLUMNS)
    assert (row.values[NAME], row.values["predicate"]) == ("Größe", "hasX")


def test_numbers_of_a_spreadsheet_are_texts(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["column name", "predicate", "scale"])
    book.active.append([2013, "in2013", 1000.0])
    book.save(tmp_path / "m.xlsx")
    (row,) = read_rows(tmp_path / "m.xlsx", COLUMNS)
    assert (row.values[NAME], row.values["scale"]) == ("2013", "T")


PLACE = "ontology.csv, line 3, column 'unit'"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("CCY_EUR", "CCY_EUR"), ("unit:CCY_EUR", "CCY_EUR"), ("http://qudt.org/vocab/unit/KiloGM", "KiloGM"),
        ("EUR", "CCY_EUR"), ("kg", "KiloGM"), ("%", "PERCENT"), ("none", "UNITLESS"),
    ],
)  # fmt: skip
def test_units_by_what_people_write(text: str, name: str) -> None:
    assert parse_unit(text, PLACE) == name


@pytest.mark.parametrize(("text", "near"), [("CCY_EURO", "CCY_EUR"), ("kilogramme", "KiloGM"), ("PERCENTT", "PERCENT")])
def test_an_unknown_unit_names_its_place_and_what_is_near(text: str, near: str) -> None:
    with pytest.raises(MappingError, match="line 3, column 'unit'") as caught:
        parse_unit(text, PLACE)
    assert near in caught.value.hint


@pytest.mark.parametrize(
    ("text", "mark"),
    [("M", "M"), ("millions", "M"), ("bn", "B"), ("1,000", "T"), ("'000", "T"), ("TN", "TN"), ("none", "none")],
)
def test_scales(text: str, mark: str) -> None:
    assert parse_scale(text, PLACE) == mark


@pytest.mark.parametrize(
    ("text", "name"),
    [("hasSales", "hasSales"), ("ex:hasSales", "hasSales"), ("https://schema.org/name", "https://schema.org/name")],
)
def test_predicates(text: str, name: str) -> None:
    assert parse_predicate(text, PLACE) == name


@pytest.mark.parametrize("text", ["net sales", "1st", "a<b", "https://x.org/a b", "ex:", "-a", "a" * 500])
def test_bad_predicates(text: str) -> None:
    with pytest.raises(MappingError, match="cannot be the name"):
        parse_predicate(text, PLACE)


def write(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "m.csv"
    path.write_text("\n".join(["column name,predicate,unit,scale,datatype,only in", *lines]), encoding="utf-8")
    return path


def test_a_file_says_what_to_do(tmp_path: Path) -> None:
    mapping = UserMapping.load(write(tmp_path, "Sales,hasRevenue,EUR,millions,,", "Id,,,,text,", "Rest,,,,,"))
    assert mapping.lookup("Sales", "t") == ColumnMapping("hasRevenue", "CCY_EUR", 6)
    assert mapping.lookup("Id", "t") == ColumnMapping(datatype="text")
    assert mapping.lookup("Rest", "t") is None
    assert mapping.lookup("sales", "t") is None


def test_a_row_for_some_tables_wins(tmp_path: Path) -> None:
    mapping = UserMapping.load(write(tmp_path, "Sales,hasA,,,,", "Sales,hasB,,,,t1; x*", "Other,hasC,,,,t1"))
    assert [mapping.lookup("Sales", table).predicate for table in ("t1", "x9", "t2")] == ["hasB", "hasB", "hasA"]  # type: ignore[union-attr]
    assert mapping.lookup("Other", "t2") is None


def test_fingerprint_changes_with_what_concerns_a_table_only() -> None:
    one = UserMapping({("a", ""): {"unit": "NUM"}, ("b", "u"): {"unit": "NUM"}})
    other = UserMapping({("a", ""): {"unit": "NUM"}, ("b", "u"): {"unit": "PERCENT"}})
    assert one.fingerprint(["a", "b"], "t") == other.fingerprint(["a", "b"], "t") != ""
    assert one.fingerprint(["a", "b"], "u") != other.fingerprint(["a", "b"], "u")
    assert one.fingerprint(["c"], "t") == ""


def test_one_mapping_over_another() -> None:
    low = UserMapping({("a", ""): {"unit": "NUM", "scale": "M"}, ("b", ""): {"unit": "NUM"}})
    high = UserMapping({("a", ""): {"unit": "PERCENT"}})
    assert high.over(low).lookup("a", "t") == ColumnMapping(unit="PERCENT", scale=6)
    assert high.over(low).lookup("b", "t") == ColumnMapping(unit="NUM")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a,,quux,,,"], "m.csv, line 2, column 'unit'"),
        (["a,hasA,,,,", "b,not good,,,,"], "m.csv, line 3, column 'predicate'"), (["a,,,huge,,"], "column 'scale'"),
        (["a,,,,blob,"], "column 'datatype'"), (["a,hasA,,,,", "a,hasB,,,,"], "line 3.*is already in line 2"),
    ],
)  # fmt: skip
def test_faults_name_file_line_and_column(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(MappingError, match=message):
        UserMapping.load(write(tmp_path, *lines))


def test_a_name_for_a_column_of_one_table_leaves_the_rest_to_the_general_row() -> None:
    general = {"predicate": "hasPlace", "unit": "KiloM"}
    mapping = UserMapping({("Column 1", ""): general, ("Column 1", "t2"): {"inferred name": "Town"}})
    assert mapping.lookup("Column 1", "t1") == ColumnMapping("hasPlace", "KiloM")
    assert mapping.lookup("Column 1", "t2") == ColumnMapping("hasPlace", "KiloM", name="Town")
    assert UserMapping({("Column 1", "t2"): {"inferred name": "Town"}}).lookup("Column 1", "t1") is None
    assert mapping.fingerprint(["Column 1"], "t1") != mapping.fingerprint(["Column 1"], "t2")
