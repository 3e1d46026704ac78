"""What the texts around a table say of its unit and scale: "(in millions, except per share data)"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kgtable.ontology.measures import Measure, find_measure
from kgtable.ontology.units import UnitPhrase, parse_unit_phrase, parse_unit_text, without_exception
from kgtable.tables.currencies import SIGNS, currency_unit
from kgtable.tables.model import Context

LONGEST_TEXT = 20_000
"""Of each text around a table only this many characters are looked at."""

_CURRENCY = (
    r"(?:US ?\$|A\$|C\$|HK\$|[$€£¥₹]|USD|EUR|GBP|RMB|U\.?S\.? dollars?|dollars?|euros?|pounds(?: sterling)?"
    r"|sterling|yen)"
)
_SCALE = r"(?:hundreds|thousands|millions|billions|trillions|crores?|lakhs?)"
_PROSE = re.compile(
    rf"(?:\b(?:{_CURRENCY}|amounts?|figures|shares)(?: amounts?| values?| and shares?)? )?"
    r"(?:are |is |were |all )*(?:expressed |stated |presented |reported |shown |denominated |rounded )*"
    rf"\b(?:in|to the nearest) (?:{_CURRENCY} ?)?(?:{_SCALE}|thousand|million)"
    r"(?:\s+of\s+(?:U\.S\. |US |Canadian )?(?:dollars|euros?|pounds|RMB|yen|[$€£]))?\b"
    rf"(?:[,;]? ?(?:shares in {_SCALE}"
    r"|(?:and |\()?(?:except|other than|unless otherwise|excluding)[^.()]{0,100}))?",
    re.IGNORECASE,
)
_SCALES = frozenset({3, 5, 6, 7, 9, 12})
_BRACKETED = re.compile(r"\(([^()]{2,120})\)")
_PERCENT_TABLE = re.compile(
    r"\bas a percentage of\b|\bpercentages? of (?:total|net|our|revenue|sales)|\bexpressed (?:as|in) percent",
    re.IGNORECASE,
)
_SIGN = re.compile(r"(?:US|A|C|HK|NZ|S|R)?\$(?=\s?\d)|[€£¥₹](?=\s?\d)|(?:RMB|EUR|USD|CHF|GBP)(?=\s?\d)")


@dataclass(frozen=True, slots=True)
class Stated:
    """A unit phrase, where it was found, and what it says that the whole table measures."""

    phrase: UnitPhrase
    source: str
    measure: Measure | None = None

    @property
    def is_percent(self) -> bool:
        """Whether the whole table is said to be in percent."""
        return self.measure is Measure.PERCENT


def table_statements(context: Context, corner: str, titles: Iterable[str]) -> tuple[Stated, ...]:
    """What is stated for the table as a whole, the most specific source first."""
    found = list(_from_names((corner,), "corner"))
    found += _from_names(titles, "corner")
    found += _from_names((context.caption,), "caption")
    found += _from_names((context.title,), "title")
    found += _from_names(reversed(context.heading), "heading")
    found += _from_prose(reversed(context.before), "text before")
    found += _from_prose(context.after, "text after")
    found += _from_prose(context.paragraphs, "paragraph")
    return tuple(found)


def currency_of_texts(context: Context) -> str | None:
    """The one currency in which the texts around a table print amounts, or None."""
    found = {
        currency_unit(SIGNS.get(match[0], match[0]))
        for text in context.texts()
        for match in _SIGN.finditer(text[:LONGEST_TEXT])
    }
    return found.pop() if len(found) == 1 else None


def _from_names(texts: Iterable[str], source: str) -> Iterator[Stated]:
    for text in texts:
        if not text or len(text) > LONGEST_TEXT:
            continue
        phrase, measure = parse_unit_text(text), None
        if source in {"corner", "caption"}:
            measure = find_measure(without_exception(text))
        if (phrase is not None and phrase.unit == "PERCENT") or measure is Measure.PERCENT:
            yield Stated(UnitPhrase("PERCENT", 0), source, Measure.PERCENT)
        elif phrase is not None:
            counts = source == "corner" and measure in {Measure.SHARES, Measure.COUNT}
            yield Stated(phrase, source, measure if counts else None)
        elif _PERCENT_TABLE.search(text):
            yield Stated(UnitPhrase("PERCENT", 0), source, Measure.PERCENT)
        else:
            yield from _from_prose((text,), source)


def _from_prose(texts: Iterable[str], source: str) -> Iterator[Stated]:
    """Phrases inside sentences: only in the set forms of reports, never a mere amount ("$5 million")."""
    for text in texts:
        text = text[:LONGEST_TEXT]
        phrase = parse_unit_phrase(text.strip())
        if phrase is not None and phrase.scale in _SCALES:
            yield Stated(phrase, source)
            continue
        for match in _BRACKETED.finditer(text):
            phrase = parse_unit_phrase(match[1])
            if phrase is not None and (phrase.scale in _SCALES or phrase.share_scale in _SCALES):
                yield Stated(phrase, source)
        for match in _PROSE.finditer(text):
            phrase = parse_unit_phrase(match[0].strip(" ()"))
            if phrase is not None and phrase.scale:
                yield Stated(phrase, source)
