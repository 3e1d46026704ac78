from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kgtable.building.catalogue import Changes
from kgtable.building.generations import Generation
from kgtable.graph.store import EmbeddedStore
from kgtable.graph.terms import Namespaces
from kgtable.index import contents
from kgtable.index.contents import TableContent, keep_contents, read_content, table_text

IDS = ["bridges", "income", "medals"]


def kept(folder: Path) -> list[TableContent]:
    with closing(sqlite3.connect(folder / contents.FILE)) as database:
        texts = database.execute("SELECT content FROM contents ORDER BY rowid")
        return [TableContent.from_json(text) for (text,) in texts]


def test_contents_are_kept_in_the_order_of_the_tables(generation: Generation, tmp_path: Path) -> None:
    found = list(keep_contents(generation, IDS, None, 1, tmp_path))
    assert [content.id for content in found] == IDS
    assert kept(tmp_path) == found == kept(generation.index_path)


def test_worker_processes_read_the_same(
    generation: Generation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "CHUNK", 1)
    assert list(keep_contents(generation, IDS, None, 2, tmp_path)) == kept(generation.index_path)


def test_unchanged_tables_come_from_the_index_before(generation: Generation, tmp_path: Path) -> None:
    elsewhere = replace(generation, path=generation.path / "absent")
    found = list(keep_contents(elsewhere, IDS, generation.index_path, 1, tmp_path))
    assert found == kept(tmp_path) == kept(generation.index_path)


def test_tables_that_changed_are_read_again(generation: Generation, tmp_path: Path) -> None:
    changed = replace(generation, changes=Changes(changed=("income",), unchanged=2))
    previous, index = tmp_path / "previous", tmp_path / "index"
    previous.mkdir()
    index.mkdir()
    with closing(sqlite3.connect(previous / contents.FILE)) as database, database:
        database.execute("CREATE TABLE contents (id TEXT PRIMARY KEY, content TEXT NOT NULL)")
        stale = [(id, TableContent(id, title="stale").to_json()) for id in IDS]
        database.executemany("INSERT INTO contents VALUES (?, ?)", stale)
    found = {content.id: content for content in keep_contents(changed, IDS, previous, 1, index)}
    assert [found[id].title for id in IDS if id != "income"] == ["stale", "stale"]
    assert found["income"] == kept(generation.index_path)[1]


def test_the_text_of_a_table_begins_with_its_name_and_columns() -> None:
    content = TableContent(
        "t",
        title="Winter games",
        heading=["Medals"],
        columns=[("Nation", "ex:a"), ("", "ex:b"), ("Gold", "ex:c")],
        cells=[
            (0, 0, "Nation", None, False, True),
            (1, 0, "Norway", None, False, False),
            (1, 2, "12", None, True, False),
            (2, 0, "Kenya", None, False, False),
        ],
    )
    assert table_text(content) == "Winter games. Medals. Nation, Gold. Norway, 12; Kenya"


def test_a_long_table_is_cut() -> None:
    cells = [(row, 0, f"name{row}", None, False, False) for row in range(10_000)]
    text = table_text(TableContent("t", columns=[("Name", "ex:a")], cells=cells))
    assert text.startswith("Name. name0; name1")
    assert len(text) < 800


def test_a_table_without_any_text() -> None:
    assert table_text(TableContent("t")) == "."


def content_of(generation: Generation, id: str) -> TableContent:
    names = Namespaces(generation.base)
    return read_content(EmbeddedStore(generation.store_path), id, names)


def test_a_table_is_read_with_its_context_labels_and_groups(generation: Generation) -> None:
    content = content_of(generation, "income")
    assert content.title == "Annual report"
    assert content.around == ["Acme plc sells software. Amounts are in $ millions."]
    assert [name for name, _ in content.columns] == ["", "2018", "2019"]
    assert content.columns[1][1] == "http://example.org/ontology#in2018"
    assert content.rows[2] == ("- Cloud", 1)
    assert content.rows[4] == ("Total revenue", 1)
    assert (2, 1, "120", None, True, False) in content.cells
    assert (0, 2, "2019", None, False, True) in content.cells


def test_a_typed_value_keeps_its_printed_text_and_its_lexical_form(generation: Generation) -> None:
    cells = content_of(generation, "bridges").cells
    assert (1, 1, "31 Dec. 1921", "1921-12-31", False, False) in cells


def test_cells_come_in_reading_order(generation: Generation) -> None:
    for id in ("medals", "bridges", "income"):
        places = [cell[:2] for cell in content_of(generation, id).cells]
        assert places == sorted(places)


def test_the_content_survives_json(generation: Generation) -> None:
    content = content_of(generation, "income")
    assert TableContent.from_json(content.to_json()) == content


def test_an_absent_table_has_no_content(generation: Generation) -> None:
    assert content_of(generation, "absent") == TableContent("absent")
