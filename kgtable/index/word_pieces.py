"""The word pieces of BERT, which MiniLM's vocabulary consists of.

A text is cleaned and lower-cased, accents are taken off, it is cut at spaces and punctuation, and each word is cut into
the longest pieces that the vocabulary has, from its start. Devlin et al. 2019; the rules are those of BERT's own
tokenizer (``tokenization.py`` of google-research/bert). Words such as ``[SEP]`` in a text are a text like any other.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path

LONGEST_WORD = 100
"""Characters of a word; a longer one is unknown as a whole."""
REMEMBERED = 100_000
"""Words whose pieces are kept."""

_ASCII_CONTROLS = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 127])
_ASCII_WORD = re.compile(r"[0-9a-z]+|[!-/:-@\[-`{-~]")
_REMOVED = frozenset({"Cc", "Cf", "Co", "Cs"})
_IDEOGRAPHS = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)
"""Written without spaces: each is a word of its own."""


class WordPieces:
    """Texts as numbers of a vocabulary's pieces, between those of ``[CLS]`` and ``[SEP]``."""

    def __init__(self, vocabulary: Mapping[str, int], longest: int) -> None:
        self._vocabulary = vocabulary
        self._longest = longest
        self._first, self._last = vocabulary["[CLS]"], vocabulary["[SEP]"]
        self._unknown = [vocabulary["[UNK]"]]
        self._known: dict[str, list[int]] = {}

    @classmethod
    def read(cls, path: Path, longest: int) -> WordPieces:
        """The pieces of a file, one a line; a text has at most `longest` numbers."""
        words = path.read_text(encoding="utf-8").split("\n")
        return cls({word: number for number, word in enumerate(words) if word}, longest)

    def encode(self, text: str) -> list[int]:
        """The numbers of a text; what is beyond the longest is left out."""
        numbers = [self._first]
        for word in _words(text):
            numbers += self._pieces(word)
            if len(numbers) >= self._longest:
                break
        return [*numbers[: self._longest - 1], self._last]

    def _pieces(self, word: str) -> list[int]:
        found = self._known.get(word)
        if found is None:
            found = self._cut(word)
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[word] = found
        return found

    def _cut(self, word: str) -> list[int]:
        if len(word) > LONGEST_WORD:
            return self._unknown
        numbers: list[int] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            for end in range(len(word), start, -1):
                number = self._vocabulary.get(mark + word[start:end])
                if number is not None:
                    break
            else:
                return self._unknown
            numbers.append(number)
            start = end
        return numbers


def _words(text: str) -> Iterator[str]:
    """The words and marks of a text, cleaned and in small letters."""
    if text.isascii():
        plain = text.lower() if text.isprintable() else text.translate(_ASCII_CONTROLS).lower()
        for found in _ASCII_WORD.finditer(plain):
            yield found[0]
        return
    spaced = "".join(map(_cleaned, text))
    bare = (sign for sign in unicodedata.normalize("NFD", spaced) if unicodedata.category(sign) != "Mn")
    for part in "".join(sign.lower() for sign in bare).split():
        word = ""
        for sign in part:
            if not _is_mark(sign):
                word += sign
                continue
            if word:
                yield word
            yield sign
            word = ""
        if word:
            yield word


def _cleaned(sign: str) -> str:
    """What stands for a character: nothing for a control, a space for any space, space around an ideograph."""
    if sign in "\t\n\r":
        return " "
    if sign == "\ufffd" or unicodedata.category(sign) in _REMOVED:
        return ""
    if sign.isspace():
        return " "
    code = ord(sign)
    return f" {sign} " if any(low <= code <= high for low, high in _IDEOGRAPHS) else sign


def _is_mark(sign: str) -> bool:
    """Whether a character is punctuation, as BERT sees it: any sign of ASCII is."""
    if sign.isascii():
        return not sign.isalnum() and not sign.isspace()
    return unicodedata.category(sign).startswith("P")
