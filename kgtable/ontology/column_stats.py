"""Statistics of the columns of a dataset, collected by conversion, by name and by predicate."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from kgtable.ontology.naming import base_name
from kgtable.tables.model import Column, Meaning, Role
from kgtable.text.words import stem
from kgtable.values.periods import is_temporal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SAID_FROM: Final = 0.7
"""Minimum confidence for showing a column's meaning to a model."""
QUANTITY: Final = "http://qudt.org/schema/qudt/QuantityValue"
MISSING: Final = "https://w3id.org/kgtable#missing"

T = TypeVar("T", int, str)

LONGEST_DISPLAY: Final = 300
_UNPRINTABLE = re.compile("[\x00-\x20\x7f-\x9f\u2028\u2029\ufffe\uffff\ud800-\udfff\\s]+")


def display_name(column: Column) -> str:
    """A column's header path as people and files see it, ``[column 3]`` if there is none.

    White space and control characters become one space; long texts are cut and closed with a hash.

    >>> display_name(Column(1, ("Years ended", "2019"))), display_name(Column(2))
    ('Years ended 2019', '[column 3]')
    """
    text = clean_text(column.name)
    if not text:
        return f"[column {column.index + 1}]"
    if len(text) > LONGEST_DISPLAY:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        text = f"{text[:LONGEST_DISPLAY]}… [{digest}]"
    return text


def clean_text(text: str) -> str:
    """The text on one line without characters that XML or a spreadsheet cannot hold."""
    return _UNPRINTABLE.sub(" ", text).strip()


def said_meaning(meaning: Meaning | None, least: float = 0.0) -> str:
    """Kind and variant of a measure, or another role, in a word or two; empty below the confidence `least`.

    >>> from kgtable.tables.model import MeasureKind
    >>> said_meaning(Meaning(Role.MEASURE, MeasureKind.LEVEL, "budget")), said_meaning(Meaning(Role.TIME))
    ('level, budget', 'time')
    """
    if meaning is None or meaning.confidence < least:
        return ""
    return ", ".join(filter(None, ((meaning.kind or meaning.role).value.lower(), meaning.variant)))


_SPOKE = {
    "mapping": "a person's decision", "model": "a language model", "values": "its values", "unit": "its unit",
    "words": "the words of its header", "arithmetic": "sums and products that hold", "layout": "its place in the table",
    "rows": "its rows, which are measures of their own", "title": "the table's title",
}  # fmt: skip


def evidence_text(meaning: Meaning) -> str:
    """The evidence for a meaning, and its confidence, as text.

    >>> evidence_text(Meaning(Role.TIME, evidence=("values", "words"), confidence=0.9))
    'from its values and the words of its header, confidence 0.90'
    """
    spoke = " and ".join(_SPOKE.get(one, one) for one in meaning.evidence)
    return f"{f'from {spoke}, ' if spoke else ''}confidence {meaning.confidence:.2f}"


def informative_meaning(meaning: Meaning | None) -> str:
    """`said_meaning` for a model: where it is sure, and where the cells do not say as much by themselves."""
    if meaning is None or (meaning.kind is None and meaning.role in (Role.LABEL, Role.TEXT, Role.MEASURE)):
        return ""
    return said_meaning(meaning, SAID_FROM)


@dataclass(frozen=True, slots=True)
class ColumnFact:
    """One column of one table after its conversion.

    `name` is `display_name` of the column, `predicate` the local name or full IRI of its cells' predicate,
    `generated` the one the generator alone would have given (empty: the same). `ranges` counts its
    cells by the IRI of their class or datatype (`QUANTITY`, ``xsd:string``…, `MISSING`), `units` its
    quantities by QUDT unit name, `scales` by power of ten.
    """

    table: str
    index: int
    name: str
    predicate: str
    ranges: Mapping[str, int] = field(default_factory=dict)
    units: Mapping[str, int] = field(default_factory=dict)
    scales: Mapping[int, int] = field(default_factory=dict)
    generated: str = ""
    meaning: Meaning | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """Several columns taken together. All counts are sorted, the most frequent first.

    `names`, `predicates` and `generated` are counted by columns; `tables` are sorted. `meanings` are the different
    meanings of the columns, the most frequent first.
    """

    names: Mapping[str, int]
    predicates: Mapping[str, int]
    generated: Mapping[str, int]
    tables: tuple[str, ...]
    ranges: Mapping[str, int]
    units: Mapping[str, int]
    scales: Mapping[int, int]
    meanings: tuple[Meaning, ...] = ()


def by_predicate(facts: Iterable[ColumnFact]) -> dict[str, Summary]:
    """The columns of each predicate summarised, sorted by predicate."""
    return _summaries((fact.predicate, fact) for fact in facts)


def by_name(facts: Iterable[ColumnFact]) -> dict[str, Summary]:
    """The columns of each name summarised, sorted by name; a name ending in ``_2`` counts as its base."""
    return _summaries((fact.name, fact) for fact in facts)


class _Sum:
    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.predicates: dict[str, int] = {}
        self.generated: dict[str, int] = {}
        self.tables: set[str] = set()
        self.ranges: dict[str, int] = {}
        self.units: dict[str, int] = {}
        self.scales: dict[int, int] = {}
        self.meanings: dict[Meaning, int] = {}

    def add(self, fact: ColumnFact) -> None:
        generated = fact.generated or fact.predicate
        _count(self.names, fact.name)
        _count(self.predicates, _family(fact.predicate))
        _count(self.generated, _family(generated))
        self.tables.add(fact.table)
        for range_, times in fact.ranges.items():
            _count(self.ranges, range_, times)
        for unit, times in fact.units.items():
            _count(self.units, unit, times)
        for scale, times in fact.scales.items():
            _count(self.scales, scale, times)
        if fact.meaning is not None:
            self.meanings[fact.meaning] = self.meanings.get(fact.meaning, 0) + 1

    def summary(self) -> Summary:
        return Summary(
            names=_sorted(self.names),
            predicates=_sorted(self.predicates),
            generated=_sorted(self.generated),
            tables=tuple(sorted(self.tables)),
            ranges=_sorted(self.ranges),
            units=_sorted(self.units),
            scales=_sorted(self.scales),
            meanings=tuple(sorted(self.meanings, key=lambda one: (-self.meanings[one], str(one)))),
        )


def _summaries(keyed: Iterable[tuple[str, ColumnFact]]) -> dict[str, Summary]:
    sums: dict[str, _Sum] = {}
    for key, fact in keyed:
        if key not in sums:
            sums[key] = _Sum()
        sums[key].add(fact)
    return {key: sums[key].summary() for key in sorted(sums)}


@lru_cache(maxsize=100_000)
def _family(predicate: str) -> str:
    return base_name(predicate) or predicate


def _count(counts: dict[T, int], item: T, times: int = 1) -> None:
    counts[item] = counts.get(item, 0) + times


def _sorted(counts: dict[T, int]) -> dict[T, int]:
    if len(counts) < 2:
        return counts
    return dict(sorted(sorted(counts.items()), key=lambda item: -item[1]))


Embed: TypeAlias = "Callable[[Sequence[str]], NDArray[np.float32]]"
"""Texts → float32 vectors of length one, one row per text."""

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
_SAYS_LITTLE: Final = frozenset(["total", "amount", "value", "the", "a", "an", "of", "in", "for", "and", "per"])
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
    names = [_name(text, summary) for text, summary in summaries.items() if not text.startswith("[column ")]
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


def _name(text: str, summary: Summary) -> _Name:
    words = [stem(word.casefold()) for word in _WORD.findall(text)]
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
    import numpy as np  # the server imports this module to start, and needs no vectors

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
