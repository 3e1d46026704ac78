"""The English of questions: the words and patterns of ``english.toml``, which are all that the programs know of it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from rapidfuzz.distance import DamerauLevenshtein

from kgtable.resources import PACKAGE
from kgtable.text.words import is_empty_word
from kgtable.text.words import stem as stemmed
from kgtable.values.text import text_cache, without_accents
from kgtable.values.unit_phrases import parse_unit_phrase
from kgtable.values.units import find_unit

_POSSESSIVE = re.compile(r"['’]s$")


class Adjective(NamedTuple):
    """Superlative or comparative: the way it points (+1 the largest number), and stems of headers measured by it."""

    sign: int
    headers: Mapping[str, int]
    name: str
    superlative: bool
    measured: bool = False
    """Whether only columns of its headers are meant, as a time or a rank by "won"."""
    comparative: bool = False


LEAST_MISSPELT = 6
"""Letters of a word that may be misspelt by one."""


@cache
def english() -> Mapping[str, Any]:
    """The file of English words and patterns."""
    return tomllib.loads((PACKAGE / "questions" / "english.toml").read_text(encoding="utf-8"))


@cache
def cue_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Each class of operator words and its pattern."""
    return tuple((name, re.compile(rf"(?<![^\W_])(?:{text})(?![^\W_])")) for name, text in english()["cues"].items())


@cache
def adjectives() -> Mapping[str, Adjective]:
    """Adjectives by each of their forms."""
    found: dict[str, Adjective] = {}
    for name, entry in english()["adjectives"].items():
        sign = 1 if entry["sign"] == "+" else -1
        headers = {
            stemmed(word.removeprefix("-")): -sign if word.startswith("-") else sign
            for word in entry["headers"].split()
        }
        for word in entry["words"].split():
            superlative = (word.endswith("st") and word != "fast") or word in _SUPERLATIVES
            comparative = not superlative and (word.endswith("er") or word in _COMPARATIVES)
            found[word] = Adjective(sign, headers, name, superlative, entry.get("measured", False), comparative)
    return found


_COMPARATIVES = frozenset(("more", "less", "worse", "further"))
_SUPERLATIVES = frozenset(("maximum", "max", "minimum", "min", "last", "final", "initial", "top", "bottom", "recent", "recently", "worst", "earliest", "least"))  # fmt: skip  # noqa: E501


@cache
def synonyms() -> Mapping[str, frozenset[str]]:
    """Stems of headers that a word may mean, by the word's stem."""
    found: dict[str, frozenset[str]] = {}
    for word, headers in english()["synonyms"].items():
        stem = word_stem(word)
        found[stem] = found.get(stem, frozenset()) | {word_stem(header) for header in headers.split()}
    return found


@text_cache(100_000)
def word_stem(word: str) -> str:
    """The stem of a word, the same for British and American spelling and for irregular forms of a verb.

    >>> word_stem("Colors".lower()) == word_stem("colour")
    True
    """
    known = _forms()
    return stemmed(known.get(word) or known.get(word.removesuffix("s"), word))


@cache
def _forms() -> Mapping[str, str]:
    """American spellings with the British one, irregular forms of verbs with the verb, and plurals with the noun."""
    return {**english()["spellings"], **english()["irregular"], **english()["plurals"]}


@cache
def words_of_type(name: str) -> frozenset[str]:
    """Stems of the words of a type: of headers of persons, places or times, of spending."""
    return frozenset(map(word_stem, english()["types"][name].split()))


@cache
def word_endings() -> frozenset[str]:
    """What stems of one word may end with: nothing, and the endings of derived words."""
    return frozenset({"", *english()["words"]["endings"].split()})


@cache
def consumed_cues() -> Mapping[str, frozenset[str]]:
    """The classes of operator words that each operator accounts for, those that any does included."""
    entries = english()["consumed"]
    always = frozenset(entries["any"].split())
    return {name: frozenset(text.split()) | always for name, text in entries.items()}


@text_cache(4096)
def operator_meant(word: str) -> str:
    """The one long word of an operator that a word differs from by one letter; empty if it is a word of its own.

    >>> operator_meant("avarage"), operator_meant("diffrence"), operator_meant("average"), operator_meant("coverage")
    ('average', 'difference', '', '')
    """
    known = english()["words"]["misspelt"].split()
    near = [other for other in known if DamerauLevenshtein.distance(word, other, score_cutoff=1) == 1]
    return "" if word in known or word.removesuffix("s") in known or len(near) != 1 else near[0]


@cache
def foreign_words() -> frozenset[str]:
    """Words that open a question in another language."""
    return frozenset(map(fold, english()["words"]["foreign"].split()))


@cache
def light_words() -> frozenset[str]:
    """Verbs and nouns that say only that something is or happens."""
    return frozenset(english()["words"]["light"].split())


@cache
def following_words() -> frozenset[str]:
    """Words of follow-ups that say nothing of their own."""
    return frozenset(english()["words"]["following"].split())


@cache
def noun_openers() -> frozenset[str]:
    """Words that precede a noun."""
    return frozenset(english()["words"]["openers"].split())


@cache
def naming_words() -> frozenset[str]:
    """Words between a thing and its name."""
    return frozenset(english()["words"]["naming"].split())


def is_verb_form(word: str) -> bool:
    """Whether a word after a noun is its verb, judging by its form: *students took*, *employees started*."""
    return word in _verbs() or word in linking_verbs() or (len(word) > 4 and word.endswith("ed"))


@cache
def _verbs() -> frozenset[str]:
    return frozenset(english()["words"]["verbs"].split())


@cache
def linking_verbs() -> frozenset[str]:
    """Verbs between a whole and its part: "what share of revenue were wages"."""
    return frozenset(english()["words"]["linking"].split())


@cache
def number_words() -> Mapping[str, int]:
    """Number words and ordinals as numbers."""
    numbers = english()["numbers"]
    found = {word: value for value, word in enumerate(numbers["words"].split())}
    return found


@cache
def ordinal_words() -> Mapping[str, int]:
    """Ordinal numbers in words."""
    return {word: value for value, word in enumerate(english()["numbers"]["ordinals"].split())}


@cache
def months() -> Mapping[str, int]:
    """Months and their abbreviations of three letters as numbers."""
    names = english()["numbers"]["months"].split()
    found = {name: number for number, name in enumerate(names, 1)}
    return found | {name[:3]: number for name, number in found.items()} | {"sept": 9}


@text_cache(100_000)
def fold(text: str) -> str:
    """Lower case without accents and possessive endings."""
    plain = _POSSESSIVE.sub("", text)
    return without_accents(plain).casefold().replace("’", "'")


@text_cache(4096)
def unit_named(text: str) -> str | None:
    """The QUDT unit that a word names, or None.

    >>> unit_named("km"), unit_named("hours"), unit_named("euros"), unit_named("lifts")
    ('KiloM', 'HR', 'CCY_EUR', None)
    """
    word = text.strip()
    folded = word.casefold()
    if is_empty_word(folded) or folded in ("points", "point", "second", "times", "people", "persons", "feet of"):
        return None
    phrase = parse_unit_phrase(word) if len(word) > 1 or word in "%€$£" else None
    if phrase is not None and phrase.unit and not phrase.scale:
        return phrase.unit
    if word in ("m", "g", "t", "s", "h", "l", "W", "V", "K"):
        found = find_unit(word)
        return found.name if found else None
    if len(folded) > 3:
        for form in (folded, folded.removesuffix("s")):
            found = find_unit(form)
            if found is not None and not found.currency and found.label.casefold().startswith(form[:3]):
                return found.name
    return None


@cache
def comparatives(sign: int) -> str:
    """A pattern of the comparatives that point to larger numbers (1) or smaller ones (-1)."""
    words = [
        word for word, adjective in adjectives().items()
        if adjective.sign == sign and (word.endswith("er") or word in ("more", "less"))
    ]  # fmt: skip
    return "|".join(sorted(words, key=lambda word: -len(word)))
