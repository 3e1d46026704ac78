"""Names of columns without a header and tables without a title: inferred, stated, searched, corrected."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

import kgtable
from kgtable.errors import VocabularyIndexError
from kgtable.graph.store import EmbeddedStore
from kgtable.index.inferred.name_inference import stated_names
from kgtable.llm.protocol import Request
from kgtable.llm.scripted import ScriptedLLM
from kgtable.ontology.inferred_names import FILE, InferredNames, is_missing_header, is_missing_title
from tests.table_files import write_files

CLUBS = "Club,Town,Founded,Ground\nRovers,Hull,1888,Mill Lane\nHarriers,York,1902,West Park\nSwifts,Ely,1911,Low Road\n"
MASKED = "Column 1,,Unnamed: 2,c4\nRovers,Leeds,1888,7\nAlbion,York,1902,8\nSwifts,Hull,1923,9\n"
OTHER = "Lake,Depth in m\nBaikal,1642\nGarda,346\n"


def folder_of(folder: Path, **tables: str) -> Path:
    return write_files(folder, tables)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("named") / "tables"
    return folder_of(folder, clubs=CLUBS, table_2=MASKED, lakes=OTHER)


def built(tables: Path, kg: Path) -> kgtable.KnowledgeGraph:
    return kgtable.build(tables, kg, embedding="none")


def mapping_of(kg: Path) -> list[dict[str, str]]:
    with (kg / "ontology.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def edited(kg: Path, column: str, name: str) -> None:
    """The mapping with another inferred name, as a user writes it."""
    rows = mapping_of(kg)
    for row in rows:
        if row["column name"] == column and row["only in"]:
            row["inferred name"] = name
    with (kg / "ontology.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.parametrize(
    "header", ["", " ", "Column 3", "column_12", "Unnamed: 3", "Unnamed: 1_level_0", "c1", "X", "?", "MASK", "field2"]
)
def test_headers_that_say_nothing_are_missing(header: str) -> None:
    assert is_missing_header(header)


@pytest.mark.parametrize("header", ["Club", "C", "W", "2019", "%", "Xylophones", "Q1", "Columns of marble", "№ 3"])
def test_headers_that_say_something_are_not(header: str) -> None:
    assert not is_missing_header(header)


@pytest.mark.parametrize(
    ("title", "id", "missing"),
    [("", "table_17", True), ("", "3f2a9c04-77aa-4e0b-9d1c-0a1b2c3d4e5f", True), ("Sheet1", "export", True),
     ("", "clubs", False), ("Clubs of 1990", "table_17", False), ("", "sales_2019", False)],
)  # fmt: skip
def test_titles_that_say_nothing_are_missing(title: str, id: str, missing: bool) -> None:
    assert is_missing_title(title, id) == missing


def test_names_come_from_like_columns_and_tables(tables: Path, tmp_path: Path) -> None:
    with built(tables, tmp_path / "kg") as graph:
        names = graph.inferred_names
        store = EmbeddedStore(graph.generation.store_path, graph.names.prefixes)
        stated = stated_names(store, graph.names)
    found = {name.column: name.name for name in names if name.table == "table_2"}
    assert (found[0], found[1], found[2]) == ("Club", "Town", "Founded")
    assert found[None] == "clubs"
    assert {name.table for name in names} == {"table_2"}, "what has a name gets none"
    assert len(set(found.values())) == len(found)
    assert all(0 < name.confidence < 1 for name in names)
    assert sorted(map(repr, stated)) == sorted(map(repr, names))
    header = store.query("SELECT ?t { <http://example.org/data/table/table_2/column/0> csvw:titles ?t }")
    assert isinstance(header, ox.QuerySolutions)
    assert [row["t"].value for row in header] == ["Column 1"], "the header stays as printed"


def test_the_search_finds_a_table_by_an_inferred_name(tables: Path, tmp_path: Path) -> None:
    without = folder_of(tmp_path / "alone", table_2=MASKED, lakes=OTHER)
    asked = "which town and founded year of the club"
    with built(tables, tmp_path / "kg") as graph:
        assert {table.table for table in graph.retrieve(asked, 10).tables[:2]} == {"clubs", "table_2"}
    with built(without, tmp_path / "kg2") as graph:
        before = next((t.score for t in graph.retrieve("the club's ground", 10).tables if t.table == "table_2"), 0)
        assert before == 0 or not graph.inferred_names.at("table_2", 0)


def test_the_users_name_wins_survives_and_can_be_given_back(tables: Path, tmp_path: Path) -> None:
    kg, own = tmp_path / "kg", folder_of(tmp_path / "own", clubs=CLUBS, table_2=MASKED)
    built(own, kg).close()
    rows = {(row["column name"], row["only in"]): row["inferred name"] for row in mapping_of(kg)}
    assert (rows["[column 2]", "table_2"], rows["Column 1", "table_2"]) == ("Town", "Club")
    assert rows["Club", ""] == ""
    sure = {(row["column name"], row["only in"]): row["confidence"] for row in mapping_of(kg)}
    assert re.fullmatch(r"0\.\d\d, columns", sure["[column 2]", "table_2"])
    assert sure["Club", ""] == ""
    edited(kg, "[column 2]", "Birthplace")
    for _ in range(2):  # the build after the edit, and one after another change
        with built(own, kg) as graph:
            name = graph.inferred_names.at("table_2", 1)
            assert name is not None
            assert (name.name, name.confidence, name.basis) == ("Birthplace", 1.0, "user")
            assert "table_2" in [t.table for t in graph.retrieve("birthplace", 10).tables]
            assert graph.tables["table_2"].to_csv().startswith("Column 1,,Unnamed: 2,c4"), "nothing is overwritten"
        kept = {(row["column name"], row["only in"]): row for row in mapping_of(kg)}["[column 2]", "table_2"]
        assert (kept["inferred name"], kept["confidence"]) == ("Birthplace", "")
        folder_of(own, lakes=OTHER)
    edited(kg, "[column 2]", "")
    with built(own, kg) as graph:
        again = graph.inferred_names.at("table_2", 1)
        assert again is not None
        assert again.name == "Town"


def test_an_inferred_title_is_shown_and_the_users_stays(tables: Path, tmp_path: Path) -> None:
    kg = tmp_path / "kg"
    built(tables, kg).close()
    path = kg / "ontology.tables.csv"
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    assert [(row["table"], row["title"], row["inferred title"]) for row in rows] == [("table_2", "", "clubs")]
    assert re.fullmatch(r"0\.\d\d, tables", rows[0]["confidence"])
    path.write_text(path.read_text().replace("table_2,,,,,", "table_2,,,,,Northern clubs"), encoding="utf-8")
    with built(tables, kg) as graph:
        assert graph.inferred_names.title("table_2") is None
        listed = {table["id"]: table["title"] for table in graph.info()["table_list"]}
        assert listed["table_2"] == "Northern clubs"


def reply(request: Request) -> dict[str, Any]:
    asked = map(int, re.findall(r"column (\d+): name", str(request.messages[-1]["content"])))
    nothing = dict.fromkeys(("role", "kind", "unit", "scale"), "")
    columns = [{**nothing, "column": column, "name": f"Name {column}", "confidence": 0.7} for column in asked]
    return {"columns": columns, "title": "Clubs of the north"}


def test_a_model_names_what_is_missing_and_the_names_are_kept(tables: Path, tmp_path: Path) -> None:
    kg, own = tmp_path / "kg", folder_of(tmp_path / "own", clubs=CLUBS, table_2=MASKED)
    built(own, kg).close()
    model = ScriptedLLM(reply)
    assert kgtable.annotate(kg, model=model).proposals == 5
    said = "\n".join(str(request.messages[-1]["content"]) for request in model.requests)
    assert "Harriers" not in said, "a table of which all is decided is not shown"
    folder_of(own, lakes=OTHER)
    with built(own, kg) as graph:
        names = {(name.table, name.column): name for name in graph.inferred_names}
        assert {name.basis for name in names.values()} == {"model"}
        assert (names["table_2", None].name, names["table_2", 1].name) == ("Clubs of the north", "Name 2")
        assert len(names) == 5
        assert "table_2" in [found.table for found in graph.retrieve("clubs of the north", 10).tables]
    folder_of(own, clubs=CLUBS.replace("Hull", "Goole"))
    with built(own, kg) as graph:  # so much has changed that all tables are converted anew
        assert {name.basis for name in graph.inferred_names} == {"model"}
    folder_of(own, table_2=MASKED.replace("Leeds", "Ripon"))
    with built(own, kg) as graph:
        assert {name.basis for name in graph.inferred_names}.isdisjoint({"model"}), "of a table that changed they go"


def test_damaged_names_are_told(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('[{"table": 1}]', encoding="utf-8")
    with pytest.raises(VocabularyIndexError, match="damaged"):
        InferredNames.open(tmp_path)


def test_names_that_a_user_gives_tell_how_tables_are_related(tmp_path: Path) -> None:
    rows = [f"M{n},Ann {n},{n % 3}" for n in range(8)]
    own = folder_of(
        tmp_path / "own",
        crew_one="\n".join(("Member,Name,Watch", *rows[:4])),
        crew_two="\n".join(("c1,c2,Watch", *rows[4:])),
    )
    for name in ("crew_one", "crew_two"):
        (own / f"{name}.json").write_text('{"title": "Crew"}', encoding="utf-8")
    with built(own, tmp_path / "kg") as graph:
        assert not graph.relations.unions
    edited(tmp_path / "kg", "c1", "Members")
    with built(own, tmp_path / "kg") as graph:
        assert [set(union.tables) for union in graph.relations.unions] == [{"crew_one", "crew_two"}]
