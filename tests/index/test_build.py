from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from kgtable.building.catalogue import Catalogue
from kgtable.building.generations import Generation, GraphDirectory
from kgtable.building.pipeline import build_graph
from kgtable.errors import VocabularyIndexError
from kgtable.index.build import VERSION, RememberingEmbedder, assemble, ensure_index, index_step, read_about
from kgtable.index.corpus import NONE, Corpus
from kgtable.index.embedding import Embedder
from kgtable.index.open import GraphIndex
from kgtable.ontology.column_stats import by_name
from tests.index.sample_graph import WordEmbedder, build, load_words, write_tables


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".sqlite"}


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
    assert about == {"version": VERSION, "asked": "words", "embedding": "words", "tables": 3}


def test_a_damaged_index_is_no_obstacle_to_the_next(tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "tables")
    made = build(tables, tmp_path / "kg")
    for number, names in enumerate((["contents.sqlite"], ["vectors.tables.npy", "vectors.subjects.faiss"])):
        for name in names:
            (made.index_path / name).write_bytes(b"damaged" * 99 if number else b"")
        (tables / f"lake{number}.csv").write_text(f"Lake,Depth\nBaikal,{number}\n", encoding="utf-8")
        made = build(tables, tmp_path / "kg")
    assert files_of(made.index_path) == files_of(build(tables, tmp_path / "fresh").index_path)


def text(corpus: Corpus, label: str) -> np.ndarray:  # type: ignore[type-arg]
    found = corpus.texts.find(label)
    assert found is not None
    return np.array([found])


def places_of(corpus: Corpus, cells: np.ndarray) -> list[tuple[str, int, int]]:  # type: ignore[type-arg]
    places = corpus.places
    return [
        (
            corpus.table_ids[places.row_table[places.cell_row[cell]]],
            int(places.row_number[places.cell_row[cell]]),
            int(places.column_number[places.cell_column[cell]]),
        )
        for cell in cells.tolist()
    ]


def test_cells_are_found_by_their_text(index: GraphIndex) -> None:
    corpus = index.corpus
    assert places_of(corpus, corpus.text_cells.of(text(corpus, "7"))) == [("medals", 2, 2), ("medals", 3, 2)]


def test_typed_cells_are_found_by_both_forms(index: GraphIndex) -> None:
    corpus = index.corpus
    for form in ("31 dec. 1921", "1921-12-31"):
        assert places_of(corpus, corpus.text_cells.of(text(corpus, form))) == [("bridges", 1, 1)]


def test_header_cells_are_scored_but_are_no_objects(index: GraphIndex) -> None:
    corpus = index.corpus
    gold = text(corpus, "gold")
    assert len(corpus.text_cells.of(gold)) == 0
    assert corpus.places.column_number[corpus.text_columns.of(gold)].tolist() == [2]
    assert gold[0] in corpus.places.cell_text


def test_rows_are_found_by_label_and_group(index: GraphIndex) -> None:
    corpus, places = index.corpus, index.corpus.places
    labelled = corpus.text_labels.of(text(corpus, "- cloud"))
    assert places.row_number[labelled].tolist() == [2, 6]
    grouped = corpus.text_groups.of(text(corpus, "revenue:"))
    assert places.row_number[grouped].tolist() == [2, 3, 4]


def test_starts_enclose_what_belongs_to_a_table(index: GraphIndex) -> None:
    places = index.corpus.places
    for table in range(places.tables):
        rows = np.flatnonzero(places.row_table == table)
        assert rows.tolist() == list(range(places.table_row_start[table], places.table_row_start[table + 1]))
        cells = np.flatnonzero(places.row_table[places.cell_row] == table)
        start, end = places.table_cell_start[table : table + 2]
        assert cells.tolist() == list(range(start, end))
        columns = np.flatnonzero(places.column_table == table)
        start, end = places.table_column_start[table : table + 2]
        assert columns.tolist() == list(range(start, end))


def test_columns_know_their_predicate_and_kind(index: GraphIndex) -> None:
    corpus, places = index.corpus, index.corpus.places
    table = corpus.table_ids.index("medals")
    start, end = places.table_column_start[table : table + 2]
    iris = [corpus.predicates[number] for number in places.column_predicate[start:end].tolist()]
    assert [iri.rpartition("#")[2] for iri in iris] == ["hasRank", "hasNation", "hasGold", "hasSilver"]
    assert places.column_is_numeric[start:end].tolist()[1:] == [False, True, True]
    unnamed = places.column_name[places.table_column_start[corpus.table_ids.index("income")]]
    assert unnamed == NONE


def test_texts_that_name_a_year_are_known(index: GraphIndex) -> None:
    corpus = index.corpus
    dated = {
        text for text, marked in zip(corpus.texts, corpus.statistics.text_is_dated, strict=True) if marked
    }
    assert dated == {"2018", "2019", "31 dec. 1921", "1921-12-31", "1 may 1988", "1988-05-01"}


def test_no_tables_are_a_corpus_too(tmp_path: Path) -> None:
    corpus = assemble([], tmp_path)
    assert corpus.table_ids == ()
    assert len(Corpus.open(tmp_path).places.cell_row) == 0


def test_a_text_is_embedded_once() -> None:
    words = WordEmbedder()
    embedder = RememberingEmbedder(words)
    first = embedder.embed(["a cat", "a dog", "a cat"])
    np.testing.assert_array_equal(embedder.embed(["a dog", "a cat"]), first[[1, 0]])
    assert words.asked == ["a cat", "a dog"]
    assert embedder.embed([]).shape == (0, 64)


def test_column_names_of_an_index_are_known(index: GraphIndex) -> None:
    words = WordEmbedder()
    embedder = RememberingEmbedder(words)
    embedder.know_names_of(index.folder)
    vectors = embedder.embed_names([" Gold", "Nation"])
    assert words.asked == []
    np.testing.assert_allclose(vectors, words.embed(["gold", "nation"]), atol=1e-6)


def test_names_of_several_lines_are_known(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "a.csv").write_text('Name,"Share of\n votes"\nx,1\ny,2\n', encoding="utf-8")
    generation = build(tmp_path / "tables", tmp_path / "graph")
    words = WordEmbedder()
    embedder = RememberingEmbedder(words)
    embedder.know_names_of(generation.index_path)
    embedder.embed_names(sorted(by_name(Catalogue.load(generation.catalogue_path).facts())))
    assert words.asked == []


def test_the_vectors_of_another_embedding_are_not_taken_over(index: GraphIndex, tmp_path: Path) -> None:
    words = WordEmbedder()
    words.name = "other"
    embedder = RememberingEmbedder(words)
    embedder.know_names_of(index.folder)
    embedder.know_names_of(tmp_path / "absent")
    embedder.embed_names(["Gold"])
    assert words.asked == ["gold"]
