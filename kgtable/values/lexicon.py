"""The lexicon of meaning: what words of headers, labels and cells speak for, in several languages.

`ontologies/lexicon.csv` holds it as data. A sense is a role of a column, a kind of measure, a variant of a measure, a
kind of row, a truth value, or how the cells below a header are read.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Final, NamedTuple

from kgtable.resources import read_shipped
from kgtable.values.text import text_cache, without_accents

KINDS: Final = frozenset({"Count", "Amount", "Level", "Rate", "Rate?", "Duration", "Score"})
"""Kinds of measures; ``Rate?`` is a size or price of one thing, which some add up all the same."""
ROLES: Final = frozenset({"Identifier", "Label", "Category", "Flag", "Time", "Ordinal", "Text"})
VARIANTS: Final = frozenset({"actual", "budget", "forecast", "target", "estimate", "prior"})
ROWS: Final = frozenset({"total", "whole", "part", "statistic", "change", "note"})
LANGUAGES: Final = ("en", "de", "fr", "es", "it", "nl", "pt")
ANY: Final = "any"
"""Stands for all languages."""
_PRINTED: Final = "printed"
_SENSES: Final = KINDS | ROLES | VARIANTS | ROWS

_LONGEST_TERM = 4
_LONGEST_TEXT = 200
_WORD = re.compile(r"[^\W_]+|[%#№‰]")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_UMLAUT = re.compile(r"(?<![aeq])([aou])e")
_SIGNS = {"%": "percent", "‰": "permille", "#": "no", "№": "no"}


class Found(NamedTuple):
    """A term found in a text: the sense it speaks for, and its first and last word by position from 0."""

    sense: str
    first: int
    last: int


def _records() -> Iterator[dict[str, str]]:
    lines = (line for line in read_shipped("ontologies/lexicon.csv").splitlines() if not line.startswith("# "))
    yield from csv.DictReader(lines)


@cache
def printed_senses(beginning: str) -> Mapping[str, tuple[str, ...]]:
    """The senses of printed signs and words that begin so: what follows in the sense → the terms as printed.

    >>> printed_senses("scale ")["2"]
    ('hundred', 'hundreds')
    """
    return {
        record["sense"].removeprefix(beginning): tuple(record["terms"].split("|"))
        for record in _records()
        if record["language"] == _PRINTED and record["sense"].startswith(beginning)
    }


def printed_terms(beginning: str) -> dict[str, str]:
    """Each printed sign or word with what follows in its sense.

    >>> printed_terms("scale ")["mio."]
    '6'
    """
    return {term: rest for rest, terms in printed_senses(beginning).items() for term in terms}


@cache
def _terms(language: str) -> Mapping[str, tuple[str, ...]]:
    """Term → senses, of one language (or `ANY`) and of all; a term with any ending keeps its star."""
    found: dict[str, tuple[str, ...]] = {}
    for record in _records():
        if record["language"] in ("", language) or (language == ANY and record["language"] != _PRINTED):
            terms = record["terms"].split("|")
            if record["language"] == "de":  # "Höhe" without accents is "hohe"
                terms += [plain for term in terms if (plain := _UMLAUT.sub(r"\1", term)) != term]
            for term in terms:
                found[term] = (*found.get(term, ()), record["sense"])
    return found


@text_cache(20_000)
def words_of(text: str) -> tuple[str, ...]:
    """The words of a header or label in small letters without accents, signs as words.

    >>> words_of("unitPrice_EUR (%)")
    ('unit', 'price', 'eur', 'percent')
    """
    plain = without_accents(_CAMEL.sub(" ", text[:_LONGEST_TEXT])).casefold()
    return tuple(_SIGNS.get(word, word) for word in _WORD.findall(plain))


@text_cache(20_000)
def senses(text: str, among: frozenset[str], language: str = "en") -> tuple[Found, ...]:
    """The terms of a text that speak for one of the senses `among`, from left to right, longest first.

    >>> [found.sense for found in senses("Average price per unit", KINDS)]
    ['Rate', 'Rate?', 'Rate']
    >>> senses("Kontostand", KINDS, "de")
    (Found(sense='Level', first=0, last=0),)
    """
    found: list[Found] = []
    end = 0
    for first, last, known in _occurrences(text, language):
        if first >= end and not among.isdisjoint(known):
            found += (Found(sense, first, last) for sense in dict.fromkeys(known) if sense in among)
            end = last + 1
    return tuple(found)


@text_cache(20_000)
def _occurrences(text: str, language: str) -> tuple[tuple[int, int, tuple[str, ...]], ...]:
    """First and last word, and senses, of every term of a text: from left to right, longest first."""
    words, longest = words_of(text), _longest(language)
    return tuple(
        (at, at + length - 1, known)
        for at, word in enumerate(words)
        for length in range(min(longest.get(word, 1), len(words) - at), 0, -1)
        if (known := _senses_of(words[at : at + length], language))
    )


@cache
def _longest(language: str) -> Mapping[str, int]:
    return {words[0]: len(words) for words in sorted(map(str.split, _terms(language)), key=len)}


@lru_cache(maxsize=50_000)
def _senses_of(words: tuple[str, ...], language: str) -> tuple[str, ...]:
    terms, text = _terms(language), " ".join(words)
    known = terms.get(text, ())
    if text.endswith("s") and _SENSES.isdisjoint(known):
        known += tuple(sense for sense in terms.get(text[:-1], ()) if sense != "Identifier")
    if len(words) == 1 and _SENSES.isdisjoint(known):
        starred = (f"{text[:end]}*" for end in range(len(text), 3, -1))
        known += next((terms[star] for star in starred if star in terms), ())
    return known


def ends_with(text: str, sense: str, language: str = "en") -> bool:
    """Whether a text ends with a term of a sense.

    >>> ends_with("Customer phone number", "code"), ends_with("Code of conduct", "code")
    (True, False)
    """
    found = senses(text, frozenset({sense}), language)
    return bool(found) and found[-1].last == len(words_of(text)) - 1


@text_cache(20_000)
def is_called(text: str, among: frozenset[str], language: str = "en") -> bool:
    """Whether a whole label is one term of these senses, years and numbers aside.

    >>> is_called("Grand total:", frozenset({"total"})), is_called("Total Wine", frozenset({"total"}))
    (True, False)
    """
    words = words_of(text)
    kept = tuple(word for word in words if not word.isdecimal()) or words
    return len(kept) <= _LONGEST_TERM and not among.isdisjoint(_senses_of(kept, language))


def is_made_of(text: str, among: frozenset[str], beside: frozenset[str], language: str = "en") -> bool:
    """Whether a label is made of terms of these senses, at least one of `among`, and of numbers.

    >>> is_made_of("Annual average 2022", frozenset({"statistic"}), frozenset({"whole"}))
    True
    """
    found = senses(text, among | beside, language)
    covered = {place for one in found for place in range(one.first, one.last + 1)}
    plain = {place for place, word in enumerate(words_of(text)) if not word.isdecimal()}
    return plain <= covered and any(one.sense in among for one in found)


@cache
def _truths(language: str) -> Mapping[str, str]:
    values = {"yes": "true", "no": "false", "mark": "true"}
    return {term: values[sense] for term, known in _terms(language).items() for sense in known if sense in values}


def truth_of(text: str) -> str | None:
    """``true`` or ``false`` for a text of a column of truth values, in any of the languages.

    >>> truth_of("Ja"), truth_of("✗"), truth_of("x"), truth_of("maybe")
    ('true', 'false', 'true', None)
    """
    plain = text.casefold()
    return next((found for language in LANGUAGES if (found := _truths(language).get(plain))), None)


def are_truths(texts: Iterable[str], *, has_blanks: bool) -> bool:
    """Whether the different texts of a column are truth values of one language, or one mark among blank cells.

    Single letters count only where both values occur.

    >>> are_truths(["Y", "N"], has_blanks=False), are_truths(["Y"], has_blanks=True), are_truths(["x"], has_blanks=True)
    (True, False, True)
    """
    told = {text.casefold() for text in texts}
    if not told or len(told) > 4 or any(len(text) > 12 for text in told):
        return False
    for language in LANGUAGES:
        known = _terms(language)
        if all({"yes", "no"} & set(known.get(text, ())) for text in told):
            both = len({_truths(language)[text] for text in told}) == 2
            if both or all(len(text) > 1 and text.isalpha() for text in told):
                return True
    return has_blanks and len(told) == 1 and all("mark" in _terms("").get(text, ()) for text in told)


@cache
def vocabulary(among: frozenset[str], language: str = "en") -> frozenset[str]:
    """The words that terms of these senses are made of; a cheap look before a close one."""
    return frozenset(
        word.rstrip("*")
        for term, known in _terms(language).items()
        if not among.isdisjoint(known)
        for word in term.split()
    )


def language_of(texts: Iterable[str]) -> str:
    """The language whose terms most texts are made of: English where no other one has more."""
    told = [set(words_of(text)) for text in texts]
    counts = {
        language: sum(not vocabulary(_SENSES, language).isdisjoint(words) for words in told) for language in LANGUAGES
    }
    best = max(LANGUAGES, key=lambda language: counts[language])
    return best if counts[best] > counts["en"] else "en"
