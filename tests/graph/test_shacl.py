from __future__ import annotations

import logging

import pytest
import rdflib
from pyoxigraph import BlankNode, Literal, NamedNode

from kgtable.errors import GraphError
from kgtable.graph.shacl import Finding, NodeExample, ShapeVision, judge, load_shapes
from kgtable.graph.terms import KGT, QUDT, RDF, XSD

PREFIXES = """
@prefix e: <http://e/> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""


def vision(property_shape: str) -> ShapeVision:
    shape = f"e:S a sh:NodeShape ; sh:targetClass e:C ; sh:property [ sh:path e:p ; {property_shape} ] ."
    return ShapeVision(rdflib.Graph().parse(data=PREFIXES + shape, format="turtle"))


@pytest.mark.parametrize(
    "constraint", ["sh:property [ sh:path e:q ]", "sh:equals e:q", "sh:node [ sh:property [ sh:path e:q ] ]"]
)
def test_shapes_that_look_further_are_refused(constraint: str) -> None:
    with pytest.raises(GraphError, match="looks further"):
        vision(constraint)


def test_closed_shapes_and_property_paths_are_refused() -> None:
    for text in ("e:S a sh:NodeShape ; sh:closed true .", "e:S a sh:NodeShape ; sh:property [ sh:path ( e:p e:q ) ] ."):
        with pytest.raises(GraphError):
            ShapeVision(rdflib.Graph().parse(data=f"{PREFIXES} {text}", format="turtle"))


def test_the_shipped_shapes_can_be_foreseen() -> None:
    assert "http://qudt.org/schema/qudt/hasUnit" in ShapeVision(load_shapes()).properties


TYPE = f"{RDF}type"
EURO = NamedNode("http://qudt.org/vocab/unit/CCY_EUR")
IS_UNIT = {EURO: (f"{QUDT}Unit",)}


@pytest.fixture(scope="module")
def shapes() -> rdflib.Graph:
    return load_shapes()


def quantity(*more: tuple[str, NamedNode | Literal], subject: str = "http://e/q") -> NodeExample:
    values = (
        (TYPE, NamedNode(f"{QUDT}QuantityValue")), (f"{QUDT}hasUnit", EURO), (f"{KGT}note", Literal("POSITIVE")),
        (f"{KGT}signed_str", Literal("+1")), (f"{KGT}text", Literal("1")), *more,
    )  # fmt: skip
    return NodeExample(NamedNode(subject), values, IS_UNIT)


def number(text: str, datatype: str = "decimal") -> tuple[str, Literal]:
    return f"{QUDT}numericValue", Literal(text, datatype=NamedNode(XSD + datatype))


def test_findings_are_told_by_form(shapes: rdflib.Graph) -> None:
    forms = {
        "sound": quantity(number("1.0")), "two values": quantity(number("1.0"), number("2.0")),
        "no decimal": quantity(number("1", "integer")), "blank": NodeExample(BlankNode(), quantity().values, IS_UNIT),
    }  # fmt: skip
    found = judge(forms, shapes)
    assert set(found) == {"two values", "no decimal", "blank"}
    assert all(isinstance(finding, Finding) and finding.message for each in found.values() for finding in each)
    assert judge(dict(reversed(forms.items())), shapes) == found


def test_values_that_are_no_numbers_are_told_of_and_not_logged(
    shapes: rdflib.Graph, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        found = judge({"wrong": quantity(number('<script>"\n'))}, shapes)
    assert found["wrong"]
    assert not caplog.records
    assert not logging.getLogger("rdflib.term").disabled
