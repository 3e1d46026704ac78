from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgtable.building.assembly import GenerationContent, convert_tables, make_plan, merge_shares
from kgtable.building.catalogue import Catalogue, FileRecord
from kgtable.building.convert import ConversionJob, ConversionOptions, run_job
from kgtable.errors import UsageError
from kgtable.graph.terms import Share
from kgtable.graph.writers import Format
from kgtable.tables.discovery import find_files, walk


def assembled(folder: Path, scratch: Path, format: Format = Format.NQUADS) -> tuple[bytes, GenerationContent]:
    settings = ConversionOptions(format=format)
    assembly = GenerationContent(make_plan(walk([folder]), Catalogue(), settings), settings)
    out = io.BytesIO()
    assembly.write(out, scratch)
    return out.getvalue(), assembly


def many(folder: Path, count: int = 8) -> Path:
    folder.mkdir()
    for number in range(count):
        (folder / f"t{number}.csv").write_text(f"Name,Amount\nx,{number}\n", encoding="utf-8")
    return folder


def test_only_what_changed_is_converted_again(tmp_path: Path) -> None:
    folder = many(tmp_path / "tables")
    _, assembly = assembled(folder, tmp_path)
    before = assembly.catalogue()
    assert make_plan(walk([folder]), before, ConversionOptions()).is_done(before)
    (folder / "t3.csv").write_text("Name,Amount\nx,33\n", encoding="utf-8")
    (folder / "t9.csv").write_text("Name,Amount\nx,9\n", encoding="utf-8")
    (folder / "t0.csv").unlink()
    plan = make_plan(walk([folder]), before, ConversionOptions())
    assert not plan.is_done(before)
    assert [file.id for file, _ in plan.convert] == ["t3", "t9"]
    assert [record.id for record in plan.kept] == ["t1", "t2", "t4", "t5", "t6", "t7"]
    assert plan.order == tuple(f"t{number}.csv" for number in (1, 2, 3, 4, 5, 6, 7, 9))


def test_a_folder_that_moved_is_not_converted_again_but_told(tmp_path: Path) -> None:
    _, assembly = assembled(many(tmp_path / "tables"), tmp_path)
    before = assembly.catalogue()
    moved = (tmp_path / "tables").rename(tmp_path / "moved")
    plan = make_plan(walk([moved]), before, ConversionOptions())
    assert plan.convert == ()
    assert not plan.is_done(before)
    assert {Path(record.location).parent for record in plan.kept} == {moved}


@pytest.mark.parametrize("gone", [2, 3])
def test_past_three_tenths_all_is_converted(gone: int, tmp_path: Path) -> None:
    folder = many(tmp_path / "tables")
    before = assembled(folder, tmp_path)[1].catalogue()
    for number in range(gone):
        (folder / f"t{number}.csv").unlink()
    plan = make_plan(walk([folder]), before, ConversionOptions())
    assert len(plan.convert) == (0 if gone == 2 else 5)
    assert len(plan.kept) + len(plan.convert) == 8 - gone


@pytest.mark.parametrize("format", list(Format))
def test_the_document_is_the_same_however_it_is_made(format: Format, folder: Path, tmp_path: Path) -> None:
    document, assembly = assembled(folder, tmp_path, format)
    again, _ = assembled(folder, tmp_path, format)
    assert again == document

    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    other = GenerationContent(
        make_plan(walk([folder]), Catalogue(), ConversionOptions()), ConversionOptions(format=format)
    )
    pipe = Pipe()
    other.write(pipe, tmp_path)
    assert pipe.getvalue() == document
    assert replace(other.catalogue().files["planets.csv"], settings="") == replace(
        assembly.catalogue().files["planets.csv"], settings=""
    )


def test_a_document_of_all_tables_and_what_is_said_of_them(folder: Path) -> None:
    out, told = io.BytesIO(), []
    report = convert_tables(
        [folder], out, ConversionOptions(), progress=lambda stage, done, total: told.append((stage, done, total))
    )
    quads = list(ox.parse(out.getvalue(), format=ox.RdfFormat.N_QUADS))
    graphs = {str(quad.graph_name) for quad in quads}
    assert {name.rpartition("/")[2] for name in graphs} == {"DEFAULT", "income>", "planets>"}
    assert sum(record.quads for record in (*report.tables, *report.documents)) == sum(
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


def test_without_a_table_nothing_is_written(tmp_path: Path) -> None:
    out = io.BytesIO()
    with pytest.raises(UsageError, match=r"no tables in .*\.csv"):
        convert_tables([tmp_path], out, ConversionOptions())
    assert out.getvalue() == b""


ROWS = "".join(f"item {row},{row * 7 - 20},{row}%,$ {row} million\n" for row in range(20))


@pytest.fixture
def records(tmp_path: Path) -> list[list[FileRecord]]:
    """Two files, each converted whole, then in three shares."""
    for name in ("one", "two"):
        (tmp_path / f"{name}.csv").write_text(f"Name,Amount,Share,Cost\n{ROWS}-,,,\n", encoding="utf-8")
    found = []
    for file in find_files([tmp_path]):
        shares = [Share(), *(Share(part, 3) for part in range(3))]
        jobs = [ConversionJob((file,), ("digest",), tmp_path / "out", share) for share in shares]
        found.append([run_job(job, ConversionOptions()).records[0] for job in jobs])
    return found


def test_the_shares_of_a_file_make_the_record_of_the_whole(records: list[list[FileRecord]]) -> None:
    for whole, *shares in records:
        assert merge_shares(shares) == (whole,)
        assert shares[0] != whole


def test_a_share_that_cannot_be_read_spoils_the_file(records: list[list[FileRecord]]) -> None:
    _, first, second, third = records[0]
    broken = replace(second, tables=(), error="one.csv: it broke off")
    for shares in ([first, broken, third], [broken, second, third], [first, second, broken]):
        (merged,) = merge_shares(shares)
        assert (merged.tables, merged.error) == ((), "one.csv: it broke off")
