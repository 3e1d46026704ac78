"""`kgtable run` over a graph of the sample tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kgtable.cli.main import main
from tests.programs.writing import compare, of, table, where

SUM = json.dumps(of("sum", "2023", "halden-segments"))


@pytest.fixture(scope="module")
def kg(samples_path: Path) -> str:
    return str(samples_path)


def run(kg: str, *arguments: str, code: int = 0, text: str | None = None) -> Result:
    result = CliRunner().invoke(main, ["run", *arguments, "--kg", kg], input=text)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


@pytest.mark.parametrize("engine", ["memory", "sparql"])
def test_the_value_stands_above_its_derivation_and_its_cells(kg: str, engine: str) -> None:
    lines = run(kg, SUM, "--engine", engine).stdout.splitlines()
    assert lines[0] in ("€1,431.3 million",)
    assert lines[1] == "  = sum of 2023, 4 rows"
    assert lines[3].split() == ["file", "cell", "row", "column", "text", "unit"]
    assert lines[4].split()[:2] == ["halden-segments.csv", "C3"]


def test_a_program_comes_from_standard_input_a_file_or_the_line_itself(kg: str, tmp_path: Path) -> None:
    file = tmp_path / "sum.json"
    file.write_text("\ufeff" + SUM, encoding="utf-8")
    shown = [run(kg, SUM).stdout, run(kg, "-", text=SUM).stdout, run(kg, str(file)).stdout]
    assert shown[0] == shown[1] == shown[2]


def test_json_has_values_words_and_citations_and_what_was_asked_for(kg: str) -> None:
    found: dict[str, Any] = json.loads(run(kg, SUM, "--json").stdout)
    assert list(found) == [
        "engine", "text", "value", "unit", "columns", "rows", "row_count", "calculation", "citations",
        "cells_read", "program",
    ]  # fmt: skip
    assert (found["value"], found["unit"]) == ("1431300000", "CCY_EUR")
    more = json.loads(run(kg, SUM, "--json", "--show", "sparql").stdout)
    assert set(more) - set(found) == {"sparql"}
    assert "GRAPH" in more["sparql"]


def test_what_is_shown_can_be_run_again(kg: str) -> None:
    text = run(kg, SUM, "--show", "program").stdout
    assert run(kg, text.partition("program:\n")[2]).stdout in text
    query = run(kg, SUM, "--show", "sparql").stdout.partition("sparql:\n")[2]
    again = CliRunner().invoke(main, ["sparql", query, "--kg", kg, "-f", "csv"])
    assert again.stdout.split() == ["sum2023", "1431300000"]


def test_a_query_that_a_language_cannot_say_is_told_so(kg: str) -> None:
    program = {"op": "project", "source": table("planets"), "columns": [{"column": "@table"}]}
    text = run(kg, json.dumps(program), "--show", "sparql").stdout
    assert "SPARQL cannot say @table. Run the program in memory." in text
    found = json.loads(run(kg, json.dumps(program), "--show", "sparql", "--json").stdout)
    assert found["sparql"] is None
    error = run(kg, json.dumps(program), "--engine", "sparql", code=2).stderr
    assert error.startswith("Error: ")
    assert len(error.splitlines()) == 1


def test_no_value_ends_with_one(kg: str) -> None:
    none = of("max", "Moons", where("planets", compare("=", "Planet", "Pluto")))
    assert run(kg, json.dumps(none), code=1).stdout.startswith("The program gives no value.\n  = ")
    rows = where("planets", compare("=", "Planet", "Pluto"))
    assert "The program gives no value." in run(kg, json.dumps(rows), code=1).stdout
    assert json.loads(run(kg, json.dumps(rows), "--json", code=1).stdout)["rows"] == []
