"""The method documents: evidence of text and tables, answers without a model, and the loop with every failure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kgtable
from kgtable.answering.answer import as_html, as_markdown, as_text
from kgtable.errors import LLMReplyError, LLMUnreachableError, MissingExtraError
from kgtable.evaluation.benchmark import Benchmark
from kgtable.evaluation.run import Stages
from kgtable.evaluation.run_plan import System, make_plan
from kgtable.graph.document_statements import read_document
from kgtable.llm.protocol import Request
from kgtable.llm.scripted import Scripted, ScriptedLLM

REPORT = """# Annual report

## Sales

Sales of the group grew in 2019. The average price of a lamp was $14.50 in 2019 (2018: $13.20). The growth was due to
new shops in Norway.

Table: Sales by region, units

| Region | 2019 | 2018 |
|---|---|---|
| Europe | 1200 | 1100 |
| Asia | 900 | 850 |

## Staff

The company employed 310 people at 31 December 2019. Wages are agreed every two years with the union.
"""
OTHER = "# Weather\n\nRain fell on 120 days.\n\n| City | Rain |\n|---|---|\n| Oslo | 120 |\n| Rome | 60 |\n"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kgtable.KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("documents")
    (folder / "in").mkdir()
    (folder / "in" / "report.md").write_text(REPORT)
    (folder / "in" / "weather.md").write_text(OTHER)
    (folder / "in" / "notes.md").write_text("# Notes\n\nThe chair of the board is Ada Berg.\n")
    with kgtable.build(folder / "in", folder / "kg", embedding="none") as opened:
        yield opened


def test_tables_and_passages_are_ranked_together(graph: kgtable.KnowledgeGraph) -> None:
    found = graph.retrieve("How many people did the company employ in 2019?", 50, "documents")
    assert found.passages[0].file == "report.md"
    assert found.passages[0].tables == ("report",)
    kinds = {kind for kind, _, _ in found.trace["evidence"]}
    assert kinds == {"table", "passage"}
    assert found.to_json()["passages"][0]["document"] == "report"
    assert len(graph.retrieve("rain", 50, "documents:recall=1").trace["evidence"]) == 1


def test_a_passage_that_fits_is_cited_beside_the_answer_of_the_tables(graph: kgtable.KnowledgeGraph) -> None:
    question = "What was the average price of a lamp in 2018?"
    answer = graph.ask(question, method="documents", model="none")
    assert answer.text == graph.ask(question, model="none").text
    cited = answer.passages[0]
    assert (cited.file, cited.page) == ("report.md", None)
    assert "average price of a lamp" in cited.words
    rows = list(graph.store.query(f"SELECT ?text {{ <{cited.passage}> kgt:text ?text }}"))  # type: ignore[arg-type]
    assert cited.words in rows[0]["text"].value
    assert answer.to_json()["passages"][0]["words"] == cited.words
    for printed in (as_text(answer), as_markdown(answer), as_html(answer)):
        assert "paragraph" in printed


def test_a_table_answers_and_is_grounded(graph: kgtable.KnowledgeGraph) -> None:
    answer = graph.ask("What is the rain of Oslo?", method="documents", model="none")
    assert answer.text == "120"
    assert answer.grounded
    assert "Rain fell on 120 days." in [cited.words for cited in answer.passages]


def test_words_are_found_where_they_are_cited(tmp_path: Path) -> None:
    filling = " ".join(f"Sentence {number} tells of paper, ink and of glue." for number in range(400))
    text = f"# Paper\n\n{filling} The mill in Bergen has 87 presses."
    (tmp_path / "mill.md").write_text(text, encoding="utf-8")
    with kgtable.build(tmp_path / "mill.md", tmp_path / "kg", embedding="none") as opened:
        answer = opened.ask("How many presses has the mill in Bergen?", method="documents", model="none")
        (cited,) = answer.passages
        document = read_document(opened.store, "mill", opened.names)
        assert document is not None
        paragraph = document.paragraphs[cited.paragraph].text
    assert cited.words == "The mill in Bergen has 87 presses."
    assert len(document.passages) > 1
    assert paragraph[cited.start :] == cited.words


def test_a_question_about_one_table_looks_at_the_text_beside_it_alone(graph: kgtable.KnowledgeGraph) -> None:
    found = graph.retrieve("How many people did the company employ?", 50, "documents", tables=["weather"])
    assert {passage.file for passage in found.passages} == {"weather.md"}
    assert {table.table for table in found.tables} <= {"weather"}
    answer = graph.ask("What is the 2019 of Europe?", method="documents", model="none", tables=["weather"])
    assert "report" not in {citation.table for citation in answer.citations}


def step(subquery: str = "", answer: str = "") -> dict[str, str]:
    return {"reasoning": "", "subquery": subquery, "answer": answer}


def answers(sql: str = "", text: str = "", words: str = "") -> dict[str, str]:
    return {"sql": sql, "text": text, "passage": "P1" if text else "", "words": words}


def asked(
    graph: kgtable.KnowledgeGraph,
    script: list[Scripted],
    question: str = "How many units did Europe and Asia sell in 2019?",
) -> tuple[kgtable.Answer, ScriptedLLM]:
    model = ScriptedLLM(with_labels(script))
    return graph.ask(question, method="documents", llm=model, rerank=False), model


def with_labels(script: list[Scripted]) -> Any:
    """The script for the method alone: what else asks gets an empty list of labels."""
    replies = iter(script)

    def reply(request: Request) -> Scripted:
        if request.stage in ("labels", "rerank"):
            return {"labels": [], "order": [], "tables": []}
        return next(replies)

    return reply


SUM = 'SELECT sum("c_2019") FROM report'


def stages(model: ScriptedLLM) -> list[str]:
    return [request.stage for request in model.requests if request.stage not in ("labels", "rerank")]


def test_a_subquery_is_answered_by_sql(graph: kgtable.KnowledgeGraph) -> None:
    answer, model = asked(graph, [step("Units of Europe and Asia in 2019?"), answers(SUM), step(answer="2100")])
    assert (answer.text, answer.grounded) == ("2100", True)
    assert stages(model) == ["step", "subquery", "step"]
    assert answer.calculation == SUM
    assert "only the table speaks" in answer.reasons[0]


def test_what_sql_alone_says_is_not_verified(graph: kgtable.KnowledgeGraph) -> None:
    script = [step("Units of Europe and Asia in 2019?"), answers(SUM), step(answer="2100")]
    answer, _ = asked(graph, script, "How many units went to the regions that shops are in?")
    assert (answer.text, answer.grounded, answer.verified) == ("2100", True, False)


def test_a_conflict_is_said(graph: kgtable.KnowledgeGraph) -> None:
    sql = "SELECT rain FROM weather WHERE city = 'Rome'"
    verdict = {"verdict": "conflict", "answer": "60", "reason": "the text is about Oslo"}
    script: list[Scripted] = [
        step("Rain in Rome?"), answers(sql, "120", "Rain fell on 120 days."), verdict, step(answer="60"),
    ]  # fmt: skip
    answer, model = asked(graph, script, "What is the rain of Rome?")
    assert stages(model)[2] == "compose"
    assert "conflict: the text is about Oslo" in answer.reasons[0]
    assert not answer.verified


def test_a_query_that_fails_is_repaired_once(graph: kgtable.KnowledgeGraph) -> None:
    script: list[Scripted] = [step("Sum?"), answers("SELECT nothing FROM report"), answers(SUM), step(answer="2100")]
    answer, model = asked(graph, script)
    assert stages(model) == ["step", "subquery", "repair", "step"]
    assert "failed" in model.requests[-2].messages[-1]["content"]
    assert answer.text == "2100"
    again: list[Scripted] = [
        step("Sum?"), answers("SELECT x FROM report"), answers("DROP TABLE report"), step(answer="?"),
    ]  # fmt: skip
    assert "One SELECT" in " ".join(asked(graph, again)[0].reasons)


def test_words_that_stand_in_no_passage_are_not_believed(graph: kgtable.KnowledgeGraph) -> None:
    script: list[Scripted] = [
        step("Profit?"),
        answers("", "$9 million", "The profit was $9 million."),
        step(answer="$9 million"),
    ]
    answer, _ = asked(graph, script)
    assert answer.passages == ()
    assert not answer.grounded


def test_the_rounds_are_bounded(graph: kgtable.KnowledgeGraph) -> None:
    script: list[Scripted] = []
    for number in range(20):
        script += [step(f"Question {number}?"), answers(SUM)]
    answer, model = asked(graph, script)
    assert stages(model).count("step") == 5
    assert answer.text == "2100"
    assert "The rounds ended" in answer.reasons[0]
    assert "last round" in [r for r in model.requests if r.stage == "step"][-1].messages[-1]["content"]


def method_asked(
    graph: kgtable.KnowledgeGraph, method: str, script: list[Scripted]
) -> tuple[kgtable.Answer, list[str]]:
    """The answer of a method with options, and what each stage of its own was told."""
    model = ScriptedLLM(with_labels(script))
    answer = graph.ask("What is the rain of Rome?", method=method, llm=model, rerank=False)
    own = [request for request in model.requests if request.stage not in ("labels", "rerank")]
    return answer, [str(request.messages[1]["content"]) for request in own]


def test_each_source_can_be_left_out(graph: kgtable.KnowledgeGraph) -> None:
    sql = "SELECT rain FROM weather WHERE city = 'Rome'"
    script = [step("Rain of Rome?"), answers(sql, "60", "| Rome | 60 |"), step(answer="60")]
    answer, told = method_asked(graph, "documents:sql=no", script)
    assert (answer.text, answer.calculation, answer.context["rounds"]) == ("60", None, 2)
    assert "| Rome | 60 |" in told[1]
    assert "DECIMAL" not in told[1]
    answer, told = method_asked(graph, "documents:text=no", script)
    assert (answer.calculation, answer.passages) == (sql, ())
    assert "Rain fell on 120 days" not in "".join(told)
    assert all("weather" in shown and "DECIMAL" in shown for shown in told[:2])
    _, told = method_asked(graph, "documents:context=no", script)
    assert "Rain fell" not in told[0]
    assert "Rain fell" in told[1]


def test_a_constant_of_a_query_is_not_grounded(graph: kgtable.KnowledgeGraph) -> None:
    script = [step("Rain of Rome?"), answers("SELECT 123456", "", ""), step(answer="123456")]
    answer, _ = method_asked(graph, "documents", script)
    assert (answer.text, answer.grounded, answer.citations) == ("123456", False, ())


def test_chunks_of_text_and_tables_rank_by_their_vectors(tmp_path: Path) -> None:
    (tmp_path / "weather.md").write_text(OTHER, encoding="utf-8")
    (tmp_path / "report.md").write_text(REPORT, encoding="utf-8")
    with kgtable.build([tmp_path / "weather.md", tmp_path / "report.md"], tmp_path / "kg") as opened:
        found = opened.retrieve("How much rain falls in Rome?", 50, "documents:chunks=yes")
        listed = found.trace["evidence"]
        scores = [score for _, _, score in listed]
        assert scores == sorted(scores, reverse=True)
        assert {kind for kind, _, _ in listed} == {"table", "passage"}
        assert {score for kind, _, score in listed if kind == "passage"} == {text.score for text in found.passages}
        naive = "documents:chunks=yes,sql=no,rounds=1"
        answer, told = method_asked(opened, naive, [step(answer="60")])
    assert (answer.text, len(told), answer.context["rounds"]) == ("60", 1, 1)
    assert "| Rome | 60 |" in told[0]


def test_a_reranker_orders_what_was_recalled(graph: kgtable.KnowledgeGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    class Backwards:
        def __init__(self, name: str) -> None:
            assert name == "some/model"

        def predict(self, pairs: list[tuple[str, str]]) -> list[float]:
            return [float("| Rome | 60 |" in text) for _, text in pairs]

    monkeypatch.setattr("sentence_transformers.CrossEncoder", Backwards)
    question = "How many units did Europe sell?"
    assert graph.retrieve(question, 50, "documents").tables[0].table == "report"
    found = graph.retrieve(question, 50, "documents:reranker=some/model")
    assert found.trace["evidence"][0] == ("table", "weather", 1.0)
    assert found.tables[0].table == "weather"
    assert [table.score for table in found.tables] == sorted((table.score for table in found.tables), reverse=True)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"reranker 'other/model'.*embeddings"):
        graph.retrieve(question, 50, "documents:reranker=other/model")


def test_replies_of_no_use_leave_the_answer_by_rules(graph: kgtable.KnowledgeGraph) -> None:
    answer, _ = asked(graph, ["no JSON", "still none"], "What is the rain of Oslo?")
    assert answer.text == "120"
    assert answer.failure
    unproved = "How many units went to the regions that shops are in?"
    broken, _ = asked(graph, [step("Sum?"), answers(SUM), "no JSON", "none"], unproved)
    assert (broken.text, broken.verified) == ("2100", False)
    assert "broke off" in broken.reasons[0]


@pytest.mark.parametrize("error", [LLMUnreachableError("down"), LLMReplyError("nothing")])
def test_a_model_that_cannot_be_reached_is_an_error_or_told(graph: kgtable.KnowledgeGraph, error: Exception) -> None:
    if isinstance(error, LLMReplyError):
        assert asked(graph, [error], "What is the rain of Oslo?")[0].failure
    else:
        with pytest.raises(LLMUnreachableError):
            asked(graph, [error])  # type: ignore[list-item]


def test_the_data_is_fenced(graph: kgtable.KnowledgeGraph) -> None:
    _, model = asked(graph, [step(answer="1")])
    prompt = model.requests[-1].messages[-1]["content"]
    assert prompt.count("<data>") == prompt.count("</data>") == 1


def test_sql_over_the_tables(graph: kgtable.KnowledgeGraph) -> None:
    frame = graph.sql("SELECT region, c_2019 - c_2018 AS more FROM report ORDER BY more DESC")
    assert [(row.region, str(row.more)) for row in frame.itertuples()] == [("Europe", "100"), ("Asia", "50")]
    names = graph.sql("SELECT table_name, header FROM kgtable_columns WHERE column_name = 'c_2019'")
    assert names.values.tolist() == [["report", "2019"]]
    assert graph.sql_schema("report").to_json()["columns"][3][:2] == ["c_2019", "DECIMAL(18,0)"]


def test_columns_in_sql_say_their_meaning_and_unit(tmp_path: Path) -> None:
    (tmp_path / "ports.csv").write_text("Port,Load (%)\nFjell,55.5\nSkarv,61.2\nHolm,48.1\n", encoding="utf-8")
    kgtable.build(tmp_path / "ports.csv", tmp_path / "kg", embedding="none")
    with kgtable.open(tmp_path / "kg") as graph:
        told = graph.sql("SELECT meaning, unit FROM kgtable_columns WHERE header = 'Load (%)'")
        comments = graph.sql("SELECT comment FROM duckdb_columns(), (SELECT count(*) FROM ports)")
    assert told.values.tolist() == [["rate", "PERCENT"]]
    assert "Load (%) [rate, PERCENT]" in list(comments["comment"])


@pytest.mark.parametrize(
    "query",
    ["SELECT * FROM read_csv('/etc/passwd')", "COPY report TO '/tmp/x'", "SELECT 1; SELECT 2", "SELEC", "ATTACH 'x'",
     "SET memory_limit = '8GB'", "INSTALL httpfs", "SELECT * FROM 'x.parquet'"],
)  # fmt: skip
def test_sql_reads_the_tables_and_nothing_else(graph: kgtable.KnowledgeGraph, query: str) -> None:
    with pytest.raises(kgtable.KgtableError):
        graph.sql(query)


def test_a_query_that_takes_too_long_is_ended(graph: kgtable.KnowledgeGraph) -> None:
    endless = "SELECT count(*) FROM range(10000000) a, range(10000000) b, report"
    with pytest.raises(kgtable.KgtableError, match="seconds"):
        graph.sql_database.query(endless, seconds=0.2)


def test_incremental_builds_bring_and_take_documents(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.md").write_text(OTHER)
    (tmp_path / "in" / "b.csv").write_text("a,b\n1,2\n")
    (tmp_path / "in" / "b.json").write_text(json.dumps({"paragraphs": ["It cost $5."]}))
    documents = "SELECT DISTINCT ?d { GRAPH ?d { ?d a kgt:Document } }"
    with kgtable.build(tmp_path / "in", tmp_path / "kg", embedding="none") as graph:
        assert len(graph.sparql(documents)) == 2  # type: ignore[arg-type]
        before = "".join(sorted(graph.rdf("nquads")))
    (tmp_path / "in" / "b.json").unlink()
    with kgtable.build(tmp_path / "in", tmp_path / "kg", embedding="none") as graph:
        assert len(graph.sparql(documents)) == 1  # type: ignore[arg-type]
    (tmp_path / "in" / "b.json").write_text(json.dumps({"paragraphs": ["It cost $5."]}))
    with kgtable.build(tmp_path / "in", tmp_path / "kg", embedding="none") as graph:
        assert "".join(sorted(graph.rdf("nquads"))) == before
        quantity = "SELECT ?v { ?q a qudt:QuantityValue ; kgt:paragraphOf ?p ; qudt:numericValue ?v ; kgt:text '$5' }"
        assert len(graph.sparql(quantity)) == 1  # type: ignore[arg-type]


def test_eval_reports_the_rounds(graph: kgtable.KnowledgeGraph, tmp_path: Path) -> None:
    asked_for = {"id": "q", "question": "What is the rain of Rome?", "answers": ["60"], "tables": ["weather"]}
    (tmp_path / "questions.dev.jsonl").write_text(json.dumps(asked_for), encoding="utf-8")
    (tmp_path / "tables").mkdir()
    method = System("documents:rounds=3")
    plan = make_plan(graph, Benchmark(tmp_path), (method,), answers=True)
    stages = Stages(graph, plan, lambda system: lambda found: kgtable.Answer("", "60", context={"rounds": 3}))
    stages.prepare(method)
    assert stages.record(method, plan.questions[0]).scores["rounds"] == 3
