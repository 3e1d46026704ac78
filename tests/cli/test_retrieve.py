from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
import rdflib
from click.testing import CliRunner, Result

from kgtable import api
from kgtable.cli.main import main
from tests.llm.scripted_server import ScriptedServer

TABLE = 'Nation,Gold,Change\nNorway,12,"(3)%"\nKenya,7,2%\n'


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("retrieve")
    (folder / "medals.csv").write_text(TABLE, encoding="utf-8")
    (folder / "lakes.csv").write_text("Lake,Depth (m)\nBaikal,1642\n", encoding="utf-8")
    api.build(folder, folder / "kg", embedding="none")
    return folder / "kg"


def run(*arguments: str | Path, given: str | None = None) -> Result:
    return CliRunner().invoke(main, ["retrieve", *map(str, arguments)], input=given)


def test_the_best_triples_are_listed(kg: Path) -> None:
    done = run("How much gold did Kenya win?", "--kg", kg, "-k", "4")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert len(lines) == 4
    assert any("medals B3  Kenya | hasGold | 7" in line for line in lines[:2])


def test_a_model_names_labels_and_orders_tables(kg: Path) -> None:
    with ScriptedServer([{"labels": ["Baikal"]}, {"tables": [2]}]) as server:
        given = ("--model", "tiny", "--base-url", server.base_url, "--format", "json")
        found = json.loads(run("How deep is it, Kenya or Baikal?", "--kg", kg, *given).stdout)
        assert [request.body["model"] for request in server.requests] == ["tiny", "tiny"]
    assert "reranking" in found["timings_ms"]
    with ScriptedServer([{"labels": ["Baikal"]}]) as server:
        found = json.loads(run("How deep is Baikal?", "--kg", kg, *given[:2], "--base-url", server.base_url,
                               "--no-rerank", "--format", "json").stdout)  # fmt: skip
    assert found["tables"][0]["table"] == "lakes"
    assert "reranking" not in found["timings_ms"]


def test_json_is_the_object_of_the_contract(kg: Path) -> None:
    done = run("What is Norway's change?", "--kg", kg, "-k", "100", "--format", "json")
    found = json.loads(done.stdout)
    assert set(found) == {"id", "question", "triples", "tables", "timings_ms"}
    assert found["question"] == "What is Norway's change?"
    scores = [triple["score"] for triple in found["triples"]]
    assert scores == sorted(scores, reverse=True)
    change = next(t for t in found["triples"] if (t["table"], t["row"], t["column"]) == ("medals", 1, 2))
    assert (change["object"], change["value"], change["unit"]) == ("(3)%", "-3", "PERCENT")
    assert change["cell"].endswith("/table/medals/cell/1/2")
    assert [table["table"] for table in found["tables"]] == ["medals", "lakes"]
    assert json.loads(run("What is Norway's change?", "--kg", kg, "-f", "jsonl").stdout)["triples"]


def test_csv_and_turtle(kg: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(run("Kenya's gold", "--kg", kg, "-f", "csv", "-k", "3").stdout)))
    assert len(rows) == 3
    assert rows[0]["table"] == "medals"
    turtle = run("Kenya's gold", "--kg", kg, "-f", "turtle", "-k", "3").stdout
    assert rdflib.Literal("Kenya") in set(rdflib.Graph().parse(data=turtle, format="turtle").objects())


def test_questions_of_a_file_are_answered_in_order_with_their_ids(kg: Path, tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text(
        '{"id": "b", "question": "How deep is Baikal?"}\n\n{"question": "Kenya\'s gold"}\n'
        '{"id": 7, "question": "xyzzy"}\n',
        encoding="utf-8",
    )
    done = run("--questions", file, "--kg", kg, "-k", "2", "-o", tmp_path / "out.jsonl")
    assert done.exit_code == 0, done.output
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [result["id"] for result in found] == ["b", "3", "7"]
    assert [result["tables"][:1] and result["tables"][0]["table"] for result in found] == ["lakes", "medals", []]
    rows = list(csv.DictReader(io.StringIO(run("--questions", file, "--kg", kg, "-k", "2", "-f", "csv").stdout)))
    assert [row["id"] for row in rows] == ["b", "b", "3", "3"]


def test_nothing_found_is_said_and_ends_with_1(kg: Path) -> None:
    done = run("xyzzy plugh", "--kg", kg)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "Nothing in the graph fits the question." in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Give a question"),
        (["a", "--questions", "-"], "Give a question"),
        (["a", "--method", "oracle"], "no method 'oracle'"),
        (["--questions", "-", "-f", "turtle"], "cannot be printed as turtle"),
    ],
)
def test_usage_errors_end_with_2(kg: Path, arguments: list[str], message: str) -> None:
    done = run(*arguments, "--kg", kg, given="")
    assert done.exit_code == 2
    assert message in done.stderr
    assert "Traceback" not in done.output


@pytest.mark.parametrize("line", ["nonsense", "[]", "{}", '{"question": 3}', "3"])
def test_a_line_that_is_no_question_is_named(kg: Path, line: str) -> None:
    done = run("--questions", "-", "--kg", kg, given=f'{{"question": "gold"}}\n{line}\n')
    assert done.exit_code == 2
    assert "line 2" in done.stderr


def test_a_missing_index_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE, encoding="utf-8")
    graph = api.build(tmp_path / "t.csv", tmp_path / "kg", embedding="none")
    (graph.generation.index_path / "index.json").unlink()
    done = run("gold", "--kg", tmp_path / "kg")
    assert done.exit_code == 2
    assert "Build the graph again" in done.stderr
