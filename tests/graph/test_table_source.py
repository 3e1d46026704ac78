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
