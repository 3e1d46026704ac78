"""Versions of a store: whole, never written to, kept while they are read, and gone after that."""

from __future__ import annotations

import gc
from pathlib import Path

import pyoxigraph as ox
import pytest

import kgtable
from kgtable.building.generations import GraphDirectory
from kgtable.errors import GraphNotFoundError, StorageError
from kgtable.graph.store import WorkingStore, leased, newest, number_of, pointer_of


@pytest.fixture
def base(tmp_path: Path) -> Path:
    store = ox.Store(str(tmp_path / "store"))
    store.update("INSERT DATA { <s:s> <p:p> 0 }")
    del store
    gc.collect()
    return tmp_path / "store"


def values(path: Path) -> list[str]:
    store = ox.Store.read_only(str(path))
    return sorted(quad.object.value for quad in store)  # type: ignore[union-attr]


def files(path: Path) -> dict[str, tuple[int, int]]:
    return {e.name: (e.stat().st_size, e.stat().st_mtime_ns) for e in path.iterdir() if e.name != ".lease"}


def change(copy: WorkingStore, value: int) -> Path:
    copy.store.update(f"INSERT DATA {{ <s:s> <p:p> {value} }}")
    return copy.publish()


def test_each_change_is_a_version_of_its_own_and_no_file_of_another_changes(base: Path) -> None:
    copy = WorkingStore(base)
    holds = [leased(base)]
    before = files(base)
    paths = [change(copy, value) for value in (1, 2, 3)]
    assert files(base) == before
    assert [number_of(path, base) for path in paths] == [1, 2, 3]
    assert newest(base) == paths[-1]
    assert values(paths[-1]) == ["0", "1", "2", "3"]
    assert values(holds[0][0]) == ["0"]
    # Of the versions between, which nobody reads, nothing is left.
    assert not paths[0].exists()
    assert not paths[1].exists()
    holds.clear()
    gc.collect()
    last = change(copy, 4)
    copy.close()
    assert sorted(entry.name for entry in base.parent.iterdir() if entry.is_dir()) == [last.name]


def test_what_is_not_published_never_was(base: Path) -> None:
    copy = WorkingStore(base)
    copy.store.update("DELETE WHERE { ?s ?p ?o }")
    copy.close()
    assert newest(base) == base
    assert values(base) == ["0"]
    (base.parent / "store-1").mkdir()  # as a crash leaves it
    (base.parent / "store-1" / "CURRENT").write_text("half", encoding="ascii")
    copy = WorkingStore(base)
    assert values(change(copy, 1)) == ["0", "1"]
    copy.close()


def test_a_copy_that_another_writer_has_overtaken_is_told(base: Path) -> None:
    copy = WorkingStore(base)
    assert copy.is_current()
    pointer_of(base).write_text("store-7\n", encoding="ascii")
    assert not copy.is_current()
    copy.close()


@pytest.mark.parametrize(
    "name",
    [
        "../../etc", "/etc", "store/../../x", "", "store-", "\xff", "store-1/..", "other-1", "store-01", "store-1\n\n",
        "7",
    ],
)  # fmt: skip
def test_a_pointer_never_leads_elsewhere(name: str, base: Path) -> None:
    pointer_of(base).write_text(name, encoding="latin-1")
    for find in (newest, leased):
        with pytest.raises(StorageError, match="damaged"):
            find(base)


def test_no_store(tmp_path: Path) -> None:
    with pytest.raises(GraphNotFoundError):
        leased(tmp_path / "nothing")


def test_a_build_and_a_reader_take_the_newest_version(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Name,Size\na,1\n", encoding="utf-8")
    graph = kgtable.build(tmp_path / "t.csv", tmp_path / "kg", embedding="none")
    graph.close()
    base = GraphDirectory(tmp_path / "kg").current().first_store_path
    copy = WorkingStore(base)
    copy.store.update("INSERT DATA { GRAPH <g:mine> { <s:s> <p:p> 1 } }")
    copy.publish()
    copy.close()
    mine = "ASK { GRAPH <g:mine> { ?s ?p ?o } }"
    with kgtable.open(tmp_path / "kg") as graph:
        assert graph.sparql(mine) is True
    (tmp_path / "t.csv").write_text("Name,Size\na,2\n", encoding="utf-8")
    with kgtable.build(tmp_path / "t.csv", tmp_path / "kg", embedding="none") as graph:
        assert graph.generation.number == 2
        assert graph.generation.store_path == graph.generation.first_store_path
        assert graph.sparql(mine) is True
