#!/usr/bin/env python3
"""Make the compact unit table `ontologies/units.csv` from QUDT's unit vocabulary.

    python scripts/make_units.py QUDT_FOLDER [-o ontologies/units.csv]

QUDT_FOLDER holds `VOCAB_QUDT-UNITS-ALL.ttl` with its version filled in (https://qudt.org, CC BY 4.0).
Deprecated units are left out. One line a unit, in the order of their names: local name, English
label, symbols, UCUM codes, quantity kinds (at most three), ISO 4217 code of a currency, dimension
vector, conversion multiplier and offset to the coherent SI unit (value + offset) * multiplier; several
values of one field are joined by a space (symbols, which may hold spaces, by a tab).
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pyoxigraph as ox

UNIT = "http://qudt.org/vocab/unit/"
QUDT = "http://qudt.org/schema/qudt/"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
IS_DEFINED_BY = "http://www.w3.org/2000/01/rdf-schema#isDefinedBy"
FIELDS = ("name", "label", "symbols", "ucum", "kinds", "currency", "dimension", "multiplier", "offset")
KINDS_KEPT = 3
Term = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple
Facts = dict[str, list[Term]]


def read_facts(path: Path) -> dict[str, Facts]:
    """Unit local name → predicate IRI → objects, in file order."""
    facts: dict[str, Facts] = defaultdict(lambda: defaultdict(list))
    for quad in ox.parse(path=str(path), format=ox.RdfFormat.TURTLE):
        if isinstance(quad.subject, ox.NamedNode) and quad.subject.value.startswith(UNIT):
            facts[quad.subject.value[len(UNIT) :]][quad.predicate.value].append(quad.object)
    return facts


def english(labels: Iterable[Term]) -> str:
    """The English label; any label where there is none."""
    literals = [term for term in labels if isinstance(term, ox.Literal)]
    for wanted in ("en", "en-us", None):
        for literal in literals:
            if literal.language == wanted:
                return literal.value
    return literals[0].value if literals else ""


def values(facts: Facts, *names: str) -> list[str]:
    """The distinct texts of some QUDT properties, sorted within each property."""
    found: dict[str, None] = {}
    for name in names:
        found.update(
            dict.fromkeys(sorted(term.value for term in facts.get(QUDT + name, []) if not isinstance(term, ox.Triple)))
        )
    return list(found)


def plain(number: str) -> str:
    """A decimal without trailing zeros; all its digits otherwise."""
    return number.rstrip("0").removesuffix(".") if "." in number else number


def unit_line(name: str, facts: Facts) -> dict[str, str]:
    """One line of the table."""
    kinds = [iri.rsplit("/", 1)[1] for iri in values(facts, "unitForQuantityKind", "hasQuantityKind")]
    return {
        "name": name,
        "label": english(facts.get(LABEL, [])),
        "symbols": "\t".join(values(facts, "symbol", "altSymbol")),
        "ucum": " ".join(values(facts, "ucumCode")),
        "kinds": " ".join(kinds[:KINDS_KEPT]),
        "currency": "".join(values(facts, "currencyCode")[:1]),
        "dimension": "".join(iri.rsplit("/", 1)[1] for iri in values(facts, "hasDimensionVector")[:1]),
        "multiplier": plain("".join(values(facts, "conversionMultiplier")[:1])),
        "offset": plain("".join(values(facts, "conversionOffset")[:1])),
    }


def main(arguments: list[str]) -> int:
    """Read the vocabulary and write the table."""
    parser = argparse.ArgumentParser(description="Make ontologies/units.csv from QUDT.")
    parser.add_argument("folder", type=Path, help="folder with VOCAB_QUDT-UNITS-ALL.ttl")
    default = Path(__file__).parents[1] / "ontologies" / "units.csv"
    parser.add_argument("-o", "--output", type=Path, default=default)
    options = parser.parse_args(arguments)
    facts = read_facts(options.folder / "VOCAB_QUDT-UNITS-ALL.ttl")
    version = next(
        term.value.split("/")[3]
        for unit in facts.values()
        for term in unit.get(IS_DEFINED_BY, [])
        if isinstance(term, ox.NamedNode)
    )
    kept = sorted(name for name, unit in facts.items() if QUDT + "deprecated" not in unit)
    with options.output.open("w", encoding="utf-8", newline="") as file:
        file.write(f"# Units of QUDT {version} (https://qudt.org, CC BY 4.0), made by scripts/make_units.py\n")
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(unit_line(name, facts[name]) for name in kept)
    print(f"{options.output}: {len(kept)} units of QUDT {version}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
