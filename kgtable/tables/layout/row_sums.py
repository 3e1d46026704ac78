"""Rows that are sums of others, found by their numbers: totals below or above their members, nested ones too."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from kgtable.values.decimals import scaled

LONGEST_SUM: Final = 80
"""Members of a total at most."""

MOST_COLUMNS: Final = 12
"""Columns whose numbers are added up."""

ENOUGH_FIGURES: Final = 8
"""Significant figures of a sum, over all columns, from which it is not one by chance."""

FEW_FIGURES: Final = 4
"""The same for a sum of all other rows, and for sums that leave no row over."""

CALLED_FIGURES: Final = 5
"""The same for rows that are called sums; small counts agree by chance."""

FEWEST_FIGURES: Final = 3
"""The same for one of every row that is open."""

Amounts: TypeAlias = Sequence[Decimal | int | None]
"""What a row has in each column; None where that is not a number."""


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
    order, told = list(range(len(rows))), matrix.tolist()
    forward, loose = nest(order, told.__getitem__)
    apart = _runs_apart([at for at in order if at not in forward], matrix)
    if apart:
        found.update((rows[at], tuple(rows[m] for m in members)) for at, members in apart.items())
        order = [at for at in order if at not in apart]
        forward, loose = nest(order, told.__getitem__)
    backward, left = nest(order[::-1], told.__getitem__)
    nested, rest = nest(sorted(left), told.__getitem__)
    backward = {**backward, **{at: members for at, members in nested.items() if at not in backward}}
    inverted = {row for row in called if rows and places[row] in forward}
    for sums, open_rows in ((forward, loose), (backward, rest)):
        covers = bool(sums) and set(open_rows) <= set(sums)
        digits = {at: figures(told[at]) for at in sums}
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
                        digits[at] >= ENOUGH_FIGURES
                        or (covers and (sum(digits.values()) >= FEW_FIGURES and (len(sums) > 1 or several)))
                        or (complete and digits[at] >= FEW_FIGURES and len(members) > 2)
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
        columns.append([0 if value is None else int(scaled(value, -exponent)) for value in column])
    return np.array(columns, dtype=np.int64).T if columns else None


def nest(
    order: Iterable[int],
    *amounts: Callable[[int], Amounts],
    called: Container[int] | None = None,
    named: Container[int] = (),
) -> tuple[dict[int, list[int]], list[int]]:
    """Each row that sums up the rows right before it in `order`, those summed already left out; and what is open.

    Args:
        order: the rows.
        amounts: the amounts of each; and those of each as a member, where some are taken off.
        called: the rows that may be sums by what they are called, of rounded numbers too; None for all, of exact ones.
        named: those of `called` that one row may make up.
    """
    open_rows: list[int] = []
    found: dict[int, list[int]] = {}
    for at in order:
        if called is None or at in called:
            own, count = amounts[0](at), 0
            for member in amounts:
                before = map(member, reversed(open_rows[-LONGEST_SUM:]))
                count = count or count_added(own, before, 1 if at in named else 2, exact=called is None)
            enough = FEWEST_FIGURES if count == len(open_rows) else CALLED_FIGURES
            if count and (called is None or figures(own) >= enough):
                found[at] = open_rows[-count:]
                del open_rows[-count:]
        open_rows.append(at)
    return found, open_rows


def count_added(total: Amounts, rows: Iterable[Amounts], fewest: int = 2, *, exact: bool = False) -> int:
    """How many of `rows`, from the first on, add up to `total` in every column that it fills; 0 where they do not.

    At least `fewest` of them are not blank. Unless `exact`, each sum may differ by one in the last place of the total.

    >>> count_added([30_500, None], [[20_000, 1], [10_500, 2], [7, 3]])
    2
    """
    told = [(place, value) for place, value in enumerate(total) if value is not None]
    key, wanted = max(told, key=lambda one: len(str(one[1])), default=(0, 0))
    if not wanted:
        return 0

    def agrees(found: Decimal | int, value: Decimal | int) -> bool:
        slack = 0 if exact else Decimal((0, (1,), int(Decimal(value).as_tuple().exponent)))
        return -slack <= found - value <= slack

    added: Decimal | int = 0
    seen: list[Amounts] = []
    for row in rows:
        seen.append(row)
        added += row[key] or 0
        if (
            (added == wanted if exact else agrees(added, wanted))
            and sum(map(any, seen)) >= fewest
            and all(agrees(sum(row[place] or 0 for row in seen), value) for place, value in told)
        ):
            return len(seen)
    return 0


def figures(amounts: Amounts) -> int:
    """The digits of a row's amounts."""
    return sum(len(Decimal(amount).as_tuple().digits) for amount in amounts if amount)


def _runs_apart(order: Sequence[int], matrix: npt.NDArray[np.int64]) -> dict[int, list[int]]:
    """Rows that sum a run of neighbouring rows elsewhere ("Upper valley" below all villages), in several columns."""
    found: dict[int, list[int]] = {}
    if matrix.shape[1] < 2 or len(order) < 4:
        return found
    kept = matrix[list(order)]
    running = np.concatenate([np.zeros((1, kept.shape[1]), dtype=np.int64), kept.cumsum(axis=0)])
    key = running[:, 0].tolist()
    known = set(key)
    for place, at in enumerate(order):
        own = matrix[at].tolist()
        if figures(own) < ENOUGH_FIGURES or sum(map(bool, own)) < 2:
            continue
        for end in [end for end, value in enumerate(key) if value - own[0] in known]:
            starts = np.flatnonzero((running[: max(0, end - 1)] == running[end] - matrix[at]).all(axis=1))
            if len(starts) and not starts[0] <= place < end and (kept[starts[0] : end] >= 0).all():
                found[at] = [order[member] for member in range(int(starts[0]), end)]
                break
    return found


def _told_again(
    rows: Sequence[int], matrix: npt.NDArray[np.int64], found: dict[int, tuple[int, ...]], called: set[int]
) -> frozenset[int]:
    """Rows that tell the same whole by other parts: men and women below towns, before one total.

    The members fall into runs that each add up to the total; the longest one is kept.
    """
    totals = [at for at, row in enumerate(rows) if row in called]
    if (
        len(totals) != 1
        or set(found) - called
        or (matrix < 0).any()
        or figures(matrix[totals[0]].tolist()) < FEWEST_FIGURES
    ):
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


@dataclass(frozen=True, slots=True)
class Runs:
    """For each line the run right above it that it adds up: in how many columns, their share, digits, and members."""

    columns: npt.NDArray[np.int64]
    share: npt.NDArray[np.float64]
    figures: npt.NDArray[np.int64]
    members: npt.NDArray[np.int64]


DEEPEST_SUM: Final = 3
"""Sums of sums of sums."""


def find_runs(values: npt.NDArray[np.float64], decimals: npt.NDArray[np.int64]) -> Runs:
    """The lines that add up the lines right above them, without those that other lines added up before.

    Args:
        values: lines by columns, not a number where there is none.
        decimals: the digits behind the point of each; sums may be rounded there.
    """
    count = len(values)
    columns, share = np.zeros(count, dtype=np.int64), np.zeros(count)
    digits, members = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    known = ~np.isnan(values)
    told = np.where(known, values, 0.0)
    open_lines = np.flatnonzero((known & (told != 0)).any(axis=1))
    for _ in range(DEEPEST_SUM):
        if len(open_lines) < 3:
            break
        own, given = told[open_lines], known[open_lines] & (told[open_lines] != 0)
        slack = np.where(decimals[open_lines] > 0, 0.6 * 10.0 ** -decimals[open_lines], 0.01)
        wanted = given.sum(axis=1)
        running = np.concatenate([np.zeros((1, own.shape[1])), own.cumsum(axis=0)])
        full = np.concatenate([np.zeros((1, own.shape[1]), dtype=np.int64), given.cumsum(axis=0)])
        size = np.zeros(len(open_lines), dtype=np.int64)
        for length in range(2, min(LONGEST_SUM, len(open_lines) - 1) + 1):
            at = np.arange(length, len(open_lines))
            off = np.abs(running[at] - running[at - length] - own[at])
            good = given[at] & (off <= slack[at]) & (full[at] - full[at - length] > 1)
            agree = good.sum(axis=1)
            hit = (agree > 0) & (agree >= 0.7 * wanted[at]) & (size[at] == 0)
            if hit.any():
                rows = at[hit]
                size[rows] = length
                lines = open_lines[rows]
                fresh = columns[lines] == 0
                columns[lines[fresh]] = agree[hit][fresh]
                share[lines[fresh]] = (agree[hit] / wanted[rows])[fresh]
                scaled_digits = np.log10(np.abs(own[rows]) * 10.0 ** decimals[lines] + 1.0)
                digits[lines[fresh]] = np.ceil((scaled_digits * good[hit]).sum(axis=1)).astype(np.int64)[fresh]
                members[lines[fresh]] = length
        if not size.any():
            break
        kept = np.ones(len(open_lines), dtype=bool)
        for place in np.flatnonzero(size).tolist():
            kept[place - size[place] : place] = False
        if kept.all():
            break
        open_lines = open_lines[kept]
    return Runs(columns, share, digits, members)
