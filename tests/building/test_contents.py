from __future__ import annotations

from pathlib import Path

import pytest

from kgtable.building.contents import PartFiles, read_contents
from kgtable.building.generations import Generation
from kgtable.building.pipeline import build_graph
from kgtable.graph.store import EmbeddedStore
from kgtable.graph.table_content import TableContent
from kgtable.graph.table_source import TableReader
from kgtable.graph.terms import Namespaces
from kgtable.index.graph_index import GraphIndex, indexed_contents
from tests.index.sample_graph import build, load_words, write_tables

IDS = ["bridges", "income", "medals"]


def decoded(generation: Generation) -> list[TableContent]:
    return [content.in_memory() for content in read_contents(generation, IDS)]


@pytest.mark.parametrize("workers", [1, 2])
def test_conversion_hands_over_what_the_graph_says(
    tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgtable.graph.table_content.PART_ROWS", 2)
    monkeypatch.setattr("kgtable.building.contents.PART_ROWS", 2)
    handed: list[TableContent | None] = []

    def step(generation: Generation) -> None:
        handed.extend(content and content.in_memory() for content in map(generation.fresh, [*IDS, "others"]))

    tables = write_tables(tmp_path / "tables")
    made = build_graph([tables], tmp_path / "kg", workers=workers, after=[step]).generation
    assert handed == [*decoded(made), None]
    assert not list(made.path.glob("text*"))


def test_what_part_files_lack_comes_from_the_store(tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "tables")
    build(tables, tmp_path / "kg", "none")
    (tables / "bridges.csv").write_text("Bridge,Length\nNew,5\n", encoding="utf-8")
    handed: list[str] = []
    read: list[TableContent] = []

    def step(generation: Generation) -> None:
        handed.extend(id for id in IDS if generation.fresh(id) is not None)
        read.extend(decoded(generation))

    made = build_graph([tables], tmp_path / "kg", after=[step]).generation
    assert handed == ["bridges"]
    assert read == decoded(made)


def test_the_index_gives_texts_as_the_store_does_but_those_around(tmp_path: Path) -> None:
    generation = build(write_tables(tmp_path / "tables"), tmp_path / "kg", "none")
    names = Namespaces(generation.base)
    store = EmbeddedStore(generation.store_path, names.prefixes)
    content = indexed_contents(GraphIndex(generation.index_path, load_words), TableReader(store, names), store)
    for id, whole in zip(IDS, decoded(generation), strict=True):
        found = content(id).in_memory()
        assert found.around == ()
        assert [found.id, found.title, found.caption, found.heading] == [id, whole.title, whole.caption, whole.heading]
        assert (found.columns, found.rows) == (whole.columns, whole.rows)


def test_files_that_are_gone_are_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        PartFiles([tmp_path / "absent"]).get("medals")
