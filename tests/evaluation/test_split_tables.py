"""The builder of benchmarks with several tables a question."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kgtable.errors import BenchmarkError
from kgtable.evaluation.benchmark import Benchmark
from kgtable.llm.protocol import Request
from kgtable.llm.scripted import ScriptedLLM
from scripts.benchmarks.folder import BenchmarkFolder
from scripts.benchmarks.make import bench
from scripts.benchmarks.split_tables import SplitPlan, other_titles, split_benchmark

HEADER = ("Player", "Team", "Goals", "Year", "Country")


def source(folder: Path, tables: int = 4) -> Path:
    """Tables of eight rows whose cells say where they stand, one that is too small, questions on each."""
    made = BenchmarkFolder(folder)
    questions: list[dict[str, Any]] = []
    for number in range(tables):
        id = f"t{number}"
        grid = [[f"{name} {row} of {id}" for name in HEADER] for row in range(8)]
        made.add_table(id, [HEADER, *grid], title=f"Scorers {number}", pre_text=["About scorers."])
        for kind, cells in enumerate(([[id, 2, 2], [id, 2, 0]], [[id, 5, 3]], [[id, 1, 0]], [])):
            words = ("goals", "year", "player", "country")[kind]
            text = f"which {words} in this league belongs to number {kind} of {id}?"
            questions.append(
                {"id": f"{id}-{kind}", "question": text, "answers": [words], "tables": [id], "cells": cells}
            )
    made.add_table("small", [("a", "b"), (1, 2)])
    questions.append({"id": "v", "question": "who was it?", "answers": ["x"], "tables": ["t0"]})
    questions.append(questions[1] | {"id": "again"})
    questions.append(questions[0] | {"id": "two", "tables": ["t0", "t1"], "cells": []})
    made.write_questions("dev", questions)
    return folder


def rows_of(folder: Path, table: str) -> list[list[str]]:
    with (folder / "tables" / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def parts_of(folder: Path) -> dict[str, dict[str, Any]]:
    """The sidecars of the parts by id."""
    paths = sorted((folder / "tables").glob("*.json"))
    return {path.stem: found for path in paths if "source_table" in (found := json.loads(path.read_text()))}


def test_the_parts_make_up_the_tables(tmp_path: Path) -> None:
    counts = split_benchmark(source(tmp_path / "old"), tmp_path / "new")
    parts = parts_of(tmp_path / "new")
    assert (counts.tables, counts.whole, counts.parts) == (5, 1, len(parts) + 1)
    assert rows_of(tmp_path / "new", "small") == rows_of(tmp_path / "old", "small")
    assert sorted({about["split"] for about in parts.values()}) == ["column", "row"]
    for table in ("t0", "t1", "t2", "t3"):
        grid = rows_of(tmp_path / "old", table)
        of_table = {id: about for id, about in parts.items() if about["source_table"] == table}
        assert len(of_table) in (2, 3)
        seen: list[tuple[int, int]] = []
        for id, about in of_table.items():
            part = rows_of(tmp_path / "new", id)
            assert part[0] == [grid[0][column] for column in about["cols"]]
            for row, line in zip(about["rows"], part[1:], strict=True):
                assert line == [grid[row + 1][column] for column in about["cols"]]
                seen += ((row, column) for column in about["cols"])
        assert set(seen) == {(row, column) for row in range(8) for column in range(5)}
        twice = {column for row, column in seen if seen.count((row, column)) > 1}
        assert twice <= {0}
        assert len({about["title"] for about in of_table.values()}) == len(of_table)


SPANNED = [
    ["", "2019", "", "2018", ""],
    ["$ millions", "Q1", "Q2", "Q1", "Q2"],
    *([f"Item {row}", *(f"{row}.{column}" for column in range(1, 5))] for row in range(1, 7)),
]
GROUPED = [
    ["Segment", "2019", "2018", "2017"],
    *(
        line
        for name in ("Europe", "Asia")
        for line in ([name, "", "", ""], *([f"- {kind}", "7.5", "8.5", "9.5"] for kind in ("Cloud", "Print")))
    ),
]


def test_headers_of_several_lines_and_groups_keep_their_rows(tmp_path: Path) -> None:
    made = BenchmarkFolder(tmp_path / "old")
    for number in range(2):  # one of each would be split by rows, the other by columns
        made.add_table(f"spanned{number}", SPANNED)
        made.add_table(f"grouped{number}", GROUPED)
    made.add_table("both", [*SPANNED, ["Asia", "", "", "", ""], *([f"- {n}", *"1234"] for n in "abcd")])
    question = {"id": "q", "question": "which item had 3.2 millions in Q2?", "answers": ["Item 3"]}
    cells = [["spanned0", 0, 2], ["spanned0", 3, 2], ["spanned0", 3, 0]]
    made.write_questions("dev", [question | {"tables": ["spanned0"], "cells": cells}])
    split_benchmark(tmp_path / "old", tmp_path / "new")
    parts = parts_of(tmp_path / "new")
    assert {about["split"] for id, about in parts.items() if id.startswith("spanned")} == {"row"}
    assert {about["split"] for id, about in parts.items() if id.startswith("grouped")} == {"column"}
    for id, about in parts.items():
        grid = rows_of(tmp_path / "new", id)
        if id.startswith("spanned"):
            assert grid[:2] == SPANNED[:2]
        else:
            assert [row[0] for row in grid] == [row[0] for row in GROUPED], about
    assert rows_of(tmp_path / "new", "both") == rows_of(tmp_path / "old", "both")
    (moved,) = Benchmark(tmp_path / "new").questions("dev")
    assert len(moved.tables) == 1
    assert sorted(rows_of(tmp_path / "new", t)[row][column] for t, row, column in moved.cells) == [
        "3.2", "Item 3", "Q2",
    ]  # fmt: skip


def test_gold_cells_move_along(tmp_path: Path) -> None:
    split_benchmark(source(tmp_path / "old"), tmp_path / "new", plan=SplitPlan(combined=0))
    parts = parts_of(tmp_path / "new")
    old = {question.id: question for question in Benchmark(tmp_path / "old").questions("dev")}
    made = Benchmark(tmp_path / "new").questions("dev")
    assert len(made) == 16
    for question in made:
        before = old[question.extra["source_ids"][0]]
        texts = {rows_of(tmp_path / "new", table)[row][column] for table, row, column in question.cells}
        assert texts == {rows_of(tmp_path / "old", table)[row][column] for table, row, column in before.cells}
        assert {cell[0] for cell in question.cells} <= set(question.tables)
        everywhere = [id for id, about in parts.items() if about["source_table"] == before.tables[0]]
        kind, by_columns = before.id[-1], parts[everywhere[0]]["split"] == "column"
        if kind == "3":
            assert sorted(question.tables) == everywhere
        assert question.any_of == (kind == "2" and by_columns)
        if kind == "0":
            assert len(question.tables) == 1


def test_questions_are_joined_in_pairs_of_one_table(tmp_path: Path) -> None:
    split_benchmark(source(tmp_path / "old"), tmp_path / "new", plan=SplitPlan(combined=1))
    for question in Benchmark(tmp_path / "new").questions("dev"):
        assert question.extra["type"] == "multi"
        assert len(question.answers) == len(question.extra["answers_parts"]) == 2
        assert any(word in question.text for word in ("Also,", "Furthermore,", "In addition,"))
        first, second = question.extra["source_ids"]
        assert first.split("-")[0] == second.split("-")[0]


def test_the_same_seed_gives_the_same_files(tmp_path: Path) -> None:
    folder = source(tmp_path / "old")
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        split_benchmark(folder, tmp_path / name, plan=SplitPlan(seed))
    files = {
        name: {path.relative_to(tmp_path / name): path.read_bytes() for path in sorted((tmp_path / name).rglob("*.*"))}
        for name in "abc"
    }
    assert files["a"] == files["b"] != files["c"]


def test_a_model_varies_titles_and_rewrites_questions(tmp_path: Path) -> None:
    def reply(request: Request) -> dict[str, Any]:
        if request.stage != "other_title":
            return {"question": "who scored in the Nordic league?"}
        lines = str(request.messages[-1]["content"]).splitlines()
        return {"titles": [f"Variant of line {number}" for number in range(len(lines))]}

    model = ScriptedLLM(reply)
    split_benchmark(source(tmp_path / "old"), tmp_path / "new", plan=SplitPlan(combined=0), llm=model)
    assert {question.text for question in Benchmark(tmp_path / "new").questions("dev")} == {
        "who scored in the Nordic league?"
    }
    assert all(about["title"].startswith("Variant") for about in parts_of(tmp_path / "new").values())
    short = ScriptedLLM([{"titles": ["only one"]}])
    assert len(set(other_titles("Cup", 3, "s", short))) == 3


def test_the_command_builds_a_folder(tmp_path: Path) -> None:
    folder, out = source(tmp_path / "old"), tmp_path / "new"
    done = CliRunner().invoke(bench, ["multitable", str(folder), "-o", str(out), "--split", "dev"])
    assert done.exit_code == 0, done.output
    assert "tables from 5 (1 whole)" in done.output
    assert Benchmark(out).splits() == ("dev",)
    with pytest.raises(BenchmarkError, match="overwrite"):
        split_benchmark(folder, folder)
