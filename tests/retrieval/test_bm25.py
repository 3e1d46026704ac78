from __future__ import annotations

import bm25s
import numpy as np
import pytest

from kgtable.retrieval.whole_table import BM25Retriever, TableTexts, tokens
from kgtable.tables.linearize import TABLE_FORMATS, TableFormat
from tests.retrieval.whole_tables_data import TABLES, triples_of

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


def test_the_table_that_shares_the_words_comes_first() -> None:
    retriever = BM25Retriever(TableTexts.write(TABLES, "plaintext"), triples_of)
    for question, table in zip(QUESTIONS, ("planets", "pensions", "rivers"), strict=False):
        found = retriever.retrieve(question, 10)
        assert found.tables[0].table == table
        assert found.triples[0].table == table
        assert found.method == "bm25"


@pytest.mark.parametrize("question", ["", "???", "zebra", "東京"])
def test_nothing_shared_nothing_found(question: str) -> None:
    found = BM25Retriever(TableTexts.write(TABLES, "csv"), triples_of).retrieve(question, 10)
    assert found.triples == found.tables == ()


def test_no_tables_at_all() -> None:
    assert BM25Retriever(TableTexts.write([], "csv"), triples_of).retrieve("moons", 5).tables == ()
