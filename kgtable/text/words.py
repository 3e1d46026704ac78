"""Words and stems of texts as index terms, and the word lists: function words and words that only ask."""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import cache

import Stemmer

from kgtable.resources import PACKAGE
from kgtable.values.text import text_cache, without_accents

_WORD = re.compile(r"\d[\d,]*(?:\.\d+)?|[^\W\d_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_POSSESSIVE = re.compile(r"['’]s\b")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")
"""Runs of scripts that put no space between words: each pair of neighbours counts as a word."""

_AGENT = re.compile(r"(?:er|or)s?$|ings$")

# PyStemmer's objects must not be shared between threads.
_local = threading.local()


def words(text: str) -> list[str]:
    """The words and numbers of a text, lower case, without accents, thousands separators and possessives.

    >>> words("Luís's 1,115 Chart-Positions, petType 2.50")
    ['luis', '1115', 'chart', 'positions', 'pet', 'type', '2.50']
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", without_accents(text))
    plain = _POSSESSIVE.sub("", _CAMEL.sub(" ", text)).lower()
    found: list[str] = []
    for word in _WORD.findall(plain):
        if _UNSPACED.search(word):
            found += (word[place : place + 2] for place in range(len(word) - 1))
        elif word[0].isdecimal():
            found.append(word.replace(",", ""))
        else:
            found.append(word)
    return found


def terms(text: str) -> list[str]:
    """The stems of a text's words, without words that carry no meaning, in reading order.

    >>> terms("the number of nations")
    ['number', 'nation']
    """
    empty = _word_list("function")
    return [stem(word) for word in words(text) if word not in empty]


@cache
def asking_terms() -> frozenset[str]:
    """Stems of words for the kind of question, not its subject: "how many", "list", "difference"."""
    return frozenset(map(stem, _word_list("asking")))


def only_asks(word: str) -> bool:
    """Whether a lower-case word is a form of one that says what to do ("compute"), but no agent noun ("computer").

    >>> only_asks("compute"), only_asks("computed"), only_asks("computers")
    (True, True, False)
    """
    return word in _word_list("asking") or (stem(word) in asking_terms() and not _AGENT.search(word))


def terms_asked(text: str) -> list[tuple[str, bool]]:
    """The `terms` of a question, each with whether it only asks."""
    empty = _word_list("function")
    return [(stem(word), only_asks(word)) for word in words(text) if word not in empty]


def is_empty_word(word: str) -> bool:
    """Whether a lower-case word is a function word or one that only asks."""
    return word in _word_list("function") or only_asks(word)


@text_cache(200_000)
def stem(word: str) -> str:
    """The stem of a lower-case English word, by Snowball."""
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:
        stemmer = _local.stemmer = Stemmer.Stemmer("english", 0)
    return str(stemmer.stemWord(word))


@cache
def _word_list(name: str) -> frozenset[str]:
    text = (PACKAGE / "text" / "english" / f"{name}.txt").read_text(encoding="utf-8")
    return frozenset(text.split())
