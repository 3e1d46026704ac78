from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pytest

from kgtable.building.catalogue import FileRecord
from kgtable.building.conversion_report import ConversionReport
from kgtable.building.convert import ConversionJob, ConversionOptions, TableConversion, run_job, write_job
from kgtable.errors import UnreadableTableError
from kgtable.graph.terms import Share
from kgtable.tables.discovery import find_files
from kgtable.tables.limits import ReadLimits
from kgtable.tables.model import Notice
from kgtable.tables.readers.delimited import scan_delimited
from kgtable.tables.readers.dialect import TextDialect
from tests.graph.support import grid


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
    records = list(write_job(ConversionJob(files, ("1", "2", "3"), tmp_path / "out"), ConversionOptions(), out))
    assert [record.error is None for record in records] == [True, False, True]
    assert records[1].tables == ()
    assert b"/b/" not in out.getvalue()
    alone = ConversionJob(files[::2], ("1", "3"), tmp_path / "out")
    assert run_job(alone, ConversionOptions()).records == (records[0], records[2])
    assert (tmp_path / "out").read_bytes() == out.getvalue()


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


def test_long_cells_are_read_without_a_lasting_change_of_the_limit() -> None:
    limit, long = csv.field_size_limit(), "x" * 200_000
    lines = [f"{long},1\n", f"{long},2\n"]
    assert limit == 131_072
    one, other = TextDialect().rows(lines), TextDialect(quote="").rows(lines)
    assert next(one) == next(other) == (long, "1")
    one.close()  # type: ignore[attr-defined]
    assert list(other) == [(long, "2")]
    assert csv.field_size_limit() == limit
    with pytest.raises(csv.Error, match="field larger"):
        next(csv.reader(lines))
