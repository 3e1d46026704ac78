"""After a power cut at any instant a graph is the old one or the new one, never something between."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgtable.building.generations import GraphDirectory
from kgtable.building.pipeline import build_graph, start_empty
from kgtable.errors import GraphError, GraphNotFoundError, VocabularyIndexError
from kgtable.graph.store import EmbeddedStore
from kgtable.index.graph_index import GraphIndex
from tests.building.power_cuts import Recording, can_record, spread

pytestmark = pytest.mark.skipif(not can_record(), reason="needs Linux and gcc")

BUILD = """
import sys
from kgtable.building.pipeline import build_graph
build_graph([sys.argv[1]], sys.argv[2])
"""
INDEX = """
import sys, kgtable
kgtable.build(sys.argv[1], sys.argv[2], embedding="none").close()
"""
UPDATES = """
import os, sys
from kgtable.building.generations import GraphDirectory
from kgtable.server.workers.writer import StoreWriter
kg, root, writer = sys.argv[1], sys.argv[2], StoreWriter()
base = str(GraphDirectory(kg).current().first_store_path)
for number in range(1, 6):
    rows = " . ".join(f"<urn:s{row}> <urn:p> {number}" for row in range(20))
    text = f"DELETE WHERE {{ GRAPH <urn:g> {{ ?s ?p ?o }} }} ; INSERT DATA {{ GRAPH <urn:g> {{ {rows} }} }}"
    job = {"op": "update", "update": text, "default_graphs": [], "named_graphs": [], "base": None,
           "prefixes": {}, "open": {"directory": kg, "base": base}}
    head, _ = writer.answer(job, b"", lambda head, content: None)
    os.mkdir(f"{root}/acknowledged-{number}")
"""
CUTS = 15
STRICT = (True, False)
"""Whether the names of files that were not synced are lost in a cut."""


def tables_in(folder: Path, *values: int) -> Path:
    folder.mkdir(exist_ok=True)
    for number, value in enumerate(values):
        (folder / f"t{number}.csv").write_text(f"Name,Mass (kg)\nx,{value}\ny,{value + 1}\n", encoding="utf-8")
    return folder


def dump(kg: Path) -> list[str]:
    """The statements of a graph; raises `GraphNotFoundError` where there is none."""
    generation = GraphDirectory(kg).current()
    store = EmbeddedStore(generation.store_path)
    lines = sorted(map(str, store._store))
    store.close()
    return lines


@pytest.mark.parametrize("before", [(), (1, 2, 3), (1,)], ids=["new", "changed", "grown"])
def test_a_build(before: tuple[int, ...], tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    tables, kg = tables_in(tmp_path / "tables", *before), disk / "kg"
    old = None
    if before:
        build_graph([tables], kg)
        old = dump(kg)
    tables_in(tables, 1, 2, 5, 6)
    recording = Recording(disk, tmp_path / "log")
    recording.run(BUILD, tables, kg)
    new = dump(kg)
    assert new != old
    for strict in STRICT:
        seen = set()
        cuts = spread(len(recording.events), CUTS)
        for cut in cuts:
            target = tmp_path / f"{strict}{cut}"
            recording.restore(cut, target, strict=strict)
            try:
                found = dump(target / "kg")
            except GraphNotFoundError:
                found = None
            assert found in (old, new), recording.events[cut].kind
            seen.add(found == new)
            if cut in cuts[:: len(cuts) // 3]:
                build_graph([tables], target / "kg")
                assert dump(target / "kg") == new
        assert seen == {True, False}


def test_an_index(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    tables, kg = tables_in(tmp_path / "tables", 1, 2), disk / "kg"
    build_graph([tables], kg)
    old = dump(kg)
    recording = Recording(disk, tmp_path / "log")
    recording.run(INDEX, tables, kg)
    new = dump(kg)  # which says how the tables are related, too
    for strict in STRICT:
        seen = set()
        for cut in spread(len(recording.events), CUTS):
            recording.restore(cut, tmp_path / f"{strict}{cut}", strict=strict)
            generation = GraphDirectory(tmp_path / f"{strict}{cut}" / "kg").current()
            assert dump(tmp_path / f"{strict}{cut}" / "kg") in (old, new)
            try:
                index = GraphIndex(generation.index_path)
            except VocabularyIndexError:
                seen.add(False)
                continue
            assert index.describes(EmbeddedStore(generation.store_path))
            assert len(list(index.corpus.table_ids)) == 2
            seen.add(True)
        assert seen == {True, False}


def test_updates(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    kg = disk / "kg"
    start_empty(kg)
    recording = Recording(disk, tmp_path / "log")
    recording.run(UPDATES, kg, disk)
    for strict in STRICT:
        states = set()
        for cut in spread(len(recording.events), 3 * CUTS):
            recording.restore(cut, tmp_path / f"{strict}{cut}", strict=strict)
            acknowledged = sum(name.startswith("acknowledged") for name in recording.events[cut].names)
            lines = [line for line in dump(tmp_path / f"{strict}{cut}" / "kg") if "<urn:p>" in line]
            numbers = {line.split('"')[1] for line in lines}
            assert len(numbers) <= 1
            assert len(lines) == 20 * len(numbers)
            state = int(next(iter(numbers), "0"))
            assert acknowledged <= state <= acknowledged + 1
            states.add(state)
        assert states == set(range(6))


def test_what_is_not_synced_is_lost(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    code = """
import os, sys
os.chdir(sys.argv[1])
kept, lost = open("kept", "wb", 0), open("lost", "wb", 0)
kept.write(b"one")
os.fsync(kept.fileno())
lost.write(b"two")
kept.write(b"more")
os.rename("kept", "named")
os.fsync(os.open(".", os.O_RDONLY))
os.rename("named", "last")
"""
    recording = Recording(disk, tmp_path / "log")
    recording.run(code, disk)
    found = {}
    for strict in (True, False):
        for cut in range(len(recording.events)):
            target = tmp_path / f"{strict}{cut}"
            recording.restore(cut, target, strict=strict)
            found[strict, cut] = {path.name: path.read_bytes() for path in target.iterdir()}
    assert [event.kind for event in recording.events] == ["mkdir", "sync", "rename", "sync", "rename"]
    assert [found[True, cut] for cut in range(5)] == [{}, {}, {}, *[{"named": b"one", "lost": b""}] * 2]
    assert found[False, 1] == {"kept": b"one", "lost": b""}
    assert found[False, 4] == {"last": b"one", "lost": b""}


def test_a_graph_error_is_no_crash(tmp_path: Path) -> None:
    with pytest.raises(GraphError):
        dump(tmp_path)
