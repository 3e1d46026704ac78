"""What shape and writers hand to each other: a subject with its statements, and shares of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from kgtable.graph.terms import Term

Pair: TypeAlias = tuple[Term, Term]
"""A predicate and an object."""

Block: TypeAlias = tuple[Term, Sequence[Pair]]
"""A subject and its pairs, in the order they are written."""

Blocks: TypeAlias = Iterable[Block]


@dataclass(frozen=True, slots=True)
class Share:
    """The `part`-th of `parts` pieces that one table is converted in, counted from 0."""

    part: int = 0
    parts: int = 1

    @property
    def is_first(self) -> bool:
        """Whether the table begins here."""
        return self.part == 0

    @property
    def is_last(self) -> bool:
        """Whether the table ends here."""
        return self.part == self.parts - 1


WHOLE = Share()
