"""Schema linking: what the words of a question name in a table: columns, cells, groups, numbers, times.

`Links` are those of one question in one table, whose `TableIndex` is made once.
Conditions are ready expressions of the algebra with the tokens that they account for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property

from kgtable.programs.algebra import Compare, Membership, RowChoice
from kgtable.questions.cell_conditions import CellConditions
from kgtable.questions.conditions import Condition
from kgtable.questions.limit_conditions import LimitConditions
from kgtable.questions.reading import Question


class Links(CellConditions, LimitConditions):
    """What one question names in one table."""

    @cached_property
    def values(self) -> int:
        """The tokens of exact cells that win over everything else."""
        total = 0
        for condition in self.conditions:
            if condition.kind in ("exact", "listed"):
                total |= condition.mask
        return total

    @cached_property
    def satisfied_by_title(self) -> int:
        """The tokens that the title accounts for: none of a measure or a time that a header or a row has as well."""
        columns = zip(self.index.columns, self.columns, strict=True)
        held = Question._all(link.mask for view, link in columns if link.exact and (view.measure or view.period))
        dated = (c.mask for c in self.conditions if c.kind == "time" and c.relation == "in" and c.column >= 0)
        return self.titled & ~held & ~Question._all(dated)

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """Conditions of all kinds, the surest first."""
        found = [*self.of_cells(), *self.of_limits()]
        found = [condition for condition in found if not self._is_headed(condition)]
        if "only" not in self.question.cues:  # who speaks French may speak German as well
            listed = {(c.column, c.mask) for c in found if c.kind == "listed"}
            found = [c for c in found if c.kind != "exact" or (c.column, c.mask) not in listed]
        found = _with_alternatives(found, [link.mask for link in self.columns])
        found.sort(key=lambda c: (-c.quality, -c.mask.bit_count(), c.column))
        return tuple(found)

    def _is_headed(self, condition: Condition) -> bool:
        """Whether it takes periods that head measures, as in "from 2023 to 2024", for dates of a column not named."""
        if condition.column < 0:
            return False
        return not self.columns[condition.column].mask and not condition.mask & ~self._heads

    @cached_property
    def _heads(self) -> int:
        """The tokens of periods that measures are headed by, with the words between them."""
        named = Question._all(
            mention.mask & link.mask  # of "March 2023" a column 2023 is headed by the year alone
            for mention in self.question.times
            for view, link in zip(self.index.columns, self.columns, strict=True)
            if view.measure and link.exact and link.mask & mention.mask
        )
        if not named:
            return 0
        low, high = (named & -named).bit_length() - 1, named.bit_length()
        start = max(low - 1, 0)  # of "from 2023 to 2024"
        between = sum(1 << token.index for token in self.question.tokens[start:high] if token.empty)
        return named | between


def _with_alternatives(found: Sequence[Condition], named: Sequence[int]) -> list[Condition]:
    """The conditions, those of the same tokens and column folded, and the choice between cells of a column.

    `named` are the tokens that name each column: "grade 9 or 10" says *grade* once for both cells.
    """
    best: dict[tuple[object, ...], Condition] = {}
    for condition in found:
        key = condition.expression, condition.mask
        if key not in best or best[key].quality < condition.quality:
            best[key] = condition
    kept = list(best.values())
    by_column: dict[int, list[Condition]] = defaultdict(list)
    for condition in kept:
        if (
            condition.kind in ("exact", "number")
            and condition.column >= 0
            and isinstance(condition.expression, Compare)
        ):
            by_column[condition.column].append(condition)
    for column, several in by_column.items():
        apart: list[Condition] = []
        for condition in sorted(several, key=lambda c: -c.mask.bit_count()):
            if all(not condition.mask & other.mask & ~named[column] for other in apart):
                apart.append(condition)
        if 2 <= len(apart) <= 6:
            mask = 0
            for condition in apart:
                mask |= condition.mask
            choices = tuple(c.expression.right for c in apart if isinstance(c.expression, Compare))
            operand = next(c.expression.left for c in apart if isinstance(c.expression, Compare))
            choice = RowChoice.ALL if any(c.choice is RowChoice.ALL for c in apart) else RowChoice.MEMBERS
            quality = min(c.quality for c in apart) - 0.02
            kept.append(
                Condition(
                    Membership(operand, choices), mask, column, "several", quality, choice, sum(c.size for c in apart)
                )
            )
    return kept
