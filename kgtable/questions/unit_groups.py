"""Aggregates of a column with several currencies or units, as groups by the column that says which row has which.

Amounts in euros and dollars have no sum, but each currency has one. A program that was refused for mixing them is
made again with that column as a key: "total amount by customer" is a sum for each customer and currency.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kgtable.programs.algebra import Aggregate, ColumnRef, GroupBy, IsMissing, Named, Program, Rows, Sort, SortKey
from kgtable.questions.candidates import Candidate
from kgtable.questions.relation_index import ColumnView


def by_unit(candidate: Candidate) -> Candidate | None:
    """Return a refused program with a key that separates the units; None if no column says them, or for rankings."""
    column = _unit_column(candidate)
    if column is None or candidate.measure is None:
        return None
    own = Named(column.ref, column.name)
    match candidate.program.root:
        case Sort(GroupBy(rows, keys, measures), order):
            computed = {measure.name for measure in measures}
            kept = tuple(key for key in order if _sorted_column(key) not in computed)
        case GroupBy(rows, keys, measures):
            kept = ()
        case Aggregate(function, argument, Rows() as rows):
            name = f"{function.value} of {candidate.measure.name}"
            keys, measures, kept = (), (Named(Aggregate(function, argument), name),), ()
        case _:
            return None
    others, features = candidate.others, candidate.features
    if all(key.expression != column.ref for key in keys):
        if not _is_money(candidate):  # persons and kilometres in one column are not amounts of one thing
            return None
        keys, others, features = (*keys, own), (*others, column), {**features, APART: 1.0}
    grouped = GroupBy(rows, keys, measures)
    kept = kept or tuple(SortKey(ColumnRef(key.name), False) for key in keys[:1] if key.name)
    program = Program(Sort(grouped, kept))
    return replace(candidate, program=program, others=others, features=features)


APART = "apart by unit"
"""The feature of a program whose key of units no word of the question asks for."""


def _is_money(candidate: Candidate) -> bool:
    measure = candidate.measure
    return measure is not None and all((unit or "").startswith("CCY_") for unit in measure.units)


def _sorted_column(key: SortKey) -> object:
    inner = key.expression.operand if isinstance(key.expression, IsMissing) else key.expression
    return inner.name if isinstance(inner, ColumnRef) else None


def _unit_column(candidate: Candidate) -> ColumnView | None:
    """The column of the measure's table each of whose values stands for one unit, and each unit for one value."""
    source, measure = candidate.source, candidate.measure
    if measure is None or source.join is not None:
        return None
    relation = source.links[0].index.relation
    data = relation.data(measure.place)
    names = sorted({value.unit or "" for value in data.values})
    units = np.array([names.index(value.unit or "") for value in data.values], dtype=np.int64)
    known = data.codes >= 0
    if not 1 < len(names) < known.sum():
        return None
    of_rows = units[data.codes[known]]
    for view in source.columns:
        if view.measure or view.distinct != len(names):
            continue
        codes = relation.data(view.place).codes[known]
        if len(np.unique(np.stack([codes, of_rows]), axis=1).T) == len(names) and (codes >= 0).all():
            return view
    return None
