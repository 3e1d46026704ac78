"""The databases of a table: entries, budget, order, what is kept on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import kgtable
from kgtable.graph.table_content import CellContent, ContentRow, TableContent
from kgtable.index.embedding import Matrix, normalise
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.systems.tablerag.databases import DatabaseShelf, EntrySearch, Searched, SearchMode
from kgtable.systems.tablerag.tablerag_method import make_shelf
from kgtable.systems.tablerag.vocabulary import ColumnType, make_vocabulary


class LetterEmbedder:
    """Counts letters; keeps what it was asked for."""

    name, dimension = "letters", 26

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.texts += texts
        counts = np.zeros((len(texts), 26), dtype=np.float32)
        for row, text in enumerate(texts):
            for letter in text.lower():
                if "a" <= letter <= "z":
                    counts[row, ord(letter) - ord("a")] += 1
        return normalise(counts)


def content(rows: Sequence[Sequence[str]], names: Sequence[str] = ("Name", "Kind", "Size", "Day")) -> TableContent:
    """A table of texts, of numbers in the third column and of dates in the fourth."""

    def cell(column: int, text: str) -> CellContent:
        if column == 2:
            return CellContent(text, True, text, "CCY_EUR")
        return CellContent(text, value=text) if column == 3 else CellContent(text)

    head = ContentRow(0, True, None, None, tuple((i, CellContent(n, True)) for i, n in enumerate(names)))
    body = (
        ContentRow(number, False, row[0], None, tuple((i, cell(i, text)) for i, text in enumerate(row) if text))
        for number, row in enumerate(rows, 1)
    )
    columns = tuple((name, f"http://e/{name}") for name in names)
    return TableContent("t", "A table", columns=columns, rows=(head, *body))


ROWS = [
    ("a", "red", "5", "2024-01-01"), ("b", "blue", "-2.5", "2023-05-06"), ("c", "red", "10", "2024-02-02"),
    ("d", "green", "", ""),
]  # fmt: skip


def test_columns_have_ranges_or_frequent_values() -> None:
    made = make_vocabulary(content(ROWS))
    assert [entry.type for entry in made.columns] == [
        ColumnType.TEXT, ColumnType.TEXT, ColumnType.NUMBER, ColumnType.DATE,
    ]  # fmt: skip
    assert made.columns[1].shown("Colour")["cell_examples"] == ["red", "blue", "green"]
    assert made.columns[2].shown("Size") == {
        "column_name": "Size", "dtype": "number", "unit": "CCY_EUR", "min": "-2.5", "max": "10",
    }  # fmt: skip
    assert made.columns[3].shown("Made")["min"] == "2023-05-06"


def test_cells_are_distinct_pairs_by_frequency_and_ranges_of_numbers_and_dates() -> None:
    made = make_vocabulary(content(ROWS))
    assert [(entry.value, entry.count) for entry in made.cells if not entry.span] == [
        ("red", 2), ("a", 1), ("b", 1), ("c", 1), ("d", 1), ("blue", 1), ("green", 1),
    ]  # fmt: skip
    assert [entry.value for entry in made.cells if entry.span] == ["-2.5 to 10", "2023-05-06 to 2024-02-02"]
    assert made.cells[0].rows == (1, 3)


def test_search_by_words_by_vectors_and_by_both() -> None:
    model = LetterEmbedder()
    texts = ["income", "earnings", "zzz"]
    vectors = model.embed(texts)
    query = model.embed(["come in"])[0]
    entries = [Searched(text) for text in texts]
    dense = EntrySearch(entries, SearchMode.DENSE, vectors).scores("come in", query)
    lexical = EntrySearch(entries, SearchMode.LEXICAL, None).scores("come in", None)
    both = EntrySearch(entries, SearchMode.BOTH, vectors).scores("come in", query)
    assert dense[0] == pytest.approx(1.0)
    np.testing.assert_allclose(both, (dense + lexical) / 2, rtol=1e-5)


def shelf(folder: Path, model: LetterEmbedder, read: list[str], key: str = "one") -> DatabaseShelf:
    def texts(id: str) -> TableContent:
        read.append(id)
        return content(ROWS)

    return DatabaseShelf(
        texts, lambda id: f"{key} {id}", folder, budget=100, search=SearchMode.BOTH,
        embedder=lambda: model,
    )  # fmt: skip


def test_databases_are_kept_on_disk_under_their_key(tmp_path: Path) -> None:
    model, read = LetterEmbedder(), list[str]()
    first = shelf(tmp_path, model, read).get("t")
    assert first.encoded == 4 + 9
    again = shelf(tmp_path, model, read).get("t")
    assert (again.encoded, len(read)) == (0, 1)
    query = model.embed(["red"])[0]
    np.testing.assert_array_equal(first.cells.scores("red", query), again.cells.scores("red", query))
    assert shelf(tmp_path, model, read, "another").get("t").encoded == 0  # texts are the same
    assert len(read) == 2


def test_damaged_files_are_made_again(tmp_path: Path) -> None:
    model, read = LetterEmbedder(), list[str]()
    expected = shelf(tmp_path, model, read).get("t").vocabulary
    for path in tmp_path.rglob("*.*"):
        path.write_bytes(b"{")
    assert shelf(tmp_path, model, read).get("t").vocabulary == expected
    assert len(read) == 2


@pytest.fixture
def rebuilt(tmp_path: Path, tables: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KGTABLE_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "tables"
    folder.mkdir()
    for path in tables.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


def test_only_changed_tables_are_read_again_after_a_build(rebuilt: Path, tmp_path: Path) -> None:
    def read_again() -> list[str]:
        with kgtable.build(rebuilt, tmp_path / "graph", embedding="none") as graph:
            made = make_shelf(graph.retrievers.material, 100, SearchMode.LEXICAL)
            before = set((tmp_path / "cache").rglob("*.json"))
            for id in graph.tables:
                made.get(id)
            after = set((tmp_path / "cache").rglob("*.json"))
            return sorted(path.name for path in after - before)

    assert len(read_again()) == 3
    (rebuilt / "rivers.csv").write_text("River,Country\nGlomma,Norway\n", encoding="utf-8")
    assert len(read_again()) == 1
    assert read_again() == []


def test_what_the_build_kept_is_what_the_store_says(graph: KnowledgeGraph) -> None:
    made = make_shelf(graph.retrievers.material, 100, SearchMode.LEXICAL)
    for id in graph.tables:
        kept = make_vocabulary(made.content(id))
        assert kept == make_vocabulary(graph.reader.content(id))
