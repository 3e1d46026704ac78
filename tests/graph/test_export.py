from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st

from kgtable import api
from kgtable.building.export import csv_text, safe_file_name, to_dataset, write_csv, write_csv_folder, write_rdf
from kgtable.building.load import fill_store
from kgtable.graph.store import EmbeddedStore
from kgtable.graph.writers import Format
from kgtable.tables.layout.detect import make_table
from kgtable.tables.model import Grid
from tests.graph.support import NAMES, grid, text_of

any_text = st.text(alphabet=st.characters(exclude_categories=()), max_size=20)


def store_of(folder: Path, *tables: Grid) -> EmbeddedStore:
    text = folder / "text"
    text.write_text("".join(map(text_of, tables)), encoding="utf-8", newline="")
    fill_store(folder / "store", [text])
    return EmbeddedStore(folder / "store")


@given(st.lists(any_text, unique=True, min_size=1, max_size=20))
def test_file_names_are_different_for_different_ids(ids: list[str]) -> None:
    names = [safe_file_name(id) for id in ids]
    assert len(set(names)) == len(ids)
    for name in names:
        assert name
        assert not set(name) & set('/\\:*?"<>|\0\n')
        assert not name.startswith(".")
        assert not name.endswith((".", " "))
        assert len(name.encode("utf-8")) <= 120


@pytest.mark.parametrize("id", ["con", "CON", "Con.2019", "nul", "com1", "lpt9.b", "aux."])
def test_no_file_is_named_like_a_device(id: str) -> None:
    assert safe_file_name(id).partition(".")[0].lower() != id.partition(".")[0].lower()


@pytest.mark.parametrize("text", ["a\rb", "a\r\nb", "\r", "\n", '"', "a,b", "", " x "])
def test_csv_holds_any_line_end_within_a_cell(text: str) -> None:
    rows = [(text, "x"), ("y", text)]
    written = csv_text(make_table(grid(*rows)))
    assert [tuple(row) for row in csv.reader(io.StringIO(written, newline=""))] == rows


def test_csv_holds_lone_surrogates() -> None:
    out = io.BytesIO()
    write_csv(make_table(grid(("a\ud800",))), out)
    assert out.getvalue().decode("utf-8", "surrogatepass") == "a\ud800\n"


def test_ids_that_differ_in_case_alone_give_two_files(tmp_path: Path) -> None:
    ids = ["Table", "table", "TABLE", "../up"]
    store = store_of(tmp_path, *(grid(("a", "b"), (id, "1"), id=id) for id in ids))
    paths = write_csv_folder(store, ids, NAMES, tmp_path / "csv")
    assert len({path.name.casefold() for path in paths}) == 4
    assert {path.parent for path in paths} == {tmp_path / "csv"}
    assert [path.read_text(encoding="utf-8") for path in paths] == [f"a,b\n{id},1\n" for id in ids]
    assert write_csv_folder(store, ids, NAMES, tmp_path / "csv") == paths


@pytest.mark.parametrize("format", list(Format))
def test_a_table_alone_is_written_as_it_was_converted(format: Format, tmp_path: Path) -> None:
    table = grid(("Year", "Pension"), ("2011", "574"), ("31 Dec. 2012", "-"))
    store = store_of(tmp_path, table)
    assert "".join(write_rdf(store, [NAMES.table_iri("t")], NAMES, format, description=False)) == text_of(table, format)


def test_a_dataset_in_memory_has_the_graphs(folder: Path, graph_path: Path) -> None:
    kg = api.build(folder, graph_path, embedding="none")
    dataset = to_dataset(kg.store, [kg.names.table_iri("planets")], kg.names)
    assert len(dataset.graph(rdflib.URIRef(NAMES.table_iri("planets")))) == kg.tables["planets"].record.quads
    assert len(dataset.graph(rdflib.URIRef(NAMES.table_iri("income")))) == 0
    assert len(dataset.default_graph) > 100
