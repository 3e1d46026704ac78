from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kgtable.building.generations import Generation, GraphDirectory
from kgtable.building.pipeline import build_graph
from kgtable.errors import VocabularyIndexError
from kgtable.graph.store import store_state
from kgtable.index.build import VERSION, ensure_index, index_step, read_about
from kgtable.index.embedding import Embedder
from kgtable.index.open import GraphIndex
from tests.index.sample_graph import WordEmbedder, build, load_words, write_tables


def files_of(folder: Path) -> dict[str, bytes]:
    """What an index holds, but for the state of the store it was made from."""
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    about = json.loads(files.pop("index.json"))
    del about["store"]
    return {**files, "about": json.dumps(about).encode()}


def test_a_lexical_index_has_no_vectors(tmp_path: Path) -> None:
    index = GraphIndex(
        build(write_tables(tmp_path / "tables"), tmp_path / "kg", "none").index_path, load_words
    )
    assert index.embedding == "none"
    assert index.vectors is None
    assert index.embed(["x"]) is None
    assert not list(index.folder.glob("vectors*"))


def test_an_updated_index_is_the_one_a_fresh_build_makes(tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "tables")
    build(tables, tmp_path / "kg")
    (tables / "medals.csv").write_text("Rank,Nation\n1,Chile\n", encoding="utf-8")
    (tables / "bridges.csv").unlink()
    (tables / "lakes.csv").write_text("Lake,Depth\nBaikal,1642\n", encoding="utf-8")
    updated = build(tables, tmp_path / "kg")
    assert updated.number == 2
    fresh = build(tables, tmp_path / "fresh")
    assert files_of(updated.index_path) == files_of(fresh.index_path)


def test_only_new_texts_are_embedded(tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "tables")
    build(tables, tmp_path / "kg")
    (tables / "lakes.csv").write_text("Lake,Depth\nBaikal,1642\n", encoding="utf-8")
    embedder = WordEmbedder()
    step = index_step("words", load=lambda name: embedder)
    build_graph([tables], tmp_path / "kg", after=[step])
    assert sorted(embedder.asked) == ["Lake, Depth. Baikal, 1642", "baikal", "depth", "lake"]


def test_an_interrupted_index_leaves_the_graph_as_it_was(tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "tables")
    before = build(tables, tmp_path / "kg")
    content = files_of(before.index_path)
    (tables / "lakes.csv").write_text("Lake,Depth\nBaikal,1642\n", encoding="utf-8")

    def broken(name: str) -> Embedder | None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_graph([tables], tmp_path / "kg", after=[index_step("words", load=broken)])
    assert GraphDirectory(tmp_path / "kg").current().number == before.number
    assert files_of(before.index_path) == content
    after = build(tables, tmp_path / "kg")
    assert GraphIndex(after.index_path, load_words).corpus.table_ids == (
        "bridges",
        "income",
        "lakes",
        "medals",
    )


def test_another_embedding_or_a_missing_index_is_made_up_for(tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "tables")
    first = build(tables, tmp_path / "kg", "none")
    again = build(tables, tmp_path / "kg", "words")
    assert again.number == first.number
    assert read_about(again.index_path)["embedding"] == "words"
    complete = files_of(again.index_path)
    shutil.rmtree(again.index_path)
    assert files_of(build(tables, tmp_path / "kg", "words").index_path) == complete
    assert not ensure_index(GraphDirectory(tmp_path / "kg"), embedding="words", load=load_words)


def test_vectors_are_made_up_for_when_the_packages_come(tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "tables")
    step = index_step("words", load=lambda name: None)
    build_graph([tables], tmp_path / "kg", after=[step])
    place = GraphDirectory(tmp_path / "kg")
    assert read_about(place.current().index_path)["embedding"] == "none"
    assert not ensure_index(place, embedding="words", load=lambda name: None)
    assert ensure_index(place, embedding="words", load=load_words)
    assert read_about(place.current().index_path)["embedding"] == "words"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 0}'])
def test_an_index_of_another_version_is_named(generation: Generation, tmp_path: Path, text: str) -> None:
    shutil.copytree(generation.index_path, tmp_path / "index")
    (tmp_path / "index" / "index.json").write_text(text, encoding="utf-8")
    with pytest.raises(VocabularyIndexError, match="Build the graph again"):
        GraphIndex(tmp_path / "index", load_words)


@pytest.mark.parametrize("name", ["cell_row.npy", "texts.txt", "tables.json", "term_texts.items.npy"])
def test_a_missing_file_is_named(generation: Generation, tmp_path: Path, name: str) -> None:
    shutil.copytree(generation.index_path, tmp_path / "index")
    (tmp_path / "index" / name).unlink()
    with pytest.raises(VocabularyIndexError, match="missing or damaged"):
        GraphIndex(tmp_path / "index", load_words)


def test_what_the_index_was_made_with_is_written_down(generation: Generation) -> None:
    about = json.loads((generation.index_path / "index.json").read_text(encoding="utf-8"))
    assert about.pop("store") == store_state(generation.store_path)
    assert about == {"version": VERSION, "asked": "words", "embedding": "words", "tables": 3}


def test_a_damaged_index_is_no_obstacle_to_the_next(tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "tables")
    made = build(tables, tmp_path / "kg")
    for number, names in enumerate((["index.json"], ["vectors.tables.npy", "vectors.subjects.faiss"])):
        for name in names:
            (made.index_path / name).write_bytes(b"damaged" * 99 if number else b"")
        (tables / f"lake{number}.csv").write_text(f"Lake,Depth\nBaikal,{number}\n", encoding="utf-8")
        made = build(tables, tmp_path / "kg")
    assert files_of(made.index_path) == files_of(build(tables, tmp_path / "fresh").index_path)
