from __future__ import annotations

import json
from pathlib import Path

import pytest

import kgtable
from kgtable.building.generations import POINTER, GraphDirectory
from kgtable.errors import GraphNotFoundError, GraphVersionError, ServerError
from kgtable.graph.remote.dialects import StoreEndpoint
from kgtable.graph.terms import KGT
from kgtable.server.problems import Problem
from kgtable.server.state import WIDELY_USED, GraphFolder, StoreFolder
from tests.server.refusals import refused


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text("a,b\nx,1\n", encoding="utf-8")
    kgtable.build(tmp_path / "t.csv", tmp_path / "kg", embedding="none", base="https://data.example/")
    return tmp_path / "kg"


def test_a_new_generation_is_seen_and_nothing_else(folder: Path) -> None:
    source = GraphFolder(folder)
    before = source.view()
    assert source.view() is before
    assert before.directory == str(folder.absolute())
    assert before.prefixes["ex"] == "https://data.example/ontology#"
    assert before.prefixes["skos"] == WIDELY_USED["skos"]
    (folder.parent / "t.csv").write_text("a,b\nx,2\n", encoding="utf-8")
    kgtable.build(folder.parent / "t.csv", folder, embedding="none")
    after = source.view()
    assert (after.path, after.version) != (before.path, before.version)
    assert Path(after.path).is_dir()


def test_while_the_graph_cannot_be_read_it_is_unavailable(folder: Path) -> None:
    source = GraphFolder(folder)
    pointer = (folder / POINTER).read_text(encoding="utf-8")
    (folder / POINTER).unlink()
    with refused("unavailable"):
        source.view()
    (folder / POINTER).write_text(pointer, encoding="utf-8")
    assert source.view().version.startswith("1-")
    GraphDirectory(folder).current().catalogue_path.unlink()
    (folder / POINTER).write_text(pointer + " ", encoding="utf-8")
    with pytest.raises(Problem, match="catalogue"):
        source.view()


def test_directories_that_cannot_be_served(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(GraphNotFoundError):
        GraphFolder(tmp_path / "nowhere")
    GraphDirectory(tmp_path / "far").point_to_endpoint(StoreEndpoint("http://e/"))
    with pytest.raises(ServerError, match="another SPARQL endpoint"):
        GraphFolder(tmp_path / "far")
    GraphDirectory(folder).current().catalogue_path.unlink()
    with pytest.raises(GraphVersionError, match="missing"):
        GraphFolder(folder)
    (folder / POINTER).write_text(json.dumps({"format": "other"}), encoding="utf-8")
    with pytest.raises(GraphVersionError):
        GraphFolder(folder)


def test_a_bare_store_is_always_the_same(tmp_path: Path) -> None:
    source = StoreFolder(tmp_path, {"mine": "http://mine/", "kgt": "http://other/"})
    assert source.view() is source.view()
    assert source.view().directory is None
    assert source.view().prefixes["mine"] == "http://mine/"
    assert StoreFolder(tmp_path).view().prefixes["kgt"] == KGT
