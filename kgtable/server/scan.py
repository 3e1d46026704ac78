"""A light scanner of SPARQL text: what a request would touch, known before it is evaluated.

The engine parses for real; the scanner only has to find keywords that matter for safety (SERVICE,
LOAD), for the dataset (FROM, USING, WITH) and for caching, and must never overlook one.
"""

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

# Keywords need no space around them: "1SERVICE", "SERVICESILENT" and "SERVICEex:a" are all legal.
_REMOTE = re.compile(r"(?i)(?:(?:[0-9]\w*?|true|false)?service|load)")
_REMOTE_WORD = re.compile(r"(?i)service|load")
_DATASET_WORD = re.compile(r"(?i)from")
_VOLATILE = re.compile(r"(?i)\b(?:now|rand|uuid|struuid|bnode)\s*\(")


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


def is_volatile(text: str) -> bool:
    """Whether the same query on the same graph may answer differently the next time."""
    return _VOLATILE.search(text) is not None


def names_dataset(query: str) -> bool:
    """Whether the query has FROM clauses of its own.

    >>> names_dataset("SELECT * FROM <http://g> { ?s ?p ?o }")
    True
    >>> names_dataset("SELECT ?from { ?from ?p 'from' }")
    False
    """
    if _DATASET_WORD.search(query) is None:
        return False
    try:
        return any(token.kind == "word" and "FROM" in token.text.upper() for token in tokens(query))
    except AmbiguousTextError:
        return True


def remote_iris(text: str) -> tuple[str, ...]:
    """What SERVICE and LOAD would reach: each IRI as written, ``""`` where it is not spelt out.

    Rather one too many than one too few: a prefix called ``service:`` counts as well.

    >>> remote_iris("SELECT * { SERVICE SILENT <http://a/sparql> { ?s ?p 'SERVICE' } }")
    ('http://a/sparql',)
    >>> remote_iris("SELECT * { SERVICE ?where { ?s ?p ?o } }")
    ('',)

    Raises `AmbiguousTextError` as `tokens` does.
    """
    if _REMOTE_WORD.search(text) is None:
        return ()
    found = []
    walk = iter(tokens(text))
    for token in walk:
        if token.kind not in ("word", "name") or _REMOTE.match(token.text.partition(":")[0]) is None:
            continue
        target = next(walk, None) if token.is_word("SERVICE", "LOAD") else None
        if target is not None and target.is_word("SILENT"):
            target = next(walk, None)
        found.append(target.text[1:-1] if target is not None and target.kind == "iri" else "")
    return tuple(found)


def file_iris(text: str) -> bool:
    """Whether an IRI of the text points to a file of the server's machine."""
    return re.search(r"(?i)<\s*file:", text) is not None
