"""The rows of files, held and streamed: the cases of ``contents.toml``, `undivided` where tables are not told apart."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from kgtable.tables.discovery import TableFile
from kgtable.tables.limits import ReadLimits
from kgtable.tables.readers.delimited import read_delimited
from tests.tables.readers.files import read_one

CASES = tomllib.loads(Path(__file__).with_name("contents.toml").read_text(encoding="utf-8"))["case"]


@pytest.mark.parametrize("stream_above", [0, 1 << 20])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["about"])
def test_the_rows_of_a_file(tmp_path: Path, case: dict[str, Any], stream_above: int) -> None:
    path, limits = tmp_path / case.get("file", "t.csv"), ReadLimits(stream_above=stream_above)
    path.write_bytes(case["content"].encode())
    if case.get("undivided"):
        [grid] = read_delimited(TableFile(path, path.name, path.stem), limits)
    else:
        grid = read_one(path, limits=limits)
    assert list(map(list, grid.rows)) == case["rows"]
