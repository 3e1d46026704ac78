"""What a question asks for, and how likely a text answers it rather than a table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import exp

from kgtable.resources import read_packaged_json

_AMOUNT = re.compile(
    r"\bhow (?:much|many|large|long|old|high)\b"
    r"|\bwhat (?:is|was|were|are|will be)?\s*(?:the |its |their )?(?:\w+ ){0,4}?"
    r"(?:amount|number|percentage|percent|total"
    r"|value|rate|price|cost|costs|revenues?|income|expenses?|proceeds|balance|ratio|sum|increase|decrease|change"
    r"|fair value|discount|term|consideration)\b",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"\b(?:when|what (?:year|date|day|month|quarter)|which (?:\w+ )?(?:year|date|quarter|month))\b",
    re.IGNORECASE,
)
_REASON_ASKED = re.compile(
    r"\bwhy\b|\bwhat (?:caused|led|drove|contributed|(?:is|was|were|are) the (?:\w+ )?(?:reasons?|causes?|drivers?))\b",
    re.IGNORECASE,
)
_KINDS = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("when", _WHEN.pattern),
        ("how-long", r"\bhow (?:long|old|often)\b|\bwhat (?:duration|period)\b|\bover what\b"),
        ("how-much", r"\bhow (?:much|many|large|high)\b"),
        (
            "why",
            _REASON_ASKED.pattern
            + r"|\b(?:due to|reasons?|caused?|causes|attributable|driven|drove|factors?)\b",
        ),
        ("how", r"\bhow\b"),
        ("who", r"\b(?:who|whom|whose)\b"),
        ("where", r"\bwhere\b"),
        ("amount", _AMOUNT.pattern),
        (
            "what-does",
            r"^\s*what (?:do|does|did)\b.*\b(?:include|consist|comprise|represent|relate|reflect|refer|mean|contain)",
        ),
        ("what-do", r"^\s*what (?:do|does|did)\b"),
        ("what-is", r"^\s*what (?:is|are|was|were)\b"),
        ("which", r"\bwhich\b"),
    )
)
COMPUTED = re.compile(
    r"\b(?:average|mean|sum|difference|ratio|proportion|percentage|per ?cent|percent|change|increase|decrease|growth"
    r"|total|highest|lowest|largest|smallest|most|least|exceed\w*|more than|less than|between)\b|%",
    re.IGNORECASE,
)
SEVERAL = re.compile(r"\b(?:respective(?:ly)?|both|all|which years?|in order|each)\b", re.IGNORECASE)
YEARS = re.compile(r"\b(?:19|20)\d\d\b")


def question_kind(question: str) -> str:
    """What is asked for: a time, a length of time, an amount, a reason, a way, a person, a place, or a thing."""
    return next((kind for kind, pattern in _KINDS if pattern.search(question)), "what")


def source_weights() -> dict[str, float]:
    """The learned weight of each feature of a question, see ``scripts/train_spans.py``."""
    weights: dict[str, float] = read_packaged_json("systems/documents/source_weights.json")
    return weights


def source_features(question: str) -> Iterator[tuple[str, float]]:
    """What tells whether a text or a table answers a question."""
    yield "text", 1.0
    yield f"kind:{question_kind(question)}", 1.0
    yield "computed", float(COMPUTED.search(question) is not None)
    yield "several", float(SEVERAL.search(question) is not None)
    yield "years", min(len(set(YEARS.findall(question))), 2.0)


def text_share(question: str) -> float:
    """The probability that the answer stands in a text alone."""
    known = source_weights()
    score = sum(known.get(name, 0.0) * value for name, value in source_features(question))
    return 1 / (1 + exp(-score))
