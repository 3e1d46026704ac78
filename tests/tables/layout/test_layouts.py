"""The structure of small tables.

A case of ``layouts.toml`` holds a table and parts of its structure: sets as lists, the ``path`` of a column by its
number or the ``paths`` of all, ``shared`` areas as in a spreadsheet.
"""

from __future__ import annotations

import tomllib
from collections.abc import Set
from pathlib import Path
from typing import Any

import pytest

from kgtable.graph.cell_areas import parse_areas
from tests.tables.layout.grids import structure

CASES = tomllib.loads(Path(__file__).with_name("layouts.toml").read_text(encoding="utf-8"))["case"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["about"])
def test_the_structure_of_a_table(case: dict[str, Any]) -> None:
    found = structure(case["table"])
    expected = {key: value for key, value in case.items() if key not in ("about", "table")}
    assert expected
    paths = [list(column.path) for column in found.columns]
    for key, value in expected.items():
        match key:
            case "paths":
                assert paths == value
            case "path":
                assert {column: paths[int(column)] for column in value} == value
            case "shared":
                assert found.shared == parse_areas(" ".join(value))
            case "parents":
                assert found.parents == {int(row): parent for row, parent in value.items()}
            case _:
                part = getattr(found, key)
                assert (
                    sorted(part) if isinstance(part, Set) else list(part) if isinstance(part, tuple) else part
                ) == value
