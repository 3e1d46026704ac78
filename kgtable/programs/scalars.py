"""Single values of programs: typed, with unit and printed text; how they compare, order and calculate.

Everything that one value means is here, so that the executor's column-wise shortcuts have one
definition to agree with, and the compilers to SPARQL and SQL one to translate.
"""

from __future__ import annotations

import datetime
import operator
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation, Overflow
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from kgtable.errors import EvaluationError, ProgramTypeError, UnitMismatchError
from kgtable.programs.algebra import PARTS_OF_TIME, SPANS_OF_TIME, Function, Operator, Relator, ValueKind
from kgtable.programs.dimensions import (
    COUNTS,
    LARGEST_EXPONENT,
    NO_UNIT,
    comparable,
    conversion,
    convert,
    decimal_of,
    describe,
    dimension_of,
    factors_of,
    multiplier_of,
    multiply_units,
    offset_of,
    unit_of,
    unit_of_sum,
)
from kgtable.values.dates import month_of, parse_date, parse_day_of_year, parse_duration
from kgtable.values.decimals import EXACT, ROUNDED, scaled
from kgtable.values.numbers import parse_number
from kgtable.values.periods import find_period, parse_period
from kgtable.values.text import text_cache
from kgtable.values.units import SCALE_POWERS

SCALES = {"ONE": 0, **SCALE_POWERS}
"""The scales by name, and the power of ten of each."""

_MARKS = re.compile(r"(?:\s*(?:\[[^\[\]]{1,8}\]|[*†‡§¹²³⁴⁵⁶⁷⁸⁹⁰]))+$")
_PLAIN = str.maketrans(dict(zip("‘’“”–—−‐‑", "''\"\"-----", strict=True)))
_YEAR = re.compile(r"\d{4}")
_ISO_MONTH = re.compile(r"([12]\d{3})-(0[1-9]|1[0-2])")
_ONE_YEAR = re.compile(r"(?<![\d.,])(?:1[5-9]|20)\d\d(?![\d.,]\d|\d)")
_YEARS = re.compile(r"(\d{4})[-–](\d\d)")
_DURATION = re.compile(r"(?:(\d{1,4}):)?(\d{1,4}):(\d\d(?:\.\d{1,9})?)")
_SPAN_PARTS = re.compile(r"-?P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")
_NUMBERS = re.compile(r"-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")
_LIST = re.compile(r"\s*(?:;|\n|,|/|\band\b|&)\s*")
_RANGE = re.compile(r"\s*(?:–|—|−|-|/|\bto\b|\buntil\b)\s*")
_MONTH_DAY = re.compile(r"--\d\d-\d\d")
_ASIDE = re.compile(r"(?s)([^(\[\n]+?)\s*(?:[(\[]([^()\[\]]*)[)\]].*|\n\s*(.+))")
_TRUTHS = {"true": True, "yes": True, "t": True, "false": False, "no": False, "f": False}
_RELATIONS: dict[Relator, Callable[[Any, Any], Any]] = {
    Relator.EQUAL: operator.eq,
    Relator.NOT_EQUAL: operator.ne,
    Relator.LESS: operator.lt,
    Relator.LESS_OR_EQUAL: operator.le,
    Relator.GREATER: operator.gt,
    Relator.GREATER_OR_EQUAL: operator.ge,
}
_TIMES = frozenset({ValueKind.DATE, ValueKind.PERIOD})


class TimeSpan(NamedTuple):
    """A date or period: its first and last instant as ISO texts that sort, and the lexical form it has."""

    start: str
    end: str
    lexical: str

    @property
    def year(self) -> int | None:
        """The year, where it is one year as a whole."""
        found = _YEAR.fullmatch(self.lexical.removeprefix("FY"))
        return int(found[0]) if found else None


Content: TypeAlias = Decimal | TimeSpan | str | bool


class Datum(NamedTuple):
    """One value.

    `value` is a `Decimal` (quantity; duration in seconds), a `TimeSpan` (date, period), text (also of
    an entity) or a truth value. `unit` is a QUDT local name, None if unknown; `scale` that of the
    print (None if it has none, or where numbers of several scales came together); `text` the
    cell as printed, empty for a computed value.
    """

    kind: ValueKind
    value: Content
    unit: str | None = None
    scale: str | None = None
    text: str = ""

    @property
    def number(self) -> Decimal | None:
        """The number of a quantity or duration."""
        return self.value if isinstance(self.value, Decimal) else None


def quantity(value: Decimal | int, unit: str | None = None, scale: str | None = None, text: str = "") -> Datum:
    """A quantity as a value."""
    return Datum(ValueKind.QUANTITY, checked(Decimal(value)), unit, scale, text)


def truth(value: bool) -> Datum:
    """A truth value."""
    return Datum(ValueKind.TRUTH, value)


@text_cache(65536)
def normal(text: str) -> str:
    """A text as equality sees it: no case, single spaces, plain quotes and dashes, no footnote marks.

    >>> normal("Weißhorn¹ "), normal("O’Brien [a]")
    ('weisshorn', "o'brien")
    """
    plain = " ".join(text.translate(_PLAIN).split())
    return (_MARKS.sub("", plain) or plain).casefold()


@text_cache(65536)
def time_span(lexical: str) -> TimeSpan | None:
    """The date, month, quarter, half, year or span of years with this lexical form, or None.

    >>> time_span("2024-Q3").end, time_span("2010/2014").start
    ('2024-09-30T23:59:59.9', '2010-01-01')
    """
    plain = lexical.strip()
    bare = plain.removeprefix("FY")
    if _YEAR.fullmatch(bare):
        return TimeSpan(f"{bare}-01-01", f"{bare}-12-31T23:59:59.9", plain)
    if bare != plain and "/" in bare:
        found = parse_period(bare.replace("/", "-"))
    elif (month := _ISO_MONTH.fullmatch(plain)) is not None:
        found = month_of(int(month[1]), int(month[2]))
    elif _MONTH_DAY.fullmatch(plain):
        return TimeSpan(plain, plain, plain)
    elif re.fullmatch(r"\d\d:\d\d(?::\d\d(?:\.\d+)?)?", plain):
        return TimeSpan(f"T{plain}", f"T{plain}", plain)
    else:
        found = parse_date(plain) or parse_period(plain)
    if found is None or not found.start:
        return month_day(plain)
    if "T" in found.lexical:
        return TimeSpan(found.lexical, found.lexical, found.lexical)
    return TimeSpan(found.start, f"{found.end}T23:59:59.9", found.lexical)


def month_day(text: str) -> TimeSpan | None:
    """A day of a month without its year, which sorts among such, or None.

    >>> month_day("September 12").start, month_day("Sat, 3 May").lexical
    ('--09-12', '--05-03')
    """
    found = parse_day_of_year(text)
    return TimeSpan(found.lexical, found.lexical, found.lexical) if found else None


@text_cache(65536)
def time_in(text: str) -> TimeSpan | None:
    """The date or period that a text is, or that is in it.

    >>> time_in("31 Dec. 2024").lexical, time_in("year ended 2019").lexical
    ('2024-12-31', '2019')
    """
    found = time_span(text)
    if found is None and (inner := find_period(text)):
        found = time_span(inner)
    return found


def time_datum(span: TimeSpan, text: str = "") -> Datum:
    """A date or period as a value: one day or instant is a date."""
    kind = ValueKind.DATE if span.start[:10] == span.end[:10] else ValueKind.PERIOD
    return Datum(kind, span, text=text)


def duration_seconds(text: str) -> Decimal | None:
    """The seconds of a printed duration such as ``3:45``, ``1:02:03.5`` or ``1h 48m``, or None.

    >>> duration_seconds("1:02:03.5"), duration_seconds("57:45"), duration_seconds("10:99")
    (Decimal('3723.5'), Decimal('3465'), None)
    >>> duration_seconds("1h 48m"), duration_seconds("2 hrs")
    (Decimal('6480'), Decimal('7200'))
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None and (spoken := parse_duration(text)) is not None:
        return span_seconds(spoken)
    if match is None or Decimal(match[3]) >= 60 or (match[1] and int(match[2]) >= 60):
        return None
    return Decimal(match[1] or 0) * 3600 + Decimal(match[2]) * 60 + Decimal(match[3])


def span_seconds(lexical: str) -> Decimal | None:
    """The seconds of an ``xsd:dayTimeDuration``; None for another text.

    >>> span_seconds("PT1H4M20S"), span_seconds("2020-01-01")
    (Decimal('3860'), None)
    """
    parts = _SPAN_PARTS.fullmatch(lexical)
    if parts is None or lexical.endswith("P"):
        return None
    days, hours, minutes, seconds = (Decimal(part or 0) for part in parts.groups())
    span = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    return -span if lexical.startswith("-") else span


@text_cache(16384)
def number_in(text: str, index: int = 1) -> Decimal | None:
    """The number that a text is, or the `index`-th that is in it.

    >>> number_in("$ 1,234"), number_in("4x100 m relay", 2), number_in("1st")
    (Decimal('1234'), Decimal('100'), Decimal('1'))
    """
    if index == 1 and (whole := parse_number(text)) is not None:
        return scaled(whole.value, whole.scale) if abs(whole.value.adjusted()) < LARGEST_EXPONENT else None
    found = _NUMBERS.findall(text[:2000].translate(_PLAIN))
    if not 1 <= index <= len(found):
        return None
    text = found[index - 1].replace(",", "")
    return Decimal(text.removeprefix("-") if index > 1 else text)


def checked(value: Decimal) -> Decimal:
    """The number. Raises `EvaluationError` for one beyond 10**±400, or if it is not a number."""
    if not value.is_finite() or (value and abs(value.adjusted()) > LARGEST_EXPONENT):
        raise EvaluationError(f"A number in the calculation is beyond 10**{LARGEST_EXPONENT}.")
    return value


def key_of(datum: Datum) -> tuple[object, ...]:
    """A key that equal values share: for groups, distinct rows and joins.

    Quantities of one dimension are equal in any unit; a number equals a text that prints it.

    >>> key_of(quantity(1, "M")) == key_of(quantity(100, "CentiM"))
    True
    """
    value = datum.value
    if isinstance(value, bool):
        return ("truth", value)
    if isinstance(value, Decimal):
        if datum.unit in COUNTS:
            return ("number", value)
        return ("quantity", dimension_of(datum.unit), _in_si(value, datum.unit))
    if isinstance(value, TimeSpan):
        return ("number", Decimal(value.year)) if value.year is not None else ("time", value.start, value.end)
    if value.isascii() and value.isalnum():
        return ("number", int(value)) if value.isdecimal() and len(value) < 19 else ("text", value.lower())
    plain = normal(value)
    dotted = datum.kind is ValueKind.ENTITY and "." in plain  # version 1.10 is not version 1.1
    if plain[:1].isdigit() and not dotted and (number := _plain_number(plain)) is not None:
        return ("number", number)
    return ("text", plain)


def sort_key(datum: Datum) -> tuple[int, object, object]:
    """A key that sorts values of one column: numbers by size, dates by start, then texts; entities by number."""
    value = datum.value
    if isinstance(value, bool):
        return (0, int(value), 0)
    if isinstance(value, Decimal):
        return (0, _in_si(value, datum.unit), 0)
    if isinstance(value, TimeSpan):
        return (1, value.start, value.end)
    plain = normal(value)
    number = number_in(plain) if plain[:1].isdigit() and datum.kind is ValueKind.ENTITY else None
    return (2, plain, 0) if number is None else (0, Fraction(number), plain)


def compare(relator: Relator, left: Datum, right: Datum) -> bool:
    """Whether two values compare so. Raises `UnitMismatchError` for quantities that cannot be compared.

    >>> compare(Relator.GREATER, quantity(1, "M"), quantity(12, "IN"))
    True
    """
    if relator in (Relator.CONTAINS, Relator.STARTS, Relator.ENDS):
        within, sought = normal(text_of(left)), normal(text_of(right))
        if relator is Relator.CONTAINS:
            return sought in within
        return within.startswith(sought) if relator is Relator.STARTS else within.endswith(sought)
    pair = aligned(left, right)
    if pair is None:
        same = normal(text_of(left)) == normal(text_of(right))
        return {Relator.EQUAL: same, Relator.NOT_EQUAL: not same}.get(relator, False)
    a, b = pair
    if isinstance(a, TimeSpan) and isinstance(b, TimeSpan):
        return _compare_times(relator, a, b)
    return bool(_RELATIONS[relator](a, b))


def is_wording(datum: Datum) -> bool:
    """Whether a value is a text that does not print a number: it equals the texts with the same `normal` form."""
    return isinstance(datum.value, str) and _plain_number(datum.value) is None


def aligned(left: Datum, right: Datum) -> tuple[object, object] | None:
    """The two values in a common form that compares, or None if they have none but their texts."""
    a, b = left.value, right.value
    if isinstance(a, bool) or isinstance(b, bool):
        known = _truth(left), _truth(right)
        return None if None in known else known
    if isinstance(a, Decimal) and isinstance(b, Decimal):
        return _aligned_numbers(left, right)
    if isinstance(a, TimeSpan) or isinstance(b, TimeSpan):
        times = _time(left, b), _time(right, a)
        return None if None in times else times
    if isinstance(a, Decimal) or isinstance(b, Decimal):
        numbers = _loose_number(left), _loose_number(right)
        return None if None in numbers else numbers
    texts = str(a), str(b)
    if ValueKind.ENTITY in (left.kind, right.kind) and any("." in text for text in texts):
        return normal(texts[0]), normal(texts[1])  # version 1.10 is not version 1.1
    numbers = _plain_number(texts[0]), _plain_number(texts[1])
    return (normal(texts[0]), normal(texts[1])) if None in numbers else numbers


def calculate(sign: Operator, left: Datum, right: Datum) -> Datum:
    """The result of arithmetic on two values.

    Raises `ProgramTypeError`, `UnitMismatchError` or `EvaluationError` (a division by zero, a number
    beyond all bounds).

    >>> calculate(Operator.SUBTRACT, quantity(1, "M"), quantity(12, "IN")).value
    Decimal('0.6952')
    """
    if left.kind in _TIMES or right.kind in _TIMES:
        return _calculate_time(sign, left, right)
    a, b = left.number, right.number
    if a is None or b is None:
        wrong = left if a is None else right
        raise ProgramTypeError(f"Arithmetic needs numbers, and {text_of(wrong)!r} is none.")
    try:
        return _calculate(sign, left, right, a, b)
    except (Overflow, InvalidOperation) as error:
        raise EvaluationError("The calculation gives a number beyond all bounds.") from error


def apply(function: Function, operand: Datum, index: int = 1) -> Datum | None:
    """A function of one value; None if the value has no such part.

    >>> apply(Function.YEAR, Datum(ValueKind.DATE, time_span("2024-03-05"))).value
    Decimal('2024')
    >>> text_of(apply(Function.YEAR_QUARTER, Datum(ValueKind.DATE, time_span("2024-03-05"))))
    '2024-Q1'
    """
    if function in (Function.NEGATE, Function.ABSOLUTE):
        number = operand.number
        if number is None:
            raise ProgramTypeError(f"{function.value.title()} needs a number, and {text_of(operand)!r} is none.")
        return operand._replace(
            value=EXACT.minus(number) if function is Function.NEGATE else EXACT.abs(number), text=""
        )
    if function is Function.NUMBER:
        if index == 1 and operand.number is not None:
            return operand
        if index == 1 and isinstance(operand.value, TimeSpan) and operand.value.year is not None:
            return quantity(operand.value.year)
        number = number_in(text_of(operand), index)
        return None if number is None else quantity(number)
    if function in PARTS_OF_TIME or function in SPANS_OF_TIME or function is Function.WEEKDAY_NAME:
        return _part_of_time(function, operand)
    if function is Function.LENGTH:
        return quantity(len(" ".join(text_of(operand).split())), "NUM")
    if function is Function.TEXT:
        return Datum(ValueKind.TEXT, text_of(operand), text=operand.text)
    if function in (Function.ITEMS, Function.ITEM):
        members = items(text_of(operand))
        if function is Function.ITEMS:
            return quantity(len(members), "NUM")
        return _typed(members[index - 1]) if 1 <= index <= len(members) else None
    if function in (Function.MAIN, Function.ASIDE):
        part = _split(text_of(operand))[function is Function.ASIDE]
        return _typed(part) if part else None
    start, end = _ends(operand)
    if function is Function.START:
        return start
    if function is Function.END:
        return end
    return calculate(Operator.SUBTRACT, end, start) if start and end else None


def items(text: str) -> tuple[str, ...]:
    """The members of a list that a cell prints; the whole text where it is not a list.

    >>> items("Paris, Lyon and Nice"), items("Windows; Mac")
    (('Paris', 'Lyon', 'Nice'), ('Windows', 'Mac'))
    """
    return tuple(part for part in _LIST.split(text.strip()) if part)


def text_of(datum: Datum) -> str:
    """A value as text: as printed where it was, else plainly."""
    if datum.text and not (isinstance(datum.value, TimeSpan) and len(datum.text) == 5 and datum.text.isdecimal()):
        return datum.text  # but a day that a spreadsheet printed as its number is written as a day
    if isinstance(datum.value, bool):
        return "yes" if datum.value else "no"
    if isinstance(datum.value, TimeSpan):
        return datum.value.lexical
    if datum.kind is ValueKind.DURATION and isinstance(datum.value, Decimal):
        return format_duration(datum.value)
    return format_decimal(datum.value) if isinstance(datum.value, Decimal) else datum.value


def format_decimal(value: Decimal) -> str:
    """A number without exponent (below 10**40) and without needless zeros.

    >>> format_decimal(Decimal("1.500")), format_decimal(Decimal("1E+3"))
    ('1.5', '1000')
    """
    if value and abs(value.adjusted()) > 40:
        return str(value)
    text = format(value if value else Decimal(0), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_duration(seconds: Decimal) -> str:
    """Seconds as ``h:mm:ss`` or ``m:ss``.

    >>> format_duration(Decimal("7735")), format_duration(Decimal("65.25"))
    ('2:08:55', '1:05.25')
    """
    whole, rest = divmod(abs(seconds), 60)
    sign = "-" if seconds < 0 else ""
    text = format_decimal(rest)
    text = text if rest >= 10 else f"0{text}"
    hours, minutes = divmod(int(whole), 60)
    return f"{sign}{hours}:{minutes:02d}:{text}" if hours else f"{sign}{minutes}:{text}"


def _calculate(sign: Operator, left: Datum, right: Datum, a: Decimal, b: Decimal) -> Datum:
    kind = ValueKind.QUANTITY
    if sign in (Operator.ADD, Operator.SUBTRACT):
        unit = unit_of_sum(left.unit, right.unit)
        first, second = _to(left, unit), _to(right, unit)
        value = EXACT.add(first, second) if sign is Operator.ADD else EXACT.subtract(first, second)
        if ValueKind.DURATION in (left.kind, right.kind) and unit == "SEC":
            kind = ValueKind.DURATION
        return Datum(kind, checked(value), unit, left.scale if left.scale == right.scale else None)
    if sign is Operator.POWER:
        return _power(left, a, b, right)
    if sign is Operator.MULTIPLY:
        unit, factor = multiply_units(left.unit, right.unit)
        scale = left.scale if right.unit in COUNTS or not right.scale else None
        return Datum(kind, _times(EXACT.multiply(a, b), factor), unit, scale)
    if sign is Operator.PERCENT_CHANGE:
        start, end = _aligned_numbers(left, right)
        if not start:
            raise EvaluationError("A percent change from zero has no value.")
        return Datum(kind, checked(decimal_of((end - start) / start * 100)), "PERCENT")
    if not b:
        raise EvaluationError("The program divides by zero.")
    if sign in (Operator.RATIO, Operator.SHARE):
        above, below = _aligned_numbers(left, right)
        value = decimal_of(above / below * (100 if sign is Operator.SHARE else 1))
        return Datum(kind, checked(value), "PERCENT" if sign is Operator.SHARE else "UNITLESS")
    unit, factor = multiply_units(left.unit, right.unit, -1)
    scale = left.scale if right.unit in COUNTS and not right.scale else None
    if factor == 1:
        return Datum(kind, checked(ROUNDED.divide(a, b)), unit, scale)
    return Datum(kind, checked(decimal_of(Fraction(a) / Fraction(b) * factor)), unit, scale)


def _power(left: Datum, a: Decimal, b: Decimal, right: Datum) -> Datum:
    if right.unit not in COUNTS or (left.unit not in COUNTS and b != b.to_integral_value()):
        raise ProgramTypeError("A power needs a plain number as its exponent, a whole one of a quantity.")
    if abs(b) > LARGEST_EXPONENT or (a and abs(b * a.adjusted()) > LARGEST_EXPONENT + abs(b)):
        raise EvaluationError("The calculation gives a number beyond all bounds.")
    if b == b.to_integral_value():
        if not a and b < 0:
            raise EvaluationError("The program divides by zero.")
        # Of a number with many digits an exact power has too many to be worth their time.
        exact = len(a.as_tuple().digits) * abs(b) <= EXACT.prec
        value = decimal_of(Fraction(a) ** int(b)) if exact else ROUNDED.power(a, b)
    elif a < 0:
        raise EvaluationError("A root of a negative number has no value.")
    else:
        value = Decimal(0) if not a else ROUNDED.power(a, b)
    factors = {name: power * int(b) for name, power in factors_of(left.unit)}
    return Datum(ValueKind.QUANTITY, checked(value), unit_of(factors) if factors else left.unit)


def _calculate_time(sign: Operator, left: Datum, right: Datum) -> Datum:
    a, b = left.value, right.value
    if isinstance(a, TimeSpan) and isinstance(b, TimeSpan) and sign is Operator.SUBTRACT:
        if a.year is not None and b.year is not None:
            return quantity(a.year - b.year, "YR")
        return _between(b, a)
    if isinstance(a, Decimal) and isinstance(b, TimeSpan) and sign is Operator.ADD:
        left, right, a, b = right, left, b, a
    if isinstance(a, TimeSpan) and isinstance(b, Decimal) and sign in (Operator.ADD, Operator.SUBTRACT):
        return _shifted(a, b if sign is Operator.ADD else -b, right.unit)
    raise ProgramTypeError(f"{text_of(left)} and {text_of(right)} are dates: there is only their difference.")


def _between(start: TimeSpan, end: TimeSpan) -> Datum:
    """The days between two dates (their first days), or the seconds between two times of a day."""
    if start.start[0] == "T" or end.start[0] == "T":
        if start.start[0] != end.start[0]:
            raise ProgramTypeError(f"{start.lexical} and {end.lexical}: one is a time of day, one a date.")
        seconds = [_clock_seconds(span.start[1:]) for span in (start, end)]
        return Datum(ValueKind.DURATION, seconds[1] - seconds[0], "SEC")
    if "-" in (start.start[0], end.start[0]):
        raise ProgramTypeError(f"{start.lexical} and {end.lexical}: a day without a year has no distance.")
    first, last = (datetime.date.fromisoformat(span.start[:10]) for span in (start, end))
    if len(start.start) > 10 and len(end.start) > 10:
        seconds = [_clock_seconds(span.start[11:19]) for span in (start, end)]
        return Datum(ValueKind.DURATION, (last - first).days * 86400 + seconds[1] - seconds[0], "SEC")
    return quantity((last - first).days, "DAY")


def _clock_seconds(clock: str) -> Decimal:
    hour, minute, *second = clock.rstrip("Z").split(":")
    return Decimal(hour) * 3600 + Decimal(minute) * 60 + Decimal(second[0] if second else 0)


def _shifted(span: TimeSpan, by: Decimal, unit: str | None) -> Datum:
    """A year moved by years, a day by days."""
    if span.year is not None and (unit in COUNTS or unit == "YR") and by == by.to_integral_value():
        moved = time_span(f"{span.year + int(by):04d}") if 0 < span.year + by < 10000 else None
    elif span.start[:10] == span.end[:10] and comparable(unit, "DAY") and span.start[0] != "T":
        days = convert(by, unit, "DAY")
        try:
            day = datetime.date.fromisoformat(span.start[:10]) + datetime.timedelta(days=int(days))
        except OverflowError as error:
            raise EvaluationError("A date in the calculation is beyond the calendar.") from error
        moved = time_span(day.isoformat())
    else:
        raise ProgramTypeError(f"{span.lexical} cannot be moved by {describe(unit)}.")
    if moved is None:
        raise EvaluationError("A date in the calculation is beyond the calendar.")
    return time_datum(moved)


def _compare_times(relator: Relator, a: TimeSpan, b: TimeSpan) -> bool:
    within = (b.start <= a.start and a.end <= b.end) or (a.start <= b.start and b.end <= a.end)
    match relator:
        case Relator.EQUAL:
            return within
        case Relator.NOT_EQUAL:
            return not within
        case Relator.LESS:
            return a.start < b.start and a.end < b.end
        case Relator.LESS_OR_EQUAL:
            return a.end <= b.end
        case Relator.GREATER:
            return b.start < a.start and b.end < a.end
        case _:
            return a.start >= b.start


def _aligned_numbers(left: Datum, right: Datum) -> tuple[Fraction, Fraction]:
    a, b = left.number or 0, right.number or 0
    if left.unit == right.unit or left.unit in NO_UNIT or right.unit in NO_UNIT:
        return Fraction(a), Fraction(b)
    if not comparable(left.unit, right.unit):
        raise UnitMismatchError(f"{describe(left.unit)} and {describe(right.unit)} cannot be compared.")
    multiplier, addend = conversion(right.unit, left.unit)
    return Fraction(a), Fraction(b) * multiplier + addend


def _in_si(value: Decimal, unit: str | None) -> Fraction:
    return (Fraction(value) + offset_of(unit)) * multiplier_of(unit)


def _to(datum: Datum, unit: str | None) -> Decimal:
    assert isinstance(datum.value, Decimal)
    if not comparable(datum.unit, unit):
        raise UnitMismatchError(f"{describe(datum.unit)} cannot be added to {describe(unit)} or subtracted from it.")
    return convert(datum.value, datum.unit, unit)


def _times(value: Decimal, factor: Fraction) -> Decimal:
    return checked(value if factor == 1 else decimal_of(Fraction(checked(value)) * factor))


def _truth(datum: Datum) -> bool | None:
    return datum.value if isinstance(datum.value, bool) else _TRUTHS.get(normal(text_of(datum)))


def _time(datum: Datum, beside: object = None) -> TimeSpan | None:
    """The time that a value is; ``2010-11`` next to a span of years is two years, else a month."""
    if isinstance(datum.value, TimeSpan):
        return datum.value
    years = _YEARS.fullmatch(text_of(datum)) if isinstance(beside, TimeSpan) and "/" in beside.lexical else None
    if years and int(years[2]) == (int(years[1]) + 1) % 100:
        return time_span(f"{years[1]}/{int(years[1]) + 1}")
    if isinstance(datum.value, Decimal):
        whole = datum.value == datum.value.to_integral_value() and datum.unit in COUNTS
        return time_span(f"{int(datum.value):04d}") if whole and 0 < datum.value < 10000 else None
    return time_span(str(datum.value))


def _loose_number(datum: Datum) -> Decimal | None:
    return datum.number if datum.number is not None else _plain_number(text_of(datum))


@text_cache(65536)
def _plain_number(text: str) -> Decimal | None:
    number = parse_number(text.strip())
    return None if number is None or number.upper is not None else number_in(text.strip())


def _part_of_time(function: Function, operand: Datum) -> Datum | None:
    span = operand.value if isinstance(operand.value, TimeSpan) else time_in(text_of(operand))
    if span is None:
        years = set(_ONE_YEAR.findall(text_of(operand))) if function is Function.YEAR else ()
        year = years.pop() if len(years) == 1 else ""
        return quantity(int(year), text=year) if year else None  # a year has no thousands
    if function is Function.HOUR:
        clock = span.start.partition("T")[2]
        return quantity(int(clock[:2])) if clock else None
    if span.start[0] == "-":
        places = {Function.MONTH: span.start[2:4], Function.DAY: span.start[5:]}
        return quantity(int(places[function])) if function in places else None
    length = {Function.YEAR: 4, Function.MONTH: 7, Function.YEAR_MONTH: 7}.get(function, 10)
    if function is Function.YEAR_QUARTER:
        return _quarter_of(span)
    if span.start[0] == "T" or span.start[:length] != span.end[:length]:
        return None
    if function is Function.YEAR_MONTH:
        month = time_span(span.start[:7])
        return None if month is None else time_datum(month)
    if function in (Function.WEEKDAY, Function.WEEKDAY_NAME):
        day = datetime.date.fromisoformat(span.start[:10]).weekday()
        return quantity(day + 1) if function is Function.WEEKDAY else Datum(ValueKind.TEXT, WEEKDAYS[day])
    number = int(span.start[:length].rpartition("-")[2])
    return quantity(number, text=str(number) if function is Function.YEAR else "")


WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
"""The results of `Function.WEEKDAY_NAME`."""


def _quarter_of(span: TimeSpan) -> Datum | None:
    if span.start[0] == "T" or span.start[:4] != span.end[:4]:
        return None
    first, last = ((int(text[5:7]) + 2) // 3 for text in (span.start, span.end))
    quarter = time_span(f"{span.start[:4]}-Q{first}") if first == last else None
    return None if quarter is None else time_datum(quarter)


def _split(text: str) -> tuple[str, str]:
    """A cell's text, and what is added to it in brackets."""
    match = _ASIDE.fullmatch(text.strip())
    return (match[1], match[2] or match[3] or "") if match else (text.strip(), "")


def _typed(text: str) -> Datum:
    """A part of a cell's text as a value of its own."""
    number = _plain_number(text)
    if number is not None:
        return quantity(number, text=text)
    span = time_span(text)
    return Datum(ValueKind.TEXT, text, text=text) if span is None else time_datum(span, text)


def _ends(operand: Datum) -> tuple[Datum | None, Datum | None]:
    """The two ends of a range or period that a cell prints; a single value is both."""
    parts = [part for part in _RANGE.split(text_of(operand).strip()) if part]
    if len(parts) == 2:
        first, last = map(_typed, parts)
        whole = operand.value if isinstance(operand.value, TimeSpan) else time_span(text_of(operand))
        if whole is not None and whole.start[:4] != whole.end[:4]:
            years = time_span(whole.start[:4]), time_span(whole.end[:4])
            if None not in years and first.kind is not ValueKind.DATE:
                return time_datum(years[0]), time_datum(years[1])  # type: ignore[arg-type]
        return first, last
    return operand, operand
