"""SPARQL text in tokens: enough to find keywords and braces outside strings, IRIs and comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n]+|\#[^\r\n]*)
  | (?P<iri><[^<>"{}|^`\x00-\x20]*>)
  | (?P<string>\"\"\"(?:[^"\\]|\\.|"(?!""))*\"\"\"
             | '''(?:[^'\\]|\\.|'(?!''))*'''
             | "(?:[^"\\\r\n]|\\.)*"
             | '(?:[^'\\\r\n]|\\.)*')
  | (?P<variable>[?$]\w+)
  | (?P<language>@[A-Za-z][A-Za-z0-9-]*)
  | (?P<name>[\w.\-]*:(?:[\w.:\-]|%[0-9A-Fa-f]{2}|\\.)*)
  | (?P<word>\w+)
  | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """One piece of the text: its kind, the text itself and where it starts."""

    kind: str
    text: str
    start: int

    def is_word(self, *words: str) -> bool:
        """Whether the token is one of these keywords, in any case."""
        return self.kind == "word" and self.text.upper() in words


class AmbiguousTextError(ValueError):
    """The text can be read in two ways, one of which could hide a keyword."""


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a query or update, without white space and comments.

    >>> [token.text for token in tokens("ASK { ?s a 'x # y' } # done")]
    ['ASK', '{', '?s', 'a', "'x # y'", '}']

    Raises `AmbiguousTextError` where ``<`` may open an IRI or compare with a quoted string.
    """
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "sign"
        if kind == "space":
            continue
        if kind == "iri" and "'" in match.group():
            raise AmbiguousTextError("An IRI with an apostrophe can be read in two ways: write it as %27.")
        yield Token(kind, match.group(), match.start())
