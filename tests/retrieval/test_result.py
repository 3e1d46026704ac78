from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest
import rdflib

from kgtable.graph.store import EmbeddedStore
from kgtable.graph.terms import KGT, CellAddress, Namespaces
from kgtable.graph.writers import Format
from kgtable.retrieval.result import ModelRetriever, Retrieval, Retriever, ScoredTable, ScoredTriple
from kgtable.retrieval.triples import described_rdf, fill
from tests.index.sample_graph import build

EX = "http://example.org/ontology#"


def test_a_number_comes_with_all_the_graph_says(store: EmbeddedStore, names: Namespaces) -> None:
    cell = CellAddress("income", 2, 2)
    (triple,) = fill(store, names, [(cell, f"{EX}in2019", 0.5)]).triples
    assert (triple.subject, triple.predicate, triple.object) == ("- Cloud", f"{EX}in2019", "150")
    assert (Decimal(triple.value or ""), triple.unit, triple.scale) == (150_000_000, "CCY_USD", "M")
    assert (triple.group, triple.note, triple.period) == ("Revenue:", "POSITIVE", "2019")
    assert (triple.cell, triple.score) == (names.cell_iri(*cell), 0.5)


def test_a_date_comes_as_printed_and_as_a_value(store: EmbeddedStore, names: Namespaces) -> None:
    (triple,) = fill(store, names, [(CellAddress("bridges", 1, 1), f"{EX}hasOpened", 1.0)]).triples
    assert (triple.object, triple.value, triple.unit) == ("31 Dec. 1921", "1921-12-31", None)


def test_a_text_and_a_header_cell(store: EmbeddedStore, names: Namespaces) -> None:
    text, header = fill(
        store,
        names,
        [(CellAddress("medals", 1, 1), f"{EX}hasNation", 2.0), (CellAddress("medals", 0, 1), None, 1.0)],
    ).triples
    assert (text.object, text.value) == ("Norway", None)
    assert (header.object, header.row, header.subject) == ("Nation", 0, "")


def test_cells_the_graph_does_not_hold_are_left_out(store: EmbeddedStore, names: Namespaces) -> None:
    absent = [(CellAddress("medals", 99, 1), f"{EX}hasNation", 1.0), (CellAddress("x", 0, 0), None, 1.0)]
    assert fill(store, names, absent).triples == ()
    assert fill(store, names, []) == ((), ())


def test_more_cells_than_one_query_asks_for(
    store: EmbeddedStore, names: Namespaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [(CellAddress("medals", row, 1), f"{EX}hasNation", 1.0) for row in (1, 2, 3)]
    monkeypatch.setattr("kgtable.retrieval.triples.AT_ONCE", 2)
    found = fill(store, names, cells)
    assert [triple.object for triple in found.triples] == ["Norway", "Kenya", "Peru"]
    assert len(found.queries) == 2  # of the rows alone, twice: texts have nothing else said of them


def test_a_predicate_that_is_no_iri_cannot_end_the_query(store: EmbeddedStore, names: Namespaces) -> None:
    with pytest.raises(ValueError, match="IRI"):
        fill(store, names, [(CellAddress("medals", 1, 1), 'x> } DROP ALL { "', 1.0)])


def test_a_row_without_a_label_has_its_heading(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(",2018,2019\nAssets:,,\n- Cash,1,2\n,3,4\nTotal,4,6\n", encoding="utf-8")
    generation = build(tmp_path / "t.csv", tmp_path / "kg", "none")
    names = Namespaces(generation.base)
    store = EmbeddedStore(generation.store_path, names.prefixes)
    cells = [(CellAddress("t", row, 1), f"{EX}in2018", 1.0) for row in (2, 3)]
    found = fill(store, names, cells).triples
    said = [(triple.subject, triple.object, triple.group) for triple in found]
    assert said == [("- Cash", "1", "Assets:"), ("", "3", "Assets:")]


SCRIPT = "<script>alert(1)</script>"
TRIPLE = ScoredTriple("t", 1, 2, SCRIPT, "http://e/p", '5"\u202e', "5", "NUM", None, None, "http://e/c", 0.5)
FOUND = Retrieval("?", (TRIPLE,), (ScoredTable("t", 1.0),), {"labels": 1.23456}, trace={"labels": {1, 2}})


def test_json_has_all_of_a_triple_and_nothing_of_the_trace() -> None:
    told = json.loads(json.dumps(FOUND.to_json("q1")))
    assert (told["id"], told["question"], told["timings_ms"]) == ("q1", "?", {"labels": 1.235})
    assert ScoredTriple(**told["triples"][0]) == TRIPLE
    assert told["tables"] == [{"table": "t", "score": 1.0}]
    assert "trace" not in told
    assert FOUND.to_json()["id"] is None


def test_a_frame_has_a_row_a_triple() -> None:
    frame = FOUND.to_frame()
    assert frame.to_dict("records") == [json.loads(json.dumps(FOUND.to_json()))["triples"][0]]
    empty = Retrieval("?", (), ()).to_frame()
    assert (len(empty), list(empty.columns)) == (0, list(frame.columns))


def test_markup_is_shown_not_run() -> None:
    assert SCRIPT not in FOUND._repr_html_()
    assert "&lt;script&gt;" in FOUND._repr_html_()


def test_a_retriever_that_can_use_a_model_is_known_by_its_method() -> None:
    class Plain:
        name = "plain"

        def retrieve(self, question: str, k: int) -> Retrieval:
            return FOUND

    class WithModel(Plain):
        def with_model(self, llm: object, *, rerank: bool = True) -> Retriever:
            return self

    assert isinstance(WithModel(), ModelRetriever)
    assert not isinstance(Plain(), ModelRetriever)


def test_the_statements_of_the_retrieved_cells_and_no_others(store: EmbeddedStore, names: Namespaces) -> None:
    cells = [
        (CellAddress("income", 2, 2), f"{EX}in2019", 1.0),
        (CellAddress("medals", 1, 1), f"{EX}hasNation", 0.5),
    ]
    text = described_rdf(store, names, fill(store, names, cells).triples, Format.TURTLE)
    graph = rdflib.Graph().parse(data=text, format="turtle")
    row, cell = rdflib.URIRef(names.row_iri("income", 2)), rdflib.URIRef(names.cell_iri("income", 2, 2))
    assert (row, rdflib.URIRef(f"{EX}in2019"), cell) in graph
    assert (row, rdflib.RDFS.label, rdflib.Literal("- Cloud")) in graph
    assert (row, rdflib.URIRef(f"{EX}in2018"), None) not in graph
    assert graph.value(cell, rdflib.URIRef(f"{KGT}text")) == rdflib.Literal("150")
    nation = (
        rdflib.URIRef(names.row_iri("medals", 1)),
        rdflib.URIRef(f"{EX}hasNation"),
        rdflib.Literal("Norway"),
    )
    assert nation in graph
    assert len(set(graph.subjects())) == 3


def test_no_triples_are_an_empty_graph(store: EmbeddedStore, names: Namespaces) -> None:
    assert (
        len(rdflib.Graph().parse(data=described_rdf(store, names, [], Format.TURTLE), format="turtle")) == 0
    )
