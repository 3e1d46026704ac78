from __future__ import annotations

from collections import Counter

import pyoxigraph as ox

from kgtable.building.catalogue import TableRecord
from kgtable.building.convert import ConversionOptions, TableConversion
from kgtable.building.description import dataset_blocks, ontology_blocks
from kgtable.graph.terms import RDF_TYPE, VOID, Block
from kgtable.graph.writers import LineWriter
from tests.graph.support import NAMES, grid

VOID_TRIPLES = ox.NamedNode(f"{VOID}triples")


def record(id: str, *rows: tuple[str, ...]) -> tuple[TableRecord, str]:
    conversion = TableConversion(grid(*rows, id=id), ConversionOptions())
    text = "".join(conversion)
    return conversion.record(), text


def triples(blocks: list[Block]) -> list[ox.Triple]:
    text = "".join(LineWriter(with_graphs=False).graph(None, blocks))
    return [quad.triple for quad in ox.parse(text.encode(), format=ox.RdfFormat.N_TRIPLES)]


def test_the_counts_are_those_of_the_statements() -> None:
    one, one_text = record("one", ("Year", "Pension"), ("2011", "574"))
    two, two_text = record("<two>\n", ("Name", "Mass (kg)"), ("x", "1"), ("y", "2"))
    found = triples(list(dataset_blocks([one, two], NAMES)))
    dataset = ox.NamedNode(NAMES.dataset_iri)
    counts = {
        triple.subject: int(triple.object.value) for triple in found if triple.predicate == VOID_TRIPLES
    }  # type: ignore[union-attr]
    assert counts[ox.NamedNode(NAMES.table_iri("one"))] == len(one_text.splitlines())
    assert counts[dataset] == len((one_text + two_text).splitlines())
    partitions = {
        triple.object: triple.subject
        for triple in found
        if triple.predicate == ox.NamedNode(f"{VOID}property")
    }
    said = Counter(quad.predicate for quad in ox.parse(one_text + two_text, format=ox.RdfFormat.N_QUADS))
    assert {predicate: counts[partition] for predicate, partition in partitions.items()} == said


def test_the_order_of_the_tables_changes_nothing() -> None:
    records = [record(id, ("Name", "Mass"), ("x", "1"))[0] for id in ("b", "a", 'c"<>\u202e')]
    assert list(dataset_blocks(records, NAMES)) == list(dataset_blocks(records[::-1], NAMES))


def test_a_dataset_without_tables() -> None:
    found = triples(list(dataset_blocks([], NAMES)))
    counts = [triple for triple in found if triple.predicate == VOID_TRIPLES]
    assert [triple.object.value for triple in counts] == ["0"]  # type: ignore[union-attr]


def test_tables_of_one_file_share_their_source() -> None:
    tables = [record(f"book#{sheet}", ("Name", "Mass"), ("x", "1"))[0] for sheet in "ab"]
    blocks = dict(
        dataset_blocks([TableRecord(**{**vars(table), "path": "a b/book.xlsx"}) for table in tables], NAMES)
    )
    assert f"<{NAMES.data}file/a%20b/book.xlsx>" in blocks
    assert sum("/file/" in subject for subject in blocks) == 1


def test_an_ontology_is_taken_over_statement_by_statement() -> None:
    lines = [
        '<a:a> <a:label> "x \u2028 y \x85 z\\n" .',
        f"<a:a> {RDF_TYPE} <a:Class> .",
        '<a:b> <a:label> "a . b"@en .',
    ]
    blocks = list(ontology_blocks("\n".join(lines) + "\n"))
    assert [subject for subject, _ in blocks] == ["<a:a>", "<a:b>"]
    assert blocks[0][1][0] == (RDF_TYPE, "<a:Class>")
    assert sum(len(pairs) for _, pairs in blocks) == 3
    assert list(ontology_blocks("")) == []
