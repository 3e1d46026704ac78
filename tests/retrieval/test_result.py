from __future__ import annotations

import json

from kgtable.retrieval.result import ModelRetriever, Retrieval, Retriever, ScoredTable, ScoredTriple

SCRIPT = "<script>alert(1)</script>"
TRIPLE = ScoredTriple("t", 1, 2, SCRIPT, "http://e/p", '5"\u202e', "5", "NUM", None, None, "http://e/c", 0.5)
FOUND = Retrieval("?", (TRIPLE,), (ScoredTable("t", 1.0),), {"labels": 1.23456}, trace={"labels": {1, 2}})


def test_json_has_all_of_a_triple_and_nothing_of_the_trace() -> None:
    told = json.loads(json.dumps(FOUND.to_json("q1")))
    assert (told["id"], told["question"], told["timings_ms"]) == ("q1", "?", {"labels": 1.235})
    assert ScoredTriple(**told["triples"][0]) == TRIPLE
    assert told["tables"] == [{"table": "t", "score": 1.0}]
    assert "trace" not in told
    assert FOUND.to_json()["id"] is None


def test_a_frame_has_a_row_a_triple() -> None:
    frame = FOUND.to_frame()
    assert frame.to_dict("records") == [json.loads(json.dumps(FOUND.to_json()))["triples"][0]]
    empty = Retrieval("?", (), ()).to_frame()
    assert (len(empty), list(empty.columns)) == (0, list(frame.columns))


def test_markup_is_shown_not_run() -> None:
    assert SCRIPT not in FOUND._repr_html_()
    assert "&lt;script&gt;" in FOUND._repr_html_()


def test_a_retriever_that_can_use_a_model_is_known_by_its_method() -> None:
    class Plain:
        name = "plain"

        def retrieve(self, question: str, k: int) -> Retrieval:
            return FOUND

    class WithModel(Plain):
        def with_model(self, llm: object, *, rerank: bool = True) -> Retriever:
            return self

    assert isinstance(WithModel(), ModelRetriever)
    assert not isinstance(Plain(), ModelRetriever)
