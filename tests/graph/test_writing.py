from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib.compare import isomorphic

from kgtable import api
from kgtable.errors import UsageError
from kgtable.graph.writers import Format
from tests.graph.support import grid, text_of

OXIGRAPH = {
    Format.TURTLE: ox.RdfFormat.TURTLE,
    Format.TRIG: ox.RdfFormat.TRIG,
    Format.NTRIPLES: ox.RdfFormat.N_TRIPLES,
    Format.NQUADS: ox.RdfFormat.N_QUADS,
    Format.JSONLD: ox.RdfFormat.JSON_LD,
}
RDFLIB = {
    Format.TURTLE: "turtle",
    Format.TRIG: "trig",
    Format.NTRIPLES: "nt",
    Format.NQUADS: "nquads",
    Format.JSONLD: "json-ld",
}


def quads(text: str, format: Format) -> set[str]:
    """The statements of a document as Oxigraph reads it; without graphs where the format has none."""
    parsed = ox.parse(text.encode("utf-8"), format=OXIGRAPH[format])
    return {str(quad) if format.has_graphs else str(quad.triple) for quad in parsed}


@pytest.mark.parametrize("format", list(Format))
def test_all_formats_say_the_same_as_nquads(format: Format, folder: Path, tmp_path: Path) -> None:
    texts = {}
    for wanted in (format, Format.NQUADS):
        api.convert(folder, tmp_path / "out", format=wanted)
        texts[wanted] = (tmp_path / "out").read_text(encoding="utf-8")
    expected = quads(texts[Format.NQUADS], Format.NQUADS)
    if not format.has_graphs:
        parsed = ox.parse(texts[Format.NQUADS].encode("utf-8"), format=ox.RdfFormat.N_QUADS)
        expected = {str(quad.triple) for quad in parsed}
    assert quads(texts[format], format) == expected


@pytest.mark.parametrize("format", list(Format))
def test_rdflib_and_oxigraph_read_isomorphic_graphs(format: Format, folder: Path, tmp_path: Path) -> None:
    api.convert(folder, tmp_path / "out", format=format)
    data = (tmp_path / "out").read_bytes()
    dataset = rdflib.Dataset(default_union=True).parse(data=data, format=RDFLIB[format])
    by_rdflib = rdflib.Graph()
    by_rdflib += dataset.triples((None, None, None))
    triples = [quad.triple for quad in ox.parse(data, format=OXIGRAPH[format])]
    by_oxigraph = rdflib.Graph().parse(data=ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES), format="nt")
    assert len(by_oxigraph) > 100
    assert isomorphic(by_rdflib, by_oxigraph)


@settings(max_examples=100)
@given(st.text(alphabet=st.characters(exclude_categories=()), min_size=1, max_size=20))
def test_any_text_is_the_same_in_every_format(text: str) -> None:
    table = grid(("a", "b"), (text, "1"), id=text)
    expected = quads(text_of(table, Format.NQUADS), Format.NQUADS)
    for format in (Format.TRIG, Format.JSONLD):
        assert quads(text_of(table, format), format) == expected


def test_turtle_is_readable() -> None:
    text = text_of(grid(("Year", "Pension"), ("2011", "574")), Format.TURTLE)
    assert (
        "<row/1> a kgt:Row ;\n"
        "    kgt:table <http://example.org/data/table/t> ;\n"
        "    kgt:row 1 ;\n"
        '    rdfs:label "2011" ;\n'
        "    kgt:subject data:2011 ;\n"
        '    ex:hasYear "2011"^^xsd:gYear ;\n'
        "    ex:hasPension <cell/1/1> .\n"
        "\n"
        "<cell/1/1> a qudt:QuantityValue ;\n"
        "    qudt:numericValue 574.0 ;\n"
    ) in text


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("ttl", Format.TURTLE),
        ("application/n-quads", Format.NQUADS),
        ("JSON-LD", Format.JSONLD),
        (".nt", Format.NTRIPLES),
        ("text/turtle; charset=utf-8", Format.TURTLE),
    ],
)
def test_formats_by_name_suffix_and_media_type(name: str, format: Format) -> None:
    assert Format.of(name) is format


def test_an_unknown_format_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match="turtle, trig"):
        Format.of("rdfxml")
    assert Format.from_suffix("a.xlsx") is None


@pytest.mark.parametrize("format", list(Format))
def test_processes_write_the_same_bytes(
    format: Format, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgtable.building.convert.SPLIT_ABOVE", 3_000)
    rows = "".join(f"item {row},{row * 7},{row}%\n" for row in range(500))
    (folder / "long.csv").write_text(f"Name,Amount,Share\n{rows}", encoding="utf-8")
    (folder / "broken.csv").write_bytes(b"\x00\x01\x02\xff\xfe\x00" * 99)
    for workers in (1, 2, 3):
        report = api.convert(folder, tmp_path / str(workers), format=format, workers=workers)
        assert [table.rows for table in report.tables] == [7, 501, 4]
        assert len(report.errors) == 1
    one, two, three = ((tmp_path / name).read_bytes() for name in "123")
    assert one == two == three
