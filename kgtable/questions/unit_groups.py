"""Aggregates of a column with several currencies or units, as groups by the column that says which row has which.

Amounts in euros and dollars have no sum, but each currency has one. A program that was refused for mixing them is
made again with that column as a key: "total amount by customer" is a sum for each customer and currency.
"""

from __future__ import annotations

from dataclasses import replace

from kgtable.programs.algebra import Aggregate, ColumnRef, GroupBy, IsMissing, Named, Program, Rows, Sort, SortKey
from kgtable.questions.candidates import Candidate


def by_unit(candidate: Candidate) -> Candidate | None:
    """Return a refused program with a key that separates the units; None if no column says them, or for rankings."""
    measure = candidate.measure
    column = None if measure is None else candidate.source.unit_column(measure)
    if measure is None or column is None:
        return None
    own = Named(column.ref, column.name)
    match candidate.program.root:
        case Sort(GroupBy(rows, keys, measures), order):
            computed = {one.name for one in measures}
            kept = tuple(key for key in order if _sorted_column(key) not in computed)
        case GroupBy(rows, keys, measures):
            kept = ()
        case Aggregate(function, argument, Rows() as rows):
            name = f"{function.value} of {measure.name}"
            keys, measures, kept = (), (Named(Aggregate(function, argument), name),), ()
        case _:
            return None
    others, features = candidate.others, candidate.features
    if all(key.expression != column.ref for key in keys):
        if not measure.is_money:  # persons and kilometres in one column are not amounts of one thing
            return None
        keys, others, features = (*keys, own), (*others, column), {**features, APART: 1.0}
    grouped = GroupBy(rows, keys, measures)
    kept = kept or tuple(SortKey(ColumnRef(key.name), False) for key in keys[:1] if key.name)
    program = Program(Sort(grouped, kept))
    return replace(candidate, program=program, others=others, features=features)


APART = "apart by unit"
"""The feature of a program whose key of units no word of the question asks for."""


def _sorted_column(key: SortKey) -> object:
    inner = key.expression.operand if isinstance(key.expression, IsMissing) else key.expression
    return inner.name if isinstance(inner, ColumnRef) else None
