"""What is known of the columns of a dataset once its tables are converted, and how that sums up."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, TypeVar

from kgtable.ontology.naming import base_name
from kgtable.tables.model import Column

QUANTITY: Final = "http://qudt.org/schema/qudt/QuantityValue"
MISSING: Final = "https://w3id.org/kgtable#missing"

T = TypeVar("T", int, str)

LONGEST_DISPLAY: Final = 300
_UNPRINTABLE = re.compile("[\x00-\x20\x7f-\x9f\u2028\u2029\ufffe\uffff\ud800-\udfff\\s]+")


def display_name(column: Column) -> str:
    """A column's header path as people and files see it, ``[column 3]`` where there is none.

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


@dataclass(frozen=True, slots=True)
class ColumnFact:
    """One column of one table after its conversion.

    `name` is `display_name` of the column, `predicate` the local name or full IRI its cells hang on,
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


@dataclass(frozen=True, slots=True)
class Summary:
    """Several columns taken together. All counts are sorted, the most frequent first.

    `names`, `predicates` and `generated` are counted by columns; `tables` are sorted.
    """

    names: Mapping[str, int]
    predicates: Mapping[str, int]
    generated: Mapping[str, int]
    tables: tuple[str, ...]
    ranges: Mapping[str, int]
    units: Mapping[str, int]
    scales: Mapping[int, int]


def by_predicate(facts: Iterable[ColumnFact]) -> dict[str, Summary]:
    """What is known of each predicate, sorted by predicate."""
    return _summaries((fact.predicate, fact) for fact in facts)


def by_name(facts: Iterable[ColumnFact]) -> dict[str, Summary]:
    """What is known of the columns of each name, sorted by name; ``_2`` counts as its base."""
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

    def summary(self) -> Summary:
        return Summary(
            names=_sorted(self.names),
            predicates=_sorted(self.predicates),
            generated=_sorted(self.generated),
            tables=tuple(sorted(self.tables)),
            ranges=_sorted(self.ranges),
            units=_sorted(self.units),
            scales=_sorted(self.scales),
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
    """The most frequent first, equally frequent ones in their own order."""
    if len(counts) < 2:
        return counts
    return dict(sorted(sorted(counts.items()), key=lambda item: -item[1]))
