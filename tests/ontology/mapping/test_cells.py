from __future__ import annotations

import pytest

from kgtable.errors import MappingError
from kgtable.ontology.mapping import parse_datatype, parse_predicate, parse_scale, parse_unit

PLACE = "ontology.csv, line 3, column 'unit'"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("CCY_EUR", "CCY_EUR"),
        ("unit:CCY_EUR", "CCY_EUR"),
        ("http://qudt.org/vocab/unit/KiloGM", "KiloGM"),
        ("EUR", "CCY_EUR"),
        ("kg", "KiloGM"),
        ("%", "PERCENT"),
        ("none", "UNITLESS"),
    ],
)
def test_units_by_what_people_write(text: str, name: str) -> None:
    assert parse_unit(text, PLACE) == name


@pytest.mark.parametrize(
    ("text", "near"), [("CCY_EURO", "CCY_EUR"), ("kilogramme", "KiloGM"), ("PERCENTT", "PERCENT")]
)
def test_an_unknown_unit_names_its_place_and_what_is_near(text: str, near: str) -> None:
    with pytest.raises(MappingError, match="line 3, column 'unit'") as caught:
        parse_unit(text, PLACE)
    assert near in caught.value.hint


def test_an_unknown_unit_that_is_near_nothing_gets_examples() -> None:
    with pytest.raises(MappingError) as caught:
        parse_unit("qqqqqqqqqqqq", PLACE)
    assert "CCY_USD" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("M", "M"),
        ("millions", "M"),
        ("bn", "B"),
        ("1,000", "T"),
        ("'000", "T"),
        ("TN", "TN"),
        ("none", "none"),
    ],
)
def test_scales(text: str, mark: str) -> None:
    assert parse_scale(text, PLACE) == mark


@pytest.mark.parametrize(("text", "name"), [("xsd:decimal", "number"), ("Text", "text"), ("gYear", "year")])
def test_datatypes(text: str, name: str) -> None:
    assert parse_datatype(text, PLACE) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("hasSales", "hasSales"),
        ("ex:hasSales", "hasSales"),
        ("https://schema.org/name", "https://schema.org/name"),
    ],
)
def test_predicates(text: str, name: str) -> None:
    assert parse_predicate(text, PLACE) == name


@pytest.mark.parametrize("text", ["net sales", "1st", "a<b", "https://x.org/a b", "ex:", "-a", "a" * 500])
def test_bad_predicates(text: str) -> None:
    with pytest.raises(MappingError, match="cannot be the name"):
        parse_predicate(text, PLACE)


@pytest.mark.parametrize("parse", [parse_scale, parse_datatype])
def test_other_bad_cells(parse: object) -> None:
    with pytest.raises(MappingError, match="line 3"):
        parse("nonsense", PLACE)  # type: ignore[operator]
