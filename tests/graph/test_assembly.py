from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pyoxigraph as ox
import pytest
import rdflib

from kgtable.building.assembly import GenerationContent, make_plan
from kgtable.building.catalogue import Catalogue
from kgtable.building.convert import ConversionOptions
from kgtable.graph.terms import Namespaces
from kgtable.graph.writers import Format
from kgtable.tables.discovery import TableFile, find_files


def assembled(folder: Path, scratch: Path, format: Format = Format.NQUADS) -> tuple[bytes, GenerationContent]:
    settings = ConversionOptions(format=format)
    assembly = GenerationContent(make_plan(find_files([folder]), Catalogue(), settings), settings)
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
    assert make_plan(find_files([folder]), before, ConversionOptions()).is_done(before)
    (folder / "t3.csv").write_text("Name,Amount\nx,33\n", encoding="utf-8")
    (folder / "t9.csv").write_text("Name,Amount\nx,9\n", encoding="utf-8")
    (folder / "t0.csv").unlink()
    plan = make_plan(find_files([folder]), before, ConversionOptions())
    assert not plan.is_done(before)
    assert [file.id for file, _ in plan.convert] == ["t3", "t9"]
    assert [record.id for record in plan.kept] == ["t1", "t2", "t4", "t5", "t6", "t7"]
    assert plan.order == tuple(f"t{number}.csv" for number in (1, 2, 3, 4, 5, 6, 7, 9))


def test_a_folder_that_moved_is_not_converted_again_but_told(tmp_path: Path) -> None:
    _, assembly = assembled(many(tmp_path / "tables"), tmp_path)
    before = assembly.catalogue()
    moved = (tmp_path / "tables").rename(tmp_path / "moved")
    plan = make_plan(find_files([moved]), before, ConversionOptions())
    assert plan.convert == ()
    assert not plan.is_done(before)
    assert {Path(record.location).parent for record in plan.kept} == {moved}


@pytest.mark.parametrize("gone", [2, 3])
def test_past_three_tenths_all_is_converted(gone: int, tmp_path: Path) -> None:
    folder = many(tmp_path / "tables")
    before = assembled(folder, tmp_path)[1].catalogue()
    for number in range(gone):
        (folder / f"t{number}.csv").unlink()
    plan = make_plan(find_files([folder]), before, ConversionOptions())
    assert len(plan.convert) == (0 if gone == 2 else 5)
    assert len(plan.kept) + len(plan.convert) == 8 - gone


def test_another_base_converts_all(tmp_path: Path) -> None:
    folder = many(tmp_path / "tables")
    before = assembled(folder, tmp_path)[1].catalogue()
    plan = make_plan(find_files([folder]), before, ConversionOptions(Namespaces("https://other.example/")))
    assert len(plan.convert) == 8


def test_a_file_that_cannot_be_opened_is_recorded(tmp_path: Path) -> None:
    gone = TableFile(tmp_path / "gone.csv", "gone.csv", "gone")
    plan = make_plan([gone], Catalogue(), ConversionOptions())
    assert plan.convert == ()
    assert plan.unreadable[0].error is not None
    assert "gone.csv: the file cannot be read" in plan.unreadable[0].error
    assert list(GenerationContent(plan, ConversionOptions()).catalogue().files) == ["gone.csv"]


@pytest.mark.parametrize("format", list(Format))
def test_the_document_is_the_same_however_it_is_made(format: Format, folder: Path, tmp_path: Path) -> None:
    document, assembly = assembled(folder, tmp_path, format)
    again, _ = assembled(folder, tmp_path, format)
    assert again == document

    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    other = GenerationContent(
        make_plan(find_files([folder]), Catalogue(), ConversionOptions()), ConversionOptions(format=format)
    )
    pipe = Pipe()
    other.write(pipe, tmp_path)
    assert pipe.getvalue() == document
    assert replace(other.catalogue().files["planets.csv"], settings="") == replace(
        assembly.catalogue().files["planets.csv"], settings=""
    )


def test_texts_end_with_the_description(folder: Path, tmp_path: Path) -> None:
    assembly = GenerationContent(
        make_plan(find_files([folder]), Catalogue(), ConversionOptions()), ConversionOptions()
    )
    *tables, description = [path.read_bytes() for path in assembly.texts(tmp_path)]
    graphs = {quad.graph_name for quad in ox.parse(description, format=ox.RdfFormat.N_QUADS)}
    assert graphs == {ox.DefaultGraph()}
    assert b"".join((*tables, description)) == assembled(folder, tmp_path)[0]


def test_the_ontology_is_saved_in_two_formats(folder: Path, tmp_path: Path) -> None:
    _, assembly = assembled(folder, tmp_path)
    assembly.save_ontology(tmp_path)
    turtle = rdflib.Graph().parse(tmp_path / "ontology.ttl")
    assert len(turtle) > 20
    assert set(turtle) == set(rdflib.Graph().parse(tmp_path / "ontology.owl", format="xml"))
