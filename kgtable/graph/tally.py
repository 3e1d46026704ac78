"""Counts of a conversion: cells by kind, units and scales by source, quads by predicate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kgtable.graph.row_forms import Parts, RowChunk, Template
from kgtable.graph.terms import RDF_TYPE, Block, Term


@dataclass
class Tally:
    """Counts over one table or many.

    `kinds` counts cells by the kind they were read as, `units` by ``(unit, where it came from)``,
    `scales` by ``(scale, where it came from)``, `predicates` and `classes` quads by full IRI.
    `untyped` counts the text cells in columns that otherwise hold numbers or dates, `rows` the members and totals.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    units: Counter[tuple[str, str]] = field(default_factory=Counter)
    scales: Counter[tuple[str, str]] = field(default_factory=Counter)
    predicates: Counter[str] = field(default_factory=Counter)
    classes: Counter[str] = field(default_factory=Counter)
    untyped: int = 0
    rows: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Adds the counts of another tally to this one."""
        self.kinds.update(other.kinds)
        self.units.update(other.units)
        self.scales.update(other.scales)
        self.predicates.update(other.predicates)
        self.classes.update(other.classes)
        self.untyped += other.untyped
        self.rows.update(other.rows)

    @property
    def cells(self) -> int:
        """How many cells are not empty."""
        return sum(self.kinds.values())

    def to_json(self) -> dict[str, Any]:
        """The counts as JSON values, the most frequent first."""
        return {
            "kinds": _ordered(self.kinds),
            "units": _nested(self.units),
            "scales": _nested(self.scales),
            "predicates": _ordered(self.predicates),
            "classes": _ordered(self.classes),
            "untyped": self.untyped,
            "rows": _ordered(self.rows),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Tally:
        """The tally that `to_json` wrote."""
        return cls(
            Counter(content["kinds"]),
            _unnested(content["units"]),
            _unnested(content["scales"]),
            Counter(content["predicates"]),
            Counter(content["classes"]),
            int(content["untyped"]),
            Counter(content.get("rows", {})),
        )


def counted(parts: Parts, tally: Tally) -> Iterator[Block | RowChunk]:
    """Pass the parts through, counting their predicates and classes: those of rows by form."""
    predicates: Counter[Term] = Counter()
    classes: Counter[Term] = Counter()
    for part in parts:
        templates: Iterable[tuple[Template, int]] = (
            [(tuple(part[1]), 1)]
            if isinstance(part, tuple)
            else [(form.pairs + form.below, count) for run in part.runs for form, count in run.sizes.items()]
        )
        for template, count in templates:
            for predicate, value in template:
                predicates[predicate] += count
                if predicate is RDF_TYPE and isinstance(value, str):
                    classes[value] += count
        yield part
    tally.predicates.update({term[1:-1]: count for term, count in predicates.items()})
    tally.classes.update({term[1:-1]: count for term, count in classes.items()})


def _ordered(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _nested(counts: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    nested: dict[str, Counter[str]] = {}
    for (name, source), count in counts.items():
        nested.setdefault(name, Counter())[source] += count
    names = sorted(nested, key=lambda name: (-nested[name].total(), name))
    return {name: _ordered(nested[name]) for name in names}


def _unnested(content: Mapping[str, Mapping[str, int]]) -> Counter[tuple[str, str]]:
    return Counter({(name, source): count for name, sources in content.items() for source, count in sources.items()})
