from __future__ import annotations

import json
from pathlib import Path

from kgtable import api
from kgtable.building.catalogue import FileRecord
from kgtable.building.conversion_report import ConversionReport
from kgtable.tables.model import Notice


def test_a_report_sums_up_its_tables(folder: Path, tmp_path: Path) -> None:
    (folder / "broken.csv").write_bytes(b"PK\x03\x04\x00binary\x00")
    report = api.convert(folder, tmp_path / "out.nq")
    told = report.to_json()
    assert json.loads(json.dumps(told)) == told
    assert [table["id"] for table in told["tables"]] == ["income", "planets"]
    assert sum(told["cells"].values()) == sum(table["cells"] for table in told["tables"])
    assert sum(sum(sources.values()) for sources in told["units"].values()) == told["cells"]["number"]
    text = report.to_text()
    assert text.startswith(f"2 tables from 3 files, {sum(told['cells'].values())} cells\n")
    assert "1 files could not be read:\n  broken.csv" in text
    for unit in told["units"]:
        assert f"\n  {unit}: " in text
    assert ConversionReport.of(report.files).to_json()["cells"] == told["cells"]


def test_a_report_of_nothing() -> None:
    report = ConversionReport.of([])
    assert report.to_text() == "0 tables from 0 files, 0 cells\n"
    assert report.to_json()["tables"] == []


def test_notices_name_their_cell_as_spreadsheets_do() -> None:
    notices = [
        Notice("formula", 'It holds "=1+1"\n<b>', "a.xlsx", "S", 1, 27),
        Notice("skipped", "It was skipped.", "b.doc"),
    ]
    report = ConversionReport.of([FileRecord("a.xlsx", "a", "", "", "", (), "a.xlsx: damaged")], notices)
    assert [notice["cell"] for notice in report.to_json()["notices"]] == ["AB2", None]
    assert report.errors == ("a.xlsx: damaged",)
    assert "2 notices:" in report.to_text()
    assert "b.doc" in report.to_text()
