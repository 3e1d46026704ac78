"""What a build keeps, refuses to read and converts anew."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

import kgtable
from kgtable.building import convert
from kgtable.building.generations import LOCK
from kgtable.errors import UsageError
from kgtable.storage import exclusive_lock
from kgtable.tables.discovery import walk


def build(folder: Path, graph: Path, **options: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """The tables as CSV by id, and the errors that the build told."""
    with kgtable.build(folder, graph, embedding="none", **options) as kg:
        assert kg.built is not None
        return {id: kg.tables[id].to_csv() for id in kg.tables}, kg.built.conversion.errors


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_table_stays_until_its_file_is_gone(folder: Path, graph_path: Path) -> None:
    before, _ = build(folder, graph_path)
    file = folder / "planets.csv"
    text = file.read_text(encoding="utf-8")
    file.unlink()
    file.symlink_to("nowhere.csv")
    for _ in range(2):
        tables, errors = build(folder, graph_path)
        assert tables == before
        assert errors == (
            "planets.csv: the file cannot be read (No such file or directory). The previous version is kept.",
        )
    (folder / "new.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    tables, errors = build(folder, graph_path)
    assert tables == {**before, "new": "a,b\n1,2\n"}
    assert len(errors) == 1
    file.unlink()
    file.write_text(text, encoding="utf-8")
    assert build(folder, graph_path) == ({**before, "new": "a,b\n1,2\n"}, ())
    with kgtable.open(graph_path) as kg:
        assert kg.info()["errors"] == []
    file.unlink()
    assert set(build(folder, graph_path)[0]) == {"income", "new"}


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_table_that_cannot_be_read_does_not_outlive_its_base(folder: Path, graph_path: Path) -> None:
    build(folder, graph_path)
    (folder / "planets.csv").unlink()
    (folder / "planets.csv").symlink_to("nowhere.csv")
    tables, errors = build(folder, graph_path, base="http://other.example/")
    assert set(tables) == {"income"}
    assert len(errors) == 1


def test_tables_in_a_folder_that_cannot_be_read_stay(
    folder: Path, graph_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "sub").mkdir()
    (folder / "planets.csv").rename(folder / "sub" / "planets.csv")
    before, _ = build(folder, graph_path)
    scan = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("sub"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    tables, errors = build(folder, graph_path)
    assert tables == before
    assert errors == ("sub/planets.csv: the folder of the file cannot be read. The previous version is kept.",)
    monkeypatch.undo()
    assert build(folder, graph_path) == (before, ())


def test_where_nothing_could_be_read_the_output_stays(tmp_path: Path) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "a.csv").write_bytes(b"")
    (tmp_path / "good.ttl").write_text("good", encoding="utf-8")
    report = kgtable.convert(tmp_path / "bad", tmp_path / "good.ttl")
    assert len(report.errors) == 1
    assert (tmp_path / "good.ttl").read_text(encoding="utf-8") == "good"
    kgtable.convert(tmp_path / "bad", tmp_path / "new.ttl")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad", "good.ttl"]
    with pytest.raises(UsageError, match="could be read"):
        kgtable.validate(tmp_path / "bad")


def test_a_graph_is_never_input(folder: Path) -> None:
    before, _ = build(folder, folder / "graph")
    with kgtable.open(folder / "graph") as kg:
        generation = kg.generation.number
    assert build(folder, folder / "graph") == (before, ())
    with kgtable.open(folder / "graph") as kg:
        assert kg.generation.number == generation
    found = walk([folder])
    assert [file.relative for file in found.files] == ["income.csv", "planets.csv"]
    assert [(notice.code, notice.path) for notice in found.notices] == [("skipped-folder", "graph")]
    assert walk([folder / "graph"]).files == ()


def test_a_graph_whose_first_build_was_killed_is_no_input_either(folder: Path) -> None:
    (folder / "graph" / "generations" / "1").mkdir(parents=True)
    (folder / "graph" / LOCK).touch()
    (folder / "graph" / "generations" / "1" / "report.json").write_text('[{"a": 1}]', encoding="utf-8")
    assert [file.relative for file in walk([folder]).files] == ["income.csv", "planets.csv"]


def test_another_version_of_the_conversion_converts_anew(
    folder: Path, graph_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(folder, graph_path)
    with kgtable.build(folder, graph_path, embedding="none") as kg:
        assert kg.built is not None
        assert kg.built.changes.unchanged == 2
    monkeypatch.setattr(convert, "conversion_version", lambda: "another")
    with kgtable.build(folder, graph_path, embedding="none") as kg:
        assert kg.built is not None
        assert kg.built.changes.changed == ("income", "planets")


def test_a_build_waits_for_another_one(folder: Path, graph_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(folder, graph_path)
    held, waiting = threading.Event(), threading.Event()

    def hold() -> None:
        with exclusive_lock(graph_path / LOCK):
            held.set()
            waiting.wait(20)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(20)
    monkeypatch.setattr("kgtable.storage.time.sleep", lambda _: waiting.set() or holder.join())
    build(folder, graph_path)
    assert not holder.is_alive()
