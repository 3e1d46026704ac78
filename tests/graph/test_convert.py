from __future__ import annotations

import io
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgtable.building.assembly import convert_tables
from kgtable.building.convert import ConversionOptions
from kgtable.errors import UsageError
from kgtable.graph.writers import Format


def test_a_document_of_all_tables_and_what_is_said_of_them(folder: Path) -> None:
    out, told = io.BytesIO(), []
    report = convert_tables(
        [folder],
        out,
        ConversionOptions(),
        progress=lambda stage, done, total: told.append((stage, done, total)),
    )
    quads = list(ox.parse(out.getvalue(), format=ox.RdfFormat.N_QUADS))
    graphs = {str(quad.graph_name) for quad in quads}
    assert {name.rpartition("/")[2] for name in graphs} == {"DEFAULT", "income>", "planets>"}
    assert sum(table.quads for table in report.tables) == sum(
        quad.graph_name != ox.DefaultGraph() for quad in quads
    )
    assert told[0] == ("converting", 0, 2)
    assert told[-1] == ("converting", 2, 2)


@pytest.mark.parametrize("format", list(Format))
def test_the_order_of_the_paths_and_files_given_twice_change_nothing(format: Format, folder: Path) -> None:
    documents = []
    for paths in ([folder], [folder, folder / "planets.csv"]):
        out = io.BytesIO()
        convert_tables(paths, out, ConversionOptions(format=format))
        documents.append(out.getvalue())
    assert documents[0] == documents[1]


def test_what_cannot_be_read_is_reported_and_the_rest_written(folder: Path) -> None:
    (folder / "income.csv").write_bytes(b"PK\x03\x04\x00\x00binary\x00\x00")
    (folder / "empty.csv").write_bytes(b"")
    (folder / "notes.docx").write_bytes(b"not a table")
    out = io.BytesIO()
    report = convert_tables([folder], out, ConversionOptions())
    assert [table.id for table in report.tables] == ["planets"]
    assert sorted(error.partition(":")[0] for error in report.errors) == ["empty.csv", "income.csv"]
    assert any("notes.docx" in str(notice) for notice in report.notices)
    assert b"data/table/income" not in out.getvalue()


def test_without_a_table_nothing_is_written(tmp_path: Path) -> None:
    out = io.BytesIO()
    with pytest.raises(UsageError, match=r"no tables in .*\.csv"):
        convert_tables([tmp_path], out, ConversionOptions())
    assert out.getvalue() == b""
