"""The parts and their order are those of the thesis's Figure 7."""

from __future__ import annotations

from kgtable.tables import linearize
from kgtable.tables.linearize import as_plaintext
from kgtable.tables.model import Context
from tests.tables.formats.figures import hierarchical

TABLE = hierarchical(
    Context(heading=("Obligations", "Reconciliation"), before=("Before.",), after=("After.",))
)
PLAIN = as_plaintext(TABLE).strip()


def test_parts_and_order() -> None:
    heading = "Obligations | Reconciliation"
    assert linearize.as_heading(TABLE) == heading
    assert linearize.as_heading_table(TABLE) == f"{heading} | {PLAIN}"
    assert linearize.as_pretext(TABLE) == "Before."
    assert linearize.as_heading_pretext(TABLE) == f"{heading} | Before."
    assert linearize.as_heading_pretext_table(TABLE) == f"{heading} | Before. | {PLAIN}"
    assert linearize.as_context(TABLE) == f"{heading} | Before. | After."
    assert linearize.as_context_table(TABLE) == f"{heading} | Before. | {PLAIN} | After."


def test_a_table_without_context_has_empty_context() -> None:
    assert linearize.as_context(hierarchical()) == ""
    assert linearize.as_context_table(hierarchical()) == PLAIN
