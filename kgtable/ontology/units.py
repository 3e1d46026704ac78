"""Units as headers, labels and captions phrase them: "in € millions, except per share", "Weight (kg)"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from kgtable.ontology.measures import Measure
from kgtable.ontology.unit_clauses import parse_clause
from kgtable.ontology.unit_symbols import NAMES_NOT_UNITS, may_name_unit
from kgtable.tables.currencies import currency_names
from kgtable.tables.units import Unit, find_unit, units

__all__ = [
    "Unit",
    "UnitPhrase",
    "find_unit",
    "parse_unit_phrase",
    "parse_unit_text",
    "units",
    "without_exception",
]

LONGEST_PHRASE = 160


@dataclass(frozen=True, slots=True)
class UnitPhrase:
    """What a text says of unit and scale; None where it says nothing.

    `unit` is a QUDT local name, `scale` a power of ten. `exceptions` are the measures that the scale
    does not hold for ("except per share"); `share_scale` is the scale of share counts where it is
    given apart ("dollars in millions, shares in thousands").
    """

    unit: str | None = None
    scale: int | None = None
    exceptions: frozenset[Measure] = frozenset()
    share_scale: int | None = None

    @property
    def is_money(self) -> bool:
        """Whether the unit is a currency or open."""
        return self.unit is None or self.unit.startswith("CCY_")


_EXCEPTION = re.compile(
    r"[\s,;(]*\b(?:except(?:ing|ed)?|other than|excluding|unless|but not"
    r"|where applicable)\b(?P<what>.*)",
    re.IGNORECASE | re.DOTALL,
)
_PER_SHARE = re.compile(r"\bper[ -](?:\w+ ){0,2}?(?:shares?|units?|ads|item)\b|per-share", re.IGNORECASE)
_SEGMENTS = re.compile(r"\(([^()]{1,120})\)|\[([^\[\]]{1,120})\]")
_TRAILING_SIGN = re.compile(r"(?<=[\d)] )(?:(?:US|A|C|HK|S|NZ)?[$€£¥]|%)$")
_ABOUT_SHARES = re.compile(
    r"\W*(?:number of )?(?:shares?|units|options)\b(?: amounts?| data| counts?| numbers)?", re.IGNORECASE
)
_CLAUSE_END = re.compile(r",(?!\d{3})|;| and (?=shares?\b|dollars|amounts)", re.IGNORECASE)
_DOLLARS_AND_SHARES = re.compile(r"\b(?:dollars?|amounts?) and shares?\b", re.IGNORECASE)
_MONEY_INSIDE = re.compile(
    r"(?<!\w)(?:US|A|C|HK|S|NZ|NT)?[$€£¥] ?(?:['’‘]?000s?|mm|mn|m|bn|millions?|thousands?|billions?)(?!\w)",
    re.IGNORECASE,
)
_AFTER = re.compile(r"(?:,| in| -| –| —|:)\s+([^,:()]{1,60})$")


@lru_cache(maxsize=16_384)
def parse_unit_phrase(text: str, name: str = "") -> UnitPhrase | None:
    """The unit and scale of a text that is nothing else, or None.

    `name` is what the unit is of (the column's name); it tells apart symbols such as ``m``.

    >>> phrase = parse_unit_phrase("in € millions, except per share")
    >>> phrase.unit, phrase.scale, [measure.value for measure in phrase.exceptions]
    ('CCY_EUR', 6, ['per share'])
    >>> parse_unit_phrase("m", "Height").unit, parse_unit_phrase("£m").scale, parse_unit_phrase("Total")
    ('M', 6, None)
    """
    if len(text) > LONGEST_PHRASE:
        return None
    text = " ".join(text.split())
    exceptions: frozenset[Measure] = frozenset()
    if match := _EXCEPTION.search(text):
        exceptions = _excepted(match["what"])
        text = text[: match.start()]
    found, shares = UnitPhrase(), None
    for clause in _CLAUSE_END.split(text):
        if not clause.strip(" ()[]."):
            continue
        about_shares = _ABOUT_SHARES.match(clause)
        phrase = parse_clause(clause[about_shares.end() :] if about_shares else clause, name)
        if phrase is None:
            return None
        if about_shares:
            shares = phrase.scale
        else:
            found = UnitPhrase(
                found.unit or phrase.unit, phrase.scale if found.scale is None else found.scale
            )
    if found == UnitPhrase() and shares is None:
        return None
    if found.scale is None and shares is not None and _DOLLARS_AND_SHARES.search(text):
        found = UnitPhrase(found.unit, shares)
    return UnitPhrase(found.unit, found.scale, exceptions, shares)


@lru_cache(maxsize=16_384)
def parse_unit_text(text: str) -> UnitPhrase | None:
    """The unit and scale named within a header or label: whole, in parentheses, after a comma or "in".

    >>> parse_unit_text("Weight (kg)").unit, parse_unit_text("Revenue, $m").scale
    ('KiloGM', 6)
    >>> parse_unit_text("Wins (W)") is None
    True
    """
    if len(text) > 2 * LONGEST_PHRASE or not may_name_unit(text):
        return None
    text = " ".join(text.split())
    if not _names_a_column(text) and (phrase := parse_unit_phrase(text)):
        return phrase
    outside = _SEGMENTS.sub(" ", text)
    for match in reversed(list(_SEGMENTS.finditer(text))):
        if phrase := parse_unit_phrase(match[1] or match[2], outside):
            return phrase
    if phrase := _trailing_money(outside):
        return phrase
    if inside := _MONEY_INSIDE.search(outside):
        return parse_unit_phrase(inside[0])
    after = _AFTER.search(outside.strip())
    return parse_unit_phrase(after[1], outside[: after.start()]) if after else None


def _names_a_column(text: str) -> bool:
    """Whether the whole of a header, though it could be a unit, is likelier a name: "Year", "GB", "M"."""
    bare = text.strip(" .")
    if bare.lower() in NAMES_NOT_UNITS or bare == "k":
        return True
    return len(bare) <= 3 and bare.isalpha() and bare.isupper() and bare not in currency_names()


def without_exception(text: str) -> str:
    """The text without "except …" and what follows, which names what its unit does not hold for.

    >>> without_exception("(in thousands, except percentages)")
    '(in thousands'
    """
    return _EXCEPTION.sub("", text)


def _trailing_money(text: str) -> UnitPhrase | None:
    """A currency with its scale at the end of a header: ``2019 £m``, ``Assets RMB’Million``."""
    if match := _TRAILING_SIGN.search(text):
        return parse_unit_phrase(match[0])
    words = text.split()
    for count in (1, 2):
        if len(words) > count:
            phrase = parse_unit_phrase(" ".join(words[-count:]))
            if (
                phrase is not None
                and phrase.unit is not None
                and phrase.is_money
                and phrase.scale is not None
            ):
                return phrase
    return None


def _excepted(what: str) -> frozenset[Measure]:
    """The measures that "except …" names; with none known, per-share values (the usual sense)."""
    rest, per_share = _PER_SHARE.subn(" ", what)
    lowered = rest.lower()
    found = {Measure.PER_SHARE} if per_share else set()
    if re.search(r"\b(?:shares?|options|units|stock)\b", lowered):
        found.add(Measure.SHARES)
    if re.search(r"percent|%|\brates?\b|\bratios?\b", lowered):
        found |= {Measure.PERCENT, Measure.RATIO}
    if re.search(r"employee|headcount|number|count|statistic|store|customer|operating data", lowered):
        found.add(Measure.COUNT)
    return frozenset(found)
