"""Texts that once took quadratic time: at these lengths, minutes."""

from __future__ import annotations

from pathlib import Path

import pytest

import kgtable
from kgtable.tables.loader import read_folder
from kgtable.tables.model import Grid

LONG = 60_000
FILLERS = [" ", "\t", "\u00a0", ",", "(", "%", "[a]", "*", "¹"]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("filler", FILLERS)
def test_headers_and_labels_of_many_equal_signs(filler: str, tmp_path: Path) -> None:
    long = filler * (LONG // len(filler))
    rows = [("name", f"1{long}b"), (f"a{long}]", "1"), ("y", f"2{long}")]
    (tmp_path / "t.csv").write_text("\n".join(",".join(f'"{c}"' for c in row) for row in rows), encoding="utf-8")
    assert len(kgtable.convert(tmp_path, tmp_path / "out.nq").tables) == 1


@pytest.mark.timeout(60)
def test_an_object_of_many_equal_keys(tmp_path: Path) -> None:
    pairs = ", ".join(f'"k{number % 9_000}": {number}' for number in range(60_000))
    (tmp_path / "t.json").write_text(f"[{{{pairs}}}]", encoding="utf-8")
    (tmp_path / "u.jsonl").write_text('{"a": 1' + ', "a": 2' * 60_000 + "}\n", encoding="utf-8")
    wide, equal = (found for found in read_folder(tmp_path) if isinstance(found, Grid))
    assert tuple(wide.rows)[1][0] == "54000"
    assert tuple(equal.rows) == (("a",), ("2",))
    assert "keys repeat" in equal.notices[0].message


@pytest.mark.timeout(60)
def test_a_quote_that_is_never_closed(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('a,b\n"' + "x\n" * LONG, encoding="utf-8")
    assert len(kgtable.convert(tmp_path, tmp_path / "out.nq").tables) == 1


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "filler", ["`", "*", "_", "~", " ", "#", " #", "[", "[]", "![](", "\\", "<br", "|", ":-", "=", "`a"]
)
def test_markdown_of_many_equal_signs(filler: str, tmp_path: Path) -> None:
    long = filler * (LONG // len(filler))
    lines = [f"# a{long}b", "", f"Table: {long}", "", "| a | b |", "|---|---|"]
    lines += [f"| {long} | 1 |", f"| {long}x | 2 |", f"| x{long} | 3 |", "", f"{long} {long}", f"## {long} x {long}"]
    (tmp_path / "t.md").write_text("\n".join(lines), encoding="utf-8")
    (found,) = read_folder(tmp_path)
    assert filler == "|" or (isinstance(found, Grid) and len(tuple(found.rows)) >= 2)
