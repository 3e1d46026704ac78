from __future__ import annotations

from pathlib import Path

import numpy as np
import pyoxigraph as ox
import pytest

import kgtable
from kgtable.building.generations import Generation
from kgtable.errors import VocabularyIndexError
from kgtable.graph.store import EmbeddedStore
from kgtable.graph.terms import Namespaces
from kgtable.index.inferred.column_profiles import ColumnProfile, TableHead, TableProfiles, ValueForm
from kgtable.index.inferred.joins import MOST_KIN_PAIRS, JoinFinder
from kgtable.index.inferred.relations import FILE, TableRelations, stated_relations
from tests.index.sample_graph import build
from tests.table_files import write_files

TABLES = {
    "members": "Member ID,Name,Town\nM07,Ann Lee,Bath\nM11,Bo Dahl,York\nM15,Cy Fox,Hull\nM19,Di Gray,Ely\n",
    "loans": "Loan,Member ID,Item\n1,M07,Drill\n2,M07,Saw\n3,M15,Ladder\n4,M11,Tent\n",
    "towns": "Town,County,Inhabitants\nBath,Somerset,94000\nYork,North Yorkshire,141000\n"
    "Hull,East Riding,267000\nEly,Cambridgeshire,19000\n",
    "fairs": "Fair,Town,Visitors\nSpring,Batth,300\nSummer,Yorck,900\nAutumn,Hull,450\nWinter,Ely,120\n",
    "apples-2023": "Month,Crates,Price\nAugust,120,3.10\nSeptember,260,2.90\nOctober,180,3.00\n",
    "apples-2024": "Price,Month,Crates\n3.20,August,140\n3.05,September,250\n3.15,October,170\n",
    "ranks": "Rank,Rider\n1,Eve\n2,Flo\n3,Gus\n",
}


def written(folder: Path, tables: dict[str, str] = TABLES) -> Path:
    return write_files(folder, tables)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Generation:
    folder = tmp_path_factory.mktemp("related")
    return build(written(folder / "tables"), folder / "kg")


@pytest.fixture(scope="module")
def relations(built: Generation) -> TableRelations:
    return TableRelations.open(built.index_path)


def columns(relations: TableRelations) -> set[tuple[str, str]]:
    return {(str(join.left), str(join.right)) for join in relations.joins}


def store_of(generation: Generation) -> EmbeddedStore:
    return EmbeddedStore(generation.store_path, Namespaces(generation.base).prefixes)


def test_a_reference_is_found_by_telling_values_whatever_it_is_called(tmp_path: Path) -> None:
    tables = {
        "sport/players": "Player ID,Name\n" + "".join(f"{7001 + 311 * n},P{n}\n" for n in range(9)),
        "sport/matches": "Round,Winner ID,Points\n" + "".join(f"R{n},{7001 + 311 * (n % 5)},{n}\n" for n in range(7)),
        "sport/rounds": "Round ID,Days\n" + "".join(f"{n},{n + 3}\n" for n in range(1, 9)),
    }
    (tmp_path / "tables" / "sport").mkdir(parents=True)
    relations = TableRelations.open(build(written(tmp_path / "tables", tables), tmp_path / "kg").index_path)
    found = [(join.left.name, join.right.name) for join in relations.between("matches", "players")]
    assert found == [("Winner ID", "Player ID")]
    assert not relations.between("rounds", "players")


def test_a_reference_is_joined_with_its_key(relations: TableRelations) -> None:
    join = relations.between("loans", "members")[0]
    assert (str(join.left), str(join.right)) == ("loans.Member ID", "members.Member ID")
    assert (join.containment, join.uniqueness, join.fuzzy, join.matched) == (1.0, 1.0, 0.0, 3)
    assert join.examples == ("m07", "m11", "m15")
    assert relations.neighbours("loans") == {"members"}


def test_numbers_that_only_count_rows_join_nothing(relations: TableRelations) -> None:
    assert not relations.joins_of("ranks")
    assert ("loans.Loan", "ranks.Rank") not in columns(relations)


def test_values_spelt_otherwise_join_with_their_share(relations: TableRelations) -> None:
    join = relations.between("fairs", "towns")[0]
    assert (str(join.left), join.matched, join.fuzzy) == ("fairs.Town", 4, 0.5)
    assert join.examples == ("batth ~ bath", "yorck ~ york")


def test_parts_of_one_table_are_one_cluster_whatever_the_order_of_columns(relations: TableRelations) -> None:
    (union,) = relations.unions
    assert union.tables == ("apples-2023", "apples-2024")
    assert union.columns == ((0, 1, 2), (1, 2, 0))
    assert relations.union_of("apples-2024") is union
    assert not relations.between("apples-2023", "apples-2024")


def test_the_graph_states_the_relations(built: Generation, relations: TableRelations) -> None:
    names = Namespaces(built.base)
    stated = stated_relations(store_of(built), names)
    assert columns(stated) == columns(relations)
    assert {join.score for join in stated.joins} == {join.score for join in relations.joins}
    assert [union.tables for union in stated.unions] == [union.tables for union in relations.unions]
    asked = store_of(built).query(
        "ASK { ?one kgt:table ?loans ; kgt:joinableOn/kgt:table ?members }",
        bindings={"loans": ox.NamedNode(names.table_iri("loans")), "members": ox.NamedNode(names.table_iri("members"))},
    )
    assert bool(asked)


def test_an_index_of_before_has_no_relations_and_is_made_again(tmp_path: Path) -> None:
    tables = written(tmp_path / "tables", {name: TABLES[name] for name in ("members", "loans")})
    with kgtable.build(tables, tmp_path / "kg", embedding="none") as graph:
        before = graph.generation
        assert len(graph.relations.joins) == 1
    (before.index_path / FILE).unlink()
    assert not TableRelations.open(before.index_path)
    with kgtable.build(tables, tmp_path / "kg", embedding="none") as graph:
        assert graph.generation.number == before.number + 1
        assert len(graph.relations.joins) == 1
        rows = graph.sparql("SELECT ?join WHERE { ?join a kgt:JoinRelation }")
        assert len(rows) == 1  # type: ignore[arg-type]


def test_damaged_relations_are_told(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"joins": [{}], "unions": []}')
    with pytest.raises(VocabularyIndexError, match="relations"):
        TableRelations.open(tmp_path)


def test_parts_are_found_where_headers_or_a_title_are_missing(tmp_path: Path) -> None:
    rows = [f"C{n},Club {n},{1880 + n},Town {n % 7},{300 + 7 * n}" for n in range(16)]
    header = "Club ID,Club,Founded,Town,Seats"
    cut = [",".join(text.split(",")[i] for i in (0, 4)) for text in rows]
    tables = {
        "one": "\n".join((header, *rows[:8])),
        "two": "\n".join(("Club ID,Club,Column 3,Town,X", *rows[8:])),
        "seats": "\n".join(("Column 1,Seats", *cut[:8])),
        "table_9": "\n".join(("Club ID,Club,Founded,Town,Seats", *rows[8:])),
    }
    folder = written(tmp_path / "tables", tables)
    for name in ("one", "two", "seats"):
        (folder / f"{name}.json").write_text('{"title": "Clubs"}', encoding="utf-8")
    relations = TableRelations.open(build(folder, tmp_path / "kg").index_path)
    union = relations.union_of("one")
    assert union is not None
    assert set(union.tables) == {"one", "two", "table_9"}
    assert union.columns[union.tables.index("two")] == union.columns[union.tables.index("one")]
    assert ("one.Club ID", "seats.Column 1") in {
        pair for left, right in columns(relations) for pair in ((left, right), (right, left))
    }


def wide(tables: int, width: int) -> TableProfiles:
    """Tables of columns of three keys each, which have nothing in common but their folder."""
    names = tuple(f"n{place}" for place in range(width))
    heads = tuple(TableHead(f"t{table}", "", (), names) for table in range(tables))
    columns = tuple(
        ColumnProfile(number, number // width, number % width, f"{number}", (), ValueForm.TEXT, 3, values, 0.0)
        for number in range(tables * width)
        for values in [np.arange(3 * number, 3 * number + 3, dtype=np.int32)]
    )
    return TableProfiles(heads, columns, tuple(f"key {n}" for n in range(3 * len(columns))))


def test_tables_of_very_many_columns_are_not_compared_column_by_column() -> None:
    narrow, broad = wide(3, 20), wide(2, 2_500)
    finder = JoinFinder(narrow)
    assert list(finder.candidates()) == []
    assert finder.looked_at == 60 * 40
    finder = JoinFinder(broad)
    assert list(finder.candidates()) == []
    assert finder.looked_at <= MOST_KIN_PAIRS


def test_rows_that_contain_others_by_another_table_are_totals(tmp_path: Path) -> None:
    places = "Country,Region\nGermany,Europe\nFrance,Europe\nJapan,Asia\nChina,Asia\nIndia,Asia\n"
    visits = "Area,Visitors\nEurope,35\nGermany,10\nFrance,20\nAsia,80\nJapan,40\nChina,30\n"
    folder = written(tmp_path / "tables", {"places": places, "visits": visits})
    with kgtable.build([folder], tmp_path / "kg", embedding="none") as kg:
        assert kg.reader.table("visits").structure.summed == {1: (2, 3), 4: (5, 6)}
        assert kg.reader.rows("visits", [1, 2])[1].kinds >= {"TotalRow"}
        answer = kg.ask("What is the total number of visitors?", model="none")
        assert answer.value == "100"
        assert answer.program is not None
        assert kg.run(answer.program, engine="sparql").value == 100
    (folder / "places.csv").write_text(places.replace("Europe", "Iberia"), encoding="utf-8")
    with kgtable.build([folder], tmp_path / "kg", embedding="none") as kg:
        assert kg.reader.table("visits").structure.contained == frozenset()
