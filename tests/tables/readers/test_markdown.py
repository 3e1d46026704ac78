from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgtable.errors import NoTableError, TableError
from kgtable.tables.readers.markdown import split_row
from tests.tables.readers.files import read_all, read_one

PAGE = """# Report

Some text
in two lines.

| Name | A \\| B |
|:-----|:-----:|
| **Total** | [1,234](http://x.y) |
| short |
| a | b | extra |

Table: In millions

Income
------

```
| not | a table |
|-----|---------|
```

x | y
--|--
1 | 2<br>3
"""


def test_every_table_with_what_surrounds_it(tmp_path: Path) -> None:
    first, second = read_all(tmp_path / "t.md", PAGE)
    assert first.rows == (("Name", "A | B"), ("Total", "1,234"), ("short",), ("a", "b", "extra"))
    assert first.header_cells == {(0, 0), (0, 1)}
    assert first.context.heading == ("Report",)
    assert first.context.before == ("Some text in two lines.",)
    assert first.context.caption == "In millions"
    assert second.rows == (("x", "y"), ("1", "2\n3"))
    assert second.context.heading == ("Report", "Income")


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        ("| a | b |", ("a", "b")), ("a | b", ("a", "b")), ("| a |  |", ("a", "")), ("|  | b |", ("", "b")),
        ("| 5* | `x` | _y_ |", ("5*", "x", "y")), ("| *a* and *b* |", ("*a* and *b*",)),
        ("| ![logo](x.png) |", ("logo",)),
    ],
)  # fmt: skip
def test_cells_of_a_line(line: str, cells: tuple[str, ...]) -> None:
    assert split_row(line) == cells


def test_one_column(tmp_path: Path) -> None:
    assert read_one(tmp_path / "t.md", "| a |\n|---|\n| 1 |\n\n| no |\n").rows == (("a",), ("1",))


@pytest.mark.parametrize("content", ["just text\n", "| a | b |\n", "a | b\n---\n", "```\n|a|b|\n|-|-|\n"])
def test_text_without_table(tmp_path: Path, content: str) -> None:
    with pytest.raises(NoTableError):
        read_one(tmp_path / "t.md", content)


CELL = st.text(st.characters(exclude_characters="\r\n\\`*_~[]!<", exclude_categories=["Cs", "Cc"]), max_size=6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(CELL.map(lambda text: text.strip(" \t")), min_size=2, max_size=2), min_size=1, max_size=5))
def test_plain_cells_come_back(tmp_path: Path, rows: list[list[str]]) -> None:
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    text = "\n".join([lines[0], "|---|---|", *lines[1:]])
    assert read_one(tmp_path / "t.md", text).rows == tuple(map(tuple, rows))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.sampled_from("|-: \n#`a\\*[]()=~"), max_size=60))
def test_any_text_gives_grids_or_a_table_error(tmp_path: Path, text: str) -> None:
    try:
        grids = read_all(tmp_path / "t.md", text)
    except TableError:
        return
    assert all(grid.width >= 1 for grid in grids)
