from __future__ import annotations

from kgtable.building.generations import Generation
from kgtable.graph.store import EmbeddedStore
from kgtable.graph.terms import Namespaces
from kgtable.index.contents import TableContent, read_content


def content_of(generation: Generation, id: str) -> TableContent:
    names = Namespaces(generation.base)
    return read_content(EmbeddedStore(generation.store_path), id, names)


def test_a_table_is_read_with_its_context_labels_and_groups(generation: Generation) -> None:
    content = content_of(generation, "income")
    assert content.title == "Annual report"
    assert content.around == ["Acme plc sells software. Amounts are in $ millions."]
    assert [name for name, _ in content.columns] == ["", "2018", "2019"]
    assert content.columns[1][1] == "http://example.org/ontology#in2018"
    assert content.rows[2] == ("- Cloud", 1)
    assert content.rows[4] == ("Total revenue", 1)
    assert (2, 1, "120", None, True, False) in content.cells
    assert (0, 2, "2019", None, False, True) in content.cells


def test_a_typed_value_keeps_its_printed_text_and_its_lexical_form(generation: Generation) -> None:
    cells = content_of(generation, "bridges").cells
    assert (1, 1, "31 Dec. 1921", "1921-12-31", False, False) in cells


def test_cells_come_in_reading_order(generation: Generation) -> None:
    for id in ("medals", "bridges", "income"):
        places = [cell[:2] for cell in content_of(generation, id).cells]
        assert places == sorted(places)


def test_the_content_survives_json(generation: Generation) -> None:
    content = content_of(generation, "income")
    assert TableContent.from_json(content.to_json()) == content


def test_an_absent_table_has_no_content(generation: Generation) -> None:
    assert content_of(generation, "absent") == TableContent("absent")
