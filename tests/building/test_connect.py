"""A graph moved to another engine and asked there: the same answers, the same tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import rdflib
from rdflib.compare import isomorphic

import kgtable
from kgtable.errors import GraphVersionError, RemoteStoreError, UsageError
from kgtable.resources import shipped_path
from tests.conftest import INCOME, PLANETS
from tests.graph.remote.engines import ENGINES, Engine, free_port, running_engine
from tests.server.serving import TOKEN

EXAMPLES = sorted(shipped_path("queries/examples").glob("*.rq"))


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> kgtable.KnowledgeGraph:
    folder = tmp_path_factory.mktemp("local")
    (folder / "planets.csv").write_text(PLANETS, encoding="utf-8")
    (folder / "in come ü.csv").write_text(INCOME, encoding="utf-8")
    return kgtable.build(folder, folder / "kg", embedding="none", base="https://data.example/x/")


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with running_engine(request.param, tmp_path_factory.mktemp("server")) as engine:
        yield engine


@pytest.fixture(scope="module")
def remote(
    engine: Engine, local: kgtable.KnowledgeGraph, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[kgtable.KnowledgeGraph]:
    """The local graph, pushed and connected to."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KGTABLE_SPARQL_TOKEN", TOKEN)
        local.push(engine.store, dialect=engine.dialect)
        local.push(engine.store, dialect=engine.dialect)
        directory = tmp_path_factory.mktemp("remote") / "kg"
        yield kgtable.connect(engine.query, directory, store=engine.store, dialect=engine.dialect)


def comparable(result: object) -> object:
    if isinstance(result, pd.DataFrame):
        return list(result.columns), sorted(map(repr, result.to_dict("split")["data"]))
    return result


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_queries_give_the_same(
    path: Path, local: kgtable.KnowledgeGraph, remote: kgtable.KnowledgeGraph
) -> None:
    query = path.read_text(encoding="utf-8")
    expected, found = local.sparql(query), remote.sparql(query)
    if isinstance(expected, rdflib.Graph):
        assert isinstance(found, rdflib.Graph)
        assert isomorphic(found, expected)
    else:
        assert comparable(found) == comparable(expected)


def test_tables_are_read_back_equal(
    local: kgtable.KnowledgeGraph, remote: kgtable.KnowledgeGraph, tmp_path: Path
) -> None:
    assert sorted(remote.tables) == sorted(local.tables) == ["in come ü", "planets"]
    for id in local.tables:
        assert remote.tables[id].table == local.tables[id].table
        assert remote.tables[id].to_csv() == local.tables[id].to_csv()
        assert remote.tables[id].record.rows == local.tables[id].record.rows
    remote.export(tmp_path / "csv")
    assert (tmp_path / "csv" / "planets.csv").read_text(encoding="utf-8") == local.tables["planets"].to_csv()


def test_tables_without_a_graph_store_address(
    engine: tuple[str, str], local: kgtable.KnowledgeGraph, remote: kgtable.KnowledgeGraph, tmp_path: Path
) -> None:
    assert remote.endpoint is not None
    plain = kgtable.connect(remote.endpoint.url, tmp_path / "kg", dialect=engine[0])
    assert plain.tables["planets"].table == local.tables["planets"].table


def test_only_new_directories_are_connected(
    remote: kgtable.KnowledgeGraph, local: kgtable.KnowledgeGraph, tmp_path: Path
) -> None:
    assert remote.endpoint is not None
    url = remote.endpoint.url
    with pytest.raises(GraphVersionError, match="not empty"):
        kgtable.connect(url, local.path)
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(GraphVersionError, match="not empty"):
        kgtable.connect(url, tmp_path)
    with pytest.raises(GraphVersionError, match="kgtable push"):
        kgtable.build(local.path.parent / "planets.csv", remote.path, embedding="none")
    assert len(kgtable.open(remote.path).tables) == 2


@pytest.mark.parametrize("url", ["ftp://x/", "sparql", "http://", "http://me:secret@x/", "http://x/\n", "http://x:y/"])
def test_addresses_that_are_none(url: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        kgtable.connect(url, tmp_path / "kg")
    assert "secret" not in str(caught.value)
    assert not (tmp_path / "kg").exists()


def test_nothing_is_written_where_nobody_answers(local: kgtable.KnowledgeGraph, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}/"
    with pytest.raises(RemoteStoreError, match="cannot be reached"):
        kgtable.connect(url, tmp_path / "kg")
    assert not (tmp_path / "kg").exists()
    with pytest.raises(RemoteStoreError, match=r"0 of 3 graphs are there.*Run it again"):
        local.push(url)
