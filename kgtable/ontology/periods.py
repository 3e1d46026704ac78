"""Whether a header names a point or span of time and nothing else: a year, a quarter, a date."""

from __future__ import annotations

import re
from collections.abc import Sequence

_MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
    "|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec"
)
_ORDINALS = "(?:first|second|third|fourth|1st|2nd|3rd|4th)"
_YEAR = r"(?:1[6-9]|20|21)\d\d"

_SPECIFIC = re.compile(
    rf"""
      (?<!\d)\d{{1,2}}[./-]\d{{1,2}}[./-](?:\d{{4}}|\d\d)(?!\d)       # 12/9/2013, 31.12.13
    | (?<!\d){_YEAR}[./-]\d{{1,2}}(?:[./-]\d{{1,2}})?(?!\d)           # 2013-09-12, 2013-09, 2016/17
    | (?<!\d){_YEAR}\s*[-–—/]\s*(?:{_YEAR}|\d\d)(?!\d)                # 2016–2017
    | (?<!\w){_YEAR}[eafpb]?(?!\w)                                    # 2013, 2024E
    | (?<!\w)(?:fy|cy)\s*[’']?(?:{_YEAR}|\d\d)[eafpb]?(?!\w)          # FY2019, FY19
    | (?<!\w)(?:[1-4]\s?[qh]|[qh]\s?[1-4])(?:\s*[/’'-]?\s*(?:{_YEAR}|\d\d))?(?!\w)
    | (?<!\w)(?:{_ORDINALS}\s+quarter|quarter\s+[1-4])(?!\w)
    | (?<![^\W\d_])(?:{_MONTHS})\s*\.?\s*\d{{1,2}}{_YEAR}(?!\d)  # december 312013, the comma lost
    | (?<![^\W\d_])(?:{_MONTHS})(?![^\W_])
    """,
    re.VERBOSE | re.IGNORECASE,
)
_FILLER = re.compile(
    rf"""(?<!\w)(?:
      years?|fiscal|financial|calendar|ended|ending|ends?|as|of|at|on|in|for|the|from|to|through|thru
    | until|and|vs|period|periods|season|seasons|quarters?|months?|weeks?|days?|half|year-end
    | three|six|nine|twelve|thirteen|fifty-two|{_ORDINALS}|\d{{1,2}}(?:st|nd|rd|th)?
    | notes?|mn|bn|000s?|thousands?|millions?|billions?|us|usd|eur|gbp|rmb|dollars?|euros?
    | restated|unaudited|audited|actual|estimated?|forecast|budget|reported
    )(?!\w)|[\W_]""",
    re.VERBOSE | re.IGNORECASE,
)
_UNIT_ONLY = re.compile(
    r"""[\s(]*(?:in\s+)?(?:(?:us|u\.s\.|rmb|usd|eur|gbp|\W)\s*){0,3}
    (?:in\s+)?(?:m|mn|bn|k|thousands?|millions?|billions?|'?000s?|dollars?|euros?|percent)?[\s).]*""",
    re.VERBOSE | re.IGNORECASE,
)


def is_temporal(path: Sequence[str]) -> bool:
    """Whether a header path says when and nothing more; a unit below the year does not count.

    >>> is_temporal(["Years Ended September 30,", "2019"])
    True
    >>> is_temporal(["2019", "£m"]), is_temporal(["2019", "Revenue"]), is_temporal(["Year"])
    (True, False, False)
    """
    parts = [part for part in path if part.strip() and not _is_unit(part)]
    text = " ".join(parts)
    if len(text) > 200:
        return False
    rest, found = _SPECIFIC.subn(" ", text)
    return found > 0 and not _FILLER.sub("", rest)


def _is_unit(part: str) -> bool:
    return len(part) <= 40 and not part.strip().isdigit() and _UNIT_ONLY.fullmatch(part) is not None
