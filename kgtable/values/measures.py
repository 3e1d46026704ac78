"""The kind of quantity in a row or column, by its name: money has a scale, a percentage has none."""

from __future__ import annotations

import re
from enum import StrEnum

from kgtable.values.text import text_cache

LONGEST_NAME = 300


class Measure(StrEnum):
    """Kinds of values for which a table's own scale or currency does not hold as it stands."""

    PERCENT = "percent"
    RATE = "rate"
    PER_SHARE = "per share"
    SHARES = "shares"
    COUNT = "count"
    RATIO = "ratio"
    DURATION = "duration"
    YEAR = "year"
    ORDINAL = "ordinal"
    EXCHANGE = "exchange rate"


_PERCENT = re.compile(
    r"(?<![\d.,])(?<!\d )%|(?<=\b(?:19|20)\d\d)%|(?<=\b(?:19|20)\d\d )%|(?<!\d )\b(?:per ?cent(?:ages?|s)?|pct\.?"
    r"|percentage points?)\b(?! of \w+ owned)",
    re.IGNORECASE,
)
_RATE = re.compile(
    r"(?:.*\b(?:effective|statutory|discount|interest|tax|growth|inflation|coupon|unemployment"
    r"|retention|vacancy|occupancy"
    r"|mortality|risk[- ]free|borrowing|churn|utili[sz]ation|participation|response|increase|average"
    r"|salary|income)\b.*)?\brates?"
    r"(?: of (?:return|increase|inflation|salary|compensation)\b.*)?"
    r"|.*\brates? of (?:return|increase|inflation|compensation|salary|future|pension)\b.*"
    r"|(?:expected |weighted[- ]average |average |estimated |share price "
    r"|stock price )*(?:dividend yield|volatility|yield)"
    r"|(?:expected )?(?:return on (?:plan )?assets|return on equity|return on (?:average )?\w+)",
    re.IGNORECASE,
)
_HARVEST = re.compile(r"yields?", re.IGNORECASE)
"""A rate by itself, and with a unit behind it what a field gives: "Yield (t)"."""
_RATIO_UNIT = re.compile(r"[\w¢€$£]\s*/\s*\w|\bper\b(?! ?cent)", re.IGNORECASE)
"""A unit in brackets that makes a price of a rate: "Rate (cent/word)"."""
_NO_RATE = re.compile(
    r"\b(?:at|from|due|effect|impact|changes?|difference|differential|exchange|hourly|daily|swaps?"
    r"|provision|day)\b",
    re.IGNORECASE,
)
_PER_SHARE = re.compile(
    r"(?:\b|(?<=amount)|(?<=income)|(?<=price)|(?<=value)|(?<=paid))per[ -]"
    r"(?:(?:common|ordinary|diluted|basic|adjusted|equity|preferred|limited|partner"
    r"|partnership|class [abc]|american|depositary|average)[ -])*"
    r"(?:shares?|units?|ads|adss?|stapled security|security)\b|\beps\b|\bper-share\b"
    r"|\b(?:exercise|strike|share|stock|closing|conversion|subscription|issue|market) prices?\b"
    r"|\baverage (?:grant[- ]date )?(?:fair value|price)s?\b|\bweighted[- ]average.*\bfair values?\b"
    r"|\bprice (?:paid|range)\b",
    re.IGNORECASE,
)
_FOR_PER_SHARE = re.compile(
    r"\bfor (?:(?:basic|diluted|and|or) )+(?:eps|(?:net )?(?:earnings|income|loss) per (?:common )?share)\b.*",
    re.IGNORECASE,
)
"""What an amount or a number of shares is used for: "net earnings for diluted EPS" is none per share."""
_NO_PER_SHARE = re.compile(
    r"\b(?:total|aggregate|intrinsic|proceeds|expense|number of|shares used|numerator|denominator|computing"
    r"|calculation)\b",
    re.IGNORECASE,
)
_SHARES = re.compile(
    r"(?:total |number of |average |approximate |maximum )+(?:\w+[ -]){0,4}?(?:shares|stock options"
    r"|options|warrants|rsus|psus|adss?|(?:stock |restricted |share |performance )*units|awards)\b.*"
    r"|(?:\w+[ -]){0,5}?weighted[- ]average (?:number of )?(?:\w+[ ,-]+){0,6}?(?:shares|units|stock"
    r"|options)\b(?!.*(?:price|value)).*"
    r"|(?:\w+[ ,-]+){0,6}?shares (?:outstanding|used|authori[sz]ed|issued|in issue|granted"
    r"|repurchased|purchased|vested|forfeited|held|available|underlying)\b(?!.*(?:price|value|cost)).*"
    r"|(?:(?:common|ordinary|preferred|treasury|diluted|dilutive|basic|restricted|participating|vested"
    r"|unvested|class [abc]|of) )*(?:shares"
    r"|stock options|options|rsus|psus|restricted stock units|stock awards|share awards)(?: data)?"
    r"(?:,? (?:at|as of) (?:the )?(?:beginning|start|end|close|year|period|\d).*)?"
    r"|denominator.*",
    re.IGNORECASE,
)
_NO_SHARES = re.compile(
    r"\$|€|£|\b(?:price|value|capital|premium|expense|compensation|proceeds|cost|costs|dividends?"
    r"|amount)\b",
    re.IGNORECASE,
)
_COUNTED = """
employees workforce staff headcount stores restaurants locations customers subscribers members vehicles
properties hotels rooms branches offices countries people persons inhabitants population vessels aircraft
households students votes seats attendance spectators goals games matches wins losses draws appearances caps
medals gold silver bronze episodes laps starts podiums poles passengers deaths births floors storeys stories
fte ftes mitarbeiter mitarbeitende beschäftigte einwohner bevölkerung anzahl effectif effectifs habitants salariés
empleados habitantes dipendenti abitanti
"""
_COUNTED_WORDS = frozenset(_COUNTED.split())
_COUNT = re.compile(
    r"(?:number|no\.?|nos\.|#|count) of\b.*|numbers?|quantity|qty\.?|head ?counts?"
    r"|(?:total |average |full[- ]time |part[- ]time |permanent |active |paid |other |group )*"
    rf"(?:{'|'.join(_COUNTED.split())})(?: played)?",
    re.IGNORECASE,
)
_RATIO = re.compile(
    r"\bratios?\b|\bbook[- ]to[- ]bill\b|\((?:x|times)\)|\bmultiples?\b|\binterest cover(?:age)?\b"
    r"|\bturnover \(times\)",
    re.IGNORECASE,
)
_NO_RATIO = re.compile(r"\b(?:capital for|adjusted for)\b", re.IGNORECASE)
_DURATION = re.compile(
    r"\(\s?(?:in )?(?:years?|yrs?\.?|months?|days|hours|weeks)\s?\)|,? in (?:years|months|days)$"
    r"|\b(?:remaining|expected|useful|contractual|vesting|lease|average)\b.*\b(?:life|lives|term"
    r"|terms|maturity)\b(?!.*(?:liabilit|debt|insurance|assets|loan|note))"
    r"|\bdays(?: of)? (?:sales|inventory|payable|outstanding|working)\b|\bduration of\b",
    re.IGNORECASE,
)
_AGE = re.compile(r"(?:\w+[ _])?(?:age|alter|edad|età|leeftijd|idade)(?:[ _]at .*)?", re.IGNORECASE)
_ORDINAL = re.compile(r"#|№|rank(?:ing)?|rk\.?|seed", re.IGNORECASE)
_YEAR = re.compile(r"(?:fiscal |financial |calendar |tax )?year(?: of expiry)?", re.IGNORECASE)
_LIKELY = re.compile(
    r"%|cent|pct|#|№|\brank|\brk|\bseed|\brat|year|yield|volatil|return|\bper\b|\beps\b|price|fair value|share|option|unit|award"  # noqa: E501
    r"|warrant|weighted|[rp]su|\bads|denominator|number|\bnos?\b|\bcount|quantity|qty|multiple|times|\(x\)|book|cover"
    r"|month|days|hours|weeks|age|alter|edad|età|leeftijd|idade|\blife|lives|\bterm|maturity|duration",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+")
_TRAILING = re.compile(r"\s*(?:\((?!x\)|times\)|%\))[^()]*\)|\[[^\[\]]*\]|[*†‡¹²³:])\s*$")
_UNITS_OF_TIME = (
    ("year", "YR"),
    ("yr", "YR"),
    ("month", "MO"),
    ("day", "DAY"),
    ("week", "WK"),
    ("hour", "HR"),
)
_DENOMINATOR = re.compile(
    r"\bper[ -](?:(?:common|ordinary|diluted|basic|adjusted|equity|preferred) )*([a-z]+[²³]?(?: foot"
    r"| metre| meter| mile| ton| ounce)?)|\b(?:je|pro) (m[²³23]|[kMG]Wh|kg|km|Tonne|Liter|Stück|Nacht)(?!\w)",
    re.IGNORECASE,
)
_SYMBOL = re.compile(r"[kMGT]Wh?|[kMG]J")
_NO_DENOMINATOR = frozenset(
    [
        "cent",
        "year",
        "annum",
        "day",
        "week",
        "month",
        "quarter",
        "game",
        "match",
        "the",
        "capita",
        "season",
        "hour",
        "centage",
    ]
)


@text_cache(32_768)
def find_measure(name: str) -> Measure | None:
    """The measure that the name of a row, column or group states, or None: most likely an amount.

    >>> find_measure("Number of employees").value, find_measure("Diluted EPS").value
    ('count', 'per share')
    >>> find_measure("Revenue") is find_measure("Yield (t)") is None
    True
    """
    if len(name) > LONGEST_NAME or not (
        _LIKELY.search(name) or not _COUNTED_WORDS.isdisjoint(_WORD.findall(name.lower()))
    ):
        return None
    name = " ".join((name if " " in name else name.replace("_", " ")).split())
    name = _FOR_PER_SHARE.sub("", name).rstrip()
    bare = name
    while shorter := _TRAILING.sub("", bare):
        if shorter == bare:
            break
        bare = shorter
    if _PERCENT.search(name):
        return Measure.PERCENT
    if _DURATION.search(name) or _AGE.fullmatch(name):
        return Measure.DURATION
    if _RATIO.search(name) and not _NO_RATIO.search(name):
        return Measure.RATIO
    if _PER_SHARE.search(name) and not _NO_PER_SHARE.search(name):
        return Measure.PER_SHARE
    if _SHARES.fullmatch(bare) and not _NO_SHARES.search(name):
        return Measure.SHARES
    if _COUNT.fullmatch(bare):
        return Measure.COUNT
    bracket = name if bare != name else ""
    no_rate = _NO_RATE.search(name) or _RATIO_UNIT.search(bracket) or (bracket and _HARVEST.fullmatch(bare))
    if _RATE.fullmatch(bare) and not no_rate:
        return Measure.RATE
    if _ORDINAL.fullmatch(bare):
        return Measure.ORDINAL
    return Measure.YEAR if _YEAR.fullmatch(bare) else None


@text_cache(8_192)
def duration_unit(name: str) -> str | None:
    """The unit of time that a name states: ``Remaining term (years)`` → ``YR``.

    >>> duration_unit("Weighted average remaining lease term (years)"), duration_unit("Useful life")
    ('YR', None)
    """
    lowered = name.lower()
    if _AGE.fullmatch(name):
        return "YR"
    return next((unit for word, unit in _UNITS_OF_TIME if re.search(rf"\b{word}s?\b", lowered)), None)


@text_cache(8_192)
def denominator(name: str) -> str | None:
    """The denominator of a value, other than a span of time: ``Earnings per share`` → ``share``.

    >>> denominator("Earnings per common share"), denominator("EPS"), denominator("Revenue")
    ('share', 'share', None)
    """
    name = _FOR_PER_SHARE.sub("", name if " " in name else name.replace("_", " "))
    lowered = name.lower()
    if ("per" in lowered or "je " in lowered or "pro " in lowered) and (match := _DENOMINATOR.search(name)):
        if match[2]:
            return match[2]
        if _SYMBOL.fullmatch(match[1]):
            return match[1]
        word = match[1].lower()
        return None if word in _NO_DENOMINATOR else word.removesuffix("s") if word == "shares" else word
    return "share" if find_measure(name) is Measure.PER_SHARE else None
