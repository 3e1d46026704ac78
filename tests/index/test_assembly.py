from __future__ import annotations

from pathlib import Path

import numpy as np

from kgtable.graph.table_content import CellContent, ContentRow, TableContent
from kgtable.index.build import TableText, assemble
from kgtable.index.corpus import NONE, Corpus
from kgtable.index.open import GraphIndex


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
    corpus, texts = assemble([], tmp_path)
    assert texts == []
    assert corpus.table_ids == ()
    assert len(Corpus.open(tmp_path).places.cell_row) == 0


def text_of(content: TableContent) -> str:
    text = TableText(content)
    for row in content.rows:
        text.add(row)
    return text.text


def row(number: int, *cells: tuple[int, str], header: bool = False) -> ContentRow:
    return ContentRow(number, header, None, None, tuple((at, CellContent(text)) for at, text in cells))


def test_the_text_of_a_table_begins_with_its_name_and_columns() -> None:
    content = TableContent(
        "t",
        title="Winter games",
        heading=("Medals",),
        columns=(("Nation", "ex:a"), ("", "ex:b"), ("Gold", "ex:c")),
        rows=(row(0, (0, "Nation"), header=True), row(1, (0, "Norway"), (2, "12")), row(2, (0, "Kenya"))),
    )
    assert text_of(content) == "Winter games. Medals. Nation, Gold. Norway, 12; Kenya"
    assert text_of(TableContent("t")) == "."


def test_a_long_table_is_cut() -> None:
    rows = tuple(row(number, (0, f"name{number}")) for number in range(10_000))
    text = text_of(TableContent("t", columns=(("Name", "ex:a"),), rows=rows))
    assert text.startswith("Name. name0; name1")
    assert len(text) < 800


def test_cells_are_kept_as_they_are_printed(index: GraphIndex) -> None:
    corpus = index.corpus
    cells = corpus.text_cells.of(text(corpus, "150"))
    (found,) = corpus.found(cells)
    assert (found.subject, found.group, found.content.text) == ("- Cloud", "Revenue:", "150")
    assert found.content.period == "2019"
