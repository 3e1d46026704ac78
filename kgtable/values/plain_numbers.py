"""Simple numbers by the hundred: what the numbers of a column have in common is read once, from their shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kgtable.values.numbers import read_simple
from kgtable.values.text import text_cache

_SHAPES = str.maketrans("12345678", "99999999")
_DECORATION = str.maketrans("", "", "$()% -")


class NumberShape(NamedTuple):
    """What simple numbers have in common that differ in nothing but which of the digits 1 to 9 they print.

    `digits` are those of the shape, with a point; `places` those after it, `zeros` the insignificant ones at the end.
    `is_grouped`: commas part the digits. `is_decorated`: there is more than digits, commas and a point.
    """

    negative: bool
    zero: bool
    unit: str | None
    digits: str
    places: int
    zeros: int
    is_grouped: bool
    is_decorated: bool


def shapes_of(texts: Sequence[str]) -> list[str]:
    """The shape of each text, which has 9 for each digit from 1 to 9.

    >>> shapes_of(["$ 1,204.50", "-17"])
    ['$ 9,909.90', '-99']
    """
    joined = "\n".join(texts)
    shapes = joined.translate(_SHAPES).split("\n") if joined.isascii() else []
    return shapes if len(shapes) == len(texts) else [text.translate(_SHAPES) for text in texts]


@text_cache(4096)
def read_shape(shape: str) -> NumberShape | None:
    """The shape of simple numbers; None if the texts of a shape are not simple numbers.

    >>> read_shape("-9.90").zeros, read_shape("09")
    (1, None)
    """
    simple = read_simple(shape)
    if simple is None:
        return None
    digits = simple.digits
    places = len(digits.partition(".")[2])
    zeros = min(len(digits) - len(digits.rstrip("0")), places - 1) if places else 0
    zero, is_grouped = not digits.strip("0."), digits != simple.printed
    return NumberShape(simple.negative, zero, simple.unit, digits, places, zeros, is_grouped, simple.printed != shape)


class _Way(NamedTuple):
    """How numbers of a shape are written: note, sign, and the value as a minus, the digits from `start` to `end`, and a
    tail. Where the value is times ten to a power, the digits have no point."""

    note: str
    sign: str
    minus: str
    start: int | None
    end: int | None
    tail: str


@text_cache(4096)
def _way(shape: str, power: int) -> _Way:
    number = read_shape(shape)
    assert number is not None
    if number.zero:
        return _Way("ZERO", "", "", None, 0, "0.0")
    note, sign, minus = ("NEGATIVE", "-", "-") if number.negative else ("POSITIVE", "+", "")
    if not power:
        return _Way(note, sign, minus, None, -number.zeros or None, "" if number.places else ".0")
    if number.places > power:
        return _Way(note, sign, "", None, 0, "")
    digits = number.digits.replace(".", "")
    return _Way(note, sign, minus, digits.index("9"), None, "0" * (power - number.places) + ".0")


def number_texts(texts: Sequence[str], shapes: Sequence[str], power: int = 0) -> list[Sequence[str]]:
    """Simple numbers of these shapes: their values times ten to `power`, notes, signed strings, and the texts.

    A value is a decimal with a point, and the empty text where the power leaves digits after the point.

    >>> number_texts(["1,200.50", "-3", "0"], shapes_of(["1,200.50", "-3", "0"]), 3)[:2]
    [['1200500.0', '-3000.0', '0.0'], ['POSITIVE', 'NEGATIVE', 'ZERO']]
    """
    kinds = set(shapes)
    known = list(filter(None, map(read_shape, kinds)))
    ways = {shape: _way(shape, power) for shape in kinds}
    printed = digits = texts
    if any(number.is_decorated for number in known):
        printed = digits = "\n".join(texts).translate(_DECORATION).split("\n")
    if any(number.is_grouped for number in known):
        digits = "\n".join(printed).replace(",", "").split("\n")
    if power:
        digits = "\n".join(digits).replace(".", "").split("\n")
    of = list(map(ways.__getitem__, shapes))
    values = [f"{way[2]}{plain[way[3] : way[4]]}{way[5]}" for plain, way in zip(digits, of, strict=True)]
    signs = {way.sign for way in ways.values()}
    if len(signs) == 1:
        sign = signs.pop()
        return [values, [of[0].note] * len(texts), [sign + plain for plain in printed], texts]
    signed = [f"{way[1]}{plain}" for way, plain in zip(of, printed, strict=True)]
    return [values, [way[0] for way in of], signed, texts]
