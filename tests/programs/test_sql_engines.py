"""The tables of a graph in another SQL engine: SQLite stands for all that SQLAlchemy reaches."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

import kgtable
from kgtable.cli.main import main
from kgtable.errors import EvaluationError, QueryError
from kgtable.programs.compiled.sql_engines import EngineTables

SALES = (
    "Shop,Rent ($),Staff,select,Opened\n"
    'Oslo,1234.56,12,a,2019-03-01\n"Rome; DROP TABLE x",0.1,7,b,2020-04-02\n'
)
LONG = "Name,Number\na,12345678901234567890.123\nb,1.5\n"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kgtable.KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("engines")
    (folder / "in").mkdir()
    (folder / "in" / "Sales 2019.csv").write_text(SALES, encoding="utf-8")
    (folder / "in" / "long.csv").write_text(LONG, encoding="utf-8")
    with kgtable.build(folder / "in", folder / "kg", embedding="none") as opened:
        yield opened


@pytest.fixture
def tables(graph: kgtable.KnowledgeGraph, tmp_path: Path) -> Iterator[EngineTables]:
    with closing(EngineTables(graph.sql_database, f"sqlite:///{tmp_path / 'tables.db'}")) as engine:
        yield engine


def test_numbers_dates_and_texts_are_exact(tables: EngineTables) -> None:
    found = tables.query("SELECT shop, rent, staff, select_, opened FROM sales_2019 ORDER BY rent DESC")
    assert found.names == ("shop", "rent", "staff", "select_", "opened")
    assert found.rows == (
        ("Oslo", 1234.56, 12, "a", "2019-03-01"),
        ("Rome; DROP TABLE x", 0.1, 7, "b", "2020-04-02"),
    )
    assert tables.query("SELECT SUM(staff) FROM sales_2019").rows == ((19,),)
    assert tables.query("SELECT number FROM long ORDER BY name").rows[0] == ("12345678901234567890.123",)


def test_names_lead_back_to_tables_and_headers(tables: EngineTables) -> None:
    assert tables.load() == 2
    names = tables.query("SELECT table_name, id FROM kgtable_tables ORDER BY id")
    assert names.rows == (("sales_2019", "Sales 2019"), ("long", "long"))
    headers = tables.query("SELECT header, unit FROM kgtable_columns WHERE column_name = 'rent'")
    assert headers.rows == (("Rent ($)", "CCY_USD"),)
    assert tables.load() == 2  # again, in place of what was there


def test_nothing_is_written_through_a_query(tables: EngineTables, tmp_path: Path) -> None:
    tables.load()
    for query in (
        "DELETE FROM long",
        "DROP TABLE long",
        "SELECT 1; DROP TABLE long",
        "PRAGMA user_version = 3",
        "",
    ):
        with pytest.raises(QueryError):
            tables.query(query)
    with closing(sqlite3.connect(tmp_path / "tables.db")) as connection:
        assert connection.execute("SELECT COUNT(*) FROM long").fetchone() == (2,)


def test_tables_of_others_are_left_alone(tables: EngineTables, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "tables.db")) as connection:
        connection.execute("CREATE TABLE long (kept INTEGER)")
    with pytest.raises(QueryError, match="'long' that kgtable did not write"):
        tables.load()
    assert tables.query("SELECT shop FROM sales_2019 WHERE staff = 7").rows == (("Rome; DROP TABLE x",),)


def test_a_query_that_takes_too_long_is_ended(tables: EngineTables) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n"
    with pytest.raises(EvaluationError, match="took more than"):
        tables.query(endless, seconds=0.2)


def test_an_engine_that_is_none_is_told_without_its_password(
    graph: kgtable.KnowledgeGraph, tmp_path: Path
) -> None:
    for url in ("nonsense", "unknown://user:secret@host/db", f"sqlite:///{tmp_path}/no/such/folder.db"):
        with pytest.raises(QueryError) as told:
            EngineTables(graph.sql_database, url).load()
        assert "secret" not in str(told.value)


def test_the_command_loads_and_queries(graph: kgtable.KnowledgeGraph, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'out.db'}"
    loaded = CliRunner().invoke(main, ["sql", "--kg", str(graph.path), "--engine", url])
    assert loaded.output == "Wrote 2 tables and their catalogue.\n", loaded.output
    query = "SELECT shop FROM sales_2019 WHERE rent > 1"
    found = CliRunner().invoke(main, ["sql", query, "--kg", str(graph.path), "--engine", url, "-f", "csv"])
    assert found.output == "shop\nOslo\n"
