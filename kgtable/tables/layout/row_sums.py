"""Rows that are sums of others, found by their numbers: totals below or above their members, nested ones too."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

import numpy as np
import numpy.typing as npt

LONGEST_SUM: Final = 80
"""Members of a total at most."""
DEEPEST_SUM: Final = 3
"""Sums of sums of sums."""
MOST_COLUMNS: Final = 12
"""Columns whose numbers are added up."""
MOST_AGREE: Final = 0.7
"""Share of the columns of a line in which its members add up."""
ROUNDING: Final = 0.9
"""How far the sum of n rounded numbers may lie from a rounded total, in last places times the root of n + 1."""
_LINES_AT_ONCE: Final = 512

ENOUGH_FIGURES: Final = 8
"""Significant figures of a sum, over all columns, from which it is not one by chance."""
FIGURES_OF_SEVERAL: Final = 6
"""The same where three rows or more add up in several columns at once."""
FEW_FIGURES: Final = 4
"""The same for a sum of all other rows, and for sums that leave no row over."""
LONGEST_RESULT: Final = 12
"""Rows above a result that it may take off."""
FEWEST_FIGURES: Final = 3
"""The same for a row called the total of rows that repeat its whole."""


@dataclass(frozen=True, slots=True)
class Runs:
    """For each line the run right above it that it adds up: in how many columns, their share, digits, and members."""

    columns: npt.NDArray[np.int64]
    share: npt.NDArray[np.float64]
    figures: npt.NDArray[np.int64]
    members: Mapping[int, tuple[int, ...]]


def find_runs(values: npt.NDArray[np.float64], decimals: npt.NDArray[np.int64]) -> Runs:
    """The lines that add up the lines right above them, without those that other lines added up before.

    Args:
        values: lines by columns, not a number if there is none.
        decimals: the digits after the point of each; sums may be rounded there.

    >>> tens = np.array([[1000.0], [2000.0], [3000.0], [4000.0], [500.0], [4500.0], [7500.0]])
    >>> dict(find_runs(tens, np.zeros(tens.shape, dtype=int)).members)
    {2: (0, 1), 5: (3, 4), 6: (2, 5)}
    """
    count = len(values)
    columns, share, digits = np.zeros(count, dtype=np.int64), np.zeros(count), np.zeros(count, dtype=np.int64)
    members: dict[int, tuple[int, ...]] = {}
    told, known = np.nan_to_num(values), ~np.isnan(values)
    lines = np.flatnonzero(told.any(axis=1))
    for _ in range(DEEPEST_SUM):
        if len(lines) < 3:
            break
        own = told[lines]
        given = own != 0
        steps = 10.0 ** -decimals[lines]
        slack = np.where(decimals[lines] > 0, 0.6 * steps, 0.01)
        sizes = np.log10(np.abs(own) / steps + 1.0)
        wanted = given.sum(axis=1)
        running, full, there = (
            np.concatenate([np.zeros((1, own.shape[1])), part.cumsum(axis=0)])
            for part in (own, given * 1.0, known[lines] * 1.0)
        )
        lengths = np.arange(2, min(LONGEST_SUM, len(lines) - 1) + 1)
        rounding = ROUNDING * np.sqrt(lengths + 1.0)
        kept = np.ones(len(lines), dtype=bool)
        for start in range(2, len(lines), _LINES_AT_ONCE):
            at = np.arange(start, min(start + _LINES_AT_ONCE, len(lines)))
            begins = at[:, None] - lengths
            above = np.maximum(begins, 0)
            left = np.abs((running[at] - own[at])[:, None] - running[above])
            own_given, more = given[at][:, None], full[at][:, None] - full[above] > 1
            # A column in which a member has no number leaves the comparison, unless it adds up all the same.
            whole = own_given & (there[at][:, None] - there[above] >= lengths[None, :, None])
            good = (left <= slack[at][:, None]) & own_given & (begins >= 0)[:, :, None]
            agree, asked, several = _agreement(good, whole, more, wanted[at])
            hits = several & (agree >= MOST_AGREE * asked)
            # Next to a column of rates or growth fewer columns add up, in figures that no chance explains.
            part = several & ~hits & (agree >= 2)
            for place, length in np.argwhere(part).tolist():
                hits[place, length] = sizes[at[place]][good[place, length]].sum() >= ENOUGH_FIGURES
            exact = np.asarray(hits.any(axis=1))
            near = steps[at][:, None] * rounding[None, :, None]
            about = (left <= near) & own_given & (begins >= 0)[:, :, None]
            agree, asked, several = _agreement(about, whole, more, wanted[at])
            rounded = several & (agree >= 2) & (agree >= MOST_AGREE * asked)
            picked = np.nonzero(rounded | hits)
            ends = at[picked[0]]
            loose = np.log10(np.abs(own[ends]) / (2 * near[picked]) + 1.0)
            figures = np.zeros(hits.shape)
            figures[picked] = (np.where(good[picked], sizes[ends], loose) * about[picked]).sum(axis=1)
            hits |= rounded & (figures >= FIGURES_OF_SEVERAL) & ~exact[:, None]
            for place in np.flatnonzero(hits.any(axis=1)).tolist():
                length = int(hits[place].argmax())
                end, first = int(at[place]), int(begins[place, length])
                line = int(lines[end])
                kept[first:end] = False
                if line not in members:
                    members[line] = tuple(lines[first:end].tolist())
                    columns[line] = agree[place, length]
                    share[line] = agree[place, length] / asked[place, length]
                    digits[line] = np.ceil(figures[place, length])
        if kept.all():
            break
        lines = lines[kept]
    return Runs(columns, share, digits, members)


def _agreement(
    good: npt.NDArray[np.bool_],
    whole: npt.NDArray[np.bool_],
    more: npt.NDArray[np.bool_],
    wanted: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """By line and length of a run: columns that agree, columns compared, and whether half of the line's agree."""
    agree, asked = good.sum(axis=2), (good | whole).sum(axis=2)
    return agree, asked, (good & more).any(axis=2) & (2 * agree >= wanted[:, None])


@dataclass(frozen=True, slots=True)
class Sums:
    """Totals found: each with the rows it sums, none if they are not printed; and rows that repeat a whole."""

    totals: dict[int, tuple[int, ...]] = field(default_factory=dict)
    again: frozenset[int] = frozenset()


def find_sums(
    rows: Sequence[int],
    amounts: Sequence[Sequence[Decimal | None]],
    called: set[int],
    whole: set[int],
    hinted: set[int],
    dated: Container[int] = (),
) -> Sums:
    """The rows that sum others in every column.

    Args:
        rows: the rows that may be members or totals, in order.
        amounts: their amounts in the columns that may add up; None if a cell has no number.
        called: those of `rows` that a word calls a total.
        whole: those of `rows` that a word calls all there is ("World").
        hinted: those whose label has a word for a total among others ("Total sales of bread").
        dated: those that are of a time of their own, as the members of a total are: few figures are chance there.

    >>> tens = [[Decimal(n)] for n in (3000, 1000, 2000, 7000, 3000, 4000)]
    >>> find_sums(range(6), tens, set(), set(), set()).totals
    {0: (1, 2), 3: (4, 5)}
    """
    found: dict[int, tuple[int, ...]] = dict.fromkeys(sorted(called), ())
    width = min(len(amounts[0]), MOST_COLUMNS) if amounts else 0
    if not width or len(rows) < 3:
        return Sums(found)
    matrix, decimals = matrix_of([line[:width] for line in amounts])
    told, last = np.nan_to_num(matrix), len(rows) - 1
    apart = _runs_apart(told, find_runs(matrix, decimals).members)
    found |= {rows[at]: tuple(rows[member] for member in run) for at, run in apart.items()}
    matrix[list(apart)] = np.nan
    every = list(range(len(rows)))
    forward, backward = _sums_of(every, matrix, decimals), _sums_of(every[::-1], matrix, decimals)
    backward = _sums_of(_left(every, backward), matrix, decimals) | backward
    inverted = any(at in forward for at, row in enumerate(rows) if row in called)
    largest = (told >= told.max(axis=0)).all(axis=1) & told.any(axis=1)
    for sums in (forward, backward):
        open_rows = _left(every, sums)
        covers = bool(sums) and set(open_rows) <= set(sums)
        figures = sum(each for _, each, _ in sums.values())
        for at, (members, digits, complete) in sums.items():
            row, parts = rows[at], told[list(members)]
            alone = len(members) == last or open_rows == [at]
            several = np.count_nonzero(told[at]) > 1
            mixed = bool(((parts < 0).any(axis=0) & (parts > 0).any(axis=0)).any())
            sure = row in called or row in hinted
            if complete and not mixed:  # what others are taken off from is a result, not a total
                sure = (
                    sure
                    or digits >= (FIGURES_OF_SEVERAL if several and len(members) > 2 else ENOUGH_FIGURES)
                    or (covers and figures >= FEW_FIGURES and (len(sums) > 1 or bool(several)) and row not in dated)
                    or (alone and digits >= FEW_FIGURES and len(members) > 2)
                    or (row in whole and bool(largest[at]))
                )
            if sure and not found.get(row) and not any(row in found.get(rows[member], ()) for member in members):
                found[row] = tuple(rows[member] for member in members)
    for at, row in enumerate(rows):
        if row in whole and row not in found and len(rows) > 3 and largest[at]:
            found[row] = ()
    if len([row for row in found if row not in called]) > len(rows) / 2:
        found = {row: members for row, members in found.items() if row in called}
    found = dict(sorted(found.items()))
    return Sums(found, frozenset() if inverted and len(found) > 1 else _told_again(rows, told, found, called))


def find_results(
    rows: Sequence[int],
    amounts: Sequence[Sequence[Decimal | None]],
    named: Container[int],
    sums: Mapping[int, Sequence[int]],
) -> dict[int, tuple[int, ...]]:
    """The rows called a result that take the rows above them off from one above these: each with that one and these.

    Args:
        rows, amounts: as for `find_sums`.
        named: those of `rows` that a word calls a result ("Gross profit").
        sums: the totals found, each with its members, which are taken off as one. A total that has a result as a
            member is not one.

    >>> tens = [[Decimal(n)] for n in (500, 300, 200, 80, 20, 100, 100)]
    >>> find_results(range(7), tens, {2, 6}, {0: (1, 2), 5: (3, 4)})
    {2: (0, 1), 6: (2, 5)}
    """
    found: dict[int, tuple[int, ...]] = {}
    width = min(len(amounts[0]), MOST_COLUMNS) if amounts else 0
    if not width:
        return found
    matrix, decimals = matrix_of([line[:width] for line in amounts])
    told, places = np.nan_to_num(matrix), {row: at for at, row in enumerate(rows)}
    for at, row in enumerate(rows):
        if row not in named or np.ceil(np.log10(np.abs(told[at]) + 1)).sum() < FEWEST_FIGURES:
            continue
        refuted = {taken[0] for result, taken in found.items() if result in sums.get(taken[0], ())}
        held = {m for total, members in sums.items() if row not in members and total not in refuted for m in members}
        left = [other for other in rows[:at] if other not in held][-LONGEST_RESULT:]
        slack = 10.0 ** -decimals[at] * np.where(decimals[at] > 0, 0.6, 0.01)
        taken = told[at].copy()
        for before, other in zip(left[-2::-1], left[:0:-1], strict=True):
            taken = taken + told[places[other]]
            if (np.abs(taken - told[places[before]]) <= slack).all() and told[places[before]].any():
                found[row] = tuple(left[left.index(before) :])
                break
    return found


def _sums_of(
    order: Sequence[int], matrix: npt.NDArray[np.float64], decimals: npt.NDArray[np.int64]
) -> dict[int, tuple[tuple[int, ...], int, bool]]:
    """Each row that sums those right before it in `order`: these rows, its digits, and whether in all its columns."""
    runs = find_runs(matrix[order], decimals[order])
    return {
        order[at]: (tuple(sorted(order[m] for m in run)), int(runs.figures[at]), bool(runs.share[at] == 1))
        for at, run in runs.members.items()
    }


def _left(rows: Sequence[int], sums: Mapping[int, tuple[tuple[int, ...], int, bool]]) -> list[int]:
    added = {member for members, _, _ in sums.values() for member in members}
    return [row for row in rows if row not in added]


def _runs_apart(told: npt.NDArray[np.float64], known: Container[int]) -> dict[int, tuple[int, ...]]:
    """Rows that sum a run of neighbouring rows elsewhere ("Upper valley" below all villages), in several columns."""
    found: dict[int, tuple[int, ...]] = {}
    running = np.concatenate([np.zeros((1, told.shape[1])), told.cumsum(axis=0)])
    wanted = running[None, 2:, 0] - told[:, :1]
    for at, end in np.argwhere(np.isin(np.round(wanted, 6), np.round(running[:, 0], 6))).tolist():
        row = told[at]
        if (
            at in known
            or at in found
            or np.count_nonzero(row) < 2
            or np.ceil(np.log10(np.abs(row) + 1)).sum() < ENOUGH_FIGURES
        ):
            continue
        starts = np.flatnonzero((np.abs(running[: end + 1] - (running[end + 2] - row)) < 1e-6).all(axis=1))
        if len(starts) and not starts[0] <= at < end + 2 and (told[starts[0] : end + 2] >= 0).all():
            found[at] = tuple(range(int(starts[0]), end + 2))
    return found


def matrix_of(
    amounts: Sequence[Sequence[Decimal | None]],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """The amounts as floats, not a number if there is none, and the digits after the point of each."""
    values = [[float("nan") if value is None else float(value) for value in line] for line in amounts]
    digits = [[0 if value is None else max(0, -int(value.as_tuple().exponent)) for value in line] for line in amounts]
    return np.array(values, dtype=np.float64), np.array(digits, dtype=np.int64)


def _told_again(
    rows: Sequence[int], told: npt.NDArray[np.float64], found: dict[int, tuple[int, ...]], called: set[int]
) -> frozenset[int]:
    """Rows that split the same whole into other parts: men and women below towns, before one total.

    The members fall into runs that each add up to the total; the longest one is kept.
    """
    totals = [at for at, row in enumerate(rows) if row in called]
    if len(totals) != 1 or set(found) - called or (told < 0).any() or 0 < totals[0] < len(rows) - 1:
        return frozenset()  # what follows a total is another matter
    if np.ceil(np.log10(told[totals[0]] + 1)).sum() < FEWEST_FIGURES:
        return frozenset()
    runs: list[list[int]] = [[]]
    left = told[totals[0]].copy()
    for at in range(len(rows)):
        if at == totals[0]:
            continue
        runs[-1].append(at)
        left = left - told[at]
        if not (np.abs(left) > 1e-6).any():
            runs.append([])
            left = told[totals[0]].copy()
    if runs.pop() or len(runs) < 2 or min(map(len, runs)) < 2:
        return frozenset()
    kept = max(runs, key=len)
    return frozenset(rows[at] for run in runs if run is not kept for at in run)
