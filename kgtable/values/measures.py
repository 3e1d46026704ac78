"""The kind of quantity in a row or column, by its name: money has a scale, a percentage has none.

The words for them are in `ontologies/lexicon.csv`: those that name a measure anywhere in a name, at its end, or
alone (along with some others), and those that rule one out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from typing import Final

from kgtable.values.lexicon import ANY, Found, senses, vocabulary, words_of
from kgtable.values.text import text_cache
from kgtable.values.units import find_header_unit, find_unit, quantity_kind


class Measure(StrEnum):
    """Kinds of values for which a table's own scale or currency does not hold; the first that applies counts."""

    PERCENT = "percent"
    DURATION = "duration"
    RATIO = "ratio"
    PER_SHARE = "per share"
    SHARES = "shares"
    COUNT = "count"
    RATE = "rate"
    ORDINAL = "ordinal"
    YEAR = "year"
    EXCHANGE = "exchange rate"


_WHERE: Final = ("{}", "{} at start", "{} at end", "{} alone", "beside {}", "no {}")
_FORMS: Final = {measure: tuple(form.format(measure) for form in _WHERE) for measure in Measure}
_NUMBERING, _SHARE, _HELD, _TIMES = "numbering", "share", "held", "ratio unit"
_SENSES: Final = frozenset(sense for forms in _FORMS.values() for sense in forms) | {_NUMBERING, _SHARE, _HELD, _TIMES}
_TELLING: Final = frozenset(sense for forms in _FORMS.values() for sense in forms[:4]) | {_SHARE, _TIMES}
_TRAILING = re.compile(r"(?:\([^()]*\)|\[[^\[\]]*\]|[*†‡¹²³:])$")
_UNIT_AT_END = re.compile(r"(?:\(\s?(?:in )?|,? in )([^\W\d_]+\.?)\s*\)?$", re.IGNORECASE)
_PRICED = re.compile(r"[\w¢€$£]\s*/\s*\w|\bper\b(?! ?cent)", re.IGNORECASE)
"""A unit in brackets that makes a price of a rate: "Rate (cent/word)"."""
_YEAR = re.compile(r"(?:19|20)\d\d")


@text_cache(32_768)
def find_measure(name: str) -> Measure | None:
    """The measure that the name of a row, column or group states, or None: most likely an amount.

    >>> find_measure("Number of employees").value, find_measure("Diluted EPS").value
    ('count', 'per share')
    >>> find_measure("Revenue") is find_measure("Yield (t)") is None
    True
    """
    words = words_of(name)
    telling = vocabulary(_TELLING, ANY)
    if all(word not in telling and word.removesuffix("s") not in telling for word in words):
        return None
    bare = name.rstrip()
    while (shorter := _TRAILING.sub("", bare).rstrip()) and shorter != bare:
        bare = shorter
    found, end = senses(name, _SENSES, ANY), len(words_of(bare))
    return next((measure for measure in Measure if _states(measure, name, words, found, end)), None)


def _states(measure: Measure, name: str, words: tuple[str, ...], found: Sequence[Found], end: int) -> bool:
    """Whether the terms `found` among the `words` of a name, `end` of which precede brackets, name a measure."""
    anywhere, at_start, at_end, alone, beside, against = _FORMS[measure]
    told = {one.sense for one in found}
    if against in told or (measure is Measure.ORDINAL and name.casefold() == "no"):  # an answer
        return False
    if measure is Measure.RATIO and any(one.sense == _TIMES and end <= one.first == len(words) - 1 for one in found):
        return True
    unit = find_header_unit(match[1]) if (match := _UNIT_AT_END.search(name)) else None
    if measure is Measure.DURATION and match and len(match[1]) > 1 and quantity_kind(unit) == "Time":
        return True
    if measure is Measure.RATE and ((unit and unit != "PERCENT") or _PRICED.search(name.partition("(")[2])):
        return False
    if measure is Measure.SHARES and "$" not in name and _counts_shares(found):
        return True
    if any(one.sense == anywhere and not _is_quantity(name, words, one.first) for one in found):
        return True
    if any((one.sense == at_start and not one.first) or (one.sense == at_end and one.last == end - 1) for one in found):
        return True
    if alone not in told:
        return False
    covered = {at for one in found if one.sense in (alone, beside) for at in range(one.first, one.last + 1)}
    return covered >= set(range(end))


def _is_quantity(name: str, words: Sequence[str], at: int) -> bool:
    """Whether a word belongs to a figure before it that is not a year: "5.25% senior notes"."""
    before = words[at - 1] if at else ""
    if not before[-1:].isdigit() or _YEAR.fullmatch(before):
        return False
    return re.search(rf"{before}\s?[^\W\d_]|{before} ?[%‰]", name, re.IGNORECASE) is not None


def _counts_shares(found: Sequence[Found]) -> bool:
    """Whether a name numbers shares, or says what is held of them: "total shares", "shares outstanding"."""
    shares = [one.first for one in found if one.sense == _SHARE]
    numbered = min((one.first for one in found if one.sense == _NUMBERING), default=None)
    held = max((one.first for one in found if one.sense == _HELD), default=None)
    return any((numbered is not None and numbered < at) or (held is not None and at < held) for at in shares)


_EXCEPTED: Final = {
    "per share": {Measure.PER_SHARE},
    "excepted shares": {Measure.SHARES},
    "percent": {Measure.PERCENT, Measure.RATIO},
    "excepted percent": {Measure.PERCENT, Measure.RATIO},
    "excepted count": {Measure.COUNT},
}


def measures_in(text: str) -> frozenset[Measure]:
    """The measures that a text names as exceptions: "except share and per share data".

    >>> sorted(measures_in("share and per share data"))
    [<Measure.PER_SHARE: 'per share'>, <Measure.SHARES: 'shares'>]
    """
    return frozenset(measure for one in senses(text, frozenset(_EXCEPTED), ANY) for measure in _EXCEPTED[one.sense])


@text_cache(8_192)
def duration_unit(name: str) -> str | None:
    """The unit of time that a name states: ``Remaining term (years)`` → ``YR``.

    >>> duration_unit("Weighted average remaining lease term (years)"), duration_unit("Useful life")
    ('YR', None)
    """
    found = (find_header_unit(word) for word in reversed(words_of(name)) if len(word) > 1)
    of_age = senses(name, frozenset({_FORMS[Measure.DURATION][2]}), ANY)
    return next((unit for unit in found if quantity_kind(unit) == "Time"), "YR" if of_age else None)


@cache
def _denominators() -> re.Pattern[str]:
    per, share = (sorted(vocabulary(frozenset({sense}), ANY)) for sense in ("per", "kind of share"))
    return re.compile(
        rf"\b(?P<per>{'|'.join(per)}|{'|'.join(map(str.capitalize, per))})[\s-](?:(?i:{'|'.join(share)})[\s-])*"
        r"(?P<of>[^\W\d_]+[²³]?)(?: (?P<more>[^\W\d_]+))?"
    )


@text_cache(8_192)
def denominator(name: str) -> str | None:
    """The denominator of a value, other than a span of time: ``Earnings per share`` → ``share``.

    >>> denominator("Earnings per common share"), denominator("EPS"), denominator("Revenue")
    ('share', 'share', None)
    >>> denominator("Preis je kWh"), denominator("Pro forma result")
    ('kWh', None)
    """
    name = name.replace("_", " ")
    for match in _denominators().finditer(name):
        of = match["of"]
        if find_unit(both := f"{of} {match['more']}".lower()):
            return both
        if senses(of, _NO_DENOMINATOR, ANY) or (match["per"].lower() != "per" and not _is_noun(match)):
            continue
        is_cased = match["per"].lower() != "per" or (find_header_unit(of) and not find_header_unit(of.lower()))
        plain = of if is_cased else of.lower()
        return plain.removesuffix("s") if plain == "shares" else plain
    return "share" if find_measure(name) is Measure.PER_SHARE else None


def _is_noun(match: re.Match[str]) -> bool:
    """Whether a unit, or a word with a capital as German nouns have, follows a word that also has other senses."""
    return match["per"].islower() and (match["of"].istitle() or find_header_unit(match["of"]) is not None)


_NO_DENOMINATOR: Final = frozenset({"no denominator"})
