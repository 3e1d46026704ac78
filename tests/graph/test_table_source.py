"""The tables that a reader keeps are bounded by their cells."""

from __future__ import annotations

from pathlib import Path

import pytest

import kgtable
from kgtable.graph import table_source


def test_large_tables_are_kept_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "tables"
    folder.mkdir()
    for number in range(4):
        rows = "".join(f"r{row},{row}\n" for row in range(20 if number < 2 else 200))
        (folder / f"t{number}.csv").write_text(f"Name,Mass\n{rows}", encoding="utf-8")
    monkeypatch.setattr(table_source, "KEPT_CELLS", 300)
    with kgtable.build(folder, tmp_path / "kg", embedding="none") as graph:
        reader = graph.reader
        for id, kept in [("t0", ["t0"]), ("t1", ["t0", "t1"]), ("t2", ["t2"]), ("t3", ["t3"]), ("t0", ["t0"])]:
            assert len(reader.table(id).grid.head) == (21 if id < "t2" else 201)
            assert list(reader._tables) == kept


def test_rows_are_complete_however_few_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Name,Mass\n" + "".join(f"r{row},{row}\n" for row in range(50)), encoding="utf-8")
    for kept in ("_KEPT", "_KEPT_FRAMES", "_KEPT_ROWS"):
        monkeypatch.setattr(table_source, kept, 7)
    with kgtable.build(path, tmp_path / "kg", embedding="none") as graph:
        reader = graph.reader
        for asked in (range(51), range(20, 40), range(60)):
            assert [row.cells[0] for row in reader.rows("t", asked).values()] == [
                "Name" if row == 0 else f"r{row - 1}" for row in asked if row < 51
            ]
