from __future__ import annotations

from collections import Counter

import pyoxigraph as ox
import pytest

from kgtable.building.catalogue import TableRecord
from kgtable.building.convert import ConversionOptions, TableConversion
from kgtable.building.description import SH, dataset_blocks, examples, ontology_blocks, self_description
from kgtable.graph.terms import RDF_TYPE, VOID, Block, Namespaces
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
    counts = {triple.subject: int(triple.object.value) for triple in found if triple.predicate == VOID_TRIPLES}  # type: ignore[union-attr]
    assert counts[ox.NamedNode(NAMES.table_iri("one"))] == len(one_text.splitlines())
    assert counts[dataset] == len((one_text + two_text).splitlines())
    partitions = {
        triple.object: triple.subject for triple in found if triple.predicate == ox.NamedNode(f"{VOID}property")
    }
    said = Counter(quad.predicate for quad in ox.parse(one_text + two_text, format=ox.RdfFormat.N_QUADS))
    assert {predicate: counts[partition] for predicate, partition in partitions.items()} == said


def test_the_order_of_the_tables_changes_nothing() -> None:
    records = [record(id, ("Name", "Mass"), ("x", "1"))[0] for id in ("b", "a", 'c"<>\u202e')]
    assert list(dataset_blocks(records, NAMES)) == list(dataset_blocks(records[::-1], NAMES))


def test_tables_of_one_file_share_their_source() -> None:
    tables = [record(f"book#{sheet}", ("Name", "Mass"), ("x", "1"))[0] for sheet in "ab"]
    blocks = dict(dataset_blocks([TableRecord(**{**vars(table), "path": "a b/book.xlsx"}) for table in tables], NAMES))
    assert f"<{NAMES.data}file/a%20b/book.xlsx>" in blocks
    assert sum("/file/" in subject for subject in blocks) == 1


def test_an_ontology_is_taken_over_statement_by_statement() -> None:
    lines = [
        f"<a:a> {RDF_TYPE} <a:Class> .",
        '<a:a> <a:label> "x \u2028 y \x85 z\\n" .',
        '<a:b> <a:label> "a . b"@en .',
    ]
    text = "\n".join(lines) + "\n"
    blocks = list(ontology_blocks(quad.triple for quad in ox.parse(text, format=ox.RdfFormat.N_TRIPLES)))
    assert [subject for subject, _ in blocks] == ["<a:a>", "<a:b>"]
    assert blocks[0][1][0] == (RDF_TYPE, "<a:Class>")
    assert sum(len(pairs) for _, pairs in blocks) == 3
    assert list(ontology_blocks([])) == []


OTHER_NAMES = Namespaces("https://data.example/ü/")


@pytest.fixture(scope="module")
def store() -> ox.Store:
    store = ox.Store()
    text = "".join(LineWriter(with_graphs=False).graph(None, self_description(OTHER_NAMES)))
    store.load(text, ox.RdfFormat.N_TRIPLES)
    return store


def rows(store: ox.Store, query: str) -> list[list[str]]:
    found = store.query(query, prefixes={"sh": SH, "rdfs": "http://www.w3.org/2000/01/rdf-schema#"})
    assert isinstance(found, ox.QuerySolutions)
    names = [variable.value for variable in found.variables]
    return [[row[name].value for name in names] for row in found]


def test_query_editors_find_the_examples_which_run_with_these_prefixes(store: ox.Store) -> None:
    asked = """SELECT ?comment ?query {
        ?example a sh:SPARQLExecutable ; rdfs:comment ?comment ; sh:prefixes ?dataset ; ?form ?query .
        FILTER(?form IN (sh:select, sh:ask, sh:construct, sh:describe)) }"""
    found = rows(store, asked)
    assert sorted(query for _, query in found) == sorted(example.query for example in examples())
    for comment, query in found:
        assert comment
        assert not query.startswith("#")
        store.query(query, prefixes=dict(OTHER_NAMES.prefixes))
