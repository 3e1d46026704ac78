from __future__ import annotations

import numpy as np
import pytest

from kgtable.retrieval.result import ScoredTable
from kgtable.retrieval.whole_table import TableTexts, as_retrieval
from kgtable.tables.linearize import TableFormat
from tests.retrieval.whole_tables_data import TABLES, table, triples_of


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


def test_the_digest_tells_formats_and_texts_apart() -> None:
    digests = {
        TableTexts.write(TABLES[:n], name).digest() for n in (1, 2) for name in ("csv", "html", "markdown")
    }
    assert len(digests) == 6


@pytest.mark.parametrize("k", [0, 1, 5, 100])
def test_triples_fill_the_budget_table_by_table(k: int) -> None:
    texts = TableTexts.write(TABLES, "csv")
    ranked = (ScoredTable("rivers", 2.0), ScoredTable("planets", 1.0))
    found = as_retrieval("?", ranked, k, triples_of, method="bm25", texts=texts, started=0.0)
    assert [triple.table for triple in found.triples] == (["rivers"] * 4 + ["planets"] * 4)[:k]
    assert found.trace["format"] == TableFormat.CSV
    assert all(triple.score == (2.0 if triple.table == "rivers" else 1.0) for triple in found.triples)
