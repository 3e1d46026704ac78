from __future__ import annotations

import csv
import gc
import gzip
import io
import json
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable import api
from kgtable.building.assembly import merge_shares
from kgtable.building.catalogue import FileRecord
from kgtable.building.conversion_report import ConversionReport
from kgtable.building.convert import (
    ConversionJob,
    ConversionOptions,
    TableConversion,
    few_collections,
    plan_jobs,
    run_job,
    run_jobs,
    write_job,
)
from kgtable.errors import UnreadableTableError
from kgtable.graph.terms import Namespaces, Share
from kgtable.graph.writers import Format
from kgtable.ontology.mapping import UserMapping
from kgtable.tables import discovery
from kgtable.tables.discovery import find_files
from kgtable.tables.limits import ReadLimits
from kgtable.tables.model import Notice, Row
from kgtable.tables.readers import delimited
from kgtable.tables.readers.delimited import TextDialect, scan_delimited
from tests.graph.support import grid


@given(st.lists(st.integers(0, 60), min_size=1, max_size=12), st.integers(1, 4))
def test_jobs_hold_every_file_once_and_in_order(sizes: list[int], workers: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("kgtable.building.convert.SPLIT_ABOVE", 40)
        for number, size in enumerate(sizes):
            Path(folder, f"{number:03}.csv").write_bytes(b"a" * size)
        files = [(file, f"digest of {file.id}") for file in find_files([Path(folder)])]
        jobs = plan_jobs(files, Path("out"), workers, ReadLimits())
    met = [pair for job in jobs if job.share.is_first for pair in zip(job.files, job.digests, strict=True)]
    assert met == files
    assert len({job.output for job in jobs}) == len(jobs)
    shares = [job.share for job in jobs if job.share.parts > 1]
    big = sum(size > 40 for size in sizes) if workers > 1 else 0
    assert shares == [Share(part, workers) for part in range(workers)] * big


def test_nothing_to_convert(tmp_path: Path) -> None:
    assert plan_jobs([], tmp_path, 3, ReadLimits()) == []
    assert list(run_jobs([], ConversionOptions(), 3)) == []


@pytest.mark.parametrize("parts", [2, 3, 40])
def test_a_split_file_is_hashed_and_scanned_once_and_each_share_begins_at_its_own_row(
    parts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "".join(f"r{n},{n}\n" for n in range(2_500))
    (tmp_path / "long.csv").write_text(f"Item,Amount\n{lines}", encoding="utf-8")
    monkeypatch.setattr("kgtable.building.convert.SPLIT_ABOVE", 100)
    monkeypatch.setattr("kgtable.tables.model.HEAD_ROWS", 10)
    settings = ConversionOptions(limits=ReadLimits(stream_above=100))
    files = [(file, "") for file in find_files([tmp_path])]
    whole = run_job(plan_jobs(files, tmp_path, 1, settings.limits)[0], settings)
    expected = whole.job.output.read_bytes()

    parsed, hashed, scanned = [0], [0], [0]
    rows, sha256, detect = TextDialect.rows, discovery._sha256, delimited.encoding_of

    def counted_rows(dialect: TextDialect, lines: Iterable[str]) -> Iterator[Row]:
        for row in rows(dialect, lines):
            parsed[0] += 1
            yield row

    def counted(count: list[int], function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            count[0] += 1
            return function(*arguments)

        return call

    monkeypatch.setattr(TextDialect, "rows", counted_rows)
    monkeypatch.setattr(discovery, "_sha256", counted(hashed, sha256))
    monkeypatch.setattr(delimited, "encoding_of", counted(scanned, detect))
    jobs = plan_jobs(files, tmp_path, parts, settings.limits)
    assert len(jobs) == parts
    parsed[0] = 0
    made = [run_job(job, settings) for job in jobs]
    assert b"".join(part.job.output.read_bytes() for part in made) == expected
    assert (hashed, scanned) == ([1], [1])
    # The first rows of the file, where each process finds the header, and the share's own rows.
    assert parsed[0] <= 2_501 + parts * 12
    assert merge_shares(record for part in made for record in part.records) == whole.records


@pytest.mark.parametrize(
    "content",
    [
        b"A,B\n1,2\n", b"A,B\r\n\"x\r\ny\",2\r\n\r\n3,\"\"\"4\"\r\n", b"A,B\r1,2\r3,4",
        "Stadt,Fläche\nKöln,405\nZürich,88\n日本,3\n".encode(), "\ufeffä,b\n1,é\n2,\ufeff\n".encode(),
        "Stadt;Fläche\nKöln;405\n\x81;2\n".encode("latin-1"), b"sep=;\nA;B\n1;2\n3;4\n5;6\n",
        "A,B\n€,2\nz,日本\n".encode("utf-16"), "A,B\n€,2\nz,3\n".encode("utf-16-le"),
        "Ä,Ö\nÜ,ß\n".encode() + b"\xff,3\n4,5\n", b'A,B\nx,"open\ny,2\nz,3\n', b'A,B\n"x"y,2\nz,3\n' * 30,
    ],
)  # fmt: skip
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_pieces_of_a_file_together_are_its_rows(content: bytes, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    (file,) = find_files([path])
    whole = scan_delimited(file, ReadLimits())
    for parts in (2, 3, 7):
        scan = scan_delimited(file, ReadLimits(), parts)
        assert (scan.width, scan.notices) == (whole.width, whole.notices)
        pieces = [list(scan.piece(part)) for part in range(parts)]
        assert [pair for piece in pieces for pair in piece] == list(enumerate(whole.rows))
        assert parts > 2 or len(whole.notices) or len(content) < 12 or pieces[1] or b'"' in content


def test_a_file_that_changed_after_it_was_scanned_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("A,B\n" + "é,1\n" * 50, encoding="utf-8")
    (file,) = find_files([tmp_path])
    scan = scan_delimited(file, ReadLimits(), 3)
    (tmp_path / "a.csv").write_text("A,\n" + "é,1\n" * 50, encoding="utf-8")
    with pytest.raises(UnreadableTableError, match="change meanwhile"):
        list(scan.piece(1))


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


def test_conversions_that_overlap_leave_the_collector_as_it_was() -> None:
    before = gc.get_threshold()
    inside, leave = threading.Event(), threading.Event()

    def convert() -> None:
        with few_collections():
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=convert)
    with few_collections():
        thread.start()
        inside.wait(30)
        assert gc.get_threshold() == (100 * before[0], *before[1:])
    # The other conversion goes on and outlives the one that began first.
    assert gc.get_threshold() == (100 * before[0], *before[1:])
    leave.set()
    thread.join()
    assert gc.get_threshold() == before


def test_long_cells_are_read_without_a_lasting_change_of_the_limit() -> None:
    limit, long = csv.field_size_limit(), "x" * 200_000
    lines = [f"{long},1\n", f"{long},2\n"]
    assert limit == 131_072
    one, other = TextDialect().rows(lines), TextDialect(quoted=False).rows(lines)
    assert next(one) == next(other) == (long, "1")
    one.close()  # type: ignore[attr-defined]
    assert list(other) == [(long, "2")]
    assert csv.field_size_limit() == limit
    with pytest.raises(csv.Error, match="field larger"):
        next(csv.reader(lines))
