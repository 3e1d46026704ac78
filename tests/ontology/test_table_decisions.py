from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

import kgtable
from kgtable.errors import MappingError, UsageError
from kgtable.ontology.mapping import UserMapping
from kgtable.ontology.mapping_rows import TABLE_FIELDS
from tests.table_files import write_files

SALES = "Sales of May\nregion,net,gross\nNorth,5,6\nSouth,7,8\ndraft row,1,1\n"


def folder_of(place: Path, **files: str) -> Path:
    return write_files(place / "in", files)


def decide(place: Path, *rows: tuple[str, ...]) -> Path:
    path = place / "decisions.csv"
    lines = [",".join(TABLE_FIELDS), *(",".join(row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def values(kg: kgtable.KnowledgeGraph, table: str) -> dict[tuple[int, int], str]:
    frame = kg.sparql(
        "PREFIX qudt: <http://qudt.org/schema/qudt/> PREFIX kgt: <https://w3id.org/kgtable#> "
        "SELECT ?c ?v ?u WHERE { GRAPH ?g { ?c qudt:numericValue ?v ; qudt:hasUnit ?u } FILTER(CONTAINS(STR(?g), '"
        + table
        + "')) }"
    )
    return {
        tuple(map(int, str(cell).split("/cell/")[1].split("/"))): f"{value} {str(unit).rpartition('/')[2]}"
        for cell, value, unit in frame.itertuples(index=False)
    }


def test_header_rows_notes_title_unit_and_scale_are_decided(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, sales=SALES)
    mapping = decide(tmp_path, ("sal*", "2", "region", "5", "", "Sales", "EUR", "thousand"))
    kg = kgtable.build(folder, tmp_path / "kg", embedding="none", mapping=mapping)
    table = kg.tables["sales"].table
    assert table.structure.header == (1,)
    assert table.structure.footnotes == {4}
    assert table.context.title == "Sales"
    assert values(kg, "sales")[2, 1] in ("5000.0 CCY_EUR", "5000 CCY_EUR")


def test_a_decision_survives_builds_and_can_be_edited_in_the_graph(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, sales=SALES)
    kgtable.build(folder, tmp_path / "kg", embedding="none")
    book = openpyxl.load_workbook(tmp_path / "kg" / "ontology.xlsx")
    book["tables"].append(["sales", None, None, None, None, "Mine", "kg", None])
    book.save(tmp_path / "kg" / "ontology.xlsx")
    for _ in range(2):
        kg = kgtable.build(folder, tmp_path / "kg", embedding="none")
        assert kg.tables["sales"].table.context.title == "Mine"
        assert {text.split()[1] for text in values(kg, "sales").values()} == {"KiloGM"}
    assert "sales,,,,,Mine,KiloGM," in (tmp_path / "kg" / "ontology.tables.csv").read_text()


def test_both_files_edited_differently_is_an_error_that_names_the_table(tmp_path: Path) -> None:
    folder, kg = folder_of(tmp_path, sales=SALES), tmp_path / "kg"
    kgtable.build(folder, kg, embedding="none").close()
    (kg / "ontology.tables.csv").write_text("table,title\nsales,One\n")
    book = openpyxl.load_workbook(kg / "ontology.xlsx")
    book["tables"]["A2"], book["tables"]["F2"] = "sales", "Other"
    assert book["tables"]["F1"].value == "title"
    book.save(kg / "ontology.xlsx")
    with pytest.raises(MappingError, match="differ: for table 'sales' the title is 'One' in one and 'Other'"):
        kgtable.build(folder, kg, embedding="none")


@pytest.mark.parametrize("unit", ["PERCENT", "YR", "CCY_CHF", "PERMILLE"])
def test_any_unit_can_be_decided_for_a_whole_table(tmp_path: Path, unit: str) -> None:
    folder = folder_of(tmp_path, share="geo,2020,2021\nBE,12.3,11.0\nDE,10.1,10.2\n")
    mapping = decide(tmp_path, ("share", "", "", "", "", "", unit, ""))
    with kgtable.build(folder, tmp_path / "kg", embedding="none", mapping=mapping) as kg:
        assert {text.split()[1] for text in values(kg, "share").values()} == {unit}


def test_an_id_wins_over_a_pattern() -> None:
    mapping = UserMapping({}, {"a*": {"title": "one", "unit": "KiloGM"}, "ab": {"title": "two"}})
    assert mapping.about_table("ab") == {"title": "two", "unit": "KiloGM"}
    assert mapping.about_table("b") == {}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("sales", "one", "", "", "", "", "", ""), "decisions.csv, line 2, column 'header rows': 'one' are not rows"),
        (("sales", "", "", "", "", "", "quux", ""), "column 'unit': 'quux' is not a unit"),
        (
            ("sales", "99", "", "", "", "", "", ""),
            "decisions.csv, line 2, column 'header rows': table 'sales' has no row 99",
        ),
        (("sales", "2", "regon", "", "", "", "", ""), "has no column 'regon'. Did you mean region?"),
        (("sales", "2", "", "9", "", "", "", ""), "line 2, column 'skip rows': table 'sales' has no row 9"),
        (
            ("sales", "2", "", "2", "", "", "", ""),
            "line 2, column 'skip rows': row 2 of table 'sales' is one of its header rows",
        ),
        (
            ("sales", "2", "", "3-5", "", "", "", ""),
            "decisions.csv, line 2, column 'skip rows': this leaves table 'sales' no row of data",
        ),
        (("", "2", "", "", "", "", "", ""), "there is no table"),
        (("sales", "", "", "", "", "", "", "", "quux"), "column 'encoding': 'quux' is not an encoding"),
    ],
)
def test_a_decision_that_makes_no_sense_is_refused(tmp_path: Path, row: tuple[str, ...], message: str) -> None:
    folder = folder_of(tmp_path, sales=SALES)
    mapping = decide(tmp_path, row)
    with pytest.raises(MappingError) as raised:
        kgtable.build(folder, tmp_path / "kg", embedding="none", mapping=mapping)
    assert message in str(raised.value)


def test_names_that_match_nothing_are_told_with_the_nearest(tmp_path: Path) -> None:
    mapping = UserMapping({("Revenu", ""): {"unit": "CCY_EUR"}, ("Cost", "sale"): {}}, {"stok*": {"unit": "KiloGM"}})
    told = mapping.unmatched(["Revenue", "Cost"], ["sales", "stock"])
    assert told == (
        "The mapping names a table 'sale' that is not there. Did you mean 'sales'?",
        "The mapping names a column 'Revenu' that no table has. Did you mean 'Revenue'?",
        "The mapping names a table 'stok*' that is not there. Did you mean 'stock'?",
    )


@pytest.mark.parametrize(
    ("first_line", "message"),
    [
        ("table,header rows,label colum", "a mapping has no column 'label colum'. Did you mean 'label column'?"),
        ("table,heder rows", "a mapping has no column 'heder rows'. Did you mean 'header rows'?"),
        ("tabel,header rows", "a mapping has no column 'tabel'. Did you mean 'table'?"),
        ("column name,predicate,units", "a mapping has no column 'units'. Did you mean 'unit'?"),
    ],
)
def test_a_misspelt_column_of_the_mapping_is_refused(tmp_path: Path, first_line: str, message: str) -> None:
    folder = folder_of(tmp_path, sales=SALES)
    mapping = tmp_path / "decisions.csv"
    mapping.write_text(f"{first_line}\nsales,2,A\n")
    with pytest.raises(MappingError) as raised:
        kgtable.build(folder, tmp_path / "kg", embedding="none", mapping=mapping)
    assert message in str(raised.value)


def test_an_encoding_is_decided_for_one_file_for_good_and_given_for_the_others(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.csv").write_bytes("name,n\nжёлтый,1\n".encode("cp1251"))
    (folder / "b.csv").write_bytes("name,n\nпёстрый,2\n".encode("koi8-r"))
    mapping = decide(tmp_path, ("a", *[""] * 7, "windows-1251"))

    def labels(**options: str | Path) -> set[str]:
        with kgtable.build(folder, tmp_path / "graph", embedding="none", **options) as kg:  # type: ignore[arg-type]
            frame = kg.sparql("SELECT ?l { ?r a kgt:Row ; kgt:row 1 ; rdfs:label ?l }")
            return set(frame["l"])  # type: ignore[index]

    assert labels(mapping=mapping, encoding="koi8-r") == {"жёлтый", "пёстрый"}
    assert labels(encoding="windows-1251") == {"жёлтый", "РЈУФТЩК"}
    with pytest.raises(UsageError, match="Unknown encoding 'quux'"):
        labels(encoding="quux")
