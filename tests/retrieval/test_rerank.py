from __future__ import annotations

import numpy as np
import pytest

from kgtable.errors import LLMReplyError
from kgtable.graph.store import EmbeddedStore
from kgtable.graph.table_source import TableReader
from kgtable.graph.terms import Namespaces
from kgtable.index.graph_index import GraphIndex
from kgtable.llm.scripted import ScriptedLLM
from kgtable.retrieval.question_terms import Query
from kgtable.retrieval.ranking import TRUST, Weights, reranked, score

QUESTION = "How many gold medals did Kenya win?"


def rerank(index: GraphIndex, store: EmbeddedStore, names: Namespaces, llm: ScriptedLLM):  # type: ignore[no-untyped-def]
    query = Query.of(QUESTION, index.corpus)
    matching = np.zeros(0, dtype=np.int64)
    before = score(query, index, matching, Weights(), 10)
    return before, *reranked(before, query, index, TableReader(store, names), llm)


def test_the_tables_the_model_names_come_first(index: GraphIndex, store: EmbeddedStore, names: Namespaces) -> None:
    before, after, named = rerank(index, store, names, ScriptedLLM([{"tables": [3, 2, 3, 99, -1]}]))
    order = np.argsort(-before.table_logits)
    assert named == tuple(index.corpus.table_ids[table] for table in (order[2], order[1]))
    assert np.argsort(-after.table_logits).tolist()[:1] == [order[2]]
    assert after.table_probabilities.sum() == pytest.approx(1, abs=1e-5)
    expected = (1 - TRUST) * before.table_probabilities[order[0]]
    assert after.table_probabilities[order[0]] == pytest.approx(expected, rel=1e-4)


def test_the_model_sees_title_columns_and_the_best_rows_in_one_request(
    index: GraphIndex, store: EmbeddedStore, names: Namespaces
) -> None:
    llm = ScriptedLLM([{"tables": []}])
    before, after, named = rerank(index, store, names, llm)
    assert named == ()
    assert after is before
    (request,) = llm.requests
    prompt = request.messages[-1]["content"]
    assert "[1] Winter games › Medal table\nRank | Nation | Gold | Silver\n" in prompt
    assert "2 | Kenya | 7 | 9" in prompt
    assert prompt.endswith(f"=== END OF TABLES ===\n\nQuestion: {QUESTION}")


def test_a_reply_of_another_form_is_reported(index: GraphIndex, store: EmbeddedStore, names: Namespaces) -> None:
    with pytest.raises(LLMReplyError):
        rerank(index, store, names, ScriptedLLM(["I like the first one."] * 4))
