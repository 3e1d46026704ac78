"""Every RDF document that kgtable writes is read back by two parsers, with several tables and with one."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest
import rdflib

import kgtable
from kgtable.graph.writers import Format

_OX = {
    Format.TURTLE: ox.RdfFormat.TURTLE, Format.TRIG: ox.RdfFormat.TRIG, Format.NTRIPLES: ox.RdfFormat.N_TRIPLES,
    Format.NQUADS: ox.RdfFormat.N_QUADS, Format.JSONLD: ox.RdfFormat.JSON_LD,
}  # fmt: skip
_RDFLIB = {Format.NTRIPLES: "nt", Format.JSONLD: "json-ld"}

Quads = set[tuple[str, ...]]

WITHOUT_GRAPHS = (Format.TURTLE, Format.NTRIPLES)


def quads_in(text: str, format: Format) -> Quads:
    """The statements of a document; pyoxigraph and rdflib must find as many."""
    found = set(ox.parse(text, _OX[format]))
    dataset = rdflib.Dataset()
    dataset.parse(data=text, format=_RDFLIB.get(format, format.value))
    assert len(set(dataset.quads())) == len(found)
    return {(str(q.subject), str(q.predicate), str(q.object), str(q.graph_name)) for q in found}


def without_graphs(quads: Quads) -> Quads:
    return {quad[:3] for quad in quads}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of several kinds, with files that cannot be read before, between and behind them."""
    folder = tmp_path_factory.mktemp("tables")
    (folder / "b.csv").write_text('Town,"Length, km",Note\nAu,1.5,"a ""b"" \\\n"\nBo,(3),é\n', encoding="utf-8")
    (folder / "d.json").write_text('{"x": [{"a": 1}, {"a": null}], "y": [{"b": "2024-01-31"}]}')
    (folder / "f.md").write_text("| Year | $ |\n|---|---|\n| 2023 | 4% |\n")
    for name in ("a", "c", "g"):
        (folder / f"{name}.csv").write_bytes(b"")
    return folder


@pytest.fixture(scope="module")
def graph(tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[kgtable.KnowledgeGraph]:
    with kgtable.build(tables, tmp_path_factory.mktemp("graph"), embedding="none") as built:
        yield built


@pytest.mark.parametrize("format", list(Format))
@pytest.mark.parametrize("table", [None, "b", "d#x"])
def test_an_export_is_read_back(graph: kgtable.KnowledgeGraph, format: Format, table: str | None) -> None:
    expected = quads_in("".join(graph.rdf("nquads", table=table)), Format.NQUADS)
    found = quads_in("".join(graph.rdf(format, table=table)), format)
    assert len({quad[3] for quad in expected}) == (5 if table is None else 1)
    assert found == expected if format not in WITHOUT_GRAPHS else without_graphs(found) == without_graphs(expected)


@pytest.mark.parametrize("format", list(Format))
@pytest.mark.parametrize("workers", [1, 2])
def test_a_conversion_is_read_back(
    tables: Path, graph: kgtable.KnowledgeGraph, format: Format, workers: int, tmp_path: Path
) -> None:
    stated = quads_in("".join(graph.rdf("nquads")), Format.NQUADS)
    expected = {quad for quad in stated if "#inferred" not in quad[1]}  # a build infers names, a conversion does not
    kgtable.convert(tables, tmp_path / "out", format=format, workers=workers)
    found = quads_in((tmp_path / "out").read_text(encoding="utf-8"), format)
    assert found == expected if format not in WITHOUT_GRAPHS else without_graphs(found) == without_graphs(expected)


@pytest.mark.parametrize("format", list(Format))
def test_a_conversion_to_a_stream_that_cannot_seek_is_read_back(tables: Path, format: Format) -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    stream, file = Pipe(), io.BytesIO()
    kgtable.convert(tables, stream, format=format)
    kgtable.convert(tables, file, format=format)
    assert stream.getvalue() == file.getvalue()
    assert quads_in(stream.getvalue().decode("utf-8"), format)


@pytest.mark.parametrize("format", list(Format))
def test_retrieved_triples_of_several_tables_are_read_back(graph: kgtable.KnowledgeGraph, format: Format) -> None:
    triples = graph.retrieve("2023 2024-01-31 Length of Au, a", k=50).triples
    assert len({triple.table for triple in triples}) > 1
    expected = quads_in(graph.rdf_of(triples, "nquads"), Format.NQUADS)
    found = quads_in(graph.rdf_of(triples, format), format)
    assert found == expected if format not in WITHOUT_GRAPHS else without_graphs(found) == without_graphs(expected)
    assert quads_in(graph.rdf_of([], format), format) == set()


@pytest.mark.parametrize("format", list(Format))
def test_an_export_has_the_graphs_that_people_wrote(tables: Path, tmp_path: Path, format: Format) -> None:
    kgtable.build(tables, tmp_path / "graph", embedding="none").close()
    with kgtable.open(tmp_path / "graph") as built:
        before, path = quads_in("".join(built.rdf("nquads")), Format.NQUADS), built.generation.store_path
    store = ox.Store(str(path))
    graphs = ("http://e/mine?a", "http://e/mine#a", "http://e/..", "urn:x:mine", "data:mine", "http://e/empty")
    mine = [
        ox.Quad(ox.NamedNode(f"{graph}/row/3"), ox.NamedNode("http://e/p"), ox.Literal("x"), ox.NamedNode(graph))
        for graph in graphs[:-1]
    ]
    store.extend(mine)
    store.add_graph(ox.NamedNode(graphs[-1]))
    store.flush()
    del store
    expected = {(str(q.subject), str(q.predicate), str(q.object), str(q.graph_name)) for q in mine}
    with kgtable.open(tmp_path / "graph") as graph:
        found = quads_in("".join(graph.rdf(format)), format)
        assert len(set(graph.to_rdflib().quads())) == len(before) + len(mine)
    if format in WITHOUT_GRAPHS:
        assert without_graphs(expected) == without_graphs(found) - without_graphs(before)
    else:
        assert expected == found - before
