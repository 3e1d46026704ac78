"""Whatever goes wrong with one file, the others are built and one warning names it."""

from __future__ import annotations

import errno
import io
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import kgtable
from kgtable.building.convert import ConversionJob, ConversionOptions, TableConversion, run_jobs, write_job
from kgtable.errors import StorageError
from kgtable.graph.table_encoder import TableShape
from kgtable.ontology.mapping_rows import COLUMNS, read_rows
from kgtable.tables import loader
from kgtable.tables.discovery import TableFile
from kgtable.tables.layout.header import header_of_lines
from kgtable.tables.layout.regions import split_regions
from kgtable.tables.limits import ReadLimits
from kgtable.tables.model import Grid, Row, Source

NESTED = {
    "deep.json": '[{"a": ' + "[" * 330 + "]" * 330 + "}]",
    "objects.json": '[{"a": ' + '{"b": ' * 330 + "1" + "}" * 331 + "]",
    "deep.jsonl": '{"a": ' + "[" * 330 + "]" * 330 + "}\n",
    "deeper.json": "[" * 100_000,
}


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "a.csv").write_text("x,y\n1,2\n", encoding="utf-8")
    (folder / "z.csv").write_text("x,y\n3,4\n", encoding="utf-8")
    return folder


def check(tables: Path, tmp_path: Path, name: str, words: str) -> None:
    """Build and convert name the file and hold the other two tables."""
    report = kgtable.convert(tables, tmp_path / "out.ttl")
    assert [table.id for table in report.tables] == ["a", "z"]
    assert len(report.errors) == 1
    assert report.errors[0].startswith(f"{name}: ")
    assert words in report.errors[0]
    with kgtable.build(tables, tmp_path / "kg", embedding="none") as graph:
        assert list(graph.tables) == ["a", "z"]
        assert graph.built is not None
        assert graph.built.conversion.errors == report.errors


@pytest.mark.parametrize("name", NESTED)
def test_json_that_is_nested_deeply(name: str, tables: Path, tmp_path: Path) -> None:
    (tables / name).write_text(NESTED[name], encoding="utf-8")
    check(tables, tmp_path, name, "no line" if name.endswith("l") else "nested too deeply")


def test_json_nested_less_deeply_is_read_whatever_the_stack(tables: Path, tmp_path: Path) -> None:
    text = "[" * 150 + "]" * 150
    (tables / "b.json").write_text(f'[{{"a": {text}}}]', encoding="utf-8")
    (tables / "c.jsonl").write_text(f'{{"a": {text}}}\n{{"a": {text * 2}}}\n', encoding="utf-8")

    def read(depth: int) -> list[tuple[Row, ...]]:
        if depth:
            return read(depth - 1)
        return [tuple(found.rows) for found in loader.read_folder(tables) if isinstance(found, Grid)]

    assert read(300)[1:3] == [(("a",), (text,)), (("a",), (text,))]


class Rows:
    """Rows that fail on the way, as those of a library may."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __iter__(self) -> Iterator[Row]:
        yield ("x", "y")
        yield from [("1", "2")] * 20_000
        raise self.error


ERRORS = [
    RecursionError("maximum recursion depth exceeded"), MemoryError(), ZeroDivisionError("division by zero"),
    AssertionError(), UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"),
    OSError(errno.EIO, "Input/output error"), StopIteration("stopped"), RuntimeError("the library gave up"),
]  # fmt: skip
STAGES = ("reading", "streaming", "encoding")


@pytest.mark.parametrize(
    ("stage", "error"),
    [(STAGES[place % 3], error) for place, error in enumerate(ERRORS)]
    + [(stage, MemoryError()) for stage in ("reading", "encoding")],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_any_error_of_one_file(
    stage: str, error: Exception, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tables / "b.md").write_text("| a | b |\n|---|---|\n| 1 | 2 |\n", encoding="utf-8")

    def read(file: TableFile, limits: ReadLimits) -> list[Grid]:
        if stage == "reading":
            raise error
        rows = Rows(error) if stage == "streaming" else [("a", "b"), ("1", "2")]
        return [Grid(file.id, Source(file.relative), rows, 2)]  # type: ignore[arg-type]

    made = TableShape.description

    def describe(shape: TableShape) -> object:
        if stage == "encoding" and shape.graph.endswith("/b>"):
            raise error
        return made(shape)

    monkeypatch.setattr("kgtable.tables.readers.markdown.read_markdown", read)
    monkeypatch.setattr(TableShape, "description", describe)
    check(tables, tmp_path, "b.md", "")


@pytest.mark.parametrize("where", ["loader.split_regions", "layout.detect.header_of_lines"])
def test_a_text_file_that_takes_too_long_is_named_and_the_others_are_built(
    where: str, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tables / "m.csv").write_text("x,y\n5,6\n", encoding="utf-8")
    usual = header_of_lines if where.endswith("lines") else split_regions

    def endless(grid: Grid, *rest: Any) -> Any:
        while grid.source.path == "m.csv":
            pass
        return usual(grid, *rest)

    monkeypatch.setattr(f"kgtable.tables.{where}", endless)
    report = kgtable.convert(tables, tmp_path / "out.ttl", file_seconds=1)
    assert [table.id for table in report.tables] == ["a", "z"]
    assert [error[:40] for error in report.errors] == ["m.csv: reading it takes more than 1 seco"]


def test_a_full_disk_is_no_fault_of_the_file(tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(conversion: TableConversion) -> Iterator[str]:
        raise StorageError("No space left to write the contents of the tables.")

    monkeypatch.setattr(TableConversion, "__iter__", refuse)
    with pytest.raises(StorageError, match="No space"):
        kgtable.convert(tables, tmp_path / "out.ttl")


def test_control_characters_in_names_of_tables_and_columns(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "b.json").write_text('{"k\\u0002": [{"a\\u001b[31m": 1}], "l": [{"b\\ufffe": 2}]}')
    (folder / "c.csv").write_text("x\x0c,y\n1,2\n", encoding="utf-8")
    if sys.platform != "win32":
        (folder / "a\x01\n.csv").write_text("x,y\n1,2\n", encoding="utf-8")
    with kgtable.build(folder, tmp_path / "kg", embedding="none") as graph:
        assert set(graph.tables) >= {"b#k\x02", "b#l", "c"}
        assert graph.built is not None
        assert graph.built.messages == ()
    for name in ("ontology.csv", "ontology.xlsx"):
        rows = read_rows(tmp_path / "kg" / name, COLUMNS)
        assert "b#k\x02" in [row.values["tables"] for row in rows]


class DeadlyFile(TableFile):
    """A file whose reading ends the process, as a crash of a library or the system's want of memory does."""

    @property
    def suffix(self) -> str:
        if multiprocessing.parent_process() is not None:
            os.kill(os.getpid(), signal.SIGKILL)
        return ".csv"


@pytest.mark.skipif(sys.platform == "win32", reason="processes are killed otherwise")
def test_a_file_that_ends_its_process_is_named_and_the_others_are_built(tmp_path: Path) -> None:
    files: list[TableFile] = []
    for number in range(6):
        path = tmp_path / f"t{number}.csv"
        path.write_text(f"x,y\n{number},2\n", encoding="utf-8")
        files.append((DeadlyFile if number in (1, 2) else TableFile)(path, path.name, path.stem))
    jobs = [
        ConversionJob(tuple(part), (None, None), tmp_path / str(number))
        for number, part in enumerate(zip(files[::2], files[1::2], strict=True))
    ]
    done = list(run_jobs(jobs, ConversionOptions(), 2))
    records = [record for converted in done for record in converted.records]
    assert [record.path for record in records] == [file.relative for file in files]
    assert [record.error is None for record in records] == [True, False, False, True, True, True]
    assert str(records[1].error).startswith("t1.csv: the process that converted it did not survive")
    assert [b"/t0/" in converted.job.output.read_bytes() for converted in done] == [True, False, False]


class TruncatingOutput(io.BytesIO):
    """Cuts a file short at the first piece that is written."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def write(self, content: object) -> int:
        if self.path.stat().st_size > 1_000:
            os.truncate(self.path, 1_000)
        return super().write(content)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_a_file_that_is_cut_short_while_it_streams_is_noticed(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    frame = pd.DataFrame({"x": range(30_000), "y": range(30_000)})
    if name == "t.csv":
        frame.to_csv(path, index=False)
    elif name == "t.jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_parquet(path)
    job = ConversionJob((TableFile(path, name, "t"),), (None,), tmp_path / "out")
    settings = ConversionOptions(limits=ReadLimits(stream_above=2_000))
    sound = list(write_job(job, settings, io.BytesIO()))
    assert (sound[0].error, sound[0].tables[0].rows) == (None, 30_001)
    out = TruncatingOutput(path)
    [record] = write_job(job, settings, out)
    assert str(record.error).startswith(f"{name}: the file c")
    assert (record.tables, out.getvalue()) == ((), b"")


def test_a_cell_that_no_store_can_load_ends_its_file_alone(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "good.csv").write_text("A,B\n1,2\n")
    (tmp_path / "in" / "open.csv").write_text('A,B\n1,"' + "text of a quote, that is never closed\n" * 240_000)
    (tmp_path / "in" / "header.csv").write_text("A," + "\U00020000" * 2_200_000 + "\n1,2\n", encoding="utf-8")
    with kgtable.build(tmp_path / "in", tmp_path / "kg", embedding="none", workers=2) as graph:
        assert list(graph.tables) == ["good"]
        assert graph.built is not None
        errors = sorted(graph.built.conversion.errors)
    assert [error.partition(":")[0] for error in errors] == ["header.csv", "open.csv"]
    assert all("a statement of more than 8,388,608 bytes" in error for error in errors)
