"""Column profiles, and the typed value of a cell under the profile of its column.

`profile_columns` examines a table once and decides per column what no single cell shows;
`type_cell` then types each cell.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

from kgtable.tables.layout.notes import definitions
from kgtable.tables.model import Column, Row, Table
from kgtable.values.dates import (
    MONTH_NAMES,
    Date,
    Order,
    figures_of,
    parse_compact_date,
    parse_date,
    parse_day_of_year,
    parse_duration,
)
from kgtable.values.lexicon import ANY, are_truths, ends_with, is_called, senses, truth_of, words_of
from kgtable.values.numbers import (
    DEFAULT_STYLE,
    FIRST_LETTERS,
    MISSING_MARKERS,
    MOST_PLAIN_DIGITS,
    Number,
    NumberStyle,
    opens_words,
    parse_elaborate,
    parse_number,
    parse_simple,
)
from kgtable.values.periods import parse_days_of_year, parse_period
from kgtable.values.unit_phrases import UnitPhrase, parse_unit_phrase
from kgtable.values.units import converted_unit


class CellKind(StrEnum):
    """What a cell is."""

    EMPTY = "empty"
    MISSING = "missing"
    NUMBER = "number"
    DATE = "date"
    YEAR = "year"
    PERIOD = "period"
    DURATION = "duration"
    BOOLEAN = "boolean"
    TEXT = "text"


class CellValue(NamedTuple):
    """A typed cell. `lexical` and `datatype` (as ``xsd:date``) are those of a literal; a period has
    no datatype, its `lexical` is a form that sorts, such as ``2020-Q3``."""

    kind: CellKind
    number: Number | None = None
    lexical: str | None = None
    datatype: str | None = None


SAMPLED_CELLS = 200_000
"""About how many cells of a table are looked at."""

SAMPLED_TEXTS = 500
"""How many distinct texts of a column are looked at."""


@dataclass(frozen=True)
class ColumnStyle:
    """How the cells of one column are to be read. `cache` remembers typed cells and is not a part of it.

    `is_year`: plain integers are years. `is_identifier`: digits are names (phone numbers, codes,
    zero-padded keys). `is_boolean`: yes and no, true and false. `is_clock`: ``10:30`` is a time of day.
    `is_month`: ``2011-12`` is a month, not a span of years. `is_compact_date`: ``20111231`` is a day.
    `is_duration`: ``57:45`` and ``2h 10m`` are spans of time, with `bare_seconds` also ``37.667``;
    with `hours_first`, ``1:37`` is one of hours and minutes. `is_of_words`: no cell is a figure, so that a
    percent sign alone is a word like the others. `has_days_of_year`: ``July 25`` is a day and ``8–14 July`` are days.
    `code_lengths`: the cells are codes of so many capital letters, so that ``NA`` next to ``SE`` is one too.
    `missing_codes`: figures that stand for no value, such as ``-99`` among weights. `zeros`: signs that stand for zero.
    """

    numbers: NumberStyle = DEFAULT_STYLE
    date_order: Order = Order.MONTH_FIRST
    is_year: bool = False
    is_identifier: bool = False
    is_boolean: bool = False
    is_clock: bool = False
    is_month: bool = False
    is_compact_date: bool = False
    is_duration: bool = False
    bare_seconds: bool = False
    hours_first: bool = False
    is_of_words: bool = False
    has_days_of_year: bool = False
    code_lengths: frozenset[int] = frozenset()
    missing_codes: frozenset[str] = frozenset()
    zeros: frozenset[str] = frozenset()
    cache: dict[str, CellValue] = field(default_factory=dict, compare=False, repr=False)


_PLAIN_YEAR = re.compile(r"[12]\d{3}")
_INTEGER = re.compile(r"-?\d{1,18}")
_NUMERIC = re.compile(r"[($€£ -]*\d[\d,. ]*[)% ]*")
_BETWEEN = re.compile(r"(\d{1,4}(?:\.\d{1,9})?) ?[-–—−] ?(\d{1,4}(?:\.\d{1,9})?)")
_COMMA_DECIMAL = re.compile(r"(?<![\d.,])(?:\d{1,3}(?:\.\d{3})+|\d+),(?:\d{1,2}|\d{4,})(?![\d,.])")
_FISCAL = re.compile(r"(?:FY ?)?(?:19|20)\d\d[/–-]\d\d(?:\d\d)?")
"""A fiscal year or season: ``2019/20``."""
_BELOW_ONE = re.compile(r"[-−(]?[€$£]? ?0,\d{3}\)? ?[€$£%]?")
"""A number that cannot group thousands: ``0,750``."""
_POINT_DECIMAL = re.compile(
    r"(?<![\d.,])(?:\d+|\d{1,3}(?:,\d{3})+)\.(?:\d{1,2}|\d{4,})(?![\d,.])|\d,\d{3}(?:,\d{3}|\.\d)"
)
_POINT_GROUPS = re.compile(r"[-−(]?[€$£]? ?[1-9]\d{0,2}(?:\.\d{3})+\)? ?[€$£]?")
_WHOLE = re.compile(r"[-−(]?[€$£]? ?([1-9]\d*|0)\)? ?[€$£]?")
_LISTED = re.compile(r"(?<![\d.,])\d{1,2}(?:,\d{1,2}){2,}(?![\d,.])")
_DAY_OPENING = re.compile(
    r"\d{1,2}(?:st|nd|rd|th)?\.?[\s–—−-]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun",
    re.IGNORECASE,
)
"""How days without a year begin: a cheap look before a close one."""
_MONTH_WORD = re.compile(rf"\b(?:{MONTH_NAMES})\b", re.IGNORECASE)
_AMOUNT_MINUS = re.compile(r"[$€£]? ?\d[\d ]*(?:[.,'’]\d+)+ ?[-−]")
_WHOLE_MINUS = re.compile(r"[$€£]? ?\d[\d ]*(?:[.,'’]\d+)* ?[-−]")
_ZERO_PADDED = re.compile(r"0\d+")
_NUMBERED_MARK = re.compile(r"[($€£-]*\d[\d,.]*[)%]* ?\(\d{1,2}\)")
_NUMBER_AND_MARK = re.compile(r"\$? ?(\d[\d,]*) ?\( ?\d{1,2} ?\)")
_MONTH = re.compile(r"[12]\d(\d\d)-(\d\d)")
_LETTER_MARK = re.compile(r"-?\d[\d,.]* ?([A-Za-z])")
_CLOCK = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d")
_FULL_CLOCK = re.compile(rf"{_CLOCK.pattern}(?::[0-5]\d)?")
_FLAGGED = re.compile(r"-?\d[\d,. ]* ([a-z]{1,2})")
_GLUED_FLAG = re.compile(r"(-?\d[\d,.]*)([a-z])")
_VERSION = re.compile(r"\d{1,9}(?:\.\d{1,9}){0,9}", re.ASCII)
_CODES, _PLACE_CODES = frozenset({1, 2, 3, 4}), frozenset({2, 3, 4, 5})
"""Letters of a code among which ``NA`` may be one, and of one of a place (``EMEA``, ``LATAM``)."""
_LETTERS_BEHIND = re.compile(r"[-−(]?\d[\d,.\s]*?\)? ?([A-Za-z]{1,2})")
_FLAGS = frozenset("bcdefinprsuz")
_TIME_WORD = re.compile(r"\d ?(?:h|m|s|d|hrs?|mins?|secs?|hours?|minutes?|seconds?|days?)\b", re.IGNORECASE)
_COMPOUND = re.compile(r"\d ?(?:d|h|hrs?|hours?|days?)\.?,? ?\d+ ?(?:h|m|mins?|minutes?|hours?)\b", re.IGNORECASE)
_HOURS_FIRST = re.compile(r"\bh(?:h|rs?|ours?)? ?: ?m(?:m|ins?|inutes?)?\b(?! ?:)", re.IGNORECASE)
"""The form of spans stated in a header: *h:min*, *hh:mm*."""
_TIME_UNIT = re.compile(r"\d ?(d(?:ays?)?|h(?:rs?|ours?)?|min(?:ute)?s?|sec(?:ond)?s?)\b", re.IGNORECASE)
_FLAG_ALONE = re.compile(r"[:–-] ?[a-z]{1,2}")
MOST_SPELLINGS = 48
"""In how many ways, small and capital letters mixed, the words of a truth value can be written."""


def profile_columns(table: Table) -> tuple[ColumnStyle, ...]:
    """The style of every column, from the header and the body rows of the table's head."""
    samples = _sample(table)
    rows = sum(1 for _ in _body_rows(table))
    commas = [_decimal_comma(texts) for texts in samples]
    orders = [_date_order(texts) for texts in samples]
    # Cells are separated by semicolons where the comma is the decimal sign.
    table_comma = (True in commas or table.grid.source.delimiter == ";") and False not in commas
    table_order = next((order for order in orders if order is not None), Order.MONTH_FIRST)
    flagged = any(map(_has_flags, samples))
    meanings = _definitions(table)
    defined, explained = _defined_letters(meanings), _explained_letters(meanings)
    halves = {column for (_, column), code in table.grid.formats.items() if "AM/PM" in code.upper()}
    label_column = table.structure.label_column
    naming = {label_column, *(area.left for area in table.structure.shared)}
    labels = samples[label_column] if label_column < len(samples) else {}
    label_pairs = sum(1 for text in labels if converted_unit(text)) * 2 >= max(1, len(labels))
    styles = []
    for column, texts, comma, order in zip(table.columns, samples, commas, orders, strict=True):
        style = _profile(column, texts, column.index in naming, flagged, rows)
        if column.index in halves and texts and all(map(_FULL_CLOCK.fullmatch, texts)):
            style = replace(style, is_clock=True, is_duration=False)
        converted = label_pairs or converted_unit(column.path[-1] if column.path else "") is not None
        numbers = style.numbers
        marked = numbers.letter_marks or bool(
            (defined and _has_defined_letters(texts, defined)) or (flagged and _prints_flags_alone(texts))
        )
        numbers = replace(
            numbers,
            decimal_comma=table_comma if comma is None else comma,
            converted=converted,
            letter_marks=marked,
            letters=_letters_of_column(texts, explained) or numbers.letters,
        )
        styles.append(replace(style, numbers=numbers, date_order=order or table_order))
    return tuple(styles)


def _sample(table: Table) -> list[dict[str, int]]:
    """For each column its distinct body texts, and how often each was seen."""
    samples: list[dict[str, int]] = [{} for _ in table.columns]
    rows = list(_body_rows(table))
    step = max(1, len(rows) * max(1, len(samples)) // SAMPLED_CELLS)
    label = table.structure.label_column
    for group in sorted(table.structure.groups)[:SAMPLED_TEXTS]:
        cells = table.grid.head[group] if group < len(table.grid.head) else ()
        if label < min(len(cells), len(samples)) and cells[label].strip() and len(samples[label]) < SAMPLED_TEXTS:
            samples[label].setdefault(cells[label].strip(), 1)
    for row in rows[::step]:
        for texts, text in zip(samples, row, strict=False):
            stripped = text.strip()
            if stripped in texts:
                texts[stripped] += 1
            elif stripped and len(texts) < SAMPLED_TEXTS and stripped not in MISSING_MARKERS:
                texts[stripped] = 1
    return samples


def _body_rows(table: Table) -> Iterator[Row]:
    structure = table.structure
    for index, row in enumerate(table.grid.head):
        if index >= structure.body_start and index not in structure.groups and index not in structure.footnotes:
            yield row


def _profile(column: Column, texts: dict[str, int], is_label: bool, flagged: bool, rows: int) -> ColumnStyle:
    name = " ".join((column.path[-1] if column.path else "").split())
    has_brackets = any("(" in text for text in texts)
    numbers = NumberStyle(
        ranges=(not is_label or all(map(_FISCAL.fullmatch, texts)))
        and not ends_with(name, "numbered", ANY)
        and not _has_scores(name, texts),
        numbered_marks=has_brackets and (_mostly_plain(texts, _NUMBERED_MARK) or _marks_large_numbers(texts)),
        letter_marks=_has_letter_marks(texts)
        or (not is_label and _has_glued_flags(texts))
        or (flagged and _has_flags(texts)),
        long_integers=_has_long_integers(texts),
        trailing_minus=not is_label and _has_trailing_minus(name, texts),
        whole_ringgit="RM" in "".join(texts) and any(map(_RINGGIT.match, texts)),
    )
    called = ends_with(name, "code", ANY) or is_called(name, frozenset({"footnote"}), ANY)
    identifier = bool(texts) and (called or _zero_padded(texts) or _are_versions(texts, is_label))
    return ColumnStyle(
        numbers=numbers,
        is_identifier=identifier,
        is_year=not identifier and _has_years(name, texts, is_label),
        is_boolean=len(texts) <= MOST_SPELLINGS
        and sum(texts.values()) > 1
        and are_truths(texts, has_blanks=not is_label and sum(texts.values()) < rows),
        is_month=_has_months(texts),
        is_compact_date=bool(texts) and _says(name, "day") and all(map(parse_compact_date, texts)),
        is_clock=(clocks := _are_clocks(name, texts)),
        is_duration=not clocks and not _says(name, *_CLOCKS) and _has_durations(name, texts),
        bare_seconds=any(map(_SPLIT_SECONDS.search, texts)),
        hours_first=_counts_hours(name),
        is_of_words=bool(texts) and not any(map(_NUMERIC.fullmatch, texts)),
        has_days_of_year=_has_days_of_year(texts),
        code_lengths=_code_lengths(name, texts),
        missing_codes=frozenset() if identifier else _missing_codes(texts),
    )


_NINES = re.compile(r"-9{1,5}|9{3,5}")


def _missing_codes(texts: Iterable[str]) -> frozenset[str]:
    """The texts of nines that lie far outside all other numbers: ``999`` among ages, ``-99`` where none is negative.

    >>> _missing_codes(["34", "51", "29", "40", "999"]), _missing_codes(["640", "999", "1210", "880"])
    (frozenset({'999'}), frozenset())
    """
    told = list(texts)
    codes = {text for text in told if _NINES.fullmatch(text)}
    if not codes:
        return frozenset()
    others = [float(text) for text in told if text not in codes and _PLAIN_NUMBER.fullmatch(text)]
    if len(others) < FEWEST_BESIDE_CODES or len(others) < 0.7 * (len(told) - len(codes)):
        return frozenset()
    low, high = min(others), max(others)
    beyond = max(FARTHEST_OTHERS * high, 1.0)
    return frozenset(text for text in codes if (low >= 0 > float(text)) or (low >= 0 and float(text) > beyond))


_PLAIN_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")
FEWEST_BESIDE_CODES = 3
"""Numbers from which on what lies far outside may be a code."""
FARTHEST_OTHERS = 4
"""A code is this much larger than the largest number."""


_CLOCKS = ("clock", "moment")


def _says(name: str, *among: str) -> bool:
    """Whether a header has a term of one of these senses, in any language."""
    return bool(senses(name, frozenset(among), ANY))


def _counts_hours(name: str) -> bool:
    """Whether figures below a header are hours and minutes: "h:mm", "Flying hours", not "Opening hours"."""
    return _HOURS_FIRST.search(name) is not None or (ends_with(name, "hours", ANY) and not _says(name, "clock"))


_RINGGIT = re.compile(r"[-(]?RM ?\d[\d,]*\.\d\d(?!\d)")
_SPLIT_SECONDS = re.compile(r":[0-5]\d\.\d")
_RECORD = re.compile(r"(?<=\d) (?:[A-Z]{2,3}|Q|q)$")
"""The letters after a time that say it is a record or qualifies: ``1:37.071 WR``."""
_BARE_SECONDS = re.compile(r"[0-5]?\d\.\d{1,6}", re.ASCII)


def _span(text: str, bare_seconds: bool, hours_first: bool = False) -> str | None:
    """The span of time that a text is, without marks after it; see `ColumnStyle`."""
    plain = with_seconds(_RECORD.sub("", _MARKS.sub("", text)).strip(), hours_first)
    if bare_seconds and _BARE_SECONDS.fullmatch(plain):
        plain = f"0:{'0' if plain[1] == '.' else ''}{plain}"
    return parse_duration(plain)


def with_seconds(text: str, hours_first: bool) -> str:
    """Figures of hours and minutes with their seconds; others as they are.

    >>> with_seconds("1:37", True), with_seconds("1:37", False)
    ('1:37:00', '1:37')
    """
    return f"{text}:00" if hours_first and text.count(":") == 1 else text


_HALF_DAY = re.compile(r"\d\s*[ap]\.?m\.?$", re.IGNORECASE)
"""The end of a time of the day on a clock of twelve hours."""


def _has_durations(name: str, texts: Iterable[str]) -> bool:
    """Whether the texts are spans of time, at least one of which is more than a number with a unit.

    Figures with a single colon are so only in a column called by a word for time: they may be scores.
    """
    together = "\n".join(texts)
    if ":" not in together and _TIME_WORD.search(together) is None:
        return False
    plain = [_MARKS.sub("", text) for text in texts if ":" in text or _TIME_WORD.search(text)]
    if any(map(_HALF_DAY.search, plain)):
        return False
    if not plain or (_says(name, "scored") and not all(map(_SPLIT_SECONDS.search, plain))):
        return False
    spans = [text for text in plain if _span(text, bare_seconds=False)]
    if len(spans) == len(plain) and _in_several_units(spans):
        return True
    sure = any(text.count(":") == 2 or _COMPOUND.search(text) or _SPLIT_SECONDS.search(text) for text in spans)
    named = _says(name, "span") or _counts_hours(name)
    figures = any(":" in text for text in spans)
    plainly = figures and len(spans) >= 0.6 * len(list(texts)) and not all(map(_CLOCK.fullmatch, plain))
    if not (sure or (named and figures) or plainly):
        return False
    if all(map(_CLOCK.fullmatch, plain)) and not named:
        return False
    if all(map(_CLOCK.fullmatch, plain)) and all(int(text[:2]) >= 5 and int(text[-1]) in (0, 5) for text in plain):
        return False
    split = any(map(_SPLIT_SECONDS.search, spans))
    others = sum(1 for text in texts if any(map(str.isdigit, text)) and not _span(text, split))
    return others * 10 <= len(spans)


def _in_several_units(spans: Sequence[str]) -> bool:
    """Whether each is one number with a unit of time, and the units differ: ``14 h``, ``3 d``, ``90 min``."""
    units = [match[1][0].lower() for text in spans if (match := _TIME_UNIT.search(text))]
    return len(units) == len(spans) and len(set(units)) > 1


def are_named_clocks(name: str, texts: Iterable[str]) -> bool:
    """Whether cells under a header of times of the day are such times; ``9:26`` only next to ones such as ``19:16``.

    >>> are_named_clocks("Departs", ["9:26", "19:16"]), are_named_clocks("Planned", ["9:26", "19:16"])
    (True, False)
    """
    texts = list(texts)
    if not texts or not _says(name, *_CLOCKS):
        return False
    plain = sum(_FULL_CLOCK.fullmatch(text) is not None for text in texts)
    rest = plain < len(texts) and all(map(_CLOCK_FORM.fullmatch, texts))
    return plain == len(texts) or (plain > 0 and rest and _says(name, "moment"))


def _are_clocks(name: str, texts: Iterable[str]) -> bool:
    """Whether cells are times of the day: all have two figures for the hour, and nothing names a length of time."""
    told = list(texts)
    if are_named_clocks(name, told):
        return True
    if not told or _says(name, *_CLOCKS) or not all(map(_CLOCK.fullmatch, told)):
        return False
    early = any(text.startswith("0") for text in told)
    fives = all(text.endswith(("0", "5")) for text in told)
    return (early or fives) and not (_says(name, "span", "raced") or any(map(str.isdigit, name)))


def _definitions(table: Table) -> Mapping[str, str]:
    """The letters that notes below a table explain."""
    rows = (table.grid.head[row] for row in sorted(table.structure.footnotes))
    notes = [text for cells in rows for text in dict.fromkeys(cells)]
    return {
        letter: meaning.strip(" .")
        for letter, meaning in definitions((*notes, *table.context.after)).items()
        if letter[0].isalpha()
    }


def _defined_letters(meanings: Mapping[str, str]) -> frozenset[str]:
    """The letters that a note explains, other than by a unit or a scale: "p = preliminary"."""
    return frozenset(letter for letter, meaning in meanings.items() if _unit_meant(meaning) is None)


def _unit_meant(meaning: str) -> UnitPhrase | None:
    return parse_unit_phrase(meaning) or parse_unit_phrase(meaning.lower())


def _explained_letters(meanings: Mapping[str, str]) -> tuple[tuple[str, str | None, int], ...]:
    """The letters that a note explains by a unit or a scale: "m = million US dollars"."""
    phrases = ((letter, _unit_meant(meaning)) for letter, meaning in meanings.items())
    return tuple((letter, phrase.unit, phrase.scale or 0) for letter, phrase in phrases if phrase is not None)


_SCALED_BY = re.compile(r"\d ?(bn|[bBmM])$")


def _letters_of_column(
    texts: Iterable[str], explained: tuple[tuple[str, str | None, int], ...]
) -> tuple[tuple[str, str | None, int], ...]:
    """The explained letters after figures of a column.

    An ``m`` that nothing explains stands for millions where other cells have billions.
    """
    behind = {match[1] for match in map(_LETTERS_BEHIND.fullmatch, texts) if match} if explained else set()
    letters = tuple(letter for letter in explained if letter[0] in behind)
    if letters or explained:
        return letters
    if "m\n" not in "\n".join((*texts, "")):
        return ()
    scales = {match[1] for match in map(_SCALED_BY.search, texts) if match}
    return (("m", None, 6),) if "m" in scales and scales & {"bn", "b", "B"} else ()


def _has_defined_letters(texts: Iterable[str], defined: frozenset[str]) -> bool:
    """Whether letters follow figures, all of which a note explains."""
    letters = {match[1] for match in map(_LETTERS_BEHIND.fullmatch, texts) if match}
    return bool(letters) and letters <= defined


def _has_flags(texts: Iterable[str]) -> bool:
    """Whether letters set off after figures are the flags of a statistics office: ``12.3 p`` next to ``10.1``.

    Letters that may be units count only next to others, and where some figures have none.
    """
    flags = {match[1] for match in map(_FLAGGED.fullmatch, texts) if match}
    if not flags:
        return False
    plain = sum(1 for text in texts if _NUMERIC.fullmatch(text))
    letters = set("".join(flags))
    return bool(flags) and letters <= _FLAGS and (len(flags) > 1 or plain > 0) and not letters <= {"s", "d", "c"}


def _prints_flags_alone(texts: Iterable[str]) -> bool:
    """Whether the letters set off after figures, and after a colon or dash, are flags and nothing else."""
    letters = {text.split()[-1] for text in texts if _FLAGGED.fullmatch(text) or _FLAG_ALONE.fullmatch(text)}
    return bool(letters) and set("".join(letters)) <= _FLAGS | {":"}


def _has_trailing_minus(name: str, texts: Iterable[str]) -> bool:
    """Whether a minus after an amount says that it is below zero, as bookkeeping programs print it: ``12.50-``.

    Some such amount has decimals or thousands, as one end of an open span (``80-``) does not, or the column is
    called by a word of bookkeeping; no other begins with a minus or is a span.
    """
    behind = [text for text in texts if text.endswith(("-", "−"))]
    if not behind or not all(map(_WHOLE_MINUS.fullmatch, behind)):
        return False
    if not (any(map(_AMOUNT_MINUS.fullmatch, behind)) or _says(name, "booked")):
        return False
    return not any("-" in text[:-1] or "–" in text for text in texts if any(map(str.isdigit, text)))


def _has_long_integers(texts: Iterable[str]) -> bool:
    """Whether runs of many digits are numbers: keys are all of one length."""
    if max(map(len, texts), default=0) <= MOST_PLAIN_DIGITS:
        return False
    lengths = {len(text) for text in texts if text.isdecimal()}
    return max(lengths, default=0) > MOST_PLAIN_DIGITS and len(lengths) > 1


def _has_years(name: str, texts: Iterable[str], is_label: bool) -> bool:
    integers = [text for text in texts if _INTEGER.fullmatch(text)]
    years = [int(text) for text in integers if _PLAIN_YEAR.fullmatch(text) and int(text) <= 2100]
    if not years:
        return False
    if _heads_years(name):
        return len(years) >= 0.8 * len(integers)
    others = set(texts).difference(integers)
    if len(years) < len(integers) or any(_NUMERIC.fullmatch(text) for text in others):
        return False
    if is_label:
        return min(years) >= 1800
    if any(character.isdigit() for character in name):
        return False
    if _says(name, "dated"):
        return min(years) >= 1500
    return len(years) >= 5 and min(years) >= 1850 and max(years) <= 2050


def _heads_years(name: str) -> bool:
    """Whether a header is made of words for a year, up to a bracket or what it is the year of: "Year of birth"."""
    plain = re.split(r"[(\[]", name)[0]
    found = senses(plain, frozenset({"dated", "dating"}), ANY)
    run = [one for at, one in enumerate(found) if one.first == (found[at - 1].last + 1 if at else 0)]
    complete = bool(run) and (run[-1].sense == "dating" or run[-1].last == len(words_of(plain)) - 1)
    return complete and len(run) == len(found) and any(one.sense == "dated" for one in run)


def _has_months(texts: Iterable[str]) -> bool:
    """All texts of the form ``2011-10`` can be months, and one cannot be a span to the next year."""
    pairs = [(int(match[1]), int(match[2])) for match in map(_MONTH.fullmatch, texts) if match]
    return all(1 <= month <= 12 for _, month in pairs) and any(month != (year + 1) % 100 for year, month in pairs)


def _has_days_of_year(texts: Iterable[str]) -> bool:
    """Whether texts are days without a year; ``Jan 23`` and ``Feb 23``, always with the same figures, are months."""
    found = False
    months: set[str] = set()
    for text in texts:
        if len(text) > 40 or _DAY_OPENING.match(text) is None or _MONTH_WORD.search(text) is None:
            continue
        plain = _MARKS.sub("", text)
        if day := parse_day_of_year(plain):
            months.add(day.lexical)
        else:
            found = found or parse_days_of_year(plain) is not None
    figures = {text[-2:] for text in months}
    return found or (bool(months) and (len(months) < 3 or len(figures) > 1 or int(figures.pop()) < 10))


def _has_scores(name: str, texts: Iterable[str]) -> bool:
    pairs = [match for match in map(_BETWEEN.fullmatch, texts) if match]
    return bool(pairs) and (_says(name, "scored") or any(float(pair[1]) >= float(pair[2]) for pair in pairs))


def _zero_padded(texts: Iterable[str]) -> bool:
    """Digits alone, all of one length, some beginning with zero."""
    texts = list(texts)
    return (
        any(text[0] == "0" and _ZERO_PADDED.fullmatch(text) for text in texts)
        and len({len(text) for text in texts}) == 1
        and all(text.isdecimal() for text in texts)
    )


def _are_versions(texts: Mapping[str, int], is_label: bool) -> bool:
    """Whether figures separated by points are numbers of versions or sections: ``3.4.1``, ``1.1`` next to ``1.10``.

    Figures with one point are such numbers only in a label column without repeated texts.
    """
    if not texts or not all(map(_VERSION.fullmatch, texts)):
        return False
    if any(text.count(".") > 1 and not _POINT_GROUPS.fullmatch(text) for text in texts):
        return not any(map(parse_date, texts))
    values = {float(text) for text in texts if text.count(".") < 2}
    return is_label and max(texts.values()) == 1 and len(values) < len(texts)


def _code_lengths(name: str, texts: Iterable[str]) -> frozenset[int]:
    """The lengths of texts that are all codes of capital letters, two or more of one length, or of places.

    >>> _code_lengths("", ["SE", "DK"]), _code_lengths("", ["EMEA", "LATAM"]), _code_lengths("Region", ["EMEA"])
    (frozenset({2}), frozenset(), frozenset({2, 3, 4, 5}))
    """
    told = list(texts)
    lengths = {len(text) if _is_code(text) else 0 for text in told}
    if lengths and lengths <= _PLACE_CODES and _says(name, "place"):
        return _PLACE_CODES
    return frozenset(lengths) if len(told) > 1 and len(lengths) == 1 and lengths <= _CODES else frozenset()


def _is_code(text: str) -> bool:
    return text.isalpha() and text.isupper()


def _has_glued_flags(texts: Iterable[str]) -> bool:
    """Whether the flags of a statistics office follow right after a few numbers: ``1,234r`` among ``1,210``.

    Numbers with a unit or scale are not codes, nor are repeated figures: ``12b`` next to ``12``.
    """
    marked = [match for match in map(_GLUED_FLAG.fullmatch, texts) if match and parse_number(match[0]) is None]
    if not marked or not {match[2] for match in marked} <= _FLAGS:
        return False
    plain = [text for text in texts if _NUMERIC.fullmatch(text)]
    figures = [*plain, *(match[1] for match in marked)]
    return len(marked) < len(plain) and len(set(figures)) == len(figures)


def _mostly_plain(texts: Iterable[str], marked: re.Pattern[str]) -> bool:
    texts = list(texts)
    count = sum(1 for text in texts if marked.fullmatch(text))
    if not count:
        return False
    plain = sum(1 for text in texts if _NUMERIC.fullmatch(text))
    return count <= 0.35 * (plain + count)


def _marks_large_numbers(texts: Iterable[str]) -> bool:
    """Every number is in the thousands and is followed by a small number in parentheses."""
    pairs = [match for match in map(_NUMBER_AND_MARK.fullmatch, texts) if match]
    return bool(pairs) and all(len(pair[1].replace(",", "")) >= 4 for pair in pairs)


def _has_letter_marks(texts: Iterable[str]) -> bool:
    """Few letters after numbers, where most are bare and have decimals (``12.3E`` among ``10.1``)."""
    texts = list(texts)
    letters = {match[1] for match in map(_LETTER_MARK.fullmatch, texts) if match}
    if not 0 < len(letters) <= 3:
        return False
    decimals = sum(1 for text in texts if _NUMERIC.fullmatch(text) and ("." in text or "," in text))
    return _mostly_plain(texts, _LETTER_MARK) and decimals > 0.4 * len(texts)


def _decimal_comma(texts: Iterable[str]) -> bool | None:
    """Whether the comma is the decimal sign; None if no cell shows it."""
    commas = points = 0
    for text in texts:
        if len(text) <= 30 and ("," in text or "." in text):
            commas += _COMMA_DECIMAL.search(text) is not None and not text[:1].isalpha()
            points += _POINT_DECIMAL.search(text) is not None or _LISTED.search(text) is not None
    if commas or points:
        return commas > points
    if any(map(_BELOW_ONE.fullmatch, texts)):
        return True
    return True if _groups_with_points(texts) else None


def _groups_with_points(texts: Iterable[str]) -> bool:
    """Whether points part thousands: ``1.200`` next to ``900``, where a number of three decimals is ``900.000``.

    Some number must end in a zero that no decimal needs, and none may be a whole one from a thousand on.
    """
    grouped = [text for text in texts if "." in text and _POINT_GROUPS.fullmatch(text)]
    if not grouped:
        return False
    whole = [text for text in texts if _WHOLE.fullmatch(text)]
    others = any("." in text for text in texts if not _POINT_GROUPS.fullmatch(text) and _NUMERIC.fullmatch(text))
    if not whole or others:
        return False
    return any(text.rstrip(" €$£%").endswith("0") for text in grouped) and all(
        len(match[1]) <= 3 for text in whole if (match := _WHOLE.fullmatch(text))
    )


def _date_order(texts: Iterable[str]) -> Order | None:
    """Which of day and month comes first; None if no cell shows it."""
    short = (text for text in texts if 5 < len(text) < 11 and text[0].isdigit())
    pairs = [pair for pair in map(figures_of, short) if pair]
    if any(first > 12 for first, _ in pairs):
        return Order.DAY_FIRST
    return Order.MONTH_FIRST if any(second > 12 for _, second in pairs) else None


__all__ = [
    "MISSING_MARKERS",
    "CellKind",
    "CellValue",
    "ColumnStyle",
    "NumberStyle",
    "has_simple_numbers",
    "profile_columns",
    "sure_words",
    "type_cell",
    "type_unlike_simple",
]

CACHED_CELLS = 4096
"""How many typed cells a column style remembers."""

_EMPTY = CellValue(CellKind.EMPTY)
_MISSING = CellValue(CellKind.MISSING)
_TEXT = CellValue(CellKind.TEXT)
_WITH_DIGIT = re.compile(r"[0-9½⅓⅔¼¾⅕-⅞]")
_DATED = re.compile(
    r"[0-9][-/.][0-9]|[12][0-9]{3}|[0-9]:[0-9]|[QHqhFf][Yy1-4][ '’]?[0-9]{2}|[0-9][QHqh]|['’][0-9]{2}"
    r"|[a-z]-[0-9]{2}"
)
_DATE_OPENING = re.compile(
    r"\s*(?:[^A-Za-z]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun"
    r"|q[1-4]|h[12]|fy|fiscal|financial|first|second|third|fourth)",
    re.IGNORECASE,
)
"""How every date and period begins that is the whole of a cell."""

_YEAR = re.compile(r"([12][0-9]{3})(?:\s?(?:\[[^\[\]]{1,20}\]|[*†‡§#^¹²³]))*")
_MONTH_FORM = re.compile(r"[12][0-9]{3}-(?:0[1-9]|1[0-2])")
_CLOCK_FORM = re.compile(r"(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9])?")
_MARKS = re.compile(r"(?:\s?(?:\[[^\[\]]{1,20}\]|[*†‡§]))+$")


def type_cell(text: str, style: ColumnStyle) -> CellValue:
    """The typed value of a cell; what cannot be typed is text.

    >>> style = ColumnStyle()
    >>> type_cell("$ 1,234", style).number.value
    Decimal('1234')
    >>> type_cell("31 Dec. 2024", style).lexical, type_cell("n/a", style).kind.value
    ('2024-12-31', 'missing')
    >>> type_cell("2013", ColumnStyle(is_year=True)).datatype
    'xsd:gYear'
    """
    value = style.cache.get(text)
    if value is None:
        value = _type(text, style)
        if len(style.cache) < CACHED_CELLS:
            style.cache[text] = value
    return value


def has_simple_numbers(style: ColumnStyle) -> bool:
    """Whether every cell that `numbers.read_simple` understands is that number in a column of this style."""
    unlike = (
        style.is_duration
        or style.is_year
        or style.is_identifier
        or style.is_compact_date
        or style.numbers.decimal_comma
        or style.missing_codes
        or style.zeros
    )
    return not unlike


def sure_words(beginnings: Iterable[str], style: ColumnStyle) -> set[str]:
    """The beginnings, each up to the first space of a text, of which every text is a text in a column of this style.

    That holds for texts without an ampersand, which may stand for another character.

    >>> sorted(sure_words({"Item", "March", "USD", "12"}, ColumnStyle()))
    ['Item']
    """
    if style.is_duration or style.is_boolean or style.zeros or style.missing_codes:
        return set()
    letters = {word: match[0] for word in beginnings if (match := FIRST_LETTERS.match(word))}
    # With a figure after it, so that the letter of a quarter is seen.
    sure = {word for word in set(letters.values()) if opens_words(word) and not _DATE_OPENING.match(f"{word}1")}
    return {word for word, first in letters.items() if first in sure}


def type_unlike_simple(text: str, style: ColumnStyle) -> CellValue:
    """As `type_cell`, for a text that is not a simple number in a column of simple numbers, without a memory."""
    return _type_other(text, style, parse_elaborate)


def _type(text: str, style: ColumnStyle) -> CellValue:
    if style.is_compact_date and (day := parse_compact_date(text)):
        return CellValue(CellKind.DATE, None, day.lexical, day.datatype)
    if style.missing_codes and text.strip() in style.missing_codes:
        return _MISSING
    if style.zeros and text.strip() in style.zeros:
        return CellValue(CellKind.NUMBER, Number(Decimal(0)))
    if not has_simple_numbers(style):
        return _type_other(text, style, parse_number)
    number = parse_simple(text)
    return type_unlike_simple(text, style) if number is None else CellValue(CellKind.NUMBER, number)


def _type_other(text: str, style: ColumnStyle, parse: Callable[[str, NumberStyle], Number | None]) -> CellValue:
    if not text:
        return _EMPTY
    if "&" in text and (plain := html.unescape(text)) != text:
        return _type(plain, style)
    if len(text) < 12:
        stripped = text.strip()
        if (
            not stripped
            or (
                stripped in MISSING_MARKERS
                and not (stripped == "%" and style.is_of_words)
                and not (len(stripped) in style.code_lengths and _is_code(stripped))
            )
            or (style.numbers.letter_marks and _FLAG_ALONE.fullmatch(stripped))
        ):
            return _MISSING
        if style.is_boolean and (truth := truth_of(stripped)):
            return CellValue(CellKind.BOOLEAN, None, truth, "xsd:boolean")
    if not _WITH_DIGIT.search(text):
        return _TEXT if text.strip() else _MISSING
    if style.is_identifier:
        return _TEXT
    if style.is_duration and (span := _span(text, style.bare_seconds, style.hours_first)):
        return CellValue(CellKind.DURATION, None, span, "xsd:dayTimeDuration")
    if style.is_year and (match := _YEAR.fullmatch(text.strip())):
        return CellValue(CellKind.YEAR, None, match[1], "xsd:gYear")
    if (
        len(text) <= 60
        and _DATE_OPENING.match(text)
        and (style.has_days_of_year or _DATED.search(text))
        and (dated := _type_date(text, style))
    ):
        return dated
    number = parse(text, style.numbers)
    return CellValue(CellKind.NUMBER, number) if number is not None else _TEXT


def _full_clock(text: str) -> str:
    """A time of the day with two figures of hours, and seconds."""
    hours, _, rest = text.partition(":")
    return f"{hours.zfill(2)}:{rest}" + ("" if ":" in rest else ":00")


def _type_date(text: str, style: ColumnStyle) -> CellValue | None:
    plain = _MARKS.sub("", text.strip())
    if style.is_clock and _CLOCK_FORM.fullmatch(plain):
        return CellValue(CellKind.DATE, None, _full_clock(plain), "xsd:time")
    if style.is_month and (month := _MONTH_FORM.fullmatch(plain)):
        return CellValue(CellKind.DATE, None, month[0], "xsd:gYearMonth")
    date = parse_date(plain, style.date_order)
    if date is not None:
        return CellValue(CellKind.DATE, None, date.lexical, date.datatype)
    if style.has_days_of_year and (day := parse_day_of_year(plain)):
        return CellValue(CellKind.DATE, None, day.lexical, day.datatype)
    period: Date | None = parse_period(plain) if style.numbers.ranges or "/" not in plain else None
    if period is None and style.has_days_of_year:
        period = parse_days_of_year(plain)
    return None if period is None else CellValue(CellKind.PERIOD, None, period.lexical)
