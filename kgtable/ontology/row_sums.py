"""Rows that are sums of others, found by their numbers: totals below or above their members, nested ones too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

import numpy as np
import numpy.typing as npt

LONGEST_SUM: Final = 80
"""Members of a total at most."""

MOST_COLUMNS: Final = 12
ENOUGH_FIGURES: Final = 8
"""Significant figures of a sum, over all columns, from which it is not one by chance."""

FEW_FIGURES: Final = 4
"""The same for a sum of all other rows, and for sums that leave no row over."""


@dataclass(frozen=True, slots=True)
class Sums:
    """Totals found: each with the rows it sums, none where they are not printed; and rows that tell a whole again."""

    totals: dict[int, tuple[int, ...]] = field(default_factory=dict)
    again: frozenset[int] = frozenset()


def find_sums(
    rows: Sequence[int],
    amounts: Sequence[Sequence[Decimal | None]],
    called: set[int],
    whole: set[int],
    hinted: set[int],
) -> Sums:
    """The rows that sum others in every column.

    Args:
        rows: the rows that may be members or totals, in order.
        amounts: their amounts in the columns that may add up; None where a cell has no number.
        called: those of `rows` that a word calls a total.
        whole: those of `rows` that a word calls all there is ("World").
        hinted: those whose label has a word for a total among others ("Total sales of bread").

    >>> tens = [[Decimal(n)] for n in (3000, 1000, 2000, 7000, 3000, 4000)]
    >>> find_sums(range(6), tens, set(), set(), set()).totals
    {0: (1, 2), 3: (4, 5)}
    """
    found: dict[int, tuple[int, ...]] = dict.fromkeys(sorted(called), ())
    matrix = _integers(amounts)
    if matrix is None or len(rows) < 3:
        return Sums(found)
    places = {row: at for at, row in enumerate(rows)}
    order = list(range(len(rows)))
    forward, loose = _nest(order, matrix)
    apart = _runs_apart([at for at in order if at not in forward], matrix)
    if apart:
        found.update((rows[at], tuple(rows[m] for m in members)) for at, members in apart.items())
        order = [at for at in order if at not in apart]
        forward, loose = _nest(order, matrix)
    backward, left = _nest(order[::-1], matrix)
    nested, rest = _nest(sorted(left), matrix)
    backward = {**backward, **{at: members for at, members in nested.items() if at not in backward}}
    inverted = {row for row in called if rows and places[row] in forward}
    for sums, open_rows in ((forward, loose), (backward, rest)):
        covers = bool(sums) and set(open_rows) <= set(sums)
        figures = sum(_figures(matrix[at]) for at in sums)
        for at, members in sums.items():
            row = rows[at]
            complete = len(members) == len(rows) - 1 or (len(open_rows) == 1 and at in open_rows)
            several = np.count_nonzero(matrix[at]) > 1
            mixed = bool((matrix[members] < 0).any(axis=0).any() and (matrix[members] > 0).any(axis=0).any())
            sure = (
                row in called
                or row in hinted
                or (
                    not mixed  # what others are taken off from is a result, not a total
                    and (
                        _figures(matrix[at]) >= ENOUGH_FIGURES
                        or (covers and (figures >= FEW_FIGURES and (len(sums) > 1 or several)))
                        or (complete and _figures(matrix[at]) >= FEW_FIGURES and len(members) > 2)
                        or (row in whole and bool((matrix[at] >= matrix.max(axis=0)).all()))
                    )
                )
            )
            if sure and not found.get(row) and not any(rows[m] in found and row in found[rows[m]] for m in members):
                found[row] = tuple(sorted(rows[m] for m in members))
    for row in whole - found.keys():
        at = places[row]
        if len(rows) > 3 and bool((matrix[at] >= matrix.max(axis=0)).all()) and matrix[at].any():
            found[row] = ()
    if len([row for row in found if row not in called]) > len(rows) / 2:
        found = {row: members for row, members in found.items() if row in called}
    found = dict(sorted(found.items()))
    return Sums(found, frozenset() if inverted and len(found) > 1 else _told_again(rows, matrix, found, called))


def _integers(amounts: Sequence[Sequence[Decimal | None]]) -> npt.NDArray[np.int64] | None:
    """The amounts as integers of one exponent for each column; blank cells as zero. None without a column."""
    columns = []
    for column in list(zip(*amounts, strict=True))[:MOST_COLUMNS]:
        told = [value for value in column if value is not None]
        exponent = min((int(value.as_tuple().exponent) for value in told), default=0)
        if any(abs(value.adjusted() - exponent) > 14 for value in told if value):
            continue
        columns.append([0 if value is None else int(value.scaleb(-exponent)) for value in column])
    return np.array(columns, dtype=np.int64).T if columns else None


def _nest(order: Sequence[int], matrix: npt.NDArray[np.int64]) -> tuple[dict[int, list[int]], list[int]]:
    """Each row that sums up the rows right before it in `order`, those summed already left out; and what is open."""
    open_rows: list[int] = []
    found: dict[int, list[int]] = {}
    key = int(np.count_nonzero(matrix, axis=0).argmax())
    first, amounts = matrix[:, key].tolist(), matrix.tolist()
    for at in order:
        wanted, added = first[at], 0
        for count, member in enumerate(reversed(open_rows[-LONGEST_SUM:]), 1):
            added += first[member]
            if added == wanted and count > 1 and _sums_up(amounts, at, open_rows[-count:]):
                found[at] = open_rows[: -count - 1 : -1]
                del open_rows[-count:]
                break
        open_rows.append(at)
    return found, open_rows


def _sums_up(amounts: Sequence[Sequence[int]], at: int, members: Sequence[int]) -> bool:
    """Whether a row is the sum of others in every column; at least two of them are not blank, and neither is it."""
    parts = [amounts[member] for member in members]
    filled = sum(any(part) for part in parts)
    return (
        filled > 1
        and any(amounts[at])
        and all(sum(column) == own for *column, own in zip(*parts, amounts[at], strict=True))
    )


def _runs_apart(order: Sequence[int], matrix: npt.NDArray[np.int64]) -> dict[int, list[int]]:
    """Rows that sum a run of neighbouring rows elsewhere ("Upper valley" below all villages), in several columns."""
    found: dict[int, list[int]] = {}
    if matrix.shape[1] < 2 or len(order) < 4:
        return found
    kept = matrix[list(order)]
    running = np.concatenate([np.zeros((1, kept.shape[1]), dtype=np.int64), kept.cumsum(axis=0)])
    for place, at in enumerate(order):
        if _figures(matrix[at]) < ENOUGH_FIGURES or np.count_nonzero(matrix[at]) < 2:
            continue
        for end in np.flatnonzero(np.isin(running[:, 0] - matrix[at, 0], running[:, 0])).tolist():
            starts = np.flatnonzero((running[: max(0, end - 1)] == running[end] - matrix[at]).all(axis=1))
            if len(starts) and not starts[0] <= place < end and (kept[starts[0] : end] >= 0).all():
                found[at] = [order[member] for member in range(int(starts[0]), end)]
                break
    return found


def _figures(amounts: npt.NDArray[np.int64]) -> int:
    return sum(len(str(abs(amount))) for amount in amounts.tolist() if amount)


def _told_again(
    rows: Sequence[int], matrix: npt.NDArray[np.int64], found: dict[int, tuple[int, ...]], called: set[int]
) -> frozenset[int]:
    """Rows that tell the same whole by other parts: men and women below towns, before one total.

    The members fall into runs that each add up to the total; the longest one is kept.
    """
    totals = [at for at, row in enumerate(rows) if row in called]
    if len(totals) != 1 or set(found) - called or (matrix < 0).any() or _figures(matrix[totals[0]]) < 3:
        return frozenset()
    if 0 < totals[0] < len(rows) - 1:
        return frozenset()  # what stands behind a total is another matter
    runs: list[list[int]] = [[]]
    left = matrix[totals[0]].copy()
    for at in range(len(rows)):
        if at == totals[0]:
            continue
        runs[-1].append(at)
        left = left - matrix[at]
        if not left.any():
            runs.append([])
            left = matrix[totals[0]].copy()
    if runs.pop() or len(runs) < 2 or min(map(len, runs)) < 2:
        return frozenset()
    kept = max(runs, key=len)
    return frozenset(rows[at] for run in runs if run is not kept for at in run)
