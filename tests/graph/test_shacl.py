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


def form(shapes: ShapeVision, *values: Literal | NamedNode) -> str:
    return shapes.form(NamedNode("http://e/x"), [("http://e/p", value) for value in values], lambda _: ())


def literal(text: str, datatype: str = "string") -> Literal:
    return Literal(text, datatype=NamedNode(f"http://www.w3.org/2001/XMLSchema#{datatype}"))


def test_only_the_number_of_values_counts_for_counts() -> None:
    shapes = vision("sh:maxCount 1")
    assert form(shapes, literal("a")) == form(shapes, literal("7", "integer"))
    assert form(shapes, literal("a")) != form(shapes, literal("a"), literal("b"))
    assert form(shapes, literal("a")) != form(shapes, NamedNode("http://e/a"))


def test_values_count_where_they_are_listed() -> None:
    shapes = vision('sh:in ( "a" "b" )')
    assert form(shapes, literal("a")) != form(shapes, literal("c"))


def test_datatype_and_well_formedness_count_for_datatypes() -> None:
    shapes = vision("sh:datatype xsd:integer")
    assert form(shapes, literal("1", "integer")) == form(shapes, literal("22", "integer"))
    assert form(shapes, literal("1", "integer")) != form(shapes, literal("x", "integer"))
    assert form(shapes, literal("1", "integer")) != form(shapes, literal("1"))


def test_the_side_of_a_bound_counts() -> None:
    shapes = vision("sh:minInclusive 0 ; sh:maxExclusive 10")
    assert form(shapes, literal("1", "integer")) == form(shapes, literal("9", "integer"))
    assert len({form(shapes, literal(text, "integer")) for text in ("-1", "0", "5", "10", "11")}) == 5


def test_classes_count_where_a_class_is_asked_for() -> None:
    shapes = vision("sh:or ( [ sh:class e:A ] [ sh:datatype xsd:string ] )")
    node = [("http://e/p", NamedNode("http://e/v"))]
    one, other = (shapes.form(NamedNode("http://e/x"), node, lambda _, c=c: (c,)) for c in ("A", "B"))
    assert one != other
    assert shapes.looks_at_classes("http://e/p")


def test_properties_the_shapes_do_not_name_do_not_matter() -> None:
    assert vision("sh:minCount 1").properties == {"http://e/p", str(rdflib.RDF.type)}


@pytest.mark.parametrize(
    "constraint", ["sh:property [ sh:path e:q ]", "sh:equals e:q", "sh:node [ sh:property [ sh:path e:q ] ]"]
)
def test_shapes_that_look_further_are_refused(constraint: str) -> None:
    with pytest.raises(GraphError, match="looks further"):
        vision(constraint)


def test_closed_shapes_and_property_paths_are_refused() -> None:
    for text in (
        "e:S a sh:NodeShape ; sh:closed true .",
        "e:S a sh:NodeShape ; sh:property [ sh:path ( e:p e:q ) ] .",
    ):
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
