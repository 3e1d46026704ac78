from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable import api
from kgtable.building.catalogue import FileRecord
from kgtable.building.conversion_report import ConversionReport
from kgtable.building.convert import (
    ConversionJob,
    ConversionOptions,
    TableConversion,
    plan_jobs,
    run_job,
    run_jobs,
    write_job,
)
from kgtable.graph.terms import Namespaces, Share
from kgtable.graph.writers import Format
from kgtable.ontology.mapping import UserMapping
from kgtable.tables.discovery import find_files
from kgtable.tables.model import Notice, Row
from tests.graph.support import grid


@given(st.lists(st.integers(0, 60), min_size=1, max_size=12), st.integers(1, 4))
def test_jobs_hold_every_file_once_and_in_order(sizes: list[int], workers: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("kgtable.building.convert.SPLIT_ABOVE", 40)
        for number, size in enumerate(sizes):
            Path(folder, f"{number:03}.csv").write_bytes(b"a" * size)
        files = [(file, f"digest of {file.id}") for file in find_files([Path(folder)])]
        jobs = plan_jobs(files, Path("out"), workers)
    met = [pair for job in jobs if job.share.is_first for pair in zip(job.files, job.digests, strict=True)]
    assert met == files
    assert len({job.output for job in jobs}) == len(jobs)
    shares = [job.share for job in jobs if job.share.parts > 1]
    big = sum(size > 40 for size in sizes) if workers > 1 else 0
    assert shares == [Share(part, workers) for part in range(workers)] * big


def test_nothing_to_convert(tmp_path: Path) -> None:
    assert plan_jobs([], tmp_path, 3) == []
    assert list(run_jobs([], ConversionOptions(), 3)) == []


class Streamed:
    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)


@pytest.mark.parametrize("size", [1, 60, 200, 100_000])
def test_shares_of_a_streamed_table_hold_each_row_once_however_wrong_the_size(size: int) -> None:
    table = grid(("Item", "Amount"), *((f"r{n}", str(n)) for n in range(25)))
    streamed = replace(table, rows=Streamed(tuple(table.rows)))
    whole = "".join(TableConversion(streamed, ConversionOptions()))
    shares = [TableConversion(streamed, ConversionOptions(), Share(part, 3), size) for part in range(3)]
    assert "".join(piece for share in shares for piece in share) == whole
    counts = [share.record().rows for share in shares]
    assert sum(counts) == 26
    assert min(counts) > 0 or size != 200


def test_shares_of_a_table_together_say_what_the_whole_says() -> None:
    rows = [(f"r{n}", str(n), f"{n} kg") for n in range(11)]
    table = grid(("Item", "Amount", "Mass"), *rows)
    whole = TableConversion(table, ConversionOptions())
    text = "".join(whole)
    shares = [TableConversion(table, ConversionOptions(), Share(part, 4)) for part in range(4)]
    assert "".join(piece for share in shares for piece in share) == text
    records = [share.record() for share in shares]
    assert sum(record.quads for record in records) == whole.record().quads == len(text.splitlines())
    assert sum(record.rows for record in records) == 12


def test_a_file_that_cannot_be_read_leaves_a_record_and_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n", encoding="utf-8")
    (tmp_path / "b.csv").write_bytes(b"PK\x03\x04\x00binary\x00")
    (tmp_path / "c.csv").write_text("x,y\n3,4\n", encoding="utf-8")
    files = tuple(find_files([tmp_path]))
    out = io.BytesIO()
    records = list(
        write_job(ConversionJob(files, ("1", "2", "3"), tmp_path / "out"), ConversionOptions(), out)
    )
    assert [record.error is None for record in records] == [True, False, True]
    assert records[1].tables == ()
    assert b"/b/" not in out.getvalue()
    alone = ConversionJob(files[::2], ("1", "3"), tmp_path / "out")
    assert run_job(alone, ConversionOptions()).records == (records[0], records[2])
    assert (tmp_path / "out").read_bytes() == out.getvalue()


def test_the_key_of_the_settings_changes_with_what_changes_the_text() -> None:
    conversion = TableConversion(grid(("Year", "Revenue"), ("2019", "1")), ConversionOptions())
    "".join(conversion)
    facts = conversion.record().facts
    key = ConversionOptions().key(facts)
    assert ConversionOptions().key(facts) == key
    assert ConversionOptions(format=Format.TURTLE).key(facts) == key
    assert ConversionOptions(Namespaces("https://other.example/")).key(facts) != key
    about_it = UserMapping({("Revenue", ""): {"unit": "CCY_EUR"}})
    about_others = UserMapping({("Costs", ""): {"unit": "CCY_EUR"}})
    assert ConversionOptions(mapping=about_it).key(facts) != key
    assert ConversionOptions(mapping=about_others).key(facts) == key


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
