"""What stands most, or least, often in a column."""

from __future__ import annotations

import re
from collections import Counter

from kgtable.answering.offline import english
from kgtable.answering.offline.finding import Finding
from kgtable.answering.offline.linking import Linking
from kgtable.answering.offline.question import Form
from kgtable.answering.offline.words import stems

_AND_HOW_OFTEN = re.compile(
    r"\band (?:how (?:many|often)|(?:the |its |their )?(?:number|count))\b", re.IGNORECASE
)


def commonest(linking: Linking, rows: tuple[int, ...]) -> Finding | None:
    """The text that most (or fewest) of the rows have in the column asked for; None where none recurs."""
    asked = linking.asked_columns
    column, surety = (asked[0], 1.0) if asked else linking.answer_column()
    counts = Counter(text for row in rows if (text := linking.view.text(row, column)))
    if not counts or max(counts.values()) == 1:
        return None
    direction = linking.question.direction
    chosen = max(counts, key=lambda text: counts[text] * direction)
    ties = sum(count == counts[chosen] for count in counts.values())
    cells = tuple((row, column) for row in rows if linking.view.text(row, column) == chosen)
    how_often = _AND_HOW_OFTEN.search(linking.question.text)
    said = english.asked("commonest").search(linking.question.text)
    return Finding(
        chosen if how_often is None else f"{chosen}; {counts[chosen]}",
        cells,
        0.5 + surety,
        Form.EXTREME,
        used=frozenset(stems(said.group())) if said else frozenset(),
        doubts=() if ties == 1 else (f"{ties} stand equally often",),
    )
