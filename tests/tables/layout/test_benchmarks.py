from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

import pytest

from kgtable.tables.layout.detect import detect_structure
from kgtable.tables.loader import read_folder
from kgtable.tables.model import Grid

BENCHMARKS = Path(os.environ.get("KGTABLE_BENCHMARKS") or Path(__file__).parents[4] / "shared" / "data")

pytestmark = [
    pytest.mark.benchmarks,
    pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="the benchmark folders are not beside the repository"),
]


@cache
def grids(name: str) -> list[Grid]:
    return [grid for grid in read_folder([BENCHMARKS / name / "tables"]) if isinstance(grid, Grid)]


def sidecar(name: str, grid: Grid) -> dict[str, object]:
    text = (BENCHMARKS / name / "tables" / f"{grid.id}.json").read_text("utf-8")
    content: dict[str, object] = json.loads(text)
    return content


def test_header_rows_agree_with_the_sidecars() -> None:
    tables = grids("tatqa")
    agreeing = [grid for grid in tables if detect_structure(grid).body_start == sidecar("tatqa", grid)["header_rows"]]
    assert len(agreeing) >= 0.95 * len(tables)


def test_headers_end_where_the_merged_corner_of_the_spreadsheet_does() -> None:
    compared = 0
    for grid in grids("hitab"):
        areas = sidecar("hitab", grid)["merged"]
        assert isinstance(areas, list)
        for top, left, bottom, _ in areas:
            if (top, left) == (-1, 0) and bottom > top:
                assert detect_structure(grid).body_start == bottom + 2
                compared += 1
    assert compared > 20


@pytest.mark.parametrize("name", ["tatqa", "hitab"])
def test_every_row_with_only_a_label_heads_a_group(name: str) -> None:
    for grid in grids(name):
        found = detect_structure(grid)
        expected = sidecar(name, grid)["group_rows"]
        assert isinstance(expected, list)
        assert {row + 1 for row in expected if row + 1 >= found.body_start} <= found.groups


def test_tables_of_one_header_row() -> None:
    for name in ("wtq", "spider"):
        tables = grids(name)
        one = [grid for grid in tables if detect_structure(grid).header == (0,)]
        assert len(one) >= 0.99 * len(tables)
