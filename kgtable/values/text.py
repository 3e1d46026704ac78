"""Text that every output can hold: values as a person types them, rows as delimited text."""

from __future__ import annotations

import csv
import datetime
import itertools
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache, wraps
from typing import Any, Literal, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])

_MARKS = re.compile(
    r"(?:(?<=[^\W\d_]{3})|(?<=\d{4})|(?<=[)\]]))(?:\s?[¹²³⁴-⁹⁰ᵃ-ᶠ]{1,3}|\s?[*†‡§¶]{1,4}|\s?\[(?:\d{1,3}|[a-z]|note \d{1,3})\]){1,20}+\s*$",  # noqa: E501
    re.IGNORECASE,
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_LARGEST_EXPONENT = 21
_LARGEST_EXACT = 2**53
"""Up to here every whole number has a binary number of its own."""
SPREADSHEET_DIGITS = 15
"""Significant digits of a number that a spreadsheet shows at most."""


def sound_text(text: str) -> str:
    """The text with each lone surrogate, which no encoding can hold, replaced by U+FFFD.

    >>> sound_text("a\\udc80b")
    'a\ufffdb'
    """
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


_MOST_MARKS = 30
"""Combining marks on a sign: more are parted, as the Stream-Safe Text Format of Unicode (UAX 15) parts them."""
_PARTED_FROM = 200
_JOINER = "\u034f"


def normal_form(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """The text in a normal form of Unicode; in a run of combining marks only 30 at a time are put in order.

    Putting a run in order takes quadratic time: minutes for a cell of some hundred thousand marks.

    >>> normal_form("NFC", "e\u0301")
    'é'
    """
    if len(text) > _PARTED_FROM and not text.isascii():
        text = "".join(_parted(text))
    return unicodedata.normalize(form, text)


def _parted(text: str) -> Iterator[str]:
    marks = 0
    for sign in text:
        marks = marks + 1 if unicodedata.combining(sign) else 0
        if marks > _MOST_MARKS:
            yield _JOINER
            marks = 1
        yield sign


def without_accents(text: str, form: Literal["NFD", "NFKD"] = "NFKD") -> str:
    """The text decomposed, without its combining marks.

    >>> without_accents("Ås, 5 m²")
    'As, 5 m2'
    """
    if text.isascii():
        return text
    # What is dropped anyway goes first: marks in long runs would be put in order in quadratic time.
    return _unmarked(unicodedata.normalize(form, _unmarked(text)))


def _unmarked(text: str) -> str:
    return "".join(sign for sign in text if not unicodedata.combining(sign))


_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufff9-\ufffb]"
)


def harmless_text(text: str) -> str:
    """The text with each sign that could steer a terminal, or turn the order of what is read, as U+FFFD.

    Such are control characters (line feeds and tabs stay), marks of direction and lone surrogates.

    >>> harmless_text("a\\x1b[31mb\\u202ec\\n")
    'a\ufffd[31mb\ufffdc\\n'
    """
    return _STEERING.sub("\ufffd", text.replace("\r\n", "\n"))


def single_line(text: str) -> str:
    """The text on one line: control characters and runs of white space become single spaces.

    >>> single_line(" a\\n\\tb\\x1b[31m ")
    'a b [31m'
    """
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def without_marks(text: str) -> str:
    """The text of a label or header without the footnote marks at its end.

    Raised figures count as marks after a word of three letters or a year; after shorter ones they may
    be of a unit (``m²``).

    >>> [without_marks(text) for text in ("Wind¹", "Total*", "2022²", "Peak[a]", "km²", "A*")]
    ['Wind', 'Total', '2022', 'Peak', 'km²', 'A*']
    """
    if text.isascii() and text[-1:] not in ("*", "]"):
        return text
    return _MARKS.sub("", text)


_RAISABLE = re.compile(r"[-+−]?[0-9]{1,3}|[a-f]")
_RAISED_LIST = re.compile(r"\(?((?:[0-9]{1,2}|[a-f])(?:, ?(?:[0-9]{1,2}|[a-f])){0,4})\)?")
_AS_RAISED = str.maketrans("0123456789+-−abcdef", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻ᵃᵇᶜᵈᵉᶠ")


def as_raised(text: str) -> str:
    """A mark or an exponent in raised signs; empty if it is neither a figure nor a letter of a note.

    >>> as_raised("2"), as_raised("a"), as_raised("-1"), as_raised("(1, 3)"), as_raised("nd")
    ('²', 'ᵃ', '⁻¹', '¹ ³', '')
    """
    if _RAISABLE.fullmatch(text):
        return text.translate(_AS_RAISED)
    marks = _RAISED_LIST.fullmatch(text)
    return " ".join(re.split(", ?", marks[1].translate(_AS_RAISED))) if marks else ""


def joined_runs(runs: Iterable[tuple[str, bool]]) -> str:
    """The text of runs, each given with whether it is raised, so that no mark or exponent joins what it follows.

    The upper figure of a fraction is set apart by a space.

    >>> joined_runs([("Wind", False), ("1", True)]), joined_runs([("1", False), ("st", True)])
    ('Wind¹', '1st')
    >>> joined_runs([("3", False), ("1", True), ("/2 in", False)])
    '3 1/2 in'
    """
    groups = [
        ("".join(text for text, _ in group), raised)
        for raised, group in itertools.groupby((run for run in runs if run[0]), key=lambda run: run[1])
    ]
    pieces: list[str] = []
    for place, (text, raised) in enumerate(groups):
        mark = as_raised(text.strip()) if raised else ""
        follows = groups[place + 1][0].lstrip() if place + 1 < len(groups) else ""
        if mark and follows[:1] in ("/", "⁄") and follows:
            pieces.append(f" {text.strip()}" if pieces else text)
        else:
            pieces.append(mark or text)
    return "".join(pieces)


def number_text(value: float, digits: int = 17) -> str:
    """A binary number as plain decimal digits: no exponent unless it is very large or small.

    With 17 digits it is the shortest text that parses to the same number.

    >>> number_text(3.0), number_text(1e-7), number_text(0.1 + 0.2, SPREADSHEET_DIGITS)
    ('3', '0.0000001', '0.3')
    """
    if abs(value) <= _LARGEST_EXACT and value == int(value):
        return str(int(value))
    text = repr(float(value)) if digits >= 17 else format(value, f".{digits}g")
    if "e" not in text:
        return text if "n" not in text else ("" if value != value else text)
    number = Decimal(text)
    if abs(number.adjusted()) > _LARGEST_EXPONENT:
        return text.upper()
    return format(number, "f")


def value_text(value: object, digits: int = 17) -> str:
    """The text of a value from a spreadsheet, a data frame or a columnar file.

    Nothing and not-a-number give no text; dates are ISO; lists and objects are JSON.

    >>> value_text(datetime.datetime(2024, 12, 31)), value_text(True), value_text([1, None])
    ('2024-12-31', 'TRUE', '[1,null]')
    """
    if isinstance(value, str):
        return sound_text(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value) if abs(value) < 1 << 64 else str(Decimal(value))
    if isinstance(value, float):
        return number_text(value, digits)
    if isinstance(value, Decimal):
        return "" if value.is_nan() else format(value, "f")
    if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
        return _moment_text(value)
    if isinstance(value, bytes):
        return _bytes_text(value)
    if isinstance(value, Mapping | Sequence) or hasattr(value, "tolist"):
        return _nested_text(value)
    return sound_text(str(value))


def _moment_text(value: datetime.date | datetime.time | datetime.timedelta) -> str:
    if value != value:
        return ""
    if isinstance(value, datetime.timedelta):
        seconds = value.total_seconds()
        minutes, rest = divmod(abs(seconds), 60)
        hours, minutes = divmod(int(minutes), 60)
        return f"{'-' if seconds < 0 else ''}{hours}:{minutes:02d}:{_seconds_text(rest)}"
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        nanoseconds = getattr(value, "nanosecond", 0)  # of pandas' own type
        if value.time() == datetime.time() and not nanoseconds:
            return value.date().isoformat()
    return value.isoformat()


def _seconds_text(seconds: float) -> str:
    whole = int(seconds)
    fraction = f"{seconds - whole:.6f}"[1:].rstrip("0").rstrip(".")
    return f"{whole:02d}{fraction}"


def _bytes_text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.hex()


def _nested_text(value: object) -> str:
    tolist = getattr(value, "tolist", None)
    plain = tolist() if callable(tolist) else value
    if not isinstance(plain, Mapping | Sequence) or isinstance(plain, str | bytes):
        return value_text(plain)
    return sound_text(json.dumps(_jsonable(plain), ensure_ascii=False, separators=(",", ":")))


def _jsonable(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_jsonable(item) for item in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else None
    return value_text(value)


_ESCAPE_LIKE = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
_NOT_IN_XML = re.compile("[\0-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")


def workbook_text(text: str) -> str:
    """The text as a cell of an .xlsx holds it: what XML cannot hold is written as its code.

    >>> workbook_text("a\x07b"), workbook_text("_x0041_")
    ('a_x0007_b', '_x005F_x0041_')
    """
    text = _ESCAPE_LIKE.sub("_x005F_", text)
    return _NOT_IN_XML.sub(lambda match: f"_x{ord(match[0]):04X}_", text)


def markup_text(text: str) -> str:
    """The text with each character that XML cannot hold replaced by U+FFFD.

    >>> markup_text("a\\x1bb\\ufffec")
    'a\ufffdb\ufffdc'
    """
    return _NOT_IN_XML.sub("\ufffd", text)


_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r]")
_NUMBER = re.compile(r"[-+]?(?:[0-9][0-9,. ]*|[.,][0-9]+)(?:[eE][-+]?[0-9]+)?\s?%?")


def delimited_text(rows: Iterable[Sequence[object]], delimiter: str = ",", *, defused: bool = False) -> str:
    """The rows as text; `defused` puts an apostrophe before what a spreadsheet would run as a formula.

    >>> delimited_text([("a", "b,c"), ("=1+1", "-5")], defused=True)
    'a,"b,c"\\n\\'=1+1,-5\\n'
    """
    lines = _Lines()
    # Python quotes a carriage return within a cell only where it is part of the line end.
    writer = csv.writer(lines, delimiter=delimiter, lineterminator="\r\n")
    writer.writerows([[defused_cell(str(cell)) for cell in row] for row in rows] if defused else rows)
    return "".join(lines.written)


def defused_cell(text: str) -> str:
    """The text, after an apostrophe where a spreadsheet would run it as a formula; numbers stay.

    >>> defused_cell("=HYPERLINK(1)"), defused_cell("-12.5%"), defused_cell("@SUM(1)"), defused_cell("plain")
    ("'=HYPERLINK(1)", '-12.5%', "'@SUM(1)", 'plain')
    >>> defused_cell(" =1+1"), defused_cell("\uff1d1+1")
    ("' =1+1", "'＝1+1")
    """
    if _FORMULA.match(text) is None or _NUMBER.fullmatch(text) is not None:
        return text
    return f"'{text}"


class _Lines:
    """What a CSV writer writes to: it writes a row at a time."""

    def __init__(self) -> None:
        self.written: list[str] = []

    def write(self, line: str) -> None:
        self.written.append(f"{line[:-2]}\n")


LONGEST_CACHED = 100
"""Characters of a text beyond which `text_cache` keeps nothing."""


def text_cache(maxsize: int) -> Callable[[_Function], _Function]:
    """Cache a function of a text, and of options of few values; the size of the cache is bounded in bytes.

    A long text, which seldom comes twice, is neither kept nor looked for: clients and cells choose its length.
    """

    def decorated(function: _Function) -> _Function:
        cached = lru_cache(maxsize)(function)

        @wraps(function)
        def call(text: str, *options: Any) -> Any:  # options by name would take twice the time
            return (cached if len(text) <= LONGEST_CACHED else function)(text, *options)

        return cast(_Function, call)

    return decorated
