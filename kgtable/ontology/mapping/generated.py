"""The rows of a mapping as the generator makes them, with the user's decisions laid over."""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from typing import Final

from kgtable.ontology.facts import MISSING, QUANTITY, Summary
from kgtable.ontology.mapping.cells import SCALES
from kgtable.ontology.mapping.files import NAME, ONLY_IN
from kgtable.ontology.mapping.model import Key, Mapping

MOST_TABLES: Final = 20
"""Tables named in a row before the rest is only counted."""

_XSD = "http://www.w3.org/2001/XMLSchema#"
_DATATYPES: Final = {
    QUANTITY: "number",
    f"{_XSD}string": "text",
    f"{_XSD}date": "date",
    f"{_XSD}dateTime": "date",
    f"{_XSD}gYearMonth": "date",
    f"{_XSD}gYear": "year",
    f"{_XSD}boolean": "boolean",
}


def generated_rows(
    summaries: MappingOf[str, Summary], mapping: Mapping, proposals: MappingOf[str, tuple[str, ...]]
) -> dict[Key, dict[str, str]]:
    """One row a column name, and those the user added, sorted by name.

    Unit, scale and datatype are filled in where all of a name's columns agree, and left empty where
    they do not; ``units found`` tells the counts.
    """
    rows: dict[Key, dict[str, str]] = {
        (name, ""): {NAME: name, **_found(summary), "same as": "; ".join(proposals.get(name, ()))}
        for name, summary in summaries.items()
    }
    for key, decisions in mapping.edits.items():
        name, only_in = key
        rows[key] = {**rows.get(key, {NAME: name, ONLY_IN: only_in}), **decisions}
    return dict(sorted(rows.items(), key=lambda item: (item[0][0].casefold(), item[0])))


def real_decisions(mapping: Mapping, summaries: MappingOf[str, Summary]) -> Mapping:
    """The mapping without the predicates that the generator gives anyway, as in a mapping it wrote."""
    kept: dict[Key, dict[str, str]] = {}
    for (name, only_in), decisions in mapping.edits.items():
        summary = None if only_in else summaries.get(name)
        generated = _unanimous(list(summary.generated)) if summary else ""
        left = {field: text for field, text in decisions.items() if (field, text) != ("predicate", generated)}
        if left:
            kept[name, only_in] = left
    return Mapping(kept)


def _found(summary: Summary) -> dict[str, str]:
    return {
        "predicate": next(iter(summary.generated)),
        "unit": _unanimous(list(summary.units)),
        "scale": _unanimous(
            [mark for scale in summary.scales for mark, power in SCALES.items() if power == scale]
        ),
        "datatype": _unanimous(
            [_DATATYPES.get(range_, "") for range_ in summary.ranges if range_ != MISSING]
        ),
        "units found": "; ".join(f"{unit} {count}" for unit, count in summary.units.items()),
        "tables": _table_list(summary.tables),
    }


def _unanimous(values: list[str]) -> str:
    return values[0] if len(set(values)) == 1 else ""


def _table_list(tables: tuple[str, ...]) -> str:
    named = "; ".join(tables[:MOST_TABLES])
    return named if len(tables) <= MOST_TABLES else f"{named}; … ({len(tables)} in all)"
