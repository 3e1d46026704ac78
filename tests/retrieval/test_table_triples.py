from __future__ import annotations

from pathlib import Path

import pytest

import kgtable
from kgtable.errors import GraphNotFoundError

INCOME = 'in millions,2020,2019\nRevenue:,,\nLicences,"1,234",(7)\nTotal,—,12.5%\n'


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> kgtable.KnowledgeGraph:
    folder = tmp_path_factory.mktemp("tables")
    (folder / "income.csv").write_text(INCOME, encoding="utf-8")
    (folder / "moons.csv").write_text("Moon,Found\nTitan,25 March 1655\n", encoding="utf-8")
    return kgtable.build(folder, folder.with_name("graph"), embedding="none")


def test_every_body_cell_is_a_triple_with_value_unit_scale_and_group(graph: kgtable.KnowledgeGraph) -> None:
    triples = {(t.row, t.column): t for t in graph.retrievers.material.triples_of("income")}
    assert set(triples) == {(1, 0), (2, 0), (2, 1), (2, 2), (3, 0), (3, 1), (3, 2)}
    licences = triples[2, 1]
    assert (licences.subject, licences.object, licences.value) == ("Licences", "1,234", "1234000000")
    assert (licences.scale, licences.note, licences.group) == ("M", "POSITIVE", "Revenue:")
    assert licences.cell == graph.names.cell_iri("income", 2, 1)
    assert licences.predicate == graph.names.predicate_iri("in2020")
    assert triples[2, 2].value == "-7000000"
    assert triples[3, 2].unit == "PERCENT"
    assert triples[3, 1].value is None


def test_a_date_gives_its_lexical_form_beside_the_printed_text(graph: kgtable.KnowledgeGraph) -> None:
    found = graph.retrievers.material.triples_of("moons")[1]
    assert (found.object, found.value) == ("25 March 1655", "1655-03-25")


def test_a_table_that_is_not_there(graph: kgtable.KnowledgeGraph, tmp_path: Path) -> None:
    with pytest.raises(GraphNotFoundError):
        graph.retrievers.material.triples_of("nothing")
