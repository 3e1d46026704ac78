"""The English that the rules know, read from `english.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from typing import Any

from kgtable.resources import PACKAGE

WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_FIGURE = r"(\d[\d,]*(?:\.\d+)?)"
NUMBER = rf"({_FIGURE[1:-1]}|(?:{'|'.join(WORDS)})\b)"


_SPREAD = frozenset({"opening", "selection"})


@cache
def section(name: str) -> Any:
    """A table of the file."""
    path = PACKAGE / "answering" / "offline" / "english.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))[name]


@cache
def words(kind: str) -> tuple[str, ...]:
    """A list of words: ``stop``, ``person``, ``place`` or ``time``."""
    return tuple(section("words")[kind].split())


@cache
def ordinals() -> tuple[str, ...]:
    """The ordinal numbers in words, from the first."""
    return tuple(section("ordinals")["words"].split())


@cache
def explained(rule: str) -> str:
    """The words that a rule gives their meaning, so that no cell need say them."""
    return f"{section('explained')['always']} {section('explained').get(rule, '')}"


@cache
def any_of(*names: str) -> re.Pattern[str]:
    """Any of the adjectives of these kinds, such as ``most`` or ``earlier``, as whole words."""
    return pattern(rf"\b(?:{'|'.join(section('extremes')[name] for name in names)})\b")


@cache
def asked(name: str) -> re.Pattern[str]:
    """A pattern of the section `asked`; those of `_SPREAD` are spread over lines."""
    text = _with_numbers(_with_extremes(section("asked")[name]))
    return re.compile(text, re.IGNORECASE | (re.VERBOSE if name in _SPREAD else 0))


@cache
def forms() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The name of a form and a pattern by which to know it, in the order in which they are tried."""
    return tuple((name, pattern(text)) for name, text in _form_patterns())


@cache
def thresholds() -> tuple[tuple[str, bool, re.Pattern[str]], ...]:
    """Sign, whether it is about years, and pattern of each way to say a threshold."""
    return tuple(
        (
            entry["sign"],
            entry.get("years", False),
            pattern(_with_numbers(_with_extremes(text))),
        )
        for entry in section("thresholds")
        for text in entry["patterns"]
    )


@cache
def wants() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """What is asked for (``time``, ``person``, …) and the pattern that tells so."""
    return tuple((name, pattern(text)) for name, text in section("wants").items())


def pattern(text: str) -> re.Pattern[str]:
    """The pattern, blind to case."""
    return re.compile(text, re.IGNORECASE)


def _form_patterns() -> Iterator[tuple[str, str]]:
    for entry in section("forms"):
        for text in entry["patterns"]:
            yield entry["form"], _with_extremes(text)


def _with_numbers(text: str) -> str:
    ordinal = rf"{'|'.join(ordinals())}|\d+(?:st|nd|rd|th)"
    return text.replace("#", NUMBER).replace("@", _FIGURE).replace("{ordinal}", ordinal)


def _with_extremes(text: str) -> str:
    for name, found in section("extremes").items():
        text = text.replace(f"{{{name}}}", found)
    return text
