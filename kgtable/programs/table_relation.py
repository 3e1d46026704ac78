"""A decoded table read as a relation: the kind of each body row, the type and role of each column, each value.

Rows that are no members are recognised by their words (totals, "of which", notes), by their shape (headings,
blank rows) and by their numbers (sums of other members). Columns are read when first used; a long column of
plain numbers is parsed as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kgtable.programs.algebra import ValueKind
from kgtable.programs.relation import (
    SAMPLED,
    ColumnData,
    ColumnRole,
    MemberKind,
    Relation,
    merged_cells,
)
from kgtable.programs.scalars import (
    Datum,
    duration_seconds,
    month_day,
    normal,
    quantity,
    time_datum,
    time_span,
)
from kgtable.tables.column_profile import (
    CLOCK_NAME,
    DURATION_NAME,
    CellKind,
    ColumnStyle,
    are_named_clocks,
    profile_columns,
    type_cell,
    with_seconds,
)
from kgtable.tables.layout.row_kinds import describe_a_member
from kgtable.tables.model import Position, Table
from kgtable.values.numbers import MISSING_MARKERS

"""From this many rows on, columns of plain numbers are parsed as a whole."""

MOST_SUMMED_ROWS = 300
"""Longer tables are not searched for members that are sums of others."""

_PART = re.compile(r"\W*(?:of which|of that|thereof|davon|dont|including|incl\.|included in)\b", re.IGNORECASE)
_SUMMARY = re.compile(
    r"\W*(?:(?:grand |sub-?\s?|overall )?totals?|sum|overall|average|mean|median|minimum|maximum|avg\.?|all)"
    r"(?:s|\s*[:*†‡]|\s*\(.*\)|\s+\d{4})?\s*",
    re.IGNORECASE,
)
_TOTAL = re.compile(r"\W*(?:grand |sub-?\s?)?totals?(?:\s*[:*†‡]|\s*\(.*\))?\s*", re.IGNORECASE)
_NOTE = re.compile(
    r"\s*(?:notes?|sources?|remarks?|key|legend|quelle|anmerkung)\s*[:.]|\s*[*†‡¹²³]\s*\w+ \w+", re.IGNORECASE
)
_IDENTIFIER = re.compile(
    r"(?:.*[\W_])?(?:ids?|sku|isbn|issn|ean|upc|gtin|iban|bic|codes?|zip|postcodes?|plz|phone|telephone|tel|fax"
    r"|mobile|ref|reference|ssn|vin|uuid|guid|barcode|identifiers?|serial)\W*(?:no|nr|number|code)?\.?"
    r"|(?:.*[\W_])?(?:order|invoice|booking|customer|account|flight|ticket|policy|serial|part|item|article"
    r"|product|employee|member|student|case|contract|shipment|loan|sale|transaction|reference|ref|document"
    r"|patent|registration|licen[cs]e|passport|jersey|squad|shirt|bib|tail|room|house|street|bus|train|route"
    r"|line|model|cat\.?|catalog(?:ue)?|atomic|fleet|hull|pennant|design|production|road|kit|player|card)"
    r"[\W_]*(?:no\.?|nr\.?|num|number|#|id)",
    re.IGNORECASE,
)
_NUMBER_OF_ONE = re.compile(
    r"(?!(?:total|average|avg|mean|max|min|maximum|minimum)\b)[^\W\d_]\D*"
    r"(?<!ed)(?<!said)(?<!votes)(?<!vote)(?<!answer)(?<!answers)[ _](?:no\.?|nr\.?|№)",
    re.IGNORECASE,
)
"""Headers such as *Learner No*; what *Voted no* counts are answers."""
_NUMBERED = re.compile(
    r"train|bus|tram|flight|route|room|platform|gate|terminal|berth|bin|locker|seat|plot|version|release|model"
    r"|apartment|flat|office|voyage|ticket|receipt|invoice|channel|bay|order|job|lot|batch|visit|case|booking|claim"
    r"|shipment|parcel|delivery|sailing|deal|request|incident|permit|chip|badge|transaction|contract",
    re.IGNORECASE,
)
"""Things that are called by a number, which heads no amount: *Room* 102, not *Rooms* 3."""
_INNER_ID = re.compile(r".*[a-z]I[dD]s?|.*(?<![uegvo])id", re.ASCII)
_ID_WORDS = frozenset({"paid", "bid", "grid", "said", "aid", "mid", "acid", "valid", "hybrid", "solid", "rapid"})
_ORDINAL = re.compile(
    r"(?:.*\b)?(?:rank|ranking|rk|pos|position|place|placing|seed|pick|standing|finish)\.?|#|no\.?|nr\.?|№"
    r"|(?:rd|round|week|game|match|stage|lap|leg|heat|lane|index|chapter|episode|ep|race|event|line)\.?(?:\s*"
    r"(?:#|no\.?|number))?|(?:no\.?|number|#) in \w+",
    re.IGNORECASE,
)
_PLACE = re.compile(r"[=T#]?\d{1,6}(?:st|nd|rd|th|[.=T])?\s*", re.IGNORECASE)
_RACED = re.compile(r"\d|\b(?:swim|bike|run|transition|heat|final|best|result|mark|pb|sb)\b", re.IGNORECASE)
"""Headers of times that something took."""
_CLOCK = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d")


class QuantityLike(Protocol):
    """A cell's number as the graph holds it: exact, scale applied; `scale` one of ``T M B TN`` or None."""

    @property
    def value(self) -> Decimal:
        """The exact number in its unit."""
        ...

    @property
    def unit(self) -> str | None:
        """The QUDT local name of its unit."""
        ...

    @property
    def scale(self) -> str | None:
        """The scale in which it is printed."""
        ...


def relation_of(
    table: Table,
    quantities: Mapping[Position, QuantityLike] | None = None,
) -> Relation:
    """A table's body as a relation.

    Args:
        table: the decoded table.
        quantities: its numbers by grid position, scale applied; without them numbers are read from
            the cells alone.
    """
    rows, grid_rows, blank = [], [], []
    for grid_row, cells in table.body():
        rows.append(cells)
        grid_rows.append(grid_row)
        blank.append(not any(map(str.strip, cells)))
    styles = profile_columns(table)
    reader = ColumnReader(table, rows, grid_rows, styles, quantities or {})
    kinds = _row_kinds(table, rows, grid_rows, blank, reader)
    return Relation(
        [table],
        [column.path for column in table.columns],
        np.zeros(len(rows), dtype=np.int64),
        np.array(grid_rows, dtype=np.int64),
        kinds,
        lambda column: reader.read(column, kinds),
        reader.texts,
    )


@dataclass(frozen=True)
class ColumnReader:
    """Types the cells of the columns of one table."""

    table: Table
    rows: Sequence[tuple[str, ...]]
    grid_rows: Sequence[int]
    styles: Sequence[ColumnStyle]
    quantities: Mapping[Position, QuantityLike]

    def read(self, column: int, kinds: npt.NDArray[np.int8]) -> tuple[ColumnData, ValueKind, ColumnRole]:
        texts = self.texts(column)
        sampled = [
            row for row, kind in zip(range(len(texts)), kinds[: 4 * SAMPLED].tolist(), strict=False)
            if kind in (0, 1, 2, 3) and texts[row].strip()
        ][:SAMPLED]  # fmt: skip
        name = " ".join((self.table.columns[column].path or ("",))[-1].split())
        style = self.styles[column]
        printed = [texts[row].strip() for row in sampled]
        if _are_clocks(name, printed):
            style = replace(style, is_clock=True, cache={})
        role, durations = self._role(name, column, style, printed, sampled)
        data = self._data(column, texts, style, role, durations)
        return data, _majority(data, sampled), role

    def texts(self, column: int) -> list[str]:
        """The texts of a column, those of merged areas in every cell they cover."""
        texts = [cells[column] if column < len(cells) else "" for cells in self.rows]
        if self.table.grid.merged:
            start = self.grid_rows[0] if self.grid_rows else 0
            for (row, at), (top, left) in merged_cells(self.table).items():
                if at == column and top >= start and row - start < len(texts):
                    cells = self.rows[top - start]
                    texts[row - start] = cells[left] if left < len(cells) else ""
        return texts

    def _numbers_things(self, name: str) -> bool:
        """Whether a header ends with the abbreviation of *number*; beside a column of *yes* it ends with *no*."""
        others = (column.path[-1] if column.path else "" for column in self.table.columns)
        answers = any(other.casefold().split()[-1:] == ["yes"] for other in others)
        return _NUMBER_OF_ONE.fullmatch(name) is not None and not answers

    def number(self, row: int, column: int, text: str) -> Decimal | None:
        """The number of a cell, of any column that is no identifier."""
        datum = self._datum(row, column, text, self.styles[column], ColumnRole.PLAIN, False)
        return None if datum is None else datum.number

    def _data(self, column: int, texts: list[str], style: ColumnStyle, role: ColumnRole, durations: bool) -> ColumnData:
        seen: dict[object, int] = {}
        values: list[Datum] = []
        codes = np.empty(len(texts), dtype=np.int32)
        known = self.quantities.get
        for row, text in enumerate(texts):
            found = known((self.grid_rows[row], column))
            key = text if found is None else (text, found.value, found.unit, found.scale)
            code = seen.get(key)
            if code is None:
                datum = self._datum(row, column, text, style, role, durations)
                code = -1
                if datum is not None:
                    code = len(values)
                    values.append(datum)
                seen[key] = code
            codes[row] = code
        return ColumnData(codes, values)

    def _datum(
        self, row: int, column: int, text: str, style: ColumnStyle, role: ColumnRole, durations: bool
    ) -> Datum | None:
        found = self.quantities.get((self.grid_rows[row], column))
        return self._datum_of(text, found, column, style, role, durations)

    def _datum_of(
        self,
        text: str,
        found: QuantityLike | None,
        column: int,
        style: ColumnStyle,
        role: ColumnRole,
        durations: bool,
    ) -> Datum | None:
        """The value of a cell of which the graph may know the number."""
        plain = "\n".join(filter(None, (" ".join(line.split()) for line in text.splitlines())))
        if not plain:
            return None
        if role is not ColumnRole.PLAIN:
            missing = found is None and plain in MISSING_MARKERS
            return None if missing else Datum(ValueKind.ENTITY, plain, text=plain)
        value = type_cell(text, style)
        if found is None and value.kind in (CellKind.EMPTY, CellKind.MISSING):
            return None
        if durations and (seconds := duration_seconds(with_seconds(plain, style.hours_first))) is not None:
            return Datum(ValueKind.DURATION, seconds, "SEC", text=plain)
        if value.kind in (CellKind.DATE, CellKind.YEAR, CellKind.PERIOD) and value.lexical:
            span = time_span(value.lexical)
            return Datum(ValueKind.TEXT, plain, text=plain) if span is None else time_datum(span, plain)
        if found is not None:
            return Datum(ValueKind.QUANTITY, found.value, found.unit, found.scale, plain)
        if value.number is not None:
            amount = value.number.value.scaleb(value.number.scale)
            return quantity(amount, value.number.unit, text=plain)
        if value.kind is CellKind.BOOLEAN:
            return Datum(ValueKind.TRUTH, value.lexical == "true", text=plain)
        span = month_day(plain)
        return Datum(ValueKind.TEXT, plain, text=plain) if span is None else time_datum(span, plain)

    def _role(
        self, name: str, column: int, style: ColumnStyle, texts: list[str], rows: list[int]
    ) -> tuple[ColumnRole, bool]:
        """The role of a column, and whether its values are durations."""
        if not texts:
            return ColumnRole.PLAIN, False
        if style.is_year or style.is_compact_date or style.is_boolean or style.is_month:
            return ColumnRole.PLAIN, False
        if _are_durations(name, style, texts):
            return ColumnRole.PLAIN, True
        integers = [int(text) for text in texts if text.isdecimal() and text.isascii() and len(text) < 19]
        places = sum(_PLACE.fullmatch(text) is not None for text in texts) >= 0.8 * len(texts)
        if style.is_identifier or (
            (_is_identifier_name(name) or self._numbers_things(name)) and any(any(map(str.isdigit, t)) for t in texts)
        ):
            return ColumnRole.IDENTIFIER, False
        if _NUMBERED.fullmatch(name) and all(any(map(str.isdigit, text)) for text in texts):
            return ColumnRole.IDENTIFIER, False
        units = {
            found.unit
            for row in rows[:50]
            if (found := self.quantities.get((self.grid_rows[row], column))) and found.unit
        }
        if units - {"UNITLESS", "NUM"}:
            return ColumnRole.PLAIN, False
        if places and _ORDINAL.fullmatch(name):
            return ColumnRole.ORDINAL, False
        # The number of an order stands on each of its lines, and the last row may be a sum.
        steps = [after - before for before, after in pairwise(integers)]
        runs = (
            len(integers) >= max(4, 0.75 * len(texts))
            and set(steps) <= {0, 1}
            and (2 * sum(steps) > len(steps) or (integers[0] >= 100 and sum(steps) >= 4))
        )
        ascends = len(integers) == len(texts) >= 6 and min(steps) > 0 and integers[0] >= 100
        if (
            ascends
            and column == self.table.structure.label_column == 0
            and len(str(integers[0])) == len(str(integers[-1]))
        ):
            return ColumnRole.IDENTIFIER, False  # "Ear tag": each its own, in order, in as many figures
        if runs and column == 0:
            return (ColumnRole.ORDINAL if integers[0] <= 1 else ColumnRole.IDENTIFIER), False
        return ColumnRole.PLAIN, False


def _is_identifier_name(name: str) -> bool:
    words = name.casefold().split()
    if _IDENTIFIER.fullmatch(name):
        return True
    return _INNER_ID.fullmatch(name) is not None and (words or [""])[-1].split("_")[-1] not in _ID_WORDS


def _are_clocks(name: str, texts: Sequence[str]) -> bool:
    """Whether cells are times of the day: all have two figures for the hour, and nothing names a length of time."""
    told = [text for text in texts if text not in MISSING_MARKERS]
    if are_named_clocks(name, told):
        return True
    if not told or CLOCK_NAME.search(name) or not all(map(_CLOCK.fullmatch, told)):
        return False
    early = any(text.startswith("0") for text in told)
    fives = all(text.endswith(("0", "5")) for text in told)
    return (early or fives) and not (DURATION_NAME.search(name) or _RACED.search(name))


def _are_durations(name: str, style: ColumnStyle, texts: Sequence[str]) -> bool:
    """Whether most cells are durations, and not times of a day (two figures, whole five minutes)."""
    found = [text for text in texts if duration_seconds(text) is not None]
    if style.is_clock or len(found) < 0.6 * len(texts) or CLOCK_NAME.search(name):
        return False
    figures = [text for text in found if ":" in text]
    if style.is_duration and style.hours_first:
        return True  # a header "Travel time (h:mm)" says so
    if not figures:
        return style.is_duration  # "2h 10m"; "10 m" may be a length
    found = figures
    if any(text.count(":") == 2 or "." in text for text in found):
        return True
    clocks = all(int(text.split(":")[0]) < 24 and int(text[-2:]) % 5 == 0 for text in found)
    return not (clocks and any(len(text) == 5 for text in found))


def _majority(data: ColumnData, rows: Sequence[int]) -> ValueKind:
    """The kind of most values of the sampled rows; text where no kind makes up six tenths."""
    counts: dict[ValueKind, int] = {}
    for row in rows:
        datum = data[row]
        if datum is not None:
            counts[datum.kind] = counts.get(datum.kind, 0) + 1
    total = sum(counts.values())
    times = counts.get(ValueKind.DATE, 0) + counts.get(ValueKind.PERIOD, 0)
    if times >= 0.6 * total > 0:
        dates = counts.get(ValueKind.DATE, 0)
        return ValueKind.DATE if 2 * dates >= times else ValueKind.PERIOD
    best = max(counts, key=lambda kind: counts[kind], default=ValueKind.TEXT)
    return best if counts.get(best, 0) >= 0.6 * total else ValueKind.TEXT


def _row_kinds(
    table: Table,
    rows: Sequence[tuple[str, ...]],
    grid_rows: Sequence[int],
    blank: Sequence[bool],
    reader: ColumnReader,
) -> npt.NDArray[np.int8]:
    structure = table.structure
    kinds = np.zeros(len(rows), dtype=np.int8)
    label_column = structure.label_column
    width = len(table.columns)
    called: list[int] = []
    for index, (grid_row, cells) in enumerate(zip(grid_rows, rows, strict=True)):
        if blank[index]:
            kinds[index] = MemberKind.BLANK
        elif grid_row in structure.groups and not _has_values(cells, label_column):
            kinds[index] = MemberKind.HEADING
        elif grid_row in structure.footnotes:
            kinds[index] = MemberKind.NOTE
        else:
            label = cells[label_column] if label_column < len(cells) else ""
            label = label if label.strip() else next((cell for cell in cells if cell.strip()), "")
            if width > 1 and is_note(label) and sum(bool(cell.strip()) for cell in cells) == 1:
                kinds[index] = MemberKind.NOTE
            elif is_part(label):
                kinds[index] = MemberKind.PART
            elif (
                grid_row in structure.totals
                or (_says_summary(label, index, rows, label_column) and not _is_described(index, cells, reader))
                or is_total_word(next((cell for cell in cells if cell.strip()), ""))
            ):
                kinds[index] = MemberKind.TOTAL
                called.append(index)
    if 3 < len(rows) <= MOST_SUMMED_ROWS:
        for index in called:
            if _is_less_than_others(index, rows, kinds, reader):
                kinds[index] = MemberKind.MEMBER  # a horse called "Total"
    if len(rows) <= MOST_SUMMED_ROWS:
        for index in _aggregates(table, rows, kinds, reader):
            kinds[index] = MemberKind.AGGREGATE
    return kinds


def is_note(label: str) -> bool:
    """Whether a label begins as a note or a source does."""
    return _NOTE.match(label) is not None


def is_part(label: str) -> bool:
    """Whether a label says that its row is a part of another one: "of which"."""
    return len(label) < 80 and _PART.match(label) is not None


def is_total_word(label: str) -> bool:
    """Whether a label is a word for a total."""
    return _TOTAL.fullmatch(label) is not None


def is_summary_word(label: str, *, strictly: bool = False) -> bool:
    """Whether a label is a word for a total or average; strictly, one that members are not called by ("All")."""
    if len(label) > 60 or not _SUMMARY.fullmatch(label):
        return False
    loose = re.match(r"\W*(?:all|overall|mean|median|sum|minimum|maximum)\b", label, re.IGNORECASE)
    return not strictly or loose is None


def _has_values(cells: tuple[str, ...], label_column: int) -> bool:
    """Whether a row that heads others has figures of its own beside its label."""
    others = [text for column, text in enumerate(cells) if column != label_column]
    return any(character.isdigit() for text in others for character in text)


def _says_summary(label: str, index: int, rows: Sequence[tuple[str, ...]], column: int) -> bool:
    """Whether a label is a word for a total or average; "All" or "Overall" only in the last or first row."""
    if not is_summary_word(label):
        return False
    strict = is_summary_word(label, strictly=True)
    again = sum(column < len(row) and normal(row[column]) == normal(label) for row in rows)
    return (strict or index in (0, len(rows) - 1)) and (again == 1 or again < len(rows) / 3)


def _is_less_than_others(
    row: int, rows: Sequence[tuple[str, ...]], kinds: npt.NDArray[np.int8], reader: ColumnReader
) -> bool:
    """Whether a row called a total stands among members that have more than it in every column of amounts."""
    label = reader.table.structure.label_column
    members = [index for index in np.flatnonzero(kinds == MemberKind.MEMBER).tolist() if index < len(rows)]
    if not is_total_word(rows[row][label] if label < len(rows[row]) else "") or not any(i > row for i in members):
        return False
    compared = 0
    for column in range(len(reader.table.columns)):
        texts = reader.texts(column)
        own = reader.number(row, column, texts[row])
        others = [number for i in members if (number := reader.number(i, column, texts[i])) is not None]
        if column == label or own is None or len(others) < len(members):
            continue
        if min(others) < 0 or own >= max(others):
            return False
        compared += 1
    return compared > 0


def _is_described(row: int, cells: Sequence[str], reader: ColumnReader) -> bool:
    """Whether a row called a total is described: a song called "Total" has a band and a date."""
    label = reader.table.structure.label_column
    others = (
        cell.strip()
        for column, cell in enumerate(cells)
        if column != label and reader.number(row, column, cell) is None
    )
    return describe_a_member(cell for cell in others if cell not in MISSING_MARKERS)


def _aggregates(
    table: Table, rows: Sequence[tuple[str, ...]], kinds: npt.NDArray[np.int8], reader: ColumnReader
) -> list[int]:
    """Members that are the sum of other members in every additive column: ("World", "EU27", a region).

    A sum of all the others, or of neighbouring ones that make a run. Since small numbers add up by
    chance, all additive columns must agree, and together print at least eight significant figures.
    """
    members = np.flatnonzero(kinds == MemberKind.MEMBER).tolist()
    if len(members) < 3:
        return []
    if years := _years_of_months(table, rows, members):
        return years
    columns = []
    for column in range(len(table.columns)):
        if column == table.structure.label_column or reader.styles[column].is_year:
            continue
        texts = reader.texts(column)
        numbers = [reader.number(row, column, texts[row]) for row in members]
        filled = [text for row in members if (text := texts[row].strip())]
        if sum(number is None for number in numbers) > 0.25 * len(members):
            continue
        name = " ".join((table.columns[column].path or ("",))[-1].split())
        if any("%" in text for text in filled[:20]) or "%" in name or _is_identifier_name(name):
            continue
        whole = [number or Decimal(0) for number in numbers]
        if all(b - a == 1 for a, b in pairwise(whole)):
            continue
        columns.append(whole)
    if not columns:
        return []
    if second := _counted_again(table, members, kinds, reader):
        return second
    found: list[int] = []
    for place, row in enumerate(members):
        figures = sum(len(str(abs(int(column[place])))) for column in columns if column[place])
        if figures >= 8 and _is_sum(columns, place, {members.index(other) for other in found}):
            found.append(row)
    # Sums of two regions of two districts each, and the sum of all: three of seven rows, in several columns.
    if len(found) > len(members) / (2 if len(columns) > 2 else 3):
        return []
    found = found or [row for at, row in enumerate(members) if _is_whole(columns, at, rows[row], table)]
    return found or [members[at] for at in (-1, 0) if _is_sum_in_most(columns, at)][:1]


def _counted_again(
    table: Table, members: Sequence[int], kinds: npt.NDArray[np.int8], reader: ColumnReader
) -> list[int]:
    """Members that tell the same whole by other parts: rows of men and women below rows of towns, before one total.

    The members fall into runs that each add up to the total in every column of amounts; the longest run is kept.
    """
    totals = np.flatnonzero(kinds == MemberKind.TOTAL).tolist()
    if len(totals) != 1:
        return []
    amounts = []
    for column in range(len(table.columns)):
        texts = reader.texts(column)
        numbers = [reader.number(row, column, texts[row]) for row in (*totals, *members)]
        plain = [number for number in numbers if number is not None]
        if column != table.structure.label_column and len(plain) == len(numbers) and "%" not in texts[totals[0]]:
            amounts.append(plain)
    if not amounts or sum(len(str(abs(int(column[0])))) for column in amounts) < 3:
        return []
    runs: list[list[int]] = [[]]
    left = [column[0] for column in amounts]
    for place, row in enumerate(members, 1):
        runs[-1].append(row)
        left = [rest - column[place] for rest, column in zip(left, amounts, strict=True)]
        if not any(left):
            runs.append([])
            left = [column[0] for column in amounts]
    if runs.pop() or len(runs) < 2 or min(map(len, runs)) < 2:
        return []
    kept = max(runs, key=len)
    return [row for run in runs if run is not kept for row in run]


_A_YEAR = re.compile(
    r"(?:(?:full|whole|calendar|fiscal|financial) )?year(?: total| average)?|annual|ytd|year to date"
    r"|(?:FY ?)?(?:19|20)\d\d",
    re.IGNORECASE,
)
_PART_OF_YEAR = re.compile(
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]*\.?(?:[ -]['’]?(?:\d\d){1,2})?"
    r"|(?:Q[1-4]|[1-4]Q|(?:1st|2nd|3rd|4th|first|second|third|fourth) quarter|H[12])(?: (?:19|20)\d\d)?",
    re.IGNORECASE,
)
_WHOLE_NAME = re.compile(
    r"(?:the )?(?:(?:whole|entire|all) .+|world(?:wide)?|globe|global(?:ly)?|earth|nation(?:wide|al)|overall"
    r"|everything)(?: (?:average|total))?",
    re.IGNORECASE,
)


def _years_of_months(table: Table, rows: Sequence[tuple[str, ...]], members: Sequence[int]) -> list[int]:
    """The rows of a year below its months or quarters, whose averages do not add up."""
    label = table.structure.label_column
    labels = {row: rows[row][label].strip() if label < len(rows[row]) else "" for row in members}
    parts = sum(_PART_OF_YEAR.fullmatch(text) is not None for text in labels.values())
    years = [row for row, text in labels.items() if _A_YEAR.fullmatch(text)]
    return years if parts >= 3 and parts + len(years) == len(members) and 3 * len(years) <= parts else []


def _is_whole(columns: Sequence[Sequence[Decimal]], place: int, cells: Sequence[str], table: Table) -> bool:
    """Whether a row is called by a word for all there is ("World"), and no other row has more of anything.

    Or it is the sum of the others in some columns, and their mean or blank in the rest: "All arms".
    """
    label = table.structure.label_column
    if label >= len(cells) or not _WHOLE_NAME.fullmatch(" ".join(cells[label].split())):
        return False
    if all(column[place] >= max(column) and column[place] for column in columns):
        return True
    others = [[*column[:place], *column[place + 1 :]] for column in columns]
    added = [bool(column[place]) and sum(rest) == column[place] for column, rest in zip(columns, others, strict=True)]
    within = [
        not column[place] or min(rest) <= column[place] <= max(rest)
        for column, rest in zip(columns, others, strict=True)
    ]
    return any(added) and all(one or other for one, other in zip(added, within, strict=True))


def _is_sum_in_most(columns: Sequence[Sequence[Decimal]], place: int) -> bool:
    """Whether a row is the sum of all others in three columns and half of them: a career, with its longest run.

    The other columns may have a maximum or a mean there. The sums have eight significant figures together.
    """
    filled = [column for column in columns if column[place]]
    added = [column[place] for column in filled if sum(column) == 2 * column[place]]
    figures = sum(len(str(abs(int(amount)))) for amount in added)
    return len(added) >= max(3, (len(filled) + 1) // 2) and figures >= 8


def _is_sum(columns: Sequence[Sequence[Decimal]], place: int, known: set[int]) -> bool:
    """Whether the row at `place` is in each column the sum of all others, or of one run of two or more."""
    others = [i for i in range(len(columns[0])) if i != place and i not in known]
    if all(sum(column[i] for i in others) == column[place] != 0 for column in columns):
        return True
    if len(columns) < 2:
        return False
    first = columns[0]
    sums: dict[Decimal, list[int]] = {Decimal(0): [0]}
    total = Decimal(0)
    for end, i in enumerate(others, 1):
        total += first[i]
        for start in sums.get(total - first[place], ()):
            run = others[start:end]
            # A run must not jump over the row itself: what it sums stands before or after it.
            if (
                len(run) >= 2
                and not run[0] < place < run[-1]
                and all(sum(column[j] for j in run) == column[place] for column in columns[1:])
            ):
                return True
        sums.setdefault(total, []).append(end)
    return False
