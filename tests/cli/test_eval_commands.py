from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kgtable.cli.main import main
from tests.evaluation.sample import QUESTIONS, build, write_benchmark


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    root = tmp_path_factory.mktemp("eval")
    benchmark = write_benchmark(root / "small")
    return str(benchmark.folder), str(build(benchmark, root / "graph").path)


def run(folders: tuple[str, str], *options: str) -> Result:
    return CliRunner().invoke(main, ["eval", folders[0], "--kg", folders[1], *options])


def test_methods_are_printed_compared_and_written(folders: tuple[str, str], tmp_path: Path) -> None:
    result, page = tmp_path / "r.json", tmp_path / "r.html"
    options = ["--method", "bm25", "--format", "csv", "--format", "schema", "--json", str(result)]
    found = run(folders, *options, "--report", str(page))
    assert found.exit_code == 0, found.output
    assert "small, dev: 5 questions, 3 tables" in found.output
    assert "bm25/schema against bm25/csv" in found.output
    assert [s["name"] for s in json.loads(result.read_text())["systems"]] == ["bm25/csv", "bm25/schema"]
    assert page.read_text().startswith("<!doctype html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html", "r.json"]
    assert "2 questions" in run(folders, "--method", "bm25", "--limit", "2").output
    assert "hybrid" in run(folders, "--limit", "2").output


def test_a_dry_run_and_a_check(folders: tuple[str, str], tmp_path: Path) -> None:
    assert "costs nothing" in run(folders, "--method", "bm25", "--dry-run").output
    assert "no fault in dev" in run(folders, "--check").output
    broken = write_benchmark(tmp_path / "b", ({**QUESTIONS[0], "tables": ["poets"]},))
    found = run((str(broken.folder), folders[1]), "--check")
    assert found.exit_code == 1
    assert "questions.dev.jsonl, line 1: there is no table “poets”" in found.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "oracle"], "There is no method 'oracle'"),
        (["--method", "bm25", "--split", "test"], "there is no split “test”"),
        (["--method", "bm25", "--resume"], "--resume continues the run of a --json file"),
        (["--method", "bm25", "--json", "no/such/folder/r.json"], "cannot be written"),
    ],
)
def test_errors_are_told_without_a_traceback(folders: tuple[str, str], options: list[str], message: str) -> None:
    found = run(folders, *options)
    assert found.exit_code == 2
    assert found.output.startswith("Error: ")
    assert message in found.output
