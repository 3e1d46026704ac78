"""The kind of thing a question asks for, and the probability that a text answers it rather than a table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import exp

from kgtable.resources import read_packaged_json
from kgtable.text.words import stem

_REASON = (
    r"\bwhy\b|\b(?:caused?|led to|drove|driven|contributed|resulted in|impacted|influenced|attributable|due to)\b"
    r"|\b(?:reasons?|causes?|drivers?|factors?|rationale)\b"
)
_AMOUNTS = (
    r"amount|number|percentage|percent|total|value|rate|price|cost|costs|revenues?|income|expenses?|proceeds|balance"
    r"|ratio|sum|increase|decrease|change|discount|consideration|size|proportion|share"
)
_KINDS = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("how-often", r"^how (?:often|frequently)\b|^(?:what|which) frequency\b"),
        (
            "how-long",
            r"^how (?:long|old)\b|^(?:what|which) (?:duration|period)\b"
            r"|^how many (?:\w+ )?(?:years|months|weeks|days|hours|minutes)\b"
            r"|^what (?:is|was|are|were) (?:the |its |their )?(?:[\w-]+ ){0,4}?(?:duration|term|life|period)\b",
        ),
        ("how-much", r"^how (?:much|many|large|high|big)\b"),
        ("when", r"^when\b|^(?:what|which) (?:\w+ ){0,2}?(?:years?|dates?|days?|months?|quarters?)\b"
                 r"|^what (?:is|was|are|were) (?:the |its |their )?(?:\w+ )?dates?\b"),
        ("who", r"^(?:who|whom|whose)\b"),
        ("where", r"^where\b"),
        ("why", rf"^why\b|^(?:what|which|how)\b.*(?:{_REASON})"),
        ("how", r"^how\b"),
        (
            "what-of",
            r"^what\b.*\b(?:consists?|consisted|comprised?|comprises|includes?|included|excluded?|excludes|represents?"
            r"|represented|relates?|related|refers?|reflects?|means?|contains?|composed|defined|based|categori[sz]ed)\b",
        ),
        ("what-do", r"^what (?:do|does|did)\b"),
        (
            "amount",
            r"^what (?:is|was|were|are|will be)\s+(?:(?:the|its|their)\s+)?"
            rf"(?:[\w’'&.-]+ ){{0,5}}?(?:{_AMOUNTS})\b",
        ),
        ("definition", r"^what (?:is|are|was|were) (?:an? |the )?[\w’'“”\"()&-]+(?: [\w’'“”\"()&-]+){0,3} ?\?*$"),
        ("what-is", r"^what (?:is|are|was|were)\b"),
        ("which", r"^which\b"),
        ("what", r"^what\b"),
        ("whether", r"^(?:do|does|did|is|are|was|were|has|have|had|can|will)\b"),
    )
)  # fmt: skip
_ASKING = re.compile(r"\b(?:what|which|who|whom|whose|when|where|why|how)\b.*", re.IGNORECASE | re.DOTALL)
_SORTS = {
    "how-much": "figure", "amount": "figure", "how-long": "time", "how-often": "time", "when": "time", "why": "reason",
    "how": "words", "what-of": "words", "what-do": "words", "definition": "words", "what-is": "words",
    "who": "name", "where": "name", "which": "name", "what": "name", "whether": "words",
}  # fmt: skip
COMPUTED = re.compile(
    r"\b(?:average|mean|sum|difference|ratio|proportion|percentage|per ?cent|percent|change|increase|decrease|growth"
    r"|total|highest|lowest|largest|smallest|most|least|exceed\w*|more than|less than|between)\b|%",
    re.IGNORECASE,
)
SEVERAL = re.compile(r"\b(?:respective(?:ly)?|both|all|which years?|in order|each)\b", re.IGNORECASE)
YEARS = re.compile(r"\b(?:19|20)\d\d\b")
_OPERATIONS = frozenset(
    [
        "above", "average", "below", "big", "bigger", "billion", "change", "decline", "decrease", "difference", "end",
        "exceed", "fall", "fiscal", "great", "greater", "growth", "high", "higher", "increase", "large", "larger",
        "low", "lower", "mean", "million", "percentage", "proportion", "ratio", "reason", "rise", "small", "smaller",
        "sum", "thousand", "year",
    ]
)  # fmt: skip
_OPERATION_STEMS = frozenset(map(stem, _OPERATIONS))


def question_kind(question: str) -> str:
    """Classify what a question asks for: a time, a duration, an amount, a reason, a way, a person, a place, a thing.

    >>> question_kind("In which year were sales higher?"), question_kind("What does the cost of sales consist of?")
    ('when', 'what-of')
    """
    asking = _ASKING.search(question)
    asked = asking[0] if asking else question.strip()
    return next((kind for kind, pattern in _KINDS if pattern.search(asked)), "other")


def question_sort(kind: str) -> str:
    """Group the kinds of `question_kind` into: ``figure``, ``time``, ``reason``, ``name``, ``words``."""
    return _SORTS.get(kind, "words")


def is_operation(word: str) -> bool:
    """Whether a lower-case word, or its stem, says what to compute or compare, or a scale, not what of.

    >>> is_operation("increased"), is_operation("thousands"), is_operation("inventories")
    (True, True, False)
    """
    return stem(word) in _OPERATION_STEMS or word in _OPERATION_STEMS


def source_weights() -> dict[str, float]:
    """The learned weight of each feature of a question, see ``scripts/train_spans.py``."""
    weights: dict[str, float] = read_packaged_json("systems/documents/source_weights.json")
    return weights


def source_features(question: str) -> Iterator[tuple[str, float]]:
    """The features that tell whether a text or a table answers a question."""
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
