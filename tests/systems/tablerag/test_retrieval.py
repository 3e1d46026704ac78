"""What TableRAG and the paper's baselines show of tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kgtable
from kgtable.errors import LLMReplyError, RetrievalError
from kgtable.evaluation.benchmark import BenchmarkQuestion
from kgtable.evaluation.scoring import ShownGold
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.llm.scripted import ScriptedLLM
from kgtable.systems.tablerag.retriever import expand_question
from kgtable.systems.tablerag.vocabulary import ShownRetrieval

QUESTION = "What is the average amount for leather wallets?"
PRODUCT, AMOUNT = 2, 4


def shown(graph: KnowledgeGraph, method: str, question: str = QUESTION, **options: Any) -> ShownRetrieval:
    found = graph.retrieve(question, 50, method, **options)
    assert isinstance(found, ShownRetrieval)
    return found


def test_columns_and_cells_are_found(graph: KnowledgeGraph) -> None:
    found = shown(graph, "tablerag:tables=1")
    assert found.tables[0].table == "orders"
    assert {("orders", PRODUCT), ("orders", AMOUNT)} <= found.shown_columns
    assert ("orders", PRODUCT, "Leather wallet for gents") in found.shown_values
    assert ("orders", PRODUCT, "Umbrella") not in found.shown_values
    best = found.triples[:2]
    assert {triple.object for triple in best} <= {text for _, _, text in found.shown_values}


def test_each_step_of_the_paper_can_be_switched_off(graph: KnowledgeGraph) -> None:
    model = ScriptedLLM([])
    found = shown(graph, "tablerag:tables=1,expansion=no", llm=model)
    assert (model.requests, "labels" in found.trace) == ([], False)
    assert ("orders", PRODUCT, "Leather wallet for gents") in found.shown_values
    every = shown(graph, "tablerag:tables=1,schema=no")
    assert len(every.shown_columns) == 6 > len(shown(graph, "tablerag:tables=1").shown_columns)
    columns = shown(graph, "tablerag:tables=1,values=no")
    assert not columns.shown_values
    assert "Cell" not in columns.shown[0].text
    assert columns.shown_columns
    counts = [len(shown(graph, f"tablerag:tables=1,cut={cut}").shown_values) for cut in (0, 0.5, 1)]
    assert counts[0] > counts[1] >= counts[2] > 0


def test_cells_are_compared_by_vectors_where_the_graph_has_some(tables: Path, tmp_path: Path) -> None:
    with kgtable.build(tables, tmp_path / "kg") as graph:
        question = "Which purses for men were sold?"
        found = shown(graph, "tablerag:tables=1", question, tables=["orders"])
        lexical = shown(graph, "tablerag:tables=1,search=lexical", question, tables=["orders"])
    assert found.shown[0].cells[0][1].startswith("Leather wallet")
    assert not lexical.shown[0].cells[0][1].startswith("Leather wallet")


def test_a_model_names_columns_and_keywords(graph: KnowledgeGraph) -> None:
    model = ScriptedLLM([{"queries": ["order status"]}, {"queries": ["cancelled", "2024"]}])
    found = shown(graph, "tablerag:tables=1", llm=model)
    assert found.trace["labels"] == ("order status", QUESTION)
    assert found.trace["cell_queries"] == ("cancelled", QUESTION)
    assert ("orders", 3, "cancelled") in found.shown_values
    assert {request.stage for request in model.requests} == {"schema queries", "cell queries"}


def test_queries_are_bounded_and_end_with_the_question() -> None:
    many = [f"query {n}" for n in range(50)]
    model = ScriptedLLM([{"queries": many}, {"queries": ["12", "  "]}])
    found = expand_question("Q?", ["Title"], model, lambda question: ())
    assert len(found.schema) == 9
    assert found.cells == ("Q?",)
    with pytest.raises(LLMReplyError):
        ScriptedLLM([]).complete(model.requests[0])


def test_read_schema_shows_all_columns_and_no_value(graph: KnowledgeGraph) -> None:
    found = shown(graph, "read-schema:tables=1")
    assert len(found.shown_columns) == 6
    assert found.shown_values == set()
    assert "Leather" not in found.shown[0].text


def test_read_table_shows_everything_or_refuses(graph: KnowledgeGraph) -> None:
    found = shown(graph, "read-table:tables=1")
    assert len(found.shown[0].rows) == 6
    assert "Umbrella" in found.shown[0].text
    small = shown(graph, "read-table:tables=1,context=100")
    assert small.shown == ()
    assert "too many for a context of 100 tokens" in small.refused
    answer = graph.ask(QUESTION, method="read-table:tables=1,context=100", model="none")
    assert not answer.found
    assert "too many" in answer.reasons[0]


def test_random_rows_are_the_same_for_a_seed(graph: KnowledgeGraph) -> None:
    first = shown(graph, "rand-row-sampling:tables=1,rows=3")
    assert len(first.shown[0].rows) == 3
    assert shown(graph, "rand-row-sampling:tables=1,rows=3").shown == first.shown
    others = [shown(graph, f"rand-row-sampling:tables=1,rows=3,seed={seed}").shown for seed in range(1, 6)]
    assert any(other != first.shown for other in others)


@pytest.mark.parametrize("method", ["tablerag", "read-table", "read-schema", "rand-row-sampling", "row-col-retrieval"])
def test_all_methods_answer_by_rules(graph: KnowledgeGraph, method: str) -> None:
    answer = graph.ask("What is the length of the river Torne?", method=method, model="none")
    assert (answer.text, answer.method) == ("522", method)


def test_options_that_make_no_sense_are_refused(graph: KnowledgeGraph) -> None:
    for method in ("top_k=0", "base=tablerag", "tables=0", "temperature=-1", "temperature=nan", "temperature=99"):
        with pytest.raises(RetrievalError):
            graph.retrieve(QUESTION, 5, f"tablerag:{method}")


def test_gold_columns_and_values_are_measured(graph: KnowledgeGraph) -> None:
    sql = "SELECT avg(c) FROM orders WHERE product = 'leather wallet for gents'"
    question = BenchmarkQuestion(
        "q", QUESTION, tables=("orders",), extra={"columns": [["orders", PRODUCT], ["orders", 0]], "sql": sql}
    )
    scores = ShownGold(graph.reader.content).scores(question, shown(graph, "read-schema:tables=1"))
    assert scores["column_recall"] == 1.0
    assert scores["column_precision"] == pytest.approx(2 / 6)
    assert (scores["value_recall"], scores["value_f1"]) == (0.0, 0.0)
    found = ShownGold(graph.reader.content).scores(question, shown(graph, "tablerag:tables=1"))
    assert found["value_recall"] == 1.0
    assert ShownGold(graph.reader.content).scores(BenchmarkQuestion("q", "?"), shown(graph, "tablerag")) == {}


def test_columns_that_are_ordered_or_grouped_are_gold_beside_those_of_traced_cells(graph: KnowledgeGraph) -> None:
    cells = (("orders", 1, PRODUCT), ("orders", 2, PRODUCT))
    extra = {"cells_from": "squall", "scan_cols": [["orders", AMOUNT]]}
    gold = ShownGold(graph.reader.content)
    assert gold.columns(BenchmarkQuestion("q", "?", cells=cells, extra=extra)) == {
        ("orders", PRODUCT),
        ("orders", AMOUNT),
    }
    assert gold.columns(BenchmarkQuestion("q", "?", cells=cells, extra=extra | {"cells_from": "answer"})) == set()
    assert gold.columns(BenchmarkQuestion("q", "?", extra=extra)) == set()
