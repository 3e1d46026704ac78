"""Write ontologies/qudt-shapes.ttl: the shapes of QUDT's SHACL schema that apply to quantity values.

usage: python scripts/make_qudt_shapes.py SCHEMA_QUDT_NoOWL.ttl [OUTPUT]

Selects the node shapes of qudt:QuantityValue and its superclasses with their property shapes and everything
these refer to, without prose and metadata of the schema.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import rdflib
from rdflib import RDF, RDFS
from rdflib.namespace import SH

QUDT = rdflib.Namespace("http://qudt.org/schema/qudt/")
KEPT_OF_A_SHAPE = {RDF.type, RDFS.label, RDFS.subClassOf, SH.property}
# sh:node takes a shape, not a list: no SHACL processor can read this one, and kgtable writes no qudt:value.
ILL_FORMED = {QUDT["Quantifiable-value"]}
HEADER = """\
# The shapes of QUDT {version} that concern quantity values: those of qudt:QuantityValue and of the classes
# above it, taken unchanged from QUDT's SHACL schema by scripts/make_qudt_shapes.py.
#
# QUDT, https://qudt.org, (c) QUDT.org, licensed under CC BY 4.0
# (https://creativecommons.org/licenses/by/4.0/). Changes: a selection; descriptions left out.
# Left out as well: {left_out}, whose sh:node is a list, which SHACL does not allow.

"""


def selection(schema: rdflib.Graph) -> rdflib.Graph:
    """The shapes of quantity values with everything they refer to."""
    chosen = rdflib.Graph()
    for prefix, namespace in (("qudt", QUDT), ("sh", SH), ("rdfs", RDFS)):
        chosen.bind(prefix, namespace)
    for node_shape in sorted(schema.transitive_objects(QUDT.QuantityValue, RDFS.subClassOf)):
        for predicate, value in schema.predicate_objects(node_shape):
            if predicate in KEPT_OF_A_SHAPE and value not in ILL_FORMED:
                chosen.add((node_shape, predicate, value))
        for shape in set(schema.objects(node_shape, SH.property)) - ILL_FORMED:
            add_closure(schema, shape, chosen)
    return chosen


def add_closure(schema: rdflib.Graph, node: rdflib.term.Node, chosen: rdflib.Graph) -> None:
    """Add the statements about a shape, and about the blank nodes and shapes it refers to."""
    for predicate, value in schema.predicate_objects(node):
        if predicate == RDFS.isDefinedBy or (node, predicate, value) in chosen:
            continue
        chosen.add((node, predicate, value))
        is_list = (value, RDF.first, None) in schema
        if isinstance(value, rdflib.BNode) or is_list or (predicate == SH.node):
            add_closure(schema, value, chosen)


def main() -> None:
    """Read the schema and write the selection."""
    parser = argparse.ArgumentParser(description="Write ontologies/qudt-shapes.ttl from QUDT's SHACL schema.")
    parser.add_argument("schema", type=Path, help="QUDT's SCHEMA_QUDT_NoOWL.ttl")
    parser.add_argument("output", type=Path, nargs="?", default=Path("ontologies/qudt-shapes.ttl"))
    arguments = parser.parse_args()
    schema = rdflib.Graph().parse(arguments.schema, format="turtle")
    ontology = str(next(schema.subjects(RDF.type, rdflib.OWL.Ontology)))
    version = re.search(r"/(\d+\.\d+\.\d+)/", ontology)
    left_out = ", ".join(sorted(f"qudt:{str(shape).removeprefix(str(QUDT))}" for shape in ILL_FORMED))
    header = HEADER.format(version=version[1] if version else "", left_out=left_out)
    arguments.output.write_text(header + selection(schema).serialize(format="longturtle"), encoding="utf-8")


if __name__ == "__main__":
    main()
