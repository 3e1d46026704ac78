"""`scripts/papers.py`: a table of measurements over a folder of two questions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts import papers

ITEMS = [
    {"id": "in-table", "question": "What is the rent of the shop in Oslo?", "answers": ["70"], "tables": ["rents"],
     "cells": [["rents", 0, 1]], "cells_from": "derivation", "answer_from": "table"},
    {"id": "in-text", "question": "How many people staff the shop in Oslo?", "answers": ["12"], "tables": ["rents"],
     "answer_from": "text"},
]  # fmt: skip


def test_what_a_reader_finds_in_tables_and_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = tmp_path / "tatqa" / "tables"
    tables.mkdir(parents=True)
    (tables / "rents.csv").write_text("Shop,Rent\nOslo,70\nRome,50\n", encoding="utf-8")
    (tables / "rents.json").write_text(json.dumps({"paragraphs": ["The shop in Oslo has a staff of 12 people."]}))
    lines = "".join(json.dumps(item) + "\n" for item in ITEMS)
    (tmp_path / "tatqa" / "questions.dev.jsonl").write_text(lines, encoding="utf-8")
    papers.main(["documents", "--data", str(tmp_path), "--graphs", str(tmp_path / "graphs")])
    printed = capsys.readouterr().out
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in printed.splitlines()]
    found = {row[0]: row[1:] for row in rows if len(row) == 5}
    assert found["variant"] == ["all", "answer in a table", "in the text", "in both"]
    assert found["TableRAG"] == ["1.000", "1.000", "1.000", "–"]
    assert found["w/o textual retrieval"] == ["0.500", "1.000", "0.000", "–"]
    assert ["fewer than 5", "1.000 (0.635)"] in rows


def test_a_benchmark_that_is_missing_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    papers.main(["tablerag", "--data", str(tmp_path)])
    assert f"Not measured: {tmp_path / 'spider'}" in capsys.readouterr().out
