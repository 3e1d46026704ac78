"""Small files that unpack to huge tables are refused while they are read."""

from __future__ import annotations

import io
import json
import random
import zipfile
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet
import pytest

from kgtable.errors import TableError
from kgtable.tables.limits import ReadLimits
from kgtable.tables.loader import read_folder
from kgtable.tables.model import Grid
from tests.tables.readers.files import ods_bytes

LIMITS = ReadLimits(max_unpacked=4 << 20, max_cells=2_000_000)


def parquet(table: pa.Table) -> bytes:
    content = io.BytesIO()
    pa.parquet.write_table(table, content, compression="zstd")
    return content.getvalue()


def repeated(text: str, times: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0] * times, pa.int32()), pa.array([text]))


def far_cell() -> bytes:
    book, content = openpyxl.Workbook(), io.BytesIO()
    book.active["A1"] = book.active["ALL1500"] = 1
    book.save(content)
    return content.getvalue()


def many_shared_strings() -> bytes:
    book, content = openpyxl.Workbook(), io.BytesIO()
    for _ in range(400):
        book.active.append(["x" * 32_000])
    book.save(content)
    return content.getvalue()


ODS_ROWS = (
    '<table:table table:name="S"><table:table-row table:number-rows-repeated="1400">'
    '<table:table-cell office:value-type="string" table:number-columns-repeated="1000">'
    "<text:p>x</text:p></table:table-cell></table:table-row></table:table>"
)
KEYS = [f"k{number}" for number in range(20_000)]
BOMBS: dict[str, tuple[str, bytes]] = {
    "dictionary.parquet": ("bytes of text", parquet(pa.table({"a": repeated("x" * 60_000, 4_000)}))),
    "runs.parquet": ("cells", parquet(pa.table({"a": pa.array([True] * 3_000_000)}))),
    "repeats.ods": ("values span", ods_bytes(ODS_ROWS)),
    "far.xlsx": ("values span", far_cell()),
    "shared.xlsx": ("", many_shared_strings()),
    "keys.jsonl": ("columns", "\n".join(json.dumps({key: 1}) for key in KEYS).encode()),
    "sparse.jsonl": ("values span", "\n".join(json.dumps({key: 1}) for key in KEYS[:9_000]).encode()),
    "sparse.json": ("values span", json.dumps([{key: 1} for key in KEYS[:9_000]]).encode()),
    "uneven.json": ("values span", json.dumps({"a": [1] * 9_000, **{k: [] for k in KEYS[:9_000]}}).encode()),
    "wide.csv": ("columns", ",".join(KEYS).encode() + b"\n"),
}


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.timeout(60)
def test_a_bomb_is_refused(name: str, tmp_path: Path) -> None:
    words, content = BOMBS[name]
    assert len(content) < 500_000
    (tmp_path / name).write_bytes(content)
    (tmp_path / "z.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    found = {item.path: item for item in read_folder(tmp_path, limits=LIMITS) if isinstance(item, TableError)}
    assert list(found) == [name]
    assert words in found[name].message
    assert found[name].hint


def test_a_small_workbook_has_little_time(tmp_path: Path) -> None:
    """A cell of very many runs of rich text takes its reader quadratic time."""
    runs = "<r><t>x</t></r>" * 250_000
    sheet = (
        '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1">'
        f'<c r="A1" t="inlineStr"><is>{runs}</is></c></row></sheetData></worksheet>'
    )
    book, whole = openpyxl.Workbook(), io.BytesIO()
    book.save(whole)
    with zipfile.ZipFile(whole) as parts, zipfile.ZipFile(tmp_path / "rich.xlsx", "w", 8) as packed:
        for name in parts.namelist():
            packed.writestr(name, sheet if "sheet1" in name else parts.read(name))
    assert (tmp_path / "rich.xlsx").stat().st_size < 20_000
    [refused] = read_folder(tmp_path, limits=ReadLimits.of_seconds(1))
    assert isinstance(refused, TableError)
    assert "reading it takes more than 1 seconds" in refused.message


@pytest.mark.parametrize("kind", ["string", "large_string", "binary"])
def test_texts_of_parquet_are_those_it_holds(kind: str, tmp_path: Path) -> None:
    chosen = random.Random(7).choices(["a", "", None, "größe", '"x"'], k=30_000)
    array = pa.array([None if text is None else text.encode() for text in chosen], pa.binary())
    table = pa.table({"t": array.cast(kind) if kind != "binary" else array, "n": list(range(30_000))})
    (tmp_path / "t.parquet").write_bytes(parquet(table))
    for limits in (ReadLimits(), ReadLimits(stream_above=1)):
        (grid,) = (item for item in read_folder(tmp_path, limits=limits) if isinstance(item, Grid))
        assert [row[0] for row in grid.rows][1:] == [text or "" for text in chosen]
