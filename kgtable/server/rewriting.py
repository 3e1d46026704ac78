"""SPARQL Update with a dataset given by the protocol: ``using-graph-uri`` and its twin.

SPARQL 1.1 Protocol, section 2.2.3: the parameters act as if the update's operations with a WHERE
clause had these USING clauses. The engine has no such argument, so the clauses are written in.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgtable.graph.sparql_tokens import Token, tokens


class DatasetConflictError(ValueError):
    """The update names its dataset itself, with USING or WITH."""


def with_dataset(update: str, default: Sequence[str], named: Sequence[str]) -> str:
    """The update with USING clauses for the given graphs before the WHERE of each operation.

    >>> with_dataset("DELETE WHERE { ?s ?p 1 }", ["http://g"], [])
    'DELETE { ?s ?p 1 } USING <http://g> WHERE { ?s ?p 1 }'

    Raises `DatasetConflictError` if an operation has USING or WITH, `AmbiguousTextError` if the
    text cannot be read safely.
    """
    if not default and not named:
        return update
    parts = [f"USING <{iri}>" for iri in default] + [f"USING NAMED <{iri}>" for iri in named]
    clause = " ".join(parts) + " "
    words = list(tokens(update))
    output: list[str] = []
    done = 0
    for place, (token, depth) in enumerate(zip(words, _depths(words), strict=True)):
        if depth:
            continue
        if token.is_word("USING", "WITH"):
            raise DatasetConflictError(f"{token.text.upper()} may not be combined with using-graph-uri.")
        if token.is_word("WHERE"):
            output.append(update[done : token.start])
            if place and words[place - 1].is_word("DELETE"):
                output.append(_template(update, words, place) + " ")
            output.append(clause)
            done = token.start
    return "".join(output) + update[done:]


def _depths(words: Sequence[Token]) -> list[int]:
    """How many braces are open at each token."""
    depths, depth = [], 0
    for token in words:
        if token.kind == "sign" and token.text == "}":
            depth = max(0, depth - 1)
        depths.append(depth)
        if token.kind == "sign" and token.text == "{":
            depth += 1
    return depths


def _template(update: str, words: Sequence[Token], where: int) -> str:
    """The braced pattern after the WHERE of ``DELETE WHERE``."""
    depth = 0
    for token in words[where + 1 :]:
        if token.kind == "sign" and token.text in "{}":
            depth += 1 if token.text == "{" else -1
            if depth == 0:
                return update[words[where + 1].start : token.start + 1]
    return ""
