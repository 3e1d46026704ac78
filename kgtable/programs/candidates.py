"""Candidate programs for a question: a typed grammar over the links of one table, or of two joined.

Each candidate has an operator (`count`, `extreme`, `share`, …), the tokens that it accounts for, and
features for the ranker. What is possible is decided here by types; what is meant, by the ranker."""

from __future__ import annotations

from collections.abc import Iterator

from kgtable.programs.algebra import (
    Node,
)
from kgtable.programs.comparisons import Comparisons
from kgtable.programs.grammar import Candidate
from kgtable.programs.selections import Selections
from kgtable.programs.sources import ProgramSource

MOST_CANDIDATES = 420


def candidates_of(source: ProgramSource) -> list[Candidate]:
    """The candidate programs of a source, at most `MOST_CANDIDATES`, each program once."""
    found: dict[Node, Candidate] = {}
    for candidate in _All(source).all():
        kept = found.get(candidate.program.root)
        if kept is None or candidate.mask.bit_count() > kept.mask.bit_count():
            found[candidate.program.root] = candidate
        if len(found) >= MOST_CANDIDATES:
            break
    return list(found.values())


class _All(Selections, Comparisons):
    """Every operator."""

    def all(self) -> Iterator[Candidate]:
        """All candidates, the simplest operators first."""
        for conditions in self.sets:
            yield from self._basic(conditions)
        for conditions in self.sets[:4]:
            yield from self._extremes(conditions)
            yield from self._grouped(conditions)
            yield from self._by_columns(conditions)
        if len(self.sets) > 4:
            yield from self._extremes(self.sets[-1])  # of all rows
        yield from self._pairs()
        yield from self._shares()
        yield from self._neighbours()
        yield from self._rows_compared()
        yield from self._truths()
        if self.source.join is not None:
            yield from self._never()
        elif "negation" in self.cues:
            yield from self._never_within()
