from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import numpy as np
import pytest

import kgtable.index.graph_index
from kgtable.building.generations import Generation, GraphDirectory
from kgtable.building.pipeline import build_graph
from kgtable.errors import VocabularyIndexError
from kgtable.graph.document_statements import StoredDocument
from kgtable.graph.store import TripleStore
from kgtable.graph.terms import Namespaces
from kgtable.index.corpus import Corpus, CorpusParts
from kgtable.index.corpus_assembly import assemble
from kgtable.index.embedding import Embedder
from kgtable.index.graph_index import GraphIndex, index_step, read_about
from kgtable.index.inferred.column_profiles import ColumnProfile
from kgtable.index.inferred.joins import JoinCandidate, JoinFinder
from tests.index.sample_graph import WordEmbedder, build, load_words, write_tables


def files_of(folder: Path) -> dict[str, bytes]:
    """What an index holds, but for the state of the store it was made from."""
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    about = json.loads(files.pop("index.json"))
    del about["store"]
    return {**files, "about": json.dumps(about).encode()}


def test_a_lexical_index_has_no_vectors(tmp_path: Path) -> None:
    index = GraphIndex(build(write_tables(tmp_path / "tables"), tmp_path / "kg", "none").index_path, load_words)
    assert index.embedding == "none"
    assert index.vectors is None
    assert index.embed(["x"]) is None
    assert not list(index.folder.glob("vectors*"))


def test_an_index_made_in_small_steps_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = write_tables(tmp_path / "tables")
    for number in range(8):
        rows = "".join(f"{name},{name[0]}{number},{number}\n" for name in ("Norway", "Kenya", "Peru", "Chile"))
        (tables / f"teams-{number}.csv").write_text(f"Nation,Code,Players\n{rows}", encoding="utf-8")
    at_once = build(tables, tmp_path / "at once")
    for name, size in {
        "substring.PIECE": 20, "corpus.CELLS_COUNTED": 3, "inferred.joins.VALUES_AT_ONCE": 5,
        "inferred.joins.PAIRS_COMPARED": 2, "vectors.ADDED_AT_ONCE": 2, "vectors.BATCH": 3,
    }.items():  # fmt: skip
        monkeypatch.setattr(f"kgtable.index.{name}", size)
    stepwise = build(tables, tmp_path / "stepwise")
    assert files_of(stepwise.index_path) == files_of(at_once.index_path)
    relations = json.loads((stepwise.index_path / "relations.json").read_text(encoding="utf-8"))
    assert relations["joins"]
    assert relations["unions"]


def test_documents_that_did_not_change_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = write_tables(tmp_path / "tables")
    for name in ("a", "b"):
        (tables / f"{name}.html").write_text(
            f"<p>Report {name} says that 12 ships came in 2021.</p><p>And {name} more.</p>", encoding="utf-8"
        )
    build(tables, tmp_path / "kg")
    read: list[str] = []
    plain = kgtable.index.graph_index.read_document

    def noted(store: TripleStore, id: str, names: Namespaces) -> StoredDocument | None:
        read.append(id)
        return plain(store, id, names)

    monkeypatch.setattr("kgtable.index.graph_index.read_document", noted)
    (tables / "b.html").write_text("<p>Report b says that 13 ships came in 2021.</p>", encoding="utf-8")
    updated = build(tables, tmp_path / "kg")
    assert read == ["b"]
    assert (
        files_of(updated.index_path)["passages.jsonl"]
        == files_of(build(tables, tmp_path / "fresh").index_path)["passages.jsonl"]
    )


def _teams(folder: Path, number: int, *, headers: str = "Nation,Code,Players", seed: int = 0) -> None:
    chosen = random.Random(100 * number + seed)
    rows = "".join(
        f"{chosen.choice(('Norway', 'Kenya', 'Peru', 'Chilé', ' Fiji '))},{chosen.choice('abcdé')}{number % 3},"
        f"{chosen.randint(1, 2000)}\n"
        for _ in range(chosen.randint(1, 9))
    )
    (folder / f"teams-{number}.csv").write_text(f"{headers}\n{rows}", encoding="utf-8")
    title = json.dumps({"title": f"Teams of {chosen.choice(('19', '2019', '21'))}", "textAbove": f"In part {seed}."})
    (folder / f"teams-{number}.json").write_text(title, encoding="utf-8")


def test_each_of_many_updates_makes_the_index_of_a_fresh_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgtable.index.corpus_update.MOST_FRESH", 0.9)
    monkeypatch.setattr("kgtable.index.substring.GRAMS_AT_ONCE", 7)
    tables = write_tables(tmp_path / "tables")
    for number in range(12):
        _teams(tables, number, headers=",,Players" if number == 4 else "Nation,Code,Players")
    (tables / "table_17.csv").write_text("Nation,Code,Players\nPeru,a1,7\nKenya,b2,12\n", encoding="utf-8")
    assembled: list[list[str]] = []
    plain = kgtable.index.corpus_update.read_contents
    monkeypatch.setattr(
        "kgtable.index.corpus_update.read_contents",
        lambda generation, ids: assembled.append(list(ids)) or plain(generation, ids),
    )

    def changed_rows_and_lost_headers() -> None:
        _teams(tables, 7, seed=1)
        _teams(tables, 2, headers="Nation,,Players", seed=3)

    def lost_texts() -> None:
        for number in (0, 4):
            (tables / f"teams-{number}.csv").unlink()
            (tables / f"teams-{number}.json").unlink()

    def first_and_last() -> None:
        (tables / "aa.csv").write_text("Aa,Zz\n0,\U0001d54f\n", encoding="utf-8")
        (tables / "zz.csv").write_text("Zz\n", encoding="utf-8")

    def empty() -> None:
        (tables / "aa.csv").unlink()

    compared: list[JoinCandidate | None] = []
    plain_comparison = JoinFinder._compared

    def noted(finder: JoinFinder, left: ColumnProfile, right: ColumnProfile, common: int) -> JoinCandidate | None:
        compared.append(plain_comparison(finder, left, right, common))
        return compared[-1]

    monkeypatch.setattr(JoinFinder, "_compared", noted)
    build(tables, tmp_path / "kg")
    for step, change in enumerate((changed_rows_and_lost_headers, lost_texts, first_and_last, empty)):
        change()
        assembled.clear()
        compared.clear()
        updated = build(tables, tmp_path / "kg")
        compared_again = len(compared)
        assert assembled
        assert max(map(len, assembled)) < 6, change.__name__
        fresh = build(tables, tmp_path / f"fresh-{step}")
        assert files_of(updated.index_path) == files_of(fresh.index_path), change.__name__
        assert 2 * compared_again < len(compared) - compared_again, change.__name__


def test_an_index_made_by_other_code_is_not_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = write_tables(tmp_path / "tables")
    build(tables, tmp_path / "kg")
    (tables / "lakes.csv").write_text("Lake,Depth\nBaikal,1642\n", encoding="utf-8")
    monkeypatch.setattr("kgtable.index.corpus_update.index_version", lambda: "another")
    asked: list[list[str]] = []
    plain = kgtable.index.corpus_update.read_contents
    monkeypatch.setattr(
        "kgtable.index.corpus_update.read_contents",
        lambda generation, ids: asked.append(list(ids)) or plain(generation, ids),
    )
    build(tables, tmp_path / "kg")
    assert asked == [["bridges", "income", "lakes", "medals"]]


def test_only_new_texts_are_embedded(tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "tables")
    build(tables, tmp_path / "kg")
    (tables / "lakes.csv").write_text("Lake,Depth\nBaikal,1642\n", encoding="utf-8")
    embedder = WordEmbedder()
    step = index_step("words", load=lambda name: embedder)
    build_graph([tables], tmp_path / "kg", after=[step])
    assert sorted(embedder.asked) == ["baikal", "depth", "lake", "lakes. Lake, Depth. Baikal, 1642"]


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
    assert GraphIndex(after.index_path, load_words).corpus.table_ids == ("bridges", "income", "lakes", "medals")


def test_another_embedding_or_a_missing_index_is_made_up_for(tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "tables")
    first = build(tables, tmp_path / "kg", "none")
    again = build(tables, tmp_path / "kg", "words")
    assert again.number == first.number + 1
    assert read_about(again.index_path)["embedding"] == "words"
    complete = files_of(again.index_path)
    shutil.rmtree(again.index_path)
    made = build(tables, tmp_path / "kg", "words")
    assert files_of(made.index_path) == complete
    assert build(tables, tmp_path / "kg", "words").number == made.number == again.number + 1


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


def test_a_damaged_index_is_no_obstacle_to_the_next(tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "tables")
    made = build(tables, tmp_path / "kg")
    for number, names in enumerate((["index.json"], ["vectors.tables.npy", "vectors.subjects.faiss"])):
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


def test_typed_cells_are_found_by_both_forms(index: GraphIndex) -> None:
    corpus = index.corpus
    for form in ("31 dec. 1921", "1921-12-31"):
        assert places_of(corpus, corpus.text_cells.of(text(corpus, form))) == [("bridges", 1, 1)]


def test_no_tables_are_a_corpus_too(tmp_path: Path) -> None:
    corpus = assemble([], tmp_path)
    assert list(CorpusParts.open(tmp_path).table_texts) == []
    assert corpus.table_ids == ()
    assert len(Corpus.open(tmp_path).places.cell_row) == 0


def test_cells_are_kept_as_they_are_printed(index: GraphIndex) -> None:
    corpus = index.corpus
    cells = corpus.text_cells.of(text(corpus, "150"))
    (found,) = corpus.found(cells)
    assert (found.subject, found.group, found.content.text) == ("- Cloud", "Revenue:", "150")
    assert found.content.period == "2019"
