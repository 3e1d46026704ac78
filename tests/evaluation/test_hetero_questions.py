"""The builder of benchmarks over text and tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import kgtable
from kgtable.cli.main import main
from kgtable.evaluation.benchmark import Benchmark
from kgtable.evaluation.scoring import answer_scores
from kgtable.llm.protocol import Request
from kgtable.llm.scripted import ScriptedLLM
from scripts.benchmarks.hetero_questions import HeteroPlan, build_hetero_benchmark
from scripts.benchmarks.make import bench

SHOPS = """# Bakeries

Shops are rented. In 2019 the bakery in Oslo paid a rent of $3.5 million to its landlord. The shop in Rome has 14 ovens
and a garden. Berlin was opened in 2015 and has 120 seats. Oslo and Rome have 3 cooks each.

| Shop | Sales ($ thousand) | Staff |
|---|---|---|
| Oslo | 7000 | 12 |
| Rome | 5000 | 31 |
| Berlin | 6000 | 9 |
| Total | 18000 | 52 |
"""


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documents")
    (folder / "shops.md").write_text(SHOPS, encoding="utf-8")
    (folder / "empty.md").write_text("# Nothing\n\nNo table stands here.\n", encoding="utf-8")
    return folder


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "questions.dev.jsonl").read_text("utf-8").splitlines()]


def test_templates_join_a_fact_of_the_table_with_one_of_the_text(documents: Path, tmp_path: Path) -> None:
    counts = build_hetero_benchmark(documents, tmp_path)
    made = {(line["kind"], line["entity"]): line for line in lines(tmp_path)}
    assert (counts.tables, counts.facts, counts.questions) == (1, 3, len(made))
    assert {kind for kind, _ in made} == {"text by table", "table by text", "difference"}
    by_table = made["text by table", "Oslo"]
    assert "[the Shop with the highest Sales ($ thousand)] paid a rent of ___" in by_table["question"]
    assert by_table["answers"] == ["$3.5 million"]
    assert by_table["cells"] == [["shops", 0, 0]]
    assert made["difference", "Oslo"]["answers"] == ["3500000"]
    by_text = made["table by text", "Berlin"]
    assert "“___ was opened in 2015 and has 120 seats.”" in by_text["question"]
    assert all(line["entity"] not in line["question"] for (kind, _), line in made.items() if kind != "difference")


def test_each_answer_is_what_its_program_gives(documents: Path, tmp_path: Path) -> None:
    build_hetero_benchmark(documents, tmp_path / "bench", HeteroPlan(seed=3, per_table=9))
    with kgtable.build(tmp_path / "bench" / "tables", tmp_path / "kg", embedding="none") as graph:
        for question in Benchmark(tmp_path / "bench").questions("dev"):
            result = graph.run(question.extra["program"])
            given = result.to_json()
            if question.extra["kind"] == "text by table":
                assert given["text"] == question.extra["entity"]
            else:
                text = str(given["value"]).lstrip("-")
                assert answer_scores(question, text, text)["match"] == 1.0, question
            assert graph.tables["shops"].table.grid.head[question.cells[0][1]]


def test_the_same_seed_gives_the_same_files(documents: Path, tmp_path: Path) -> None:
    for name, seed in (("one", 7), ("two", 7), ("other", 8)):
        build_hetero_benchmark(documents, tmp_path / name, HeteroPlan(seed))

    def content(name: str) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted((tmp_path / name).rglob("*.*"))}

    assert content("one") == content("two")
    assert content("one") != content("other")


def test_the_command_makes_what_eval_reads(documents: Path, tmp_path: Path) -> None:
    out = tmp_path / "bench"
    made = CliRunner().invoke(bench, ["heteqa", str(documents), "-o", str(out), "--per-table", "2"])
    assert made.exit_code == 0, made.output
    assert "2 questions over 1 table of 2 documents" in made.output
    kgtable.build(out / "tables", tmp_path / "kg", embedding="none").close()
    scored = CliRunner().invoke(
        main, ["eval", str(out), "--kg", str(tmp_path / "kg"), "--method", "documents", "--model", "none"]
    )
    assert scored.exit_code == 0, scored.output


def test_a_model_writes_questions_that_its_queries_prove(documents: Path, tmp_path: Path) -> None:
    oslo = "SELECT sales_thousand - (SELECT MIN(sales_thousand) FROM shops) FROM shops WHERE shop = 'Oslo'"
    asked: list[Request] = []

    def reply(request: Request) -> dict[str, Any]:
        asked.append(request)
        told = str(request.messages[-1]["content"])
        if "Entity: Oslo" in told:
            question = "By how much do sales of the shop whose landlord gets $3.5 million exceed the lowest sales?"
            return {"question": question, "sql": oslo, "answer": "2000000"}
        if "Entity: Rome" in told:
            return {"question": "How many work in Rome?", "sql": "SELECT 31", "answer": "31"}
        query = "SELECT staff FROM shops WHERE shop = 'Berlin'"
        return {"question": "Who works where there are 120 seats?", "sql": query, "answer": "10"}

    counts = build_hetero_benchmark(documents, tmp_path, llm=ScriptedLLM(reply))
    (line,) = lines(tmp_path)
    assert (line["kind"], line["answers"], line["sql"]) == ("by a model", ["2000000"], oslo)
    assert counts.left_out == {"the question names the entity": 1, "the query gave another answer": 1}
    assert all("<data>" in str(request.messages[-1]["content"]) for request in asked)
