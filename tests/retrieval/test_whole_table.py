from __future__ import annotations

from collections.abc import Sequence

import bm25s
import numpy as np
import pytest

import kgtable
from kgtable.index.embedding import Matrix, normalise
from kgtable.retrieval.result import ScoredTable
from kgtable.retrieval.table_texts import TableTexts, as_retrieval
from kgtable.retrieval.whole_table import BM25Retriever, DenseRetriever, tokens
from kgtable.tables.linearize import TABLE_FORMATS, TableFormat
from tests.retrieval.whole_tables_data import TABLES, table, triples_of


class HashedWords:
    """Counts words in 64 fixed buckets: enough to tell the tables apart, and counts its calls."""

    name = "hashed"
    dimension = 64

    def __init__(self) -> None:
        self.embedded = 0

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.embedded += len(texts)
        rows = np.zeros((len(texts), 64), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in tokens(text):
                row[sum(word.encode()) % 64] += 1
        return normalise(rows)


def test_scores_are_cosines() -> None:
    texts, embedder = TableTexts.write(TABLES, "plaintext"), HashedWords()
    retriever = DenseRetriever(texts, embedder, triples_of)
    vectors, question = embedder.embed(texts.texts), embedder.embed(["moons of mars"])
    assert retriever.scores("moons of mars") == pytest.approx(vectors @ question[0], abs=1e-6)


def test_the_nearest_table_comes_first() -> None:
    retriever = DenseRetriever(TableTexts.write(TABLES, "plaintext"), HashedWords(), triples_of)
    found = retriever.retrieve("planet jupiter moons", 3)
    assert found.tables[0].table == "planets"
    assert len(found.triples) == 3
    assert found.trace["format"] == "plaintext"


QUESTIONS = ("how many moons does mars have", "pension in 2011", "length of the rhine", "mars mars 2")


@pytest.mark.parametrize("name", TABLE_FORMATS)
def test_scores_are_those_of_bm25s_on_the_same_texts_to_the_digit(name: TableFormat) -> None:
    texts = TableTexts.write(TABLES, name)
    ours = BM25Retriever(texts, triples_of)
    theirs = bm25s.BM25(method="robertson", k1=1.5, b=0.75)
    theirs.index([tokens(text) for text in texts.texts], show_progress=False)
    for question in QUESTIONS:
        ids = theirs.get_tokens_ids(tokens(question))
        expected = theirs.get_scores_from_ids(ids)
        assert np.array_equal(ours.scores(question), expected)


INCOME = 'in millions,2020,2019\nRevenue:,,\nLicences,"1,234",(7)\nTotal,—,12.5%\n'


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> kgtable.KnowledgeGraph:
    folder = tmp_path_factory.mktemp("tables")
    (folder / "income.csv").write_text(INCOME, encoding="utf-8")
    (folder / "moons.csv").write_text("Moon,Found\nTitan,25 March 1655\n", encoding="utf-8")
    return kgtable.build(folder, folder.with_name("graph"), embedding="none")


def test_every_body_cell_is_a_triple_with_value_unit_scale_and_group(graph: kgtable.KnowledgeGraph) -> None:
    triples = {(t.row, t.column): t for t in graph.retrievers.material.triples_of("income")}
    assert set(triples) == {(1, 0), (2, 0), (2, 1), (2, 2), (3, 0), (3, 1), (3, 2)}
    licences = triples[2, 1]
    assert (licences.subject, licences.object, licences.value) == ("Licences", "1,234", "1234000000")
    assert (licences.scale, licences.note, licences.group) == ("M", "POSITIVE", "Revenue:")
    assert licences.cell == graph.names.cell_iri("income", 2, 1)
    assert licences.predicate == graph.names.predicate_iri("in2020")
    assert triples[2, 2].value == "-7000000"
    assert triples[3, 2].unit == "PERCENT"
    assert triples[3, 1].value is None


def test_a_date_gives_its_lexical_form_beside_the_printed_text(graph: kgtable.KnowledgeGraph) -> None:
    found = graph.retrievers.material.triples_of("moons")[1]
    assert (found.object, found.value) == ("25 March 1655", "1655-03-25")


def test_long_tables_are_cut_and_score_as_their_best_piece() -> None:
    long = table("long", ("n",), *((str(n),) for n in range(100)))
    texts = TableTexts.write([long, TABLES[0]], "csv", rows=40)
    assert texts.tables == ("long", "long", "long", "planets")
    ranked = texts.rank(np.array([0.1, 0.7, 0.2, 0.5]))
    assert ranked == (ScoredTable("long", 0.7), ScoredTable("planets", 0.5))


def test_ties_are_broken_by_id_and_tables_without_score_left_out() -> None:
    texts = TableTexts.write(TABLES, "csv")
    ranked = texts.rank(np.array([0.5, 0.5, 0.0]))
    assert [item.table for item in ranked] == ["planets", "rivers"]


@pytest.mark.parametrize("k", [0, 1, 5, 100])
def test_triples_fill_the_budget_table_by_table(k: int) -> None:
    texts = TableTexts.write(TABLES, "csv")
    ranked = (ScoredTable("rivers", 2.0), ScoredTable("planets", 1.0))
    found = as_retrieval("?", ranked, k, triples_of, method="bm25", texts=texts, started=0.0)
    assert [triple.table for triple in found.triples] == (["rivers"] * 4 + ["planets"] * 4)[:k]
    assert found.trace["format"] == TableFormat.CSV
    assert all(triple.score == (2.0 if triple.table == "rivers" else 1.0) for triple in found.triples)
