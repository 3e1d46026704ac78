"""Column names that may mean the same, as proposals for a person to look at; nothing is merged.

Without an embedding function, names are proposed whose words are the same but for case, plural, order
and words that say little ("total", "amount"). With one, also names whose vectors are alike. Vectors
alone take "Round 1" and "Round 3", or "Chart positions UK" and "Chart positions AUS", for the same:
the figures and signs of two names must agree, names that exchange a word for another must be more
alike than names of which one merely says more, and names that stand side by side in a table are
never proposed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import Stemmer
from numpy.typing import NDArray

from kgtable.ontology.column_stats import Summary
from kgtable.values.periods import is_temporal

Embed: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts → float32 vectors of length one, a row for each."""

Proposals: TypeAlias = Mapping[str, tuple[str, ...]]
"""Column name → column names that may mean the same, the most alike first."""

Propose: TypeAlias = Callable[[Mapping[str, Summary]], Proposals]
"""`propose`, with or without an embedding bound to it."""

SAYS_MORE: Final = 0.82
"""Cosine similarity from which two names are alike where the words of one are among the other's."""

SAYS_OTHERWISE: Final = 0.88
"""The same where each has a word that the other lacks."""

MOST_PROPOSALS: Final = 5
"""Proposals for one name, the most alike first."""

_BLOCK: Final = 1024
_SAYS_LITTLE: Final = frozenset(
    ["total", "amount", "value", "the", "a", "an", "of", "in", "for", "and", "per"]
)
_WORD = re.compile(r"[^\W\d_]+")
_FIGURES = re.compile(r"\d+(?:[.,]\d+)*")
_SIGNS = re.compile(r"[%‰$€£¥+<>±#Δ∆]")


@dataclass(frozen=True, slots=True)
class _Name:
    text: str
    predicate: str
    tables: frozenset[str]
    words: frozenset[str]
    exact: tuple[str, ...]
    is_temporal: bool


def propose(summaries: Mapping[str, Summary], embed: Embed | None = None) -> dict[str, tuple[str, ...]]:
    """For each column name those that may mean the same, at most `MOST_PROPOSALS`.

    `summaries` are those of `facts.by_name`. Names that share a predicate already are not proposed.
    """
    stemmer = Stemmer.Stemmer("english")
    names = [
        _name(text, summary, stemmer)
        for text, summary in summaries.items()
        if not text.startswith("[column ")
    ]
    likeness: dict[tuple[int, int], float] = {}
    for one, other in _of_equal_words(names):
        likeness[one, other] = 1.0
    if embed is not None and len(names) > 1:
        for one, other, cosine in _of_like_vectors(embed([name.text for name in names])):
            if _fit(names[one], names[other], cosine):
                likeness.setdefault((one, other), cosine)
    found: dict[int, list[tuple[float, str]]] = defaultdict(list)
    for (one, other), cosine in likeness.items():
        if names[one].predicate != names[other].predicate and not names[one].tables & names[other].tables:
            found[one].append((-cosine, names[other].text))
            found[other].append((-cosine, names[one].text))
    return {
        names[index].text: tuple(text for _, text in sorted(proposals)[:MOST_PROPOSALS])
        for index, proposals in sorted(found.items())
    }


def between_predicates(proposals: Proposals, summaries: Mapping[str, Summary]) -> dict[str, tuple[str, ...]]:
    """The proposals as predicate → predicates, sorted."""
    predicates = {name: next(iter(summary.predicates)) for name, summary in summaries.items()}
    found: dict[str, set[str]] = defaultdict(set)
    for name, others in proposals.items():
        found[predicates[name]].update(predicates[other] for other in others)
    return {predicate: tuple(sorted(others - {predicate})) for predicate, others in sorted(found.items())}


def _name(text: str, summary: Summary, stemmer: Any) -> _Name:
    words = stemmer.stemWords([word.casefold() for word in _WORD.findall(text)])
    return _Name(
        text=text,
        predicate=next(iter(summary.predicates)),
        tables=frozenset(summary.tables),
        words=frozenset(words) - _SAYS_LITTLE or frozenset(words),
        exact=(*sorted(_FIGURES.findall(text)), *sorted(set(_SIGNS.findall(text.replace("∆", "Δ"))))),
        is_temporal=is_temporal([text]),
    )


def _of_equal_words(names: Sequence[_Name]) -> Iterator[tuple[int, int]]:
    alike: dict[tuple[frozenset[str], tuple[str, ...]], list[int]] = defaultdict(list)
    for index, name in enumerate(names):
        if name.words:
            alike[name.words, name.exact].append(index)
    for indexes in alike.values():
        for place, other in enumerate(indexes):
            for one in indexes[:place]:
                yield one, other


def _of_like_vectors(vectors: NDArray[np.float32]) -> Iterator[tuple[int, int, float]]:
    for start in range(0, len(vectors), _BLOCK):
        cosines = vectors[start : start + _BLOCK] @ vectors.T
        rows, columns = np.nonzero(cosines >= SAYS_MORE)
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
            if start + row < column:
                yield start + row, column, round(float(cosines[row, column]), 4)


def _fit(one: _Name, other: _Name, cosine: float) -> bool:
    if one.exact != other.exact or one.is_temporal or other.is_temporal:
        return False
    nested = one.words <= other.words or other.words <= one.words
    return cosine >= (SAYS_MORE if nested else SAYS_OTHERWISE)
