from __future__ import annotations

import pytest

from kgtable.tables.linearize import CONTEXT_FORMATS, TABLE_FORMATS, TableFormat, format_table
from kgtable.tables.model import Context
from tests.tables.formats.figures import hierarchical


def test_seven_and_seven() -> None:
    assert len(TABLE_FORMATS) == len(CONTEXT_FORMATS) == 7
    assert set(TABLE_FORMATS) | set(CONTEXT_FORMATS) == set(TableFormat)


@pytest.mark.parametrize("name", TableFormat)
def test_every_format_writes_something_different(name: TableFormat) -> None:
    table = hierarchical(Context(heading=("A", "B"), before=("C",), after=("D",)))
    texts = {other: format_table(table, other) for other in TableFormat}
    assert texts[name]
    assert sum(text == texts[name] for text in texts.values()) == 1


def test_unknown_format() -> None:
    with pytest.raises(ValueError, match="yaml"):
        format_table(hierarchical(), "yaml")
