"""Rows of a table as statements, column by column: forms that many cells share, and lists of what differs in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple, TypeAlias

from kgtable.graph.terms import Block, Pair, Term


class FormSlot(NamedTuple):
    """A term that differs from row to row: a text, which needs no escapes, between two that are always the same.

    A slot with nothing around its text holds whole terms. FormSlot 0 is the number of the row. `like` is what comes
    after the digits of a text such as those of the slot.
    """

    number: int
    before: str = ""
    after: str = ""
    like: str = ""

    def term(self, texts: Sequence[str]) -> Term:
        """The term with its text among those of a row."""
        return f"{self.before}{texts[self.number]}{self.after}"


Template: TypeAlias = tuple[tuple[Term, Term | FormSlot], ...]


@dataclass(eq=False, slots=True)
class Form:
    """The statements of cells that differ only in the texts of their slots: pairs of their row, and a block below it.

    The first form of a row is its head: its `subject` is the row itself. `about` says what those who made a form want
    to know of it later. Forms are equal only to themselves.
    """

    pairs: Template = ()
    subject: FormSlot | None = None
    below: Template = ()
    about: object = None

    @property
    def is_head(self) -> bool:
        """Whether it opens a row."""
        return self.subject is not None and not self.below

    def statements(self, texts: Sequence[str]) -> tuple[list[Pair], Block | None]:
        """The pairs of the row, and the block below it, with the texts of all slots."""
        block = (self.subject.term(texts), _filled(self.below, texts)) if self.subject and self.below else None
        return _filled(self.pairs, texts), block


def _filled(template: Template, texts: Sequence[str]) -> list[Pair]:
    return [(predicate, value.term(texts) if isinstance(value, FormSlot) else value) for predicate, value in template]


NO_CELL = Form()
"""What a blank cell says."""


class ColumnRun(NamedTuple):
    """The cells of a column in a chunk of rows: the form of most of them, its slots from 1 on, and the odd cells.

    An odd cell has a form and texts of its own; what the slots hold in its row means nothing. `sizes` counts the cells
    of each form.
    """

    form: Form
    slots: Sequence[Sequence[str]]
    odd: Mapping[int, tuple[Form, Sequence[str]]]
    sizes: Mapping[Form, int]

    def at(self, row: int) -> tuple[Form, Sequence[str]]:
        """The form of a cell and its texts."""
        return self.odd.get(row) or (self.form, [texts[row] for texts in self.slots])

    @classmethod
    def of(cls, groups: Mapping[Form, tuple[Sequence[int], Sequence[Sequence[str]]]], rows: int) -> ColumnRun:
        """The run of cells that are grouped by form: the rows of each group, and its slots. All others are blank."""
        form = max(groups, key=lambda each: len(groups[each][0]), default=NO_CELL)
        places, slots = groups.get(form, ((), ()))
        sizes = {each: len(found) for each, (found, _) in groups.items()}
        if len(places) == rows:
            return cls(form, slots, {}, sizes)
        odd: dict[int, tuple[Form, Sequence[str]]] = dict.fromkeys(set(range(rows)).difference(places), (NO_CELL, ()))
        whole = [[""] * rows for _ in slots]
        for filled, texts in zip(whole, slots, strict=True):
            for place, text in zip(places, texts, strict=True):
                filled[place] = text
        for each, (found, texts_of) in groups.items():
            if each is not form:
                odd.update(zip(found, zip(repeat(each), zip(*texts_of, strict=True)), strict=True))
        return cls(form, whole, odd, sizes)


@dataclass(frozen=True, slots=True)
class RowChunk:
    """Successive rows of a table as statements: the numbers of the rows, the run of their heads, then the columns'.

    `is_distinct` says whether no predicate of a column is that of another one or of a head.
    """

    numbers: Sequence[str]
    runs: Sequence[ColumnRun]
    is_distinct: bool

    def rows(self) -> Iterator[list[Block]]:
        """For each row its block and those below it."""
        for row, number in enumerate(self.numbers):
            head, texts = self.runs[0].at(row)
            assert head.subject is not None
            below: list[Block] = []
            pairs: list[Pair] = []
            for run in self.runs:
                form, texts = run.at(row)
                said, block = form.statements((number, *texts))
                pairs += said
                if block is not None:
                    below.append(block)
            yield [(head.subject.term((number,)), pairs), *below]


Parts: TypeAlias = Iterable[Block | RowChunk]
"""Statements in the order they are written: blocks, and chunks of rows."""
