"""Hostile and broken files: each one gives a clear error, a notice or the right table, and the next
table in the folder is read all the same."""

from __future__ import annotations

import gzip
import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from kgtable import errors
from kgtable.errors import EmptyTableError, NoTableError, TableError, UnreadableTableError
from kgtable.tables.limits import ReadLimits
from kgtable.tables.loader import read_folder
from kgtable.tables.model import Grid
from tests.tables.readers.files import member, ods_bytes, parquet_bytes, with_member, workbook_bytes

SMALL = ReadLimits(max_unpacked=4 << 20, ratio_from=1 << 20, max_ratio=100, max_cells=100_000)


@dataclass(frozen=True)
class Refused:
    """The file gives this error, whose message has these words."""

    kind: type[TableError]
    words: str


@dataclass(frozen=True)
class Read:
    """The file gives tables that the check holds for, with these notices."""

    check: Callable[[list[Grid]], bool]
    notices: tuple[str, ...] = ()


def sheet_with(old: bytes, new: bytes) -> bytes:
    """A workbook whose sheet XML has something replaced."""
    book = workbook_bytes({"A1": "a", "B2": 1})
    part = "xl/worksheets/sheet1.xml"
    xml = member(book, part)
    assert old in xml
    return with_member(book, part, xml.replace(old, new))


def with_shared_strings(count: str) -> bytes:
    """A workbook whose table of strings states how many it holds."""
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    link = f'<Relationship Id="rId99" Type="{office}/sharedStrings" Target="/xl/sharedStrings.xml"/>'
    book = workbook_bytes({"A1": 1})
    part = "xl/_rels/workbook.xml.rels"
    relations = member(book, part).replace(b"</Relationships>", f"{link}</Relationships>".encode())
    strings = (
        '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
        f'count="{count}" uniqueCount="{count}"><si><t>x</t></si></sst>'
    )
    return with_member(with_member(book, part, relations), "xl/sharedStrings.xml", strings.encode())


def rows_are(*rows: tuple[str, ...]) -> Callable[[list[Grid]], bool]:
    return lambda grids: [grid.rows for grid in grids] == [rows]


WIDE = ",".join(f"c{n}" for n in range(10_000))
BIG = "x" * 10_000_000
ENTITIES = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
LAUGHS = f'<!DOCTYPE html [<!ENTITY l0 "ha">{ENTITIES}]>'

CASES: dict[str, tuple[str, bytes | str, Refused | Read]] = {
    "only-a-byte-order-mark": ("b.csv", b"\xef\xbb\xbf", Refused(EmptyTableError, "no cell")),
    "xlsx-named-csv": ("b.csv", workbook_bytes({"A1": 1}), Refused(UnreadableTableError, "Excel")),
    "pdf-named-csv": ("b.csv", b"%PDF-1.4\n\0\0", Refused(UnreadableTableError, "PDF")),
    "png-named-tsv": ("b.tsv", b"\x89PNG\r\n\x1a\n\0\0", Refused(UnreadableTableError, "PNG")),
    "parquet-named-csv": ("b.csv", parquet_bytes(pa.table({"a": [1]})), Refused(UnreadableTableError, "Parquet")),
    "gzip-named-csv": ("b.csv", gzip.compress(b"a,b\n" * 99, mtime=0), Refused(UnreadableTableError, "gzip")),
    "nul-in-the-middle": ("b.csv", b"a,b\n1,\0\n", Refused(UnreadableTableError, "byte 6 is NUL")),
    "random-bytes": ("b.csv", bytes(range(256)) * 40, Refused(UnreadableTableError, "NUL")),
    "ten-thousand-columns": ("b.csv", f"{WIDE}\n{WIDE}\n", Read(lambda grids: grids[0].width == 10_000)),
    "cell-of-10-mb": ("b.csv", f'a,"{BIG}"\n1,2\n', Read(lambda grids: grids[0].rows[0] == ("a", BIG))),
    "10-mb-cell-with-line-ends": (
        "b.csv",
        'a,"' + "x\n" * 5_000_000 + '"\n1,2\n',
        Read(lambda grids: len(grids[0].rows) == 2),
    ),
    "open-quote-before-a-long-rest": (
        "b.csv",
        'a,b\n1,"x\n' + "1,2\n" * 50_000,
        Read(lambda grids: len(grids[0].rows) == 50_002, ("quotes",)),
    ),
    "nothing-but-quotes": ("b.csv", '"' * 9_999, Read(lambda grids: grids[0].width == 1, ("quotes",))),
    "invalid-utf8": (
        "b.csv",
        b"n,v\nx,caf\xe9\n",
        Read(lambda grids: grids[0].rows[1][1] == "café" and grids[0].notices[0].row == 1, ("encoding",)),
    ),
    "surrogates-as-utf8": (
        "b.csv",
        "größe,é,ü,ß\n".encode() + b"\xed\xa0\x80,b\n",
        Read(lambda grids: "\ufffd" in grids[0].rows[1][0], ("encoding",)),
    ),
    "utf8-cut-in-a-character": (
        "b.csv",
        "größe,é\n".encode() + b"\xc3",
        Read(lambda grids: grids[0].notices[0].row == 1, ("encoding",)),
    ),
    "utf16-cut-in-a-character": (
        "b.csv",
        "a,b\n".encode("utf-16") + b"\x00",
        Read(lambda grids: grids[0].rows[0] == ("a", "b"), ("encoding",)),
    ),
    "gzip-bomb": ("b.csv.gz", gzip.compress(b"a,b\n" * 2_000_000), Refused(UnreadableTableError, "unpack")),
    "gzip-cut-off": ("b.csv.gz", gzip.compress(b"a,b\n" * 999)[:-20], Refused(UnreadableTableError, "read")),
    "empty-xlsx": ("b.xlsx", b"", Refused(EmptyTableError, "empty")),
    "xlsx-cut-off": ("b.xlsx", workbook_bytes({"A1": 1})[:2_000], Refused(UnreadableTableError, "cut off")),
    "zip-without-workbook": (
        "b.xlsx",
        with_member(b"PK\x05\x06" + b"\0" * 18, "x.txt", b"x"),
        Refused(UnreadableTableError, "damaged"),
    ),
    "zip-bomb": (
        "b.xlsx",
        with_member(workbook_bytes({"A1": 1}), "xl/worksheets/sheet9.xml", b" " * (5 << 20)),
        Refused(UnreadableTableError, "unpack"),
    ),
    "zip-member-with-a-path-upwards": (
        "b.xlsx",
        with_member(workbook_bytes({"A1": "x"}), "../../evil.txt", b"x"),
        Read(rows_are(("x",))),
    ),
    "binary-workbook": (
        "b.xlsx",
        with_member(workbook_bytes({"A1": 1}), "xl/workbook.bin", b"x"),
        Refused(UnreadableTableError, "xlsb"),
    ),
    "sheet-xml-cut-off": ("b.xlsx", sheet_with(b"</sheetData>", b""), Refused(UnreadableTableError, "damaged")),
    "cell-at-the-far-corner": (
        "b.xlsx",
        workbook_bytes({"A1": 1, "XFD1048576": 1}),
        Refused(UnreadableTableError, "XFD1048576"),
    ),
    "cell-reference-of-many-letters": (
        "b.xlsx",
        sheet_with(b' r="B2"', b' r="Bworksheet2"'),
        Refused(UnreadableTableError, "not a cell reference"),
    ),
    "shared-strings-that-claim-to-be-many": (
        "b.xlsx",
        with_shared_strings("99999999999"),
        Refused(UnreadableTableError, "leads its reader astray"),
    ),
    "merged-whole-sheet": (
        "b.xlsx",
        sheet_with(b"</sheetData>", b'</sheetData><mergeCells count="1"><mergeCell ref="A1:XFD1048576"/></mergeCells>'),
        Read(lambda grids: grids[0].merged[0].bottom == 1),
    ),
    "entity-between-cells": ("b.xlsx", sheet_with(b"<row ", b"&x;<row "), Refused(UnreadableTableError, "damaged")),
    "xml-entities-that-grow": ("b.html", LAUGHS + "<table><tr><td>&l11;<td>b</table>", Read(lambda grids: True)),
    "ods-with-endless-repeats": (
        "b.ods",
        ods_bytes(
            '<table:table table:name="S"><table:table-row table:number-rows-repeated="999999999">'
            '<table:table-cell office:value-type="string" table:number-columns-repeated="999999999">'
            "<text:p>x</text:p></table:table-cell></table:table-row></table:table>"
        ),
        Refused(UnreadableTableError, "used area"),
    ),
    "colspan-of-a-billion": (
        "b.html",
        "<table><tr><td colspan=999999999>a<td>b</table>",
        Read(lambda grids: grids[0].width == 1_001),
    ),
    "colspans-that-multiply": (
        "b.html",
        f"<table>{('<tr>' + '<td colspan=1000>x' * 9) * 20}</table>",
        Refused(UnreadableTableError, "more than 100,000 cells"),
    ),
    "thousands-of-nested-tables": ("b.html", "<table><tr><td>a<td>b" * 3_000, Read(lambda grids: len(grids) > 0)),
    "a-hundred-thousand-open-tags": (
        "b.html",
        "<table><tr><td>a<td>b</table>" + "<div>" * 100_000,
        Read(rows_are(("a", "b"))),
    ),
    "json-too-deep": ("b.json", "[" * 200_000, Refused(UnreadableTableError, "deep")),
    "json-number-of-10000-digits": ("b.json", '[{"a": ' + "9" * 10_000 + "}]", Read(rows_are(("a",), ("9" * 10_000,)))),
    "json-lines-too-deep": ("b.jsonl", "[" * 200_000, Refused(UnreadableTableError, "no line")),
    "table-names-with-paths": (
        "b.json",
        json.dumps({"../../etc/passwd": [{"a": 1}], "/x": [{"a": 2}]}),
        Read(lambda grids: [grid.id for grid in grids] == ["b#../../etc/passwd", "b#/x"]),
    ),
    "markdown-of-pipes": ("b.md", "|" * 100_000, Refused(NoTableError, "pipe table")),
    "markdown-binary": ("b.md", b"|a|b|c|d|\0\n", Refused(UnreadableTableError, "NUL")),
    "empty-parquet": ("b.parquet", b"", Refused(UnreadableTableError, "read")),
    "parquet-cut-off": (
        "b.parquet",
        parquet_bytes(pa.table({"a": list(range(999))}))[:300],
        Refused(UnreadableTableError, "read"),
    ),
    "parquet-of-endless-nothing": (
        "b.parquet",
        parquet_bytes(pa.table({"a": pa.nulls(12_000_000)})),
        Refused(UnreadableTableError, "cells"),
    ),
    "parquet-duplicate-names": (
        "b.parquet",
        parquet_bytes(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])),
        Read(rows_are(("a", "a"), ("1", "2"))),
    ),
}

_FILE = Path(__file__).with_name("hostile_files.toml").read_text(encoding="utf-8")
for _name, _case in tomllib.loads(_FILE).items():
    if "refused" in _case:
        _kind, _words = _case["refused"]
        _expected: Refused | Read = Refused(getattr(errors, _kind), _words)
    else:
        _expected = Read(rows_are(*map(tuple, _case["rows"])), tuple(_case.get("notices", ())))
    CASES[_name] = (_case["file"], _case["content"], _expected)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.timeout(60)
def test_a_hostile_file(tmp_path: Path, name: str) -> None:
    file, content, expected = CASES[name]
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    (tmp_path / "c.csv").write_text("x,y\n3,4\n")
    items = list(read_folder(tmp_path, limits=SMALL))
    assert [item.id for item in (items[0], items[-1]) if isinstance(item, Grid)] == ["a", "c"]
    found = items[1:-1]
    if isinstance(expected, Refused):
        [error] = found
        assert type(error) is expected.kind
        assert error.path == file
        assert expected.words in error.message
        assert error.hint
    else:
        grids = [item for item in found if isinstance(item, Grid)]
        assert len(grids) == len(found) > 0, found
        assert expected.check(grids)
        assert tuple(notice.code for grid in grids for notice in grid.notices) == expected.notices
