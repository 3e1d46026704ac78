"""Units and scales that texts state: clauses, phrases, and phrases in headers: "in € millions", "Weight (kg)"."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

from kgtable.values.lexicon import printed_terms
from kgtable.values.measures import Measure, measures_in
from kgtable.values.text import text_cache, without_marks
from kgtable.values.units import (
    BASIS_POINTS,
    CENTS,
    COMMON_CODES,
    COMMON_WORDS,
    ENGLISH_WORDS,
    KRONER,
    NAMES_NOT_UNITS,
    NOT_AT_END,
    PLAIN_SCALES,
    SCALE_WORDS,
    WORDS,
    converted_unit,
    currency_names,
    currency_unit,
    find_header_unit,
    find_unit,
    fuel_unit,
    is_currency_pair,
    is_supported,
    may_name_unit,
    needs_support,
    symbols_in_lower_case,
    unit_of_symbol,
    units,
)

LONGEST_PHRASE: Final = 160
LONGEST_SYMBOL: Final = 12
_BESIDE_A_UNIT: Final = frozenset(printed_terms("beside a unit"))
_SCALES_OF_LETTERS: Final = {letters: int(power) for letters, power in printed_terms("letters beside money ").items()}
_SCALE_BESIDE_MORE: Final = frozenset(printed_terms("scale beside more only"))
_SCALES_ALONE: Final = frozenset(printed_terms("scale alone"))
_SCALED_SYMBOLS: Final = frozenset(printed_terms("symbol beside figures"))
_WITHOUT_UNIT: Final = frozenset(printed_terms("unit not in QUDT"))


class Clause(NamedTuple):
    """A unit (QUDT local name) and a power of ten, each None if the clause has none."""

    unit: str | None = None
    scale: int | None = None


_TOKEN = re.compile(
    r"(?P<zeros>(?:['’‘`´]|(?<!\d)1[,.]?)?0{3}(?:,000)?['’]?s?(?![\w,.]))"
    r"|(?P<power>(?<![\w.,])10 ?(?:(?:\^|\*\*) ?\d{1,2}|[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,2})(?!\w))"
    r"|(?P<sign>(?:US|A|AU|C|CA|Cdn|NZ|HK|S|SG|R|NT|MX|U\.S\. ?)?\$|(?:CN|RMB)¥|[€£¥￥＄₹₩₽₺₪₫฿₦₱₴]|¢)"
    r"|(?P<percent>%|‰)|(?P<word>[^\W\d_](?:[\w.·/²³°^]|['’](?=s\b))*|°[CF]?|#)"
    r"|(?P<space>[\s,;:'’‘`´.()/×–—-]+)|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_PREFIXED_CODE = re.compile(
    r"(?P<before>[a-z]{2,3}|[A-Za-z])(?P<code>[A-Z]{3})|(?P<code2>[A-Z]{3})(?P<after>[A-Za-z]{1,2})"
)
_PRICES_OF = re.compile(r"\b(?:constant|chained|real) (?:(?:1[89]|20)\d\d )(?:prices? )?", re.IGNORECASE)
"""The year whose prices amounts are in, which is not part of their unit: "constant 2015 US$"."""
_THOUSANDS_IN_SPANISH = re.compile(r"\b(?:en )?miles de\b|\ben miles\b", re.IGNORECASE)
_ELIDED = re.compile(r"\b[dl]['’](?=[^\W\d_])", re.IGNORECASE)
"""What precedes a French or Italian word: "millions d'euros"."""
_SUBSTANCE = re.compile(r"(?=[A-Za-z]*\d)(?:[A-Z][a-z]?\d*){2,6}(?:eq?)?")
"""The formula of what is weighed: "Mt CO2", "kg CO2e"."""
_SERIAL_NUMBER = re.compile(r"(?<!\w)[A-Za-z]{1,2}[-‐–]1[,.’']?000(?!\w)")
"""The number of a thing, as "A-1000", and no scale."""


@text_cache(16_384)
def parse_clause(clause: str, name: str = "") -> Clause | None:
    """Parse a clause as unit and scale; None if it says anything else.

    `name` is what the unit measures; it distinguishes symbols such as ``m``.

    >>> parse_clause("Amounts in US$ thousands")
    Clause(unit='CCY_USD', scale=3)
    >>> parse_clause("million tonnes"), parse_clause("cash in millions")
    (Clause(unit='TONNE', scale=6), None)
    >>> parse_clause("10^24 kg"), parse_clause("× 10³ m³")
    (Clause(unit='KiloGM', scale=24), Clause(unit='M3', scale=3))
    """
    stripped = clause.strip(" ()[]")
    if stripped.rstrip(".").removeprefix("in ").lower() == "ct" and is_supported("euro cent", name):
        return Clause(currency_unit("EUR"), -2)
    if stripped.startswith("/") or stripped in ENGLISH_WORDS or _SERIAL_NUMBER.search(stripped):
        return None
    if stripped.endswith(".") and len(stripped) > 3 and needs_support(shorter := stripped.rstrip(".").lower()):
        stripped = shorter
    if needs_support(stripped):
        unit = unit_of_symbol(stripped, name)
        if unit is None and stripped == "m" and is_supported("m for million", name):
            return Clause(None, 6)
        return None if unit is None else Clause(unit)
    read = _Reader()
    clause = _THOUSANDS_IN_SPANISH.sub(" thousand ", _ELIDED.sub(" ", _PRICES_OF.sub(" ", clause)))
    if named := _named_currency().search(clause):
        read.unit = _currencies_of_several_words()[named[0].lower()]
        clause = f"{clause[: named.start()]} {clause[named.end() :]}"
    for match in _TOKEN.finditer(clause):
        if match.lastgroup == "other":
            return None
        read.token(match[0], match.lastgroup or "")
    return read.finish(name)


class _Reader:
    """Takes the tokens of a clause and puts them together."""

    def __init__(self) -> None:
        self.unit: str | None = None
        self.scale: int | None = None
        self.hundredths = 0
        self.rest: list[str] = []

    def token(self, printed: str, kind: str) -> None:
        """One token: a sign, a scale, a word."""
        if kind == "zeros":
            self.scale = 6 if printed.count("0") > 3 else 3
        elif kind == "power":
            digits = printed.removeprefix("10").lstrip(" ^*").translate(_SUPERSCRIPTS)
            self.scale = (self.scale or 0) + int(digits)
        elif kind == "sign" and printed not in CENTS:
            self.unit = currency_names().get(printed.replace(" ", "")) or self.unit
        elif kind == "percent":
            self.unit = "PERCENT" if printed == "%" else "PERMILLE"
        elif kind in {"word", "sign"}:
            self._word(printed.rstrip("."))

    def _word(self, word: str) -> None:
        lowered, names = word.lower(), currency_names()
        coded = _PREFIXED_CODE.fullmatch(word)
        letters = (coded["before"] or coded["after"]).lower() if coded else ""
        if lowered in CENTS:
            self.hundredths = -2
            if CENTS[lowered] != "USD":
                self.unit = currency_unit(CENTS[lowered])
        elif lowered in BASIS_POINTS:
            self.hundredths, self.unit = -2, "PERCENT"
        elif lowered in WORDS:
            self.unit = self.unit or currency_unit(WORDS[lowered])
        elif word in names and (word.isupper() or word in {"Rs", "Rmb"}):
            self.unit = self.unit or names[word]
        elif len(lowered) > 1 and lowered in SCALE_WORDS and lowered not in _SCALE_BESIDE_MORE:
            self.scale = SCALE_WORDS[lowered]
        elif coded and letters in _SCALES_OF_LETTERS and (coded["code"] or coded["code2"]) in names:
            self.unit, self.scale = names[coded["code"] or coded["code2"]], _SCALES_OF_LETTERS[letters]
        elif lowered.startswith("in") and lowered[2:] in PLAIN_SCALES:  # "inmillions", where a space was lost
            self.scale = PLAIN_SCALES[lowered[2:]]
        elif KRONER.get(lowered):
            self.scale = KRONER[lowered]
        elif fuel := fuel_unit(lowered):
            self.unit, self.scale = fuel
        elif lowered not in _BESIDE_A_UNIT:
            self.rest.append(word)

    def finish(self, name: str) -> Clause | None:
        """The clause, or None if words are left that say something else."""
        if self.rest and not self._take_rest(self.rest, name):
            return None
        if self.hundredths:
            self.scale = (self.scale or 0) + self.hundredths
        return None if self.unit is None and self.scale is None else Clause(self.unit, self.scale)

    def _take_rest(self, rest: Sequence[str], name: str) -> bool:
        letters = "".join(rest)
        is_money = (self.unit or "").startswith("CCY_")
        if self.scale is None and (is_money or (self.unit is None and letters in _SCALES_ALONE)):
            self.scale = _SCALES_OF_LETTERS.get(letters.lower(), SCALE_WORDS.get(letters) if not is_money else None)
            return self.scale is not None
        if self.unit is not None:
            return False
        if len(rest) > 1 and _SUBSTANCE.fullmatch(rest[-1]):
            rest = rest[:-1]
        self.unit = unit_of_symbol(" ".join(rest), name)
        if self.unit is None and self.scale in {3, 6} and letters in _SCALED_SYMBOLS:  # "1000 t"
            self.unit = find_header_unit(letters)
        return self.unit is not None


@cache
def _currencies_of_several_words() -> dict[str, str]:
    """Names of currencies that have several words, in lower case, also in the plural → QUDT local name."""
    found = {name: currency_unit(code) for name, code in WORDS.items() if " " in name}
    for name, unit in units().items():
        label = unit.label.lower()
        if unit.currency and re.fullmatch(r"[a-z]+(?: [a-z]+)+", label):
            found.setdefault(label, name)
            found.setdefault(f"{label}s", name)
    return found


@cache
def _named_currency() -> re.Pattern[str]:
    names = sorted(_currencies_of_several_words(), key=lambda name: (-len(name), name))
    return re.compile("|".join(rf"\b{re.escape(name)}\b" for name in names), re.IGNORECASE)


# Phrases


@dataclass(frozen=True, slots=True)
class UnitPhrase:
    """Unit and scale that a text states; None if it states none.

    `unit` is a QUDT local name, `scale` a power of ten. `exceptions` are the measures that the scale
    does not hold for ("except per share"); `share_scale` is the scale of share counts where it is
    given apart ("dollars in millions, shares in thousands"). `per` is what the unit is per where the
    phrase says so and QUDT has no such unit ("€/MWh", "EJ/yr").
    """

    unit: str | None = None
    scale: int | None = None
    exceptions: frozenset[Measure] = frozenset()
    share_scale: int | None = None
    per: str | None = None

    @property
    def is_money(self) -> bool:
        """Whether the unit is a currency or open."""
        return self.unit is None or self.unit.startswith("CCY_")


@cache
def _exception() -> re.Pattern[str]:
    words = "|".join(map(re.escape, printed_terms("except")))
    return re.compile(rf"(?<![\s,;(])[\s,;(]*\b(?:{words})\b(?P<what>.*)", re.IGNORECASE | re.DOTALL)


_SEGMENTS = re.compile(r"\(([^()]{1,120})\)|\[([^\[\]]{1,120})\]")
_ABOUT_SHARES = re.compile(
    r"\W*(?:number of )?(?:shares?|units|options)\b(?: amounts?| data| counts?| numbers)?", re.IGNORECASE
)
_CLAUSE_END = re.compile(r",(?!\d{3})|;| and (?=shares?\b|dollars|amounts)", re.IGNORECASE)
_PER = re.compile(r"(?P<unit>[^/]{1,30}?)(?: ?/ ?| per )(?P<per>[^\W\d_][\w ²³.]{0,24})", re.IGNORECASE)


@text_cache(16_384)
def parse_unit_phrase(text: str, name: str = "") -> UnitPhrase | None:
    """The unit and scale of a text that is nothing else, or None.

    `name` is what the unit measures (the column's name); it distinguishes symbols such as ``m``.

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
    if match := _exception().search(text):
        exceptions = measures_in(match["what"])
        text = text[: match.start()]
    elif (rate := _unit_per(text, name)) and rate.is_money:
        return rate
    found, shares = UnitPhrase(), None
    for clause in _CLAUSE_END.split(text):
        if not clause.strip(" ()[]."):
            continue
        about_shares = _ABOUT_SHARES.match(clause)
        phrase = parse_clause(clause[about_shares.end() :] if about_shares else clause, name)
        if phrase is None:
            return None if exceptions else _unit_per(text, name)
        if about_shares:
            shares = phrase.scale
        else:
            found = UnitPhrase(found.unit or phrase.unit, phrase.scale if found.scale is None else found.scale)
    if found == UnitPhrase() and shares is None:
        return None
    return UnitPhrase(found.unit, found.scale, exceptions, shares)


def without_exception(text: str) -> str:
    """The text without "except …" and what follows, which names what its unit does not hold for.

    >>> without_exception("(in thousands, except percentages)")
    '(in thousands'
    """
    return _exception().sub("", text)


def _unit_per(text: str, name: str) -> UnitPhrase | None:
    """A unit per something that is not in QUDT: ``€/MWh``, ``USD per barrel``, ``ct/kWh``, ``kg CO2/MWh``."""
    match = _PER.fullmatch(text.strip(" ()[]"))
    if match is None or is_currency_pair(text):
        return None
    found = parse_clause(match["unit"], f"{name} {match['per']}")
    if found is None or found.unit is None:
        return None
    per = match["per"].strip()
    if found.unit.startswith("CCY_"):
        return UnitPhrase(found.unit, found.scale, per=per)
    is_measured = find_header_unit(per) is not None and find_unit(f"{match['unit']}/{per}") is None
    return UnitPhrase(found.unit, found.scale, per=per) if is_measured and found.unit != "PERCENT" else None


# Phrases in headers

_TRAILING_SIGN = re.compile(r"(?<=[\w).] )(?:US|A|C|HK|S|NZ)?[$€£¥]$|(?<=[\d)] )%$")
_LEADING_SIGN = re.compile(r"^((?:US|A|C|HK|S|NZ)?\$|[€£¥]) (?=[^\W\d_])")
_MONEY_INSIDE = re.compile(
    r"(?<!\w)(?:US|A|C|HK|S|NZ|NT)?[$€£¥] ?(?:['’‘]?000s?|mm|mn|m|bn|millions?|thousands?|billions?)(?!\w)",
    re.IGNORECASE,
)
_CENTS_PER = re.compile(rf"(?<!\w)(?<!\d )(?<!per )(?:{'|'.join(CENTS)})(?= per\b)", re.IGNORECASE)
_AMOUNT_BEFORE = re.compile(r"(?:^|[\s/])[-+−]?\d+(?:[.,]\d+)?(?: ?[-–] ?\d+)?$")
_PERIOD_BEFORE = re.compile(r"(?:^|\W)(?:1[5-9]|2[01])\d\d(?:[-–/]\d\d(?:\d\d)?)?$|[A-Z]{1,3} ?\d\d?$")
_UNIT_OF_ACTION = re.compile(r"(?:[A-Za-z]+ ){0,2}?(\w[a-z]{2,}s) (?:(?!end(?:ed|ing)\b)[a-z]{2,}(?:ed|ing)|sold)\b")
"""A header that counts units of measure: "Gallons hedged", "Hours worked", "Net acres expiring"."""
_AFTER = re.compile(r"(?:,| in| en| -| –| —|:)\s+([^,:()]{1,60})$")
_INSIDE = re.compile(
    r"(?:^|(?<!\d)(?<!per) )(?:in )?((?<=in )[a-z]{3,}|(?i:[kmgt]wh?))(?= (?:in|for|during|at|as|by|per|from|sold)\b|$)"
)
"""A symbol within a text: "generation in gwh for the year", "GWh sold"."""
_SYMBOL_IN_BRACKETS = re.compile(r"\[[A-Za-z]{1,2}\]\s*$")
"""A unit that looks like a mark: "Prominence [m]"."""
_SYMBOL = re.compile(r"[a-zµ]{1,2}[A-Z][a-z]?")
"""What is a unit by its form, known or not: "kDa", "kWp"."""
_CAMEL_CASE = re.compile(r"[A-Za-z]?[a-z]+(?:[A-Z][a-z]*){1,6}")
_CAMEL_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")
_RATE_BEFORE = re.compile(r"(?:^|\s)(?:per|p|each|every|a|an|pro|je)$", re.IGNORECASE)
_OPEN_END = re.compile(r"(?:[\s_,;:–—-]+(?:in|en)?)?[\s_,;:–—-]+$")
"""What joins a name and its unit: "Height in", "Sales,"."""


@text_cache(16_384)
def parse_unit_text(text: str) -> UnitPhrase | None:
    """The unit and scale named within a header or label: whole, in parentheses, after a comma or "in".

    >>> parse_unit_text("Weight (kg)").unit, parse_unit_text("Revenue, $m").scale
    ('KiloGM', 6)
    >>> parse_unit_text("Wins (W)") is None
    True
    """
    if len(text) > 2 * LONGEST_PHRASE:
        return None
    is_camel = " " not in text and _CAMEL_CASE.fullmatch(text) is not None
    plain = without_marks(text)
    if not may_name_unit(plain) and not is_camel and not _SYMBOL_IN_BRACKETS.search(text):
        return None
    found = _unit_in(html.unescape(" ".join(text.split())))
    return _unit_in(html.unescape(" ".join(plain.split()))) if found is None and plain != text else found


def _unit_in(text: str) -> UnitPhrase | None:
    if not _names_a_column(text) and (phrase := parse_unit_phrase(text)):
        return phrase
    if "(" in text and (unit := converted_unit(text)):
        return UnitPhrase(unit)
    outside = _SEGMENTS.sub(" ", text)
    for match in reversed(list(_SEGMENTS.finditer(text)) if outside.strip() not in _WITHOUT_UNIT else ()):
        if phrase := parse_unit_phrase(match[1] or match[2], outside):
            return phrase
        if _SYMBOL.fullmatch(match[1] or match[2]):
            return None  # of a unit that is not known: "Est. MW (kDa)" is not in megawatts
    if "_" in text and " " not in text:
        return _coded(text.split("_"))
    if _CAMEL_CASE.fullmatch(text):
        return UnitPhrase(unit) if (unit := find_header_unit(text)) else _coded(_CAMEL_WORD.sub("_", text).split("_"))
    if phrase := _trailing_money(outside) or _trailing_unit(outside):
        return phrase
    if (action := _UNIT_OF_ACTION.match(outside)) and (unit := find_header_unit(action[1])):
        return UnitPhrase(unit)
    if (lower := _INSIDE.search(outside)) and (unit := symbols_in_lower_case().get(lower[1].lower())):
        return UnitPhrase(unit)
    after = _AFTER.search(outside.strip())
    if after is None or (after[0][:3] not in (" in", " en") and is_bare_scale(after[1]) and len(after[1]) <= 4):
        return parse_unit_phrase(cents[0]) if (cents := _CENTS_PER.search(outside)) else None
    return parse_unit_phrase(after[1], outside[: after.start()])


def _names_a_column(text: str) -> bool:
    """Whether the whole of a header, though it could be a unit, is likelier a name: "Year", "GB", "M"."""
    bare = text.strip(" .")
    if bare.lower() in NAMES_NOT_UNITS or is_bare_scale(bare):
        return True
    return len(bare) <= 3 and bare.isalpha() and bare.isupper() and (bare == "RM" or bare not in currency_names())


def is_bare_scale(text: str) -> bool:
    """Whether a text is a scale word with nothing next to it that makes it one: a currency, "in", brackets.

    >>> [is_bare_scale(text) for text in ("k", "Mio.", "bn", "million", "in millions", "(bn)", "€m", "'000")]
    [True, True, True, True, False, False, False, False]
    """
    bare = text.strip().rstrip(".").lower()
    is_unit = find_header_unit(bare) and not needs_support(bare)  # "mm"
    return not is_unit and bare.isalpha() and bare[-1] != "s" and (bare in SCALE_WORDS or bare in _SCALES_OF_LETTERS)


def _trailing_money(text: str) -> UnitPhrase | None:
    """A currency with its scale within a header, or a sign at an end of it: ``2019 £m``, ``$ change``."""
    if match := _TRAILING_SIGN.search(text):
        return parse_unit_phrase(match[0])
    words = text.split()
    for count in range(1, min(3, len(words))):
        phrase = parse_unit_phrase(" ".join(words[-count:]))
        if phrase is not None and phrase.unit is not None and phrase.is_money and phrase.scale is not None:
            return phrase
    inside = _MONEY_INSIDE.search(text) or _LEADING_SIGN.match(text)
    return parse_unit_phrase(inside[0].strip()) if inside else None


def _trailing_unit(text: str) -> UnitPhrase | None:
    """A currency code or a unit's symbol at the end of a header: ``Price USD``, ``Area km²``, ``2023 kg``."""
    name, _, last = text.strip().rpartition(" ")
    if not name or len(last) > LONGEST_SYMBOL or name.lower() in COMMON_WORDS:
        return None
    if _AMOUNT_BEFORE.search(name) and not _PERIOD_BEFORE.search(name):
        return None  # a quantity that the values are for, as in "100 m" and "55 °C"
    if last.lower() in NAMES_NOT_UNITS or _RATE_BEFORE.search(name):
        return None  # what is counted in it is not time: "Passengers per day", "Match day"
    if last in COMMON_CODES:
        return None if last in ENGLISH_WORDS else UnitPhrase(currency_names().get(last))
    if rate := _unit_per(last, name):
        return rate
    before = name.rpartition(" ")[2]
    if unit := find_header_unit(f"{before} {last}"):  # "Area sq. km"
        return UnitPhrase(unit)
    if is_supported(f"{last} at end", name):
        return UnitPhrase(find_header_unit(last))
    is_word = last.isalpha() and (last.istitle() or (last.islower() and len(last) > 3))
    if last == "%" or last in NOT_AT_END or needs_support(last) or is_word or len(last) < 2:
        return None
    unit = find_header_unit(last)
    return UnitPhrase(unit) if unit is not None and unit != "PERCENT" else None


def _coded(words: Sequence[str]) -> UnitPhrase | None:
    """The unit that the last words of a column's code are: ``weight_kg``, ``price_usd``, ``speed_km_h``."""
    for count in (3, 2, 1):
        name, last = " ".join(words[:-count]), [word for word in words[-count:] if word != "per"]
        if not name.strip() or not all(last) or _RATE_BEFORE.search(name):
            continue
        phrase = _coded_pair(last, name) if count > 1 else _coded_word(last[0], name) if last else None
        if phrase is not None or (count > 1 and len(last) == 2 and all(map(_is_plain_symbol, last))):
            return phrase  # a compound unit that is not known, rather than its last part
    return None


def _coded_pair(words: Sequence[str], name: str) -> UnitPhrase | None:
    codes = [word.upper() for word in words if word.upper() in COMMON_CODES]
    if codes or words[0] == "in":
        others = [word for word in words if word.upper() not in codes]
        per = "/".join((*codes, *others)) if codes and all(map(_is_plain_symbol, others)) else ""  # price_eur_mwh
        return parse_unit_phrase(" ".join((*codes, *others)), name) or parse_unit_phrase(per)
    if len(words) == 2 and (found := find_unit("/".join(words))) and all(map(_is_plain_symbol, words)):
        return UnitPhrase(found.name)
    return UnitPhrase(unit) if len(words) > 1 and (unit := find_header_unit("/".join(words))) else None


def _coded_word(word: str, name: str) -> UnitPhrase | None:
    lowered, upper = word.lower(), word.upper()
    if upper in COMMON_CODES:
        return UnitPhrase(currency_names().get(upper))
    if len(word) == 1 and is_supported(f"° {lowered}", name):
        return UnitPhrase(find_header_unit(f"°{upper}"))
    if is_supported(f"{lowered} at end", name) and (unit := find_header_unit(lowered)):
        return UnitPhrase(unit)
    if word in NOT_AT_END or lowered in NAMES_NOT_UNITS:
        return None
    if needs_support(word) or len(word) == 1:
        unit = unit_of_symbol(word, name) or (unit_of_symbol(upper, name) if len(word) == 1 else None)
        return UnitPhrase(unit) if unit else None
    if (unit := find_header_unit(word) or symbols_in_lower_case().get(lowered)) is not None and unit != "PERCENT":
        return UnitPhrase(unit)
    return parse_unit_phrase(lowered) if unit or lowered in BASIS_POINTS else None


def _is_plain_symbol(word: str) -> bool:
    return word.lower() == "g" or (len(word) > 1 and word.lower() in symbols_in_lower_case())


@text_cache(16_384)
def without_unit(text: str) -> str:
    """A header without the unit and scale that it states; empty if it says nothing else.

    Percentages and units per something stay, for they say what is measured; so does a unit that is counted.

    >>> without_unit("2018 £m"), without_unit("Sales (in millions)"), without_unit("Height in cm"), without_unit("£m")
    ('2018', 'Sales', 'Height', '')
    >>> without_unit("Change %"), without_unit("Price (€/MWh)"), without_unit("Gallons hedged")
    ('Change %', 'Price (€/MWh)', 'Gallons hedged')
    """
    stated = parse_unit_text(text)
    if stated is None or stated.per or stated.unit in ("PERCENT", "PERMILLE"):
        return text
    text = " ".join(html.unescape(text).split())
    if parse_unit_phrase(text) == stated:
        return ""
    outside = _SEGMENTS.sub(" ", text)
    text = _SEGMENTS.sub(lambda match: " " if parse_unit_phrase(match[1] or match[2], outside) else match[0], text)
    text = _MONEY_INSIDE.sub(" ", _LEADING_SIGN.sub("", text))
    for match in reversed(list(re.finditer(r"[\s_]+", text))):
        if parse_unit_phrase(text[match.end() :].replace("_", " "), text[: match.start()]) == stated:
            return _OPEN_END.sub("", text[: match.end()])
    return text.strip()
