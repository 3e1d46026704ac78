from __future__ import annotations

from dataclasses import replace

import pytest

from kgtable.graph.generation import Generation
from kgtable.index import contents
from kgtable.index.contents import kept_contents, read_contents, table_text
from kgtable.index.reading import TableContent


def test_contents_are_kept_in_the_order_of_the_tables(generation: Generation) -> None:
    found = list(kept_contents(generation.index_path))
    assert [content.id for content in found] == ["bridges", "income", "medals"]
    assert list(read_contents(generation, ["bridges", "income", "medals"], None, 1)) == found


def test_worker_processes_read_the_same(generation: Generation, monkeypatch: pytest.MonkeyPatch) -> None:
    found = list(kept_contents(generation.index_path))
    monkeypatch.setattr(contents, "CHUNK", 1)
    assert list(read_contents(generation, [content.id for content in found], None, 2)) == found


def test_unchanged_tables_come_from_the_index_before(generation: Generation) -> None:
    found = list(kept_contents(generation.index_path))
    elsewhere = replace(generation, path=generation.path / "absent")
    assert list(read_contents(elsewhere, ["bridges", "income", "medals"], generation.index_path, 1)) == found


def test_the_text_of_a_table_begins_with_its_name_and_columns() -> None:
    content = TableContent(
        "t",
        title="Winter games",
        heading=["Medals"],
        columns=[("Nation", "ex:a"), ("", "ex:b"), ("Gold", "ex:c")],
        cells=[
            (0, 0, "Nation", None, False, True),
            (1, 0, "Norway", None, False, False),
            (1, 2, "12", None, True, False),
            (2, 0, "Kenya", None, False, False),
        ],
    )
    assert table_text(content) == "Winter games. Medals. Nation, Gold. Norway, 12; Kenya"


def test_a_long_table_is_cut() -> None:
    cells = [(row, 0, f"name{row}", None, False, False) for row in range(10_000)]
    text = table_text(TableContent("t", columns=[("Name", "ex:a")], cells=cells))
    assert text.startswith("Name. name0; name1")
    assert len(text) < 800


def test_a_table_without_any_text() -> None:
    assert table_text(TableContent("t")) == "."
