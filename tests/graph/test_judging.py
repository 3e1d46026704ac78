from __future__ import annotations

import logging

import pytest
import rdflib
from pyoxigraph import BlankNode, Literal, NamedNode

from kgtable.graph.shacl import Finding, NodeExample, judge, load_shapes
from kgtable.graph.terms import KGT, QUDT, RDF, XSD

TYPE = f"{RDF}type"
EURO = NamedNode("http://qudt.org/vocab/unit/CCY_EUR")
IS_UNIT = {EURO: (f"{QUDT}Unit",)}


@pytest.fixture(scope="module")
def shapes() -> rdflib.Graph:
    return load_shapes()


def quantity(*more: tuple[str, NamedNode | Literal], subject: str = "http://e/q") -> NodeExample:
    values = (
        (TYPE, NamedNode(f"{QUDT}QuantityValue")),
        (f"{QUDT}hasUnit", EURO),
        (f"{KGT}note", Literal("POSITIVE")),
        (f"{KGT}signed_str", Literal("+1")),
        (f"{KGT}text", Literal("1")),
        *more,
    )
    return NodeExample(NamedNode(subject), values, IS_UNIT)


def number(text: str, datatype: str = "decimal") -> tuple[str, Literal]:
    return f"{QUDT}numericValue", Literal(text, datatype=NamedNode(XSD + datatype))


def test_findings_are_told_by_form(shapes: rdflib.Graph) -> None:
    forms = {
        "sound": quantity(number("1.0")),
        "two values": quantity(number("1.0"), number("2.0")),
        "no decimal": quantity(number("1", "integer")),
        "blank": NodeExample(BlankNode(), quantity().values, IS_UNIT),
    }
    found = judge(forms, shapes)
    assert set(found) == {"two values", "no decimal", "blank"}
    assert all(
        isinstance(finding, Finding) and finding.message for each in found.values() for finding in each
    )
    assert judge(dict(reversed(forms.items())), shapes) == found


def test_a_unit_counts_by_its_class_alone(shapes: rdflib.Graph) -> None:
    example = quantity(number("1.0"))
    unknown = NodeExample(example.subject, example.values, {})
    assert judge({"known": example}, shapes) == {}
    assert [f.property for f in judge({"unknown": unknown}, shapes)["unknown"]] == [f"{QUDT}hasUnit"]


def test_examples_of_one_node_do_not_mix(shapes: rdflib.Graph) -> None:
    forms = {"one": quantity(number("1.0")), "other": quantity(number("2.0"))}
    assert judge(forms, shapes) == {}


def test_values_that_are_no_numbers_are_told_of_and_not_logged(
    shapes: rdflib.Graph, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        found = judge({"wrong": quantity(number('<script>"\n'))}, shapes)
    assert found["wrong"]
    assert not caplog.records
    assert not logging.getLogger("rdflib.term").disabled


def test_nothing_to_judge(shapes: rdflib.Graph) -> None:
    assert judge({}, shapes) == {}


def test_messages_do_not_speak_of_the_examples(shapes: rdflib.Graph) -> None:
    shapes = load_shapes()
    shapes.parse(
        data=f"""@prefix sh: <http://www.w3.org/ns/shacl#> .
        [] a sh:NodeShape ; sh:targetClass <{QUDT}QuantityValue> ;
          sh:property [ sh:path <{KGT}text> ; sh:minCount 2 ] .""",
        format="turtle",
    )
    found = judge({"one": quantity(number("1.0"))}, shapes)["one"]
    assert found
    assert not any("urn:kgtable" in finding.message for finding in found)
