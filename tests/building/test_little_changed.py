"""Builds of a graph of which little changed: what is read, and what is written of the description."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import kgtable.tables.discovery
from kgtable.building.catalogue import Catalogue
from kgtable.building.generations import Generation, GraphDirectory
from kgtable.building.load import differing_lines
from kgtable.building.pipeline import build_graph
from kgtable.errors import MissingExtraError
from kgtable.graph.store import EmbeddedStore
from kgtable.graph.terms import Namespaces
from kgtable.index.graph_index import index_step
from kgtable.tables.discovery import TableFile, file_stamp, find_files


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("kgtable.tables.discovery.SETTLED", -60.0)
    folder = tmp_path / "tables"
    folder.mkdir()
    for number in range(8):
        write(folder / f"ships-{number}.csv", f"Ship,Tons\nAda,{number}1\nBea,{number}2\n")
    return folder


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    plain = kgtable.tables.discovery.file_digest
    monkeypatch.setattr("kgtable.tables.discovery.file_digest", lambda file: found.append(file.relative) or plain(file))
    return found


def build(tables: Path, graph: Path) -> Generation:
    build_graph([tables], graph, after=[index_step("none")])
    return GraphDirectory(graph).current()


def default_graph(generation: Generation) -> list[str]:
    return sorted(map(str, EmbeddedStore(generation.store_path).graph(None)))


def test_only_files_that_changed_are_read(tables: Path, tmp_path: Path, read: list[str]) -> None:
    build(tables, tmp_path / "kg")
    assert len(read) == 8
    read.clear()
    assert build(tables, tmp_path / "kg").number == 1
    assert not read
    path = tables / "ships-3.csv"
    before = path.stat()
    write(path, path.read_text(encoding="utf-8").replace("Ada", "Ida"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    write(tables / "ships-4.json", '{"title": "Ships of the line"}')
    made = build(tables, tmp_path / "kg")
    assert read == ["ships-3.csv", "ships-4.csv"]
    assert made.number == 2
    assert Catalogue.load(made.catalogue_path).tables["ships-4"].title == "Ships of the line"


def test_files_that_changed_a_moment_ago_have_no_stamp(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    write(path, "A,B\n1,2\n")
    (file,) = find_files([tmp_path])
    assert file_stamp(file) == ""
    with pytest.raises(FileNotFoundError):
        file_stamp(TableFile(tmp_path / "b.csv", "b.csv", "b"))


def test_the_description_after_many_changes_is_that_of_a_fresh_build(tables: Path, tmp_path: Path) -> None:
    graph = tmp_path / "kg"
    build(tables, graph)
    write(tables / "ships-1.csv", "Ship,Tons,Built\nAda,11,1911-05-01\n")
    first = build(tables, graph)
    write(tables / "ships-9.csv", 'Ship,"Crew ""Ümläut"""\nAda,40\n')
    (tables / "ships-2.csv").unlink()
    second = build(tables, graph)
    assert second.number == first.number + 1
    fresh = build(tables, tmp_path / "fresh")
    assert default_graph(second) == default_graph(fresh)
    assert second.description_path.read_bytes() == fresh.description_path.read_bytes()


def test_only_lines_that_differ_are_exchanged(tmp_path: Path) -> None:
    (tmp_path / "1").write_bytes(b"a\nb\nc\n")
    (tmp_path / "2").write_bytes(b"c\nd\na\n")
    assert differing_lines(tmp_path / "1", tmp_path / "2") == ([b"b\n"], [b"d\n"])
    (tmp_path / "3").write_bytes(b"")
    assert differing_lines(tmp_path / "1", tmp_path / "3") == ([b"a\n", b"b\n", b"c\n"], [])


_on_open: list[Callable[[str], None]] = []
sys.addaudithook(lambda event, args: event == "open" and _on_open and _on_open[-1](str(args[0])))  # type: ignore[func-returns-value]


@pytest.mark.parametrize("sidecar", [False, True])
def test_a_file_that_changes_between_any_two_steps_of_a_build_never_leaves_another_content(
    tmp_path: Path, sidecar: bool
) -> None:
    old, new = "Ship,Tons\nAda,11\nBea,12\n", "Ship,Tons\nAda,91\nBea,92\n"
    if sidecar:
        old, new = '{"title": "Ships of 1900"}', '{"title": "Ships of 1901"}'
    fresh: dict[str, list[str]] = {}
    saved = 0
    for step in range(1, 20):
        folder, graph = tmp_path / str(step) / "tables", tmp_path / str(step) / "kg"
        folder.mkdir(parents=True)
        write(folder / "ships.csv", "Ship,Tons\nAda,11\nBea,12\n")
        changing = folder / ("ships.json" if sidecar else "ships.csv")
        write(changing, old)
        if not fresh:
            fresh[old] = default_tables(build(folder, tmp_path / "old"))
            write(changing, new)
            fresh[new] = default_tables(build(folder, tmp_path / "new"))
            write(changing, old)
            assert fresh[old] != fresh[new]
        opened = 0

        def count(path: str, changing: Path = changing, step: int = step) -> None:
            nonlocal opened
            opened += path == str(changing)
            if opened == step and path == str(changing):
                _on_open.pop()
                write(changing, new)

        _on_open.append(count)
        build(folder, graph)
        if _on_open:
            _on_open.clear()
            break
        saved += 1
        write(changing, old)
        assert default_tables(build(folder, graph)) == fresh[old], step
        write(changing, new)
        assert default_tables(build(folder, graph)) == fresh[new], step
    assert saved >= 2


def default_tables(generation: Generation) -> list[str]:
    return sorted(map(str, EmbeddedStore(generation.store_path).graph(Namespaces().table_iri("ships"))))


def test_a_file_that_failed_for_the_machine_is_read_by_the_next_build(
    tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    pq.write_table(pa.table({"Ship": ["Ida"], "Tons": [7]}), tables / "more.parquet")

    def missing(name: str) -> object:
        if name.endswith(".parquet"):
            raise MissingExtraError("Reading Parquet, Feather and Arrow files", "parquet")
        return importlib.import_module(name)

    with monkeypatch.context() as patch:
        patch.setattr("kgtable.tables.loader.import_module", missing)
        patch.setattr("kgtable.tables.readers.apart.is_read_apart", lambda file, limits: False)
        first = build(tables, tmp_path / "kg")
    assert "more" not in Catalogue.load(first.catalogue_path).tables
    assert "more" in Catalogue.load(build(tables, tmp_path / "kg").catalogue_path).tables


@pytest.mark.parametrize("fault", [MemoryError(), OSError(24, "Too many open files")])
def test_a_fault_of_the_system_is_not_remembered_as_one_of_the_file(
    tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def fail(file: TableFile, limits: object) -> list[object]:
        raise fault

    with monkeypatch.context() as patch:
        patch.setattr("kgtable.tables.readers.delimited.read_delimited", fail)
        first = build(tables, tmp_path / "kg")
    assert not Catalogue.load(first.catalogue_path).tables
    assert len(Catalogue.load(build(tables, tmp_path / "kg").catalogue_path).tables) == 8
