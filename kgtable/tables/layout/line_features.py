"""Features of the lines of a sheet, from which `line_classes` distinguishes headers, data, totals and notes.

All are computed over the whole sheet with numpy. Only the kind of a cell is found in Python, once for each text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from kgtable.tables.layout.cell_roles import is_named_total, is_unit
from kgtable.tables.layout.row_sums import Runs, find_runs
from kgtable.tables.model import Row
from kgtable.values.numbers import MISSING_MARKERS

_Floats: TypeAlias = npt.NDArray[np.float64]
_Ints: TypeAlias = npt.NDArray[np.int64]
_Flags: TypeAlias = npt.NDArray[np.bool_]

MOST_COLUMNS: Final = 120
"""Columns that are looked at."""
UNKNOWN: Final = -9.0
"""The value of a feature if there is none."""

_MONTH = r"(?:jan|feb|mar|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[^\W\d_]{0,7}\.?"
_CELL = re.compile(
    rf"""
    (?P<year>\(?(?:1[6-9]|20)\d\d(?:\.0)?\)?\s*(?:\(?[a-z0-9]\)|\[\w\]|\\\d|[*†‡¹²³rpe%])?)
    |(?P<missing>[-–—−.…:*x/\\ ]{{1,4}}|\(?(?:n\.?\s?[ad]\.?|n/a|[xzsbdnuf]|np|nan|null|none)\)?|\#[a-z/0!?]+)
    |(?P<number>[-+−–(<>~≈]{{0,2}}\s?(?:[$€£¥]|[a-z]{{0,3}}\$|eur|usd|gbp)?\s?[-−(]?
        (?P<whole>\d{{1,3}}(?:[ ,.'’\u00a0\u202f]\d{{3}})+|\d+)?(?P<part>[.,]\d+)?(?:e[-+]?\d+)?
        \s?[%‰)€]{{0,2}}\s?(?:[*†‡¹²³rpe]|\(?[a-z0-9]\)|\[\w\]|\\\d)?)
    |(?P<time>\d{{1,4}}[-/.]\d{{1,2}}(?:[-/.]\d{{1,4}})?\.?(?:[ t]+\d\d?:\d\d.*)?|\d{{1,2}}:\d\d(?::\d\d)?(?:\s?[ap]m)?
        |(?:\d{{1,2}}\.?[\s-]+)?{_MONTH}[\s,'-]*(?:\d{{1,2}},?\s+)?(?:\d{{2,4}})?|(?:1[6-9]|20)\d\d\s?[-–/]\s?\d{{1,4}}
        |[qth][1-4][\s/-]*(?:(?:19|20)\d\d)?|(?:(?:19|20)\d\d)[\s/-]*[qth]?[1-4]|fy\s?\d\d(?:\d\d)?)
    """,
    re.IGNORECASE | re.VERBOSE,
)
NUMBER, DECIMAL, YEAR, MISSING, TIME, UNIT, TEXT, CODE = range(1, 9)
_KINDS = {"number": NUMBER, "part": DECIMAL, "year": YEAR, "missing": MISSING, "time": TIME}
_COARSE = np.array([0, 1, 1, 2, 3, 4, 5, 5, 5], dtype=np.int64)
"""Kinds as far as neighbours agree in them: nothing, number, year, missing, time, words."""
LONGEST_UNIT, LONGEST_CELL = 40, 60
_NOTE = re.compile(
    r"\s*(?:[*†‡¹²³]|\\\d|\(?(?:\d{1,2}|[a-z])[).:]\s|\[\w+\]|(?:foot)?notes?\b|sources?\b|quell|anmerk|n\.?b\.|fuente|nota"
    r"|bron\b|kilde|källa|©|copyright|see\b|symbol|last updat|www\.|http)",
    re.IGNORECASE,
)
_CAPTION = re.compile(
    r"\s*\W?(?:table|tab\.|tabelle|tabel|tableau|tabla|cuadro|tabell|[A-Z]?\d+(?:\.\d+)+)\b", re.IGNORECASE
)
_DIGIT = re.compile(r"\d")
_PERIOD = re.compile(r"\b(?:1[6-9]|20)\d\d\b")


@dataclass(frozen=True, slots=True)
class LineTable:
    """The lines of a sheet that hold text, with a row of features for each."""

    rows: _Ints
    """Their grid rows."""
    values: npt.NDArray[np.float32]
    """Features by line; `names` has the columns."""
    names: tuple[str, ...]
    sums: Mapping[int, tuple[int, ...]]
    """The lines above or below each that it adds up, all by grid row."""


class _Cells:
    """The cells of the lines that hold text, as arrays of lines by columns."""

    def __init__(self, rows: Sequence[Row], width: int) -> None:
        known: dict[str, int] = {"": 0}
        said: list[tuple[float, ...]] = [(0, 0.0, 0, 0, 0, 0)]
        lines: list[list[int]] = []
        places: list[int] = []
        self.width = min(width, MOST_COLUMNS)
        for index, row in enumerate(rows):
            line = [0] * self.width
            for column, text in enumerate(row[: self.width]):
                if text:
                    if (at := known.get(text)) is None:
                        stripped = text.strip()
                        at = known.setdefault(stripped, len(said))
                        if at == len(said):
                            said.append((*_describe(stripped), _DIGIT.search(stripped) is not None))
                        known[text] = at
                    line[column] = at
            if any(line):
                lines.append(line)
                places.append(index)
        self.texts = said
        self.places = np.array(places, dtype=np.int64)
        self.ids = np.array(lines, dtype=np.int64).reshape(len(lines), self.width)
        about = np.array(said, dtype=np.float64)
        self.kind = about[:, 0].astype(np.int64)[self.ids]
        self.filled = self.ids > 0
        self._mark_missing()
        self.number = np.where(np.isin(self.kind, (NUMBER, DECIMAL, YEAR)), about[:, 1][self.ids], np.nan)
        self.decimals = about[:, 2].astype(np.int64)[self.ids]
        self.length, self.words = about[:, 3][self.ids], about[:, 4][self.ids]
        self.digits = about[:, 5][self.ids] > 0
        ordered = np.sort(self.ids, axis=1)
        self.texts_held = (np.diff(ordered, axis=1, prepend=0) > 0).sum(axis=1)
        """How many different texts a line has: one that is merged over columns may be in each of them."""

    def _mark_missing(self) -> None:
        """Take a word that is in a row of lines of a column of numbers for a mark of what is missing."""
        numbers = np.isin(self.kind, (NUMBER, DECIMAL)).sum(axis=0)
        worded = np.isin(self.kind, (TEXT, CODE)) & (2 * numbers >= self.filled.sum(axis=0))
        again = (self.ids[1:] == self.ids[:-1]) & worded[1:]
        self.kind[1:][again] = MISSING
        self.kind[:-1][again] = MISSING


def kind_of(text: str) -> int:
    """The kind of a text that is not blank, one of the constants of this module."""
    return int(_describe(text)[0])


def _describe(text: str) -> tuple[int, float, int, int, int]:
    """Kind, value, decimals, length and words of a text that is not blank."""
    if text.isascii() and len(text) < 16 and (plain := text.replace(".", "", 1)).isdigit():
        number, part = float(text), text.partition(".")[2]
        if len(plain) - len(part) == 4 and not part.strip("0") and 1600 <= number < 2100:
            return YEAR, number, 0, len(text), 1
        return DECIMAL if part else NUMBER, number, len(part), len(text), 1
    match = _CELL.fullmatch(text) if len(text) <= LONGEST_CELL else None
    if match is None or (match.lastgroup == "number" and not any(map(str.isdigit, text))):
        words = text.count(" ") + 1
        if text in MISSING_MARKERS:
            return MISSING, 0.0, 0, len(text), 1
        digit = any(map(str.isdigit, text))
        if words == 1 and digit:
            return CODE, 0.0, 0, len(text), 1
        return UNIT if len(text) <= LONGEST_UNIT and is_unit(text) else TEXT, 0.0, 0, len(text), words
    kind = match.lastgroup or ""
    if kind in ("whole", "part"):
        kind = "number"
    if kind == "year":
        return YEAR, float(re.sub(r"\D", "", text)[:4]), 0, len(text), 1
    if kind != "number":
        return _KINDS[kind], 0.0, 0, len(text), 1
    whole, part = match["whole"] or "0", match["part"] or ""
    if part[:1] == "," and len(part) == 4 and len(whole) < 4:
        whole, part = whole + part[1:], ""
    digits = re.sub(r"\D", "", whole)
    value = float(f"{digits}.{part[1:] or 0}") if len(digits) < 18 else 0.0
    negative = text[0] in "-−–(" and text != "-"
    return DECIMAL if part else NUMBER, -value if negative else value, len(part[1:]), len(text), 1


def _share(count: npt.NDArray[np.generic], whole: npt.NDArray[np.generic]) -> _Floats:
    return np.asarray(count, dtype=np.float64) / np.maximum(np.asarray(whole, dtype=np.float64), 1.0)


def describe_lines(rows: Sequence[Row], width: int, indents: Mapping[tuple[int, int], int] | None = None) -> LineTable:
    """The features of the lines of a sheet or a part of one.

    Args:
        rows: the cells of each row; rows may be ragged.
        width: the cells of the widest row.
        indents: levels of indentation of cells, where the file has them.
    """
    cells = _Cells(rows, width)
    if not len(cells.places):
        return LineTable(cells.places, np.zeros((0, 0), dtype=np.float32), (), {})
    found: dict[str, _Floats] = {}
    count = cells.filled.sum(axis=1)
    first = cells.filled.argmax(axis=1)
    rest = cells.filled.copy()
    rest[np.arange(len(first)), first] = False
    _types(cells, count, first, rest, found)
    _fill(cells, count, first, found)
    _agreement(cells, count, first, rest, found)
    _place(cells, len(rows), found)
    _texts(cells, rows, count, first, indents or {}, found)
    _repeats(cells, count, found)
    sums = _arithmetic(cells, count, found)
    names = list(found)
    base = np.column_stack([found[name] for name in names])
    near = [at for at, name in enumerate(names) if name in _NEAR]
    for step in (-2, -1, 1, 2):
        moved = np.full((len(base), len(near)), np.nan)
        if len(base) > abs(step):
            if step < 0:
                moved[-step:] = base[:step, near]
            else:
                moved[:-step] = base[step:, near]
        base = np.column_stack([base, moved])
        names += [f"{names[at]}{step:+d}" for at in near]
    return LineTable(cells.places, np.nan_to_num(base, nan=UNKNOWN).astype(np.float32), tuple(names), sums)


_THEMES = """
types number decimal year missing time unit text code kind0 kind1 numeric words
fill filled fill fill_median first last single alone inner fill_next fill_before
agreement agree agree_rest agree_label names figures shorter digits_off agree_next agree_before same_next
place top bottom part gap gap_after block blocks_left in_block block_left block_size lines width figures_above
    figures_below to_first to_last
text longest length length0 words0 colon stop upper lower bracket indent indent_next indent_before
words total note caption years_said
repeats twice known again again_above
arithmetic above above_share above_figures above_members below below_share below_figures below_members matches steps
    counted larger largest
"""
THEMES: Final = {name: rest for name, *rest in map(str.split, _THEMES.replace("\n    ", " ").strip().splitlines())}
"""The features by theme, for the ablation in `scripts/eval_sheets.py`."""
_NEAR_NAMES = """
number decimal year missing unit text kind0 filled fill single alone first agree_rest names figures gap gap_after
longest length0 colon indent total note above below again steps
"""
_NEAR: Final = frozenset(_NEAR_NAMES.split())
"""The features that a line also has of the two lines before and after."""


def _types(cells: _Cells, count: _Ints, first: _Ints, rest: _Flags, found: dict[str, _Floats]) -> None:
    for name, kind in zip(THEMES["types"], range(1, 9), strict=False):
        found[name] = _share((cells.kind == kind).sum(axis=1), count)
    at = np.arange(len(first))
    found["kind0"] = cells.kind[at, first].astype(np.float64)
    found["kind1"] = np.where(rest.any(axis=1), cells.kind[at, rest.argmax(axis=1)], 0).astype(np.float64)
    found["numeric"] = (np.isin(cells.kind, (NUMBER, DECIMAL)) & rest).sum(axis=1).clip(0, 12).astype(np.float64)
    found["words"] = _share((np.isin(cells.kind, (TEXT, CODE, UNIT)) & rest).sum(axis=1), rest.sum(axis=1))


def _fill(cells: _Cells, count: _Ints, first: _Ints, found: dict[str, _Floats]) -> None:
    several = count[count > 1]
    last = cells.width - 1 - cells.filled[:, ::-1].argmax(axis=1)
    used = max(int(cells.filled.any(axis=0).sum()), 1)
    found["filled"] = count.clip(0, 20).astype(np.float64)
    found["fill"] = count / used
    found["fill_median"] = count / (float(np.median(several)) if len(several) else 1.0)
    found["first"] = first.clip(0, 6).astype(np.float64)
    found["last"] = (last + 1) / cells.width
    found["single"] = (count == 1).astype(np.float64)
    found["alone"] = (cells.texts_held == 1).astype(np.float64)
    found["inner"] = _share(last - first + 1 - count, last - first + 1)
    ratio = np.log(count[1:] / count[:-1])
    found["fill_next"] = np.append(ratio, np.nan)
    found["fill_before"] = np.append(np.nan, -ratio)


def _agreement(cells: _Cells, count: _Ints, first: _Ints, rest: _Flags, found: dict[str, _Floats]) -> None:
    coarse = _COARSE[cells.kind]
    held = np.stack([(coarse == kind).sum(axis=0) for kind in range(6)])  # kinds by columns
    held[1] += held[3]
    whole = np.maximum(cells.filled.sum(axis=0) - 1, 0)
    columns = np.arange(cells.width)[None, :]
    own = _share(held[np.where(coarse == 3, 1, coarse), columns] - 1, np.broadcast_to(whole, coarse.shape))
    own = np.where(cells.filled, own, 0.0)
    found["agree"] = _share(own.sum(axis=1), count)
    others = rest.sum(axis=1)
    found["agree_rest"] = np.where(others > 0, _share((own * rest).sum(axis=1), others), np.nan)
    found["agree_label"] = own[np.arange(len(first)), first]
    numbers = np.isin(coarse, (1, 3))
    of_numbers = _share(held[1][None, :] - numbers, np.broadcast_to(whole, coarse.shape)) >= 0.5
    names = rest & of_numbers & ~numbers
    found["names"] = _share(names.sum(axis=1), np.maximum(others, 1))
    found["figures"] = _share((rest & of_numbers & numbers).sum(axis=1), np.maximum(others, 1))
    worded = cells.filled & (coarse == 5)
    usual = np.log1p(cells.length * cells.filled).sum(axis=0) / np.maximum(whole + 1, 1)
    spoken = worded.sum(axis=1)
    shorter = ((np.log1p(cells.length) - usual) * worded).sum(axis=1)
    found["shorter"] = np.where(spoken > 0, _share(shorter, spoken), np.nan)
    digits = (cells.digits & cells.filled).sum(axis=0) / np.maximum(whole + 1, 1)
    found["digits_off"] = np.where(spoken > 0, _share(((digits - cells.digits) * worded).sum(axis=1), spoken), np.nan)
    kinds = np.where(coarse == 3, 1, coarse)
    both = cells.filled[1:] & cells.filled[:-1]
    either = (cells.filled[1:] | cells.filled[:-1]).sum(axis=1)
    same = _share((both & (kinds[1:] == kinds[:-1])).sum(axis=1), either)
    found["agree_next"] = np.append(same, np.nan)
    found["agree_before"] = np.append(np.nan, same)
    found["same_next"] = np.append(_share(both.sum(axis=1), either), np.nan)


def _place(cells: _Cells, height: int, found: dict[str, _Floats]) -> None:
    places, count = cells.places, len(cells.places)
    at = np.arange(count)
    gap = np.diff(places, prepend=-1) - 1
    after = np.diff(places, append=height) - 1
    begins = (gap > 0) | (at == 0)
    block = np.cumsum(begins) - 1
    sizes = np.bincount(block)
    starts = np.flatnonzero(begins)
    inside = at - starts[block]
    found["top"], found["bottom"] = at.clip(0, 30).astype(np.float64), (count - 1 - at).clip(0, 30).astype(np.float64)
    found["part"] = at / max(count - 1, 1)
    found["gap"], found["gap_after"] = gap.clip(0, 4).astype(np.float64), after.clip(0, 4).astype(np.float64)
    found["block"] = block.clip(0, 6).astype(np.float64)
    found["blocks_left"] = (block[-1] - block).clip(0, 6).astype(np.float64)
    found["in_block"] = inside.clip(0, 12).astype(np.float64)
    found["block_left"] = (sizes[block] - 1 - inside).clip(0, 12).astype(np.float64)
    found["block_size"] = np.log1p(sizes[block])
    found["lines"] = np.full(count, np.log1p(count))
    found["width"] = np.full(count, np.log1p(cells.filled.any(axis=0).sum()))
    solid = (found["figures"] >= 0.5) & (found["numeric"] > 0)
    if not solid.any():
        solid = found["fill"] >= 0.7
    counted: _Ints = np.cumsum(solid.astype(np.int64))
    before = counted - solid
    found["figures_above"] = before.clip(0, 10).astype(np.float64)
    found["figures_below"] = (counted[-1] - counted).clip(0, 10).astype(np.float64)
    which = np.flatnonzero(solid)
    ends = (which[0], which[-1]) if len(which) else (0, count - 1)
    found["to_first"] = (at - ends[0]).clip(-12, 12).astype(np.float64)
    found["to_last"] = (at - ends[1]).clip(-12, 12).astype(np.float64)


def _texts(
    cells: _Cells,
    rows: Sequence[Row],
    count: _Ints,
    first: _Ints,
    indents: Mapping[tuple[int, int], int],
    found: dict[str, _Floats],
) -> None:
    at = np.arange(len(first))
    found["longest"] = np.log1p(cells.length.max(axis=1))
    found["length"] = np.log1p(_share(cells.length.sum(axis=1), count))
    found["length0"] = np.log1p(cells.length[at, first])
    found["words0"] = np.minimum(cells.words[at, first], 30.0)
    said = np.zeros((len(first), 10))
    for line, (row, column) in enumerate(zip(cells.places.tolist(), first.tolist(), strict=True)):
        raw = rows[row][column]
        text = raw.strip()
        said[line] = (
            text.endswith(":"), text.endswith("."), text.isupper(), text[:1].islower(), text[:1] in "([",
            2 * indents.get((row, column), 0) + len(raw) - len(raw.lstrip()),
            is_named_total(text[:200]), _NOTE.match(text) is not None, _CAPTION.match(text) is not None,
            len(_PERIOD.findall(text[:200])),
        )  # fmt: skip
    for number, name in enumerate(("colon", "stop", "upper", "lower", "bracket")):
        found[name] = said[:, number]
    indent = np.minimum(said[:, 5], 12.0)
    found["indent"] = indent
    step = np.diff(indent)
    found["indent_next"], found["indent_before"] = np.append(step, 0.0), np.append(0.0, -step)
    for number, name in enumerate(THEMES["words"], 6):
        found[name] = said[:, number]


def _repeats(cells: _Cells, count: _Ints, found: dict[str, _Floats]) -> None:
    ids = cells.ids
    worded = np.isin(cells.kind, (TEXT, CODE, UNIT))
    size = int(ids.max()) + 1
    ordered = np.sort(np.where(worded, ids, 0), axis=1)
    found["twice"] = _share(((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] > 0)).sum(axis=1), count)
    keys = ids + size * np.arange(cells.width)[None, :]
    _, inverse, times = np.unique(keys, return_inverse=True, return_counts=True)
    again = times[inverse].reshape(keys.shape) > 1
    found["known"] = _share((again & worded).sum(axis=1), worded.sum(axis=1))
    _, line, times = np.unique(np.where(worded, ids, 0), axis=0, return_inverse=True, return_counts=True)
    line = line.reshape(-1)
    found["again"] = ((times[line] > 1) & (worded.sum(axis=1) > 1)).astype(np.float64)
    seen = np.zeros(len(times), dtype=bool)
    above = np.zeros(len(line))
    for place, key in enumerate(line.tolist()):
        above[place] = seen[key]
        seen[key] = True
    found["again_above"] = above * found["again"]


def _arithmetic(cells: _Cells, count: _Ints, found: dict[str, _Floats]) -> dict[int, tuple[int, ...]]:
    sums: dict[int, tuple[int, ...]] = {}
    places = cells.places.tolist()
    amounts = np.isin(cells.kind, (NUMBER, DECIMAL))
    held, whole = amounts.sum(axis=0), cells.filled.sum(axis=0)
    columns = np.flatnonzero((held >= 3) & (held >= 0.5 * whole))
    number = np.where(amounts, cells.number, np.nan)
    matched = np.zeros(len(count), dtype=bool)
    for name, step in (("above", 1), ("below", -1)):
        runs: Runs = find_runs(number[::step, columns], cells.decimals[::step, columns])
        order = places[::step]
        for at, run in runs.members.items():
            sums.setdefault(order[at], tuple(sorted(order[member] for member in run)))
        members = np.zeros(len(count))
        members[list(runs.members)] = [len(run) for run in runs.members.values()]
        found[name] = runs.columns[::step].astype(np.float64)
        found[f"{name}_share"] = runs.share[::step]
        found[f"{name}_figures"] = runs.figures[::step].astype(np.float64)
        found[f"{name}_members"] = np.log1p(members[::step])
        matched |= found[name] > 0
    found["matches"] = np.full(len(count), matched.mean())
    known = ~np.isnan(cells.number)
    place = np.where(known, np.arange(cells.width)[None, :], -1)
    before = np.maximum.accumulate(place, axis=1)
    before = np.concatenate([np.full((len(place), 1), -1), before[:, :-1]], axis=1)
    earlier = np.take_along_axis(cells.number, np.maximum(before, 0), axis=1)
    pairs = known & (before >= 0)
    rise = np.where(pairs, cells.number - earlier, 0.0)
    found["steps"] = _share((np.abs(rise) == 1.0).sum(axis=1), pairs.sum(axis=1))
    found["counted"] = ((np.where(known, cells.number, np.inf).min(axis=1) <= 1) & (found["steps"] == 1.0)).astype(
        float
    )
    if not len(columns):
        found["larger"] = found["largest"] = np.full(len(count), np.nan)
        return sums
    size = np.log10(np.abs(number[:, columns]) + 1.0)
    given = ~np.isnan(size)
    middle = np.nanmedian(size, axis=0)
    peak = np.nanmax(size, axis=0)
    held_in = given.sum(axis=1)
    found["larger"] = np.where(held_in > 0, _share(np.where(given, size - middle, 0.0).sum(axis=1), held_in), np.nan)
    found["largest"] = _share((given & (size >= peak)).sum(axis=1), held_in)
    return sums
