"""Writes ontologies/qudt-shapes.ttl: of QUDT's SHACL schema the shapes that a quantity value has to meet.

usage: python scripts/make_qudt_shapes.py SCHEMA_QUDT_NoOWL.ttl [OUTPUT]

Taken over are the node shapes of qudt:QuantityValue and of every class above it, with their property
shapes and whatever these refer to; prose and the metadata of the schema are left out.
"""

from __future__ import annotations

import re
import sys
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
    """Adds what is said of a shape, and of the blank nodes and shapes it leads to."""
    for predicate, value in schema.predicate_objects(node):
        if predicate == RDFS.isDefinedBy or (node, predicate, value) in chosen:
            continue
        chosen.add((node, predicate, value))
        is_list = (value, RDF.first, None) in schema
        if isinstance(value, rdflib.BNode) or is_list or (predicate == SH.node):
            add_closure(schema, value, chosen)


def main(schema_path: str, output: str = "ontologies/qudt-shapes.ttl") -> None:
    """Reads the schema, writes the selection."""
    schema = rdflib.Graph().parse(schema_path, format="turtle")
    ontology = str(next(schema.subjects(RDF.type, rdflib.OWL.Ontology)))
    version = re.search(r"/(\d+\.\d+\.\d+)/", ontology)
    left_out = ", ".join(sorted(f"qudt:{str(shape).removeprefix(str(QUDT))}" for shape in ILL_FORMED))
    header = HEADER.format(version=version[1] if version else "", left_out=left_out)
    Path(output).write_text(header + selection(schema).serialize(format="longturtle"), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
