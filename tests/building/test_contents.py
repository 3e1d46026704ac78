from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgtable.building.contents import contents_state, read_contents, save_contents
from kgtable.building.generations import Generation
from kgtable.graph.store import EmbeddedStore, store_state
from kgtable.graph.table_content import TableContent
from kgtable.graph.table_source import TableReader
from kgtable.graph.terms import Namespaces
from tests.index.sample_graph import build, write_tables

IDS = ["bridges", "income", "medals"]


@pytest.fixture(scope="module")
def generation(tmp_path_factory: pytest.TempPathFactory) -> Generation:
    folder = tmp_path_factory.mktemp("contents")
    return build(write_tables(folder / "tables"), folder / "kg", "none")


def read(generation: Generation) -> list[TableContent]:
    return [content.in_memory() for content in read_contents(generation, IDS)]


def decoded(generation: Generation) -> list[TableContent]:
    names = Namespaces(generation.base)
    reader = TableReader(EmbeddedStore(generation.store_path, names.prefixes), names)
    return [reader.content(id) for id in IDS]


def test_conversion_keeps_what_the_graph_says(generation: Generation) -> None:
    assert read(generation) == decoded(generation)


def test_processes_keep_the_same(generation: Generation, tmp_path: Path) -> None:
    from kgtable.building.pipeline import build_graph

    made = build_graph([write_tables(tmp_path / "tables")], tmp_path / "kg", workers=2).generation
    assert read(made) == read(generation)


def test_without_the_file_contents_come_from_the_store(generation: Generation, tmp_path: Path) -> None:
    copy = replace(generation, path=tmp_path / "copy")
    shutil.copytree(generation.path, copy.path)
    copy.contents_path.unlink()
    assert contents_state(copy) is None
    assert read(copy) == read(generation)


def test_unchanged_tables_keep_theirs(tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "tables")
    first = build(tables, tmp_path / "kg", "none")
    with closing(sqlite3.connect(first.contents_path)) as database, database:
        database.execute("UPDATE contents SET content = replace(content, 'Peru', 'Chile')")
    first.record_parts()
    (tables / "bridges.csv").write_text("Bridge,Length\nNew,5\n", encoding="utf-8")
    second = build(tables, tmp_path / "kg", "none")
    bridges, _, medals = read(second)
    assert [row.label for row in medals.rows] == [None, "Norway", "Kenya", "Chile"]
    assert [name for name, _ in bridges.columns] == ["Bridge", "Length"]
    assert contents_state(second) == store_state(second.store_path)


def test_a_store_that_was_written_to_is_read_again(generation: Generation, tmp_path: Path) -> None:
    previous = replace(generation, path=tmp_path / "previous")
    shutil.copytree(generation.path, previous.path)
    row, label = "http://example.org/data/table/medals/row/3", "http://www.w3.org/2000/01/rdf-schema#label"
    store = ox.Store(str(previous.store_path))
    store.update(
        f"DELETE WHERE {{ GRAPH ?g {{ <{row}> <{label}> ?l }} }} ;"
        f' INSERT DATA {{ GRAPH <{Namespaces().table_iri("medals")}> {{ <{row}> <{label}> "Chile" }} }}'
    )
    store.flush()
    del store
    assert contents_state(previous) != store_state(previous.store_path)
    new = replace(generation, path=tmp_path / "new", previous=previous)
    shutil.copytree(previous.store_path, new.store_path)
    save_contents(new, [], IDS)
    assert [row.label for row in read(new)[2].rows][-1] == "Chile"
    assert [row.label for row in read(generation)[2].rows][-1] == "Peru"


def test_a_full_disk_is_an_error_of_the_system(generation: Generation, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="unable to open"):
        save_contents(replace(generation, path=tmp_path / "absent"), [], [])
