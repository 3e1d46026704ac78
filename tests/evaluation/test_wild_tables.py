"""The builder of tables in the wild."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kgtable.errors import BenchmarkError
from kgtable.evaluation.benchmark import Benchmark, BenchmarkFolder
from scripts.benchmarks.make import bench
from scripts.benchmarks.wild_tables import WildPlan, wild_benchmark

HEADER = ("player id", "player name", "goals", "team", "year", "country", "height")
SQUAD = "league__players"


def databases(folder: Path) -> Path:
    """A table of seven columns and 60 rows, a small one, and questions that read some of their columns."""
    made = BenchmarkFolder(folder)
    rows = [[row, f"Player number {row} of all", row % 7, f"Team {row % 5}", 1990 + row % 9, "UK", 180 + row]
            for row in range(60)]  # fmt: skip
    made.add_table(SQUAD, [HEADER, *rows], title="players", heading=["league"], primary_key=["player id"])
    made.add_table("league__teams", [("team", "town"), ("Team 1", "Hull"), ("Team 2", "Ely")], title="teams")
    read: list[tuple[list[list[Any]], list[list[Any]]]] = [
        ([[SQUAD, 2], [SQUAD, 6]], [[SQUAD, 3, 2], [SQUAD, 3, 6]]),
        ([[SQUAD, 3], ["league__teams", 1]], []),
        ([], []),
    ]
    made.write_questions(
        "dev",
        [
            {
                "id": str(number),
                "question": "how many?",
                "answers": ["1"],
                "tables": sorted({table for table, _ in columns}) or [SQUAD],
                "columns": columns,
                "cells": cells,
            }
            for number, (columns, cells) in enumerate(read)
        ],
    )
    return folder


def others(folder: Path) -> Path:
    made = BenchmarkFolder(folder)
    made.add_table("films", [("Film", "Year"), *((f"Film {n}", 1990 + n) for n in range(6))], title="Films")
    made.write_questions("dev", [])
    return folder


def grid(folder: Path, table: str) -> list[list[str]]:
    with (folder / "tables" / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def truths(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "truth.jsonl").read_text(encoding="utf-8").splitlines()]


def test_the_parts_hold_every_cell_and_the_truth_tells_what_was_changed(tmp_path: Path) -> None:
    source, out = databases(tmp_path / "old"), tmp_path / "new"
    counts = wild_benchmark(source, out, None, plan=WildPlan(masked=0.4, perturbed=0.5))
    original = grid(source, SQUAD)
    seen: set[tuple[str, str]] = set()
    changed = 0
    for truth in truths(out):
        header, *rows = grid(out, truth["table"])
        about = (
            json.loads((out / "tables" / f"{truth['table']}.json").read_text())
            if not truth["untitled"]
            else {}
        )
        assert about.get("title", "") == ("" if truth["untitled"] else truth["title"])
        assert not truth["untitled"] or (truth["source"] not in truth["table"])
        for place, name in enumerate(truth["header"]):
            assert (header[place] == name) == (place not in truth["masked"])
        for row, place, before in truth["perturbed"]:
            assert rows[row][place] != before
            rows[row][place] = before
            changed += 1
        if truth["source"] == SQUAD:
            assert set(truth["columns"]) & {0, 1}, "every part has a key"
            seen |= {(name, row[place]) for row in rows for place, name in enumerate(truth["header"])}
    assert counts.parts == len(truths(out)) > 4
    assert changed
    assert seen == {(name, row[place]) for row in original[1:] for place, name in enumerate(HEADER)}


def test_gold_tables_and_cells_move_to_the_parts(tmp_path: Path) -> None:
    source, out = databases(tmp_path / "old"), tmp_path / "new"
    wild_benchmark(source, out, None, plan=WildPlan(perturbed=0))
    by_id = {truth["table"]: truth for truth in truths(out)}
    first, second, third = Benchmark(out).questions("dev")
    original = grid(source, SQUAD)
    assert [grid(out, table)[row][column] for table, row, column in first.cells] == [
        original[4][2],
        original[4][6],
    ]
    assert {cell[0] for cell in first.cells} == set(first.tables)
    assert {by_id[table]["source"] for table in second.tables} == {SQUAD, "league__teams"}
    read = {
        by_id[table]["header"][place]
        for table in second.tables
        for place in range(len(by_id[table]["header"]))
    }
    assert {"team", "town"} <= read
    assert {by_id[table]["group"] for table in second.tables if by_id[table]["source"] == SQUAD} == {1}
    assert {by_id[table]["source"] for table in third.tables} == {SQUAD}
    assert third.extra["source_tables"] == [SQUAD]


def test_the_same_seed_gives_the_same_bytes_and_others_are_recombined(tmp_path: Path) -> None:
    source, more = databases(tmp_path / "old"), others(tmp_path / "others")
    for name in ("one", "two"):
        wild_benchmark(source, tmp_path / name, more, plan=WildPlan(distractors=5))
    folders = (tmp_path / "one", tmp_path / "two")
    one, two = ({path.relative_to(f): path.read_bytes() for path in sorted(f.rglob("*.*"))} for f in folders)
    assert one == two
    added = [path for path in one if path.name.startswith("other_") and path.suffix == ".csv"]
    assert len(added) == 5
    whole = {tuple(row) for row in grid(more, "films")}
    for path in added[1:]:
        cells = {cell for row in grid(tmp_path / "one", path.stem) for cell in row}
        assert cells <= {c for row in whole for c in row}


def test_the_command_builds_a_folder(tmp_path: Path) -> None:
    source, more, out = databases(tmp_path / "old"), others(tmp_path / "others"), tmp_path / "new"
    line = ["spiderwild", str(source), "-o", str(out), "--others", str(more), "--distractors", "2"]
    done = CliRunner().invoke(bench, line)
    assert done.exit_code == 0, done.output
    assert "tables from 2 (1 whole), 3 questions" in done.output
    with pytest.raises(BenchmarkError, match="overwrite"):
        wild_benchmark(source, source, None)
