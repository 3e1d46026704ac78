"""Words of questions, labels and cells in the form in which they are compared."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

import Stemmer

from kgtable.answering.offline import english

_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][a-z]+)?")
_MARKS = re.compile(r"\[[^\[\]]{1,12}\]")
STOPWORDS = frozenset(english.words("stop"))


@lru_cache(maxsize=200_000)
def stems(text: str) -> tuple[str, ...]:
    """The words of a text, folded and stemmed, in order; numbers without their separators.

    >>> stems("Café openings (1,200)[3]")
    ('cafe', 'open', '1200')
    """
    folded = unicodedata.normalize("NFKD", _MARKS.sub(" ", text)).casefold()
    plain = "".join(sign for sign in folded if not unicodedata.combining(sign))
    return tuple(_stem(word) for word in _WORD.findall(plain))


def spoken(text: str) -> dict[str, str]:
    """The words of a text as they stand in it, by their stems.

    >>> spoken("Planets of Mars")["planet"]
    'Planets'
    """
    return {stem: word for word in reversed(_WORD.findall(text)) for stem in stems(word)}


def content(words: tuple[str, ...]) -> frozenset[str]:
    """The words that carry meaning.

    >>> sorted(content(stems("What is the total of all ships?")))
    ['ship', 'total']
    """
    return frozenset(words) - _stemmed_stopwords()


@cache
def _stemmed_stopwords() -> frozenset[str]:
    return STOPWORDS | frozenset(_stem(word) for word in STOPWORDS)


@lru_cache(maxsize=200_000)
def _stem(word: str) -> str:
    if word[0].isdigit():
        return word.replace(",", "")
    word = re.sub(r"['’][a-z]*$", "", word)
    return str(_stemmer().stemWord(word))


@cache
def _stemmer() -> Stemmer.Stemmer:
    return Stemmer.Stemmer("english")
