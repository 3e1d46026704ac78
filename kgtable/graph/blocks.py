"""What shape and writers hand to each other: a subject with its statements, and shares of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, overload

from kgtable.graph.terms import Term

Pair: TypeAlias = tuple[Term, Term]
"""A predicate and an object."""


class Form:
    """The statements that many subjects share but for some objects: these are given by their slot, 0, 1, ….

    `uses` counts how often it was filled.
    """

    __slots__ = ("pairs", "uses")

    def __init__(self, pairs: Iterable[tuple[Term, Term | int]]) -> None:
        self.pairs = tuple(pairs)
        self.uses = 0


class Filled(Sequence[Pair]):
    """A form with the objects for its slots: pairs like any others, but a writer may be faster with them."""

    __slots__ = ("form", "terms")

    def __init__(self, form: Form, terms: tuple[Term, ...]) -> None:
        self.form = form
        self.terms = terms

    def __iter__(self) -> Iterator[Pair]:
        for predicate, value in self.form.pairs:
            yield predicate, self.terms[value] if isinstance(value, int) else value

    def __len__(self) -> int:
        return len(self.form.pairs)

    @overload
    def __getitem__(self, index: int) -> Pair: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Pair]: ...
    def __getitem__(self, index: int | slice) -> Pair | Sequence[Pair]:
        return tuple(self)[index]


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
