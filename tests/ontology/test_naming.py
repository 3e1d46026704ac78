from __future__ import annotations

import unicodedata

import pyoxigraph
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kgtable.ontology.naming import LONGEST_NAME, distinct_names, is_local_name, predicate_name, predicate_names, slug
from kgtable.tables.model import Column


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("pension", "hasPension"), ("1 - 2 years", "has1to2Years"), ("2013", "in2013"), ("12/9/2013", "in1292013"),
        ("Δ", "hasDelta"), ("Δ in %", "hasDeltaInPercent"),
    ],
)  # fmt: skip
def test_names_of_the_thesis_table_2(header: str, name: str) -> None:
    assert predicate_name([header], 1) == name


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("EBITDA margin", "hasEBITDAMargin"), ("student_id", "hasStudentId"), ("Driver's name", "hasDriversName"),
        ("Change %", "hasChangeInPercent"), ("%", "hasInPercent"), ("Balance (1/1/19)", "hasBalance1119"),
        ("R&D", "hasRAndD"), ("#", "hasNumber"), ("€ billions", "hasEuroBillions"), ("Ø", "hasAverage"),
        ("≥ 5 years", "hasAtLeast5Years"), ("3.5", "has3Point5"), ("1/2", "has1Over2"), ("−10 °C", "hasMinus10DegreeC"),
        ("Area (km²)", "hasArea"), ("Name[a]", "hasName"), ("2016–17", "in2016to17"), ("Δευτέρα", "hasΔευτέρα"),
        ("収益", "has収益"), ("عمر", "hasعمر"), ("\u202eabc\u202c", "hasAbc"), ("🚀", "hasRocket"),
        ('a "quoted" <b> {c}|^`\\', "hasAQuotedLessThanBGreaterThanC"), ("a\x00b\nc\td", "hasABCD"), ("", "hasValue3"),
        (" \t\n", "hasValue3"), ("—", "hasValue3"), ("\ud800", "hasValue3"),
    ],
)  # fmt: skip
def test_other_headers(header: str, name: str) -> None:
    assert predicate_name([header], 2) == name


def test_long_headers_are_cut_and_stay_apart() -> None:
    one, other = predicate_name(["word " * 2000], 0), predicate_name(["word " * 2001], 0)
    assert len(one) <= LONGEST_NAME
    assert one != other
    assert is_local_name(one)


def test_colliding_columns_stay_apart() -> None:
    columns = [Column(0, ("Rank",)), Column(1, ("rank",)), Column(2), Column(3, ("Value 3",)), Column(4, ("Rank",))]
    assert predicate_names(columns) == ("hasRank", "hasRank_2", "hasValue3", "hasValue3_2", "hasRank_3")


@pytest.mark.parametrize("header", [("2018 £m",), ("2018", "£m"), ("£m", "2018"), ("2018 (in £ millions)",), ("2018",)])
def test_one_year_has_one_predicate_wherever_its_unit_stands(header: tuple[str, ...]) -> None:
    assert predicate_name(header, 1) == "in2018"


@pytest.mark.parametrize(
    ("headers", "names"),
    [
        (("2018 £m", "2018 %"), ("in2018", "in2018Percent")),
        (("2018 £m", "2018 $m"), ("in2018PoundM", "in2018DollarM")),
        (("Area (km²)", "Area (km²)"), ("hasArea", "hasArea_2")),
        (("Height", "Height (ft)"), ("hasHeight", "hasHeightFt")),
    ],
)
def test_columns_that_only_units_tell_apart_have_them_in_their_names(
    headers: tuple[str, ...], names: tuple[str, ...]
) -> None:
    assert predicate_names(Column(index, (header,)) for index, header in enumerate(headers)) == names


@given(st.lists(st.sampled_from(["a", "a_2", "a_3", "b", "a_2_2"])))
def test_distinct_names_are_distinct_and_start_with_what_was_given(names: list[str]) -> None:
    result = distinct_names(names)
    assert len(set(result)) == len(names)
    assert all(made.startswith(given) for given, made in zip(names, result, strict=True))


@given(st.text(max_size=300), st.integers(0, 50))
def test_any_header_gives_a_name_turtle_can_write(header: str, index: int) -> None:
    name = predicate_name([header], index)
    assert is_local_name(name)
    assert len(name) <= LONGEST_NAME
    assert unicodedata.is_normalized("NFC", name)
    _parses(name)


@given(st.text())
@example("\u034f")
@example("-5")
def test_any_label_gives_a_slug_turtle_can_write(label: str) -> None:
    _parses(slug(label))
    assert len(slug(label)) <= 2 * LONGEST_NAME


@pytest.mark.parametrize(
    "same",
    [
        (
            "Net Income", "net income", "- Net  Income", "•\tNet\nIncome", " NET INCOME ", "-Net income",
            "– – Net income",
        ),
        ("Café", "Cafe\u0301"),
        ("", "  "),
    ],
)  # fmt: skip
def test_equal_labels_share_a_slug(same: tuple[str, ...]) -> None:
    assert len({slug(text) for text in same}) == 1


def test_different_labels_never_share_a_slug() -> None:
    labels = [
        "a b", "a_b", "a-b", "a.b", "a%20b", "ab", "-5", "5", "_", "-", "", "A&B", "a&&b", "ä", "a" * 5000, "a" * 5001,
    ]  # fmt: skip
    assert len({slug(label) for label in labels}) == len(labels)


def _parses(local: str) -> None:
    text = f"@prefix ex: <http://example.org/o#> . ex:{local} ex:{local} ex:{local} ."
    (triple,) = pyoxigraph.parse(text, format=pyoxigraph.RdfFormat.TURTLE)
    assert triple.predicate.value == f"http://example.org/o#{local}"
    nt = f"<http://example.org/o#{local}> <http://example.org/o#{local}> <http://example.org/o#{local}> ."
    assert next(iter(pyoxigraph.parse(nt, format=pyoxigraph.RdfFormat.N_TRIPLES))).predicate == triple.predicate
