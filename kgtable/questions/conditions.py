"""Conditions on rows that a question makes, with the tokens that they account for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kgtable.programs.algebra import Compare, Expression, IsMissing, Not, Relator, RowChoice


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on rows that the question seems to make.

    `kind` is exact, partial, group, number, time, threshold, missing, truth, header; `column` is the
    place of its column among those of the source, -1 for none; `choice` the rows it needs.
    """

    expression: Expression
    mask: int
    column: int
    kind: str
    quality: float
    choice: RowChoice = RowChoice.MEMBERS
    size: int = 0
    text: str = ""
    relation: str = ""


def negated(condition: Condition, mask: int) -> Condition:
    """The opposite of a condition, said by further tokens."""
    expression: Expression = Not(condition.expression)
    if isinstance(condition.expression, Compare) and condition.expression.relator is Relator.EQUAL:
        expression = replace(condition.expression, relator=Relator.NOT_EQUAL)
    elif isinstance(condition.expression, IsMissing):
        expression = Not(condition.expression)
    return replace(
        condition,
        expression=expression,
        mask=condition.mask | mask,
        kind=f"not {condition.kind}",
        choice=RowChoice.MEMBERS,
    )


def run_beside(token: int, mask: int) -> int:
    """The run of a set's tokens that is nearest to a token, within three; none if all are farther away.

    In "version 3.1 larger than version 1.0" each number has its own *version*.
    """
    for step in (1, 2, 3):
        run = mask & (token << step | token >> step)
        if run:
            if run == token >> step | token << step and step == 1:
                run = token >> step  # the word before a number names it
            while (wider := mask & (run | run << 1 | run >> 1)) != run:
                run = wider
            return run
    return 0


def distance(one: int, other: int) -> int:
    """Tokens between two sets, 0 where they touch or overlap."""
    steps = 0
    grown = one
    while not grown & other and steps < 40:
        grown |= grown << 1 | grown >> 1
        steps += 1
    return max(steps - 1, 0) if grown & other else 99
