"""Questions that follow another: "and in 2022?" asked as the whole question that it stands for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kgtable.answering.answer import Answer
from kgtable.api import KnowledgeGraph
from kgtable.errors import KgtableError
from kgtable.ontology.column_stats import clean_text

MOST_WORDS = 8
"""A longer question says by itself what it asks."""
MOST_TRIED = 4
"""Rewritings that are answered to choose among them."""

_FOLLOWING = re.compile(
    r"(?:(?:and|or|but|then)\b[\s,]*)?(?:(?:what|how) about\b\s*)?(?P<linked>(?:(?:in|for|of|at|by|from|the)\s+)*)"
    r"(?P<rest>\S.*?)[\s?.!]*",
    re.IGNORECASE | re.DOTALL,
)
_BEGINS = re.compile(r"(?:and|or|but|then|in|for|of|at|by|from|what about|how about)\b", re.IGNORECASE)
_ASKS = re.compile(
    r"\b(?:which|who|whose|when|where|why|is|are|was|were|do|does|did|has|have|had)\b", re.IGNORECASE
)
_YEAR = re.compile(r"(?<![\w.])(?:FY ?)?(?:19|20)\d\d(?!\w)", re.IGNORECASE)
_UNIT_BEHIND = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\s*$")


def follows(question: str) -> str | None:
    """What a question names anew where it is no question of its own; None where it is one.

    >>> follows("And in 2022?"), follows("what about the Moon?"), follows("Which planet is the largest?")
    ('2022', 'Moon', None)
    """
    plain = " ".join(question.split())
    if not _BEGINS.match(plain) or len(plain.split()) > MOST_WORDS or _ASKS.search(plain):
        return None
    match = _FOLLOWING.fullmatch(plain)
    return match["rest"] if match else None


def standalone(graph: KnowledgeGraph, question: str, before: str) -> str:
    """The whole question that one following `before` stands for; itself where it says all, or nothing fits.

    A year takes the place of the year before; a name that of a name which the answer before rests on, by
    preference one with which the rules verify an answer.
    """
    named = follows(question)
    if named is None:
        return question
    years = set(_YEAR.findall(before))
    if _YEAR.fullmatch(named) and len(years) == 1:
        return _YEAR.sub(lambda _: named, before)
    try:
        answer = graph.ask(before, model="none")
    except KgtableError:
        return question
    rewritten = list(dict.fromkeys(_rewritten(before, named, answer)))[:MOST_TRIED]
    answers = {one: _answered(graph, one) for one in rewritten}
    sure = (one for one, found in answers.items() if found is not None and found.verified)
    naming = (one for one, found in answers.items() if found is not None and _rests_on(found, named))
    return next(sure, None) or next(naming, None) or question


def _rewritten(before: str, named: str, answer: Answer) -> Iterator[str]:
    """The question before with each name that its answer rests on replaced, the longest first."""
    names: dict[str, None] = {}
    for citation in answer.citations:
        for text in (citation.label, citation.text, citation.header):
            name = _UNIT_BEHIND.sub("", clean_text(text)).lstrip("-–—•· ")
            if any(map(str.isalpha, name)):
                names[name] = None
    for name in sorted(names, key=len, reverse=True):
        found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", before, re.IGNORECASE)
        if found:
            yield before[: found.start()] + named + before[found.end() :]


def _answered(graph: KnowledgeGraph, question: str) -> Answer | None:
    try:
        return graph.ask(question, model="none")
    except KgtableError:
        return None


def _rests_on(answer: Answer, name: str) -> bool:
    """Whether a cell that an answer rests on, or its row or column, has the name."""
    wanted = name.casefold()
    return any(
        wanted in clean_text(text).casefold()
        for citation in answer.citations
        for text in (citation.text, citation.label, citation.header)
    )
