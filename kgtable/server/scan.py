"""A light scanner of SPARQL text: what a request would touch, known before it is evaluated.

The engine parses for real; the scanner only has to find keywords that matter for safety (SERVICE,
LOAD), for the dataset (FROM, USING, WITH) and for caching, and must never overlook one.
"""

from __future__ import annotations

import re

from kgtable.graph.sparql_tokens import AmbiguousTextError, tokens

# Keywords need no space around them: "1SERVICE", "SERVICESILENT" and "SERVICEex:a" are all legal.
_REMOTE = re.compile(r"(?i)(?:(?:[0-9]\w*?|true|false)?service|load)")
_VOLATILE_NAMES = ("now", "rand", "uuid", "bnode")
_VOLATILE = re.compile(r"(?i)\b(?:now|rand|uuid|struuid|bnode)\s*\(")


def is_volatile(text: str) -> bool:
    """Whether the same query on the same graph may answer differently the next time."""
    lowered = text.lower()
    return any(name in lowered for name in _VOLATILE_NAMES) and _VOLATILE.search(text) is not None


def names_dataset(query: str) -> bool:
    """Whether the query has FROM clauses of its own.

    >>> names_dataset("SELECT * FROM <http://g> { ?s ?p ?o }")
    True
    >>> names_dataset("SELECT ?from { ?from ?p 'from' }")
    False
    """
    if "from" not in query.lower():
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
    lowered = text.lower()
    if "service" not in lowered and "load" not in lowered:
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
    return "file:" in text.lower() and re.search(r"(?i)<\s*file:", text) is not None
