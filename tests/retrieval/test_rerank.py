from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import kgtable
from kgtable.errors import LLMContextError, LLMReplyError
from kgtable.graph.store import EmbeddedStore
from kgtable.graph.table_source import TableReader
from kgtable.graph.terms import Namespaces
from kgtable.index.graph_index import GraphIndex
from kgtable.llm.protocol import Request
from kgtable.llm.scripted import ScriptedLLM
from kgtable.retrieval.cell_scores import Weights, score
from kgtable.retrieval.question_terms import Query
from kgtable.retrieval.reranking import TRUST, reranked

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
    assert "[1] Winter games › Medal table (medals.csv)\nRank | Nation | Gold | Silver\n" in prompt
    assert "2 | Kenya | 7 | 9" in prompt
    assert prompt.endswith(f"=== END OF TABLES ===\n\nQuestion: {QUESTION}")


def test_the_model_may_say_that_none_fits(index: GraphIndex, store: EmbeddedStore, names: Namespaces) -> None:
    assert rerank(index, store, names, ScriptedLLM([{"tables": [0]}]))[1:] == (None, ())
    _, after, named = rerank(index, store, names, ScriptedLLM([{"tables": [0, 2]}]))
    assert after is not None
    assert len(named) == 1


def test_a_listing_beyond_the_window_is_halved(index: GraphIndex, store: EmbeddedStore, names: Namespaces) -> None:
    def model(request: Request) -> dict[str, list[int]]:
        if "[2]" in request.messages[-1]["content"]:
            raise LLMContextError("The prompt is longer than the model's context window.")
        return {"tables": [1]}

    before, _, named = rerank(index, store, names, ScriptedLLM(model))
    assert named == (index.corpus.table_ids[np.argmax(before.table_logits)],)


def test_of_a_wide_table_the_matching_columns_are_shown(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    header = ["Nation", *(f"Discipline number {n} of the games" for n in range(30)), "Gold medals"]
    rows = [[name, *("0" for _ in range(30)), "7"] for name in ("Kenya", "Chad", "Mali")]
    text = "\n".join(",".join(row) for row in (header, *rows))
    (tmp_path / "tables" / "games.csv").write_text(text, encoding="utf-8")
    llm = ScriptedLLM([{"labels": ["Kenya", "gold medals"]}, {"tables": [0]}])
    with kgtable.build(tmp_path / "tables", tmp_path / "kg", embedding="none") as kg:
        found = kg.retrieve(QUESTION, 5, llm=llm)
    listing = llm.requests[1].messages[-1]["content"].splitlines()
    assert listing[0] == "[1] games"
    assert "Nation | " in listing[1]
    assert "Gold medals" in listing[1]
    assert re.search(r" \| and 2\d more$", listing[1])
    assert any(line.startswith("Kenya | ") for line in listing)
    assert (found.tables, found.triples, found.trace["none_fits"]) == ((), (), True)


def test_a_reply_of_another_form_is_reported(index: GraphIndex, store: EmbeddedStore, names: Namespaces) -> None:
    with pytest.raises(LLMReplyError):
        rerank(index, store, names, ScriptedLLM(["I like the first one."] * 4))
