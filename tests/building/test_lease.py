"""Graphs that stay whole while they are rebuilt beside, and are on disk before the pointer names them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kgtable import api
from kgtable.building.generations import GraphDirectory
from kgtable.building.pipeline import build_graph
from kgtable.errors import GraphNotFoundError, GraphVersionError
from kgtable.storage import LEASE, POINTER, Lease, remove_unread

READER = """
import sys
from kgtable import api
graph = api.open(sys.argv[1])
print("open", flush=True)
for line in sys.stdin:
    rows = len(graph.sparql("SELECT ?row { ?row a kgt:Row }"))
    found = graph.retrieve("amount of item", k=10)
    print(rows, len(graph.tables), len(graph.ontology) > 0, len(found.triples), flush=True)
"""


def write_tables(folder: Path, rows: int) -> Path:
    folder.mkdir(exist_ok=True)
    lines = "".join(f"item {row},{row * 10}\n" for row in range(rows))
    (folder / "items.csv").write_text(f"Item,Amount\n{lines}", encoding="utf-8")
    return folder


def rebuild(folder: Path, graph: Path, rows: int) -> None:
    api.build(write_tables(folder, rows), graph, embedding="none")


def generations(graph: Path) -> list[str]:
    return sorted(entry.name for entry in (graph / "generations").iterdir())


@contextmanager
def reading(graph: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that opened the graph and looks at it for each line it gets."""
    with subprocess.Popen(
        [sys.executable, "-c", READER, str(graph)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process
        process.kill()


def answer(process: subprocess.Popen[str]) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def test_a_graph_opened_by_another_process_stays_whole_until_it_ends(tmp_path: Path) -> None:
    folder, graph = tmp_path / "tables", tmp_path / "kg"
    rebuild(folder, graph, 3)
    with reading(graph) as reader:
        for rows in (4, 5, 6):
            rebuild(folder, graph, rows)
        # Store, catalogue, ontology and index are all opened only now.
        assert answer(reader).startswith("3 1 True ")
        assert generations(graph) == ["1", "4"]
        reader.send_signal(signal.SIGKILL)
        reader.wait()
    rebuild(folder, graph, 7)
    assert generations(graph) == ["5"]


def test_a_graph_opened_in_this_process_stays_whole(tmp_path: Path) -> None:
    folder, graph = tmp_path / "tables", tmp_path / "kg"
    rebuild(folder, graph, 3)
    opened, later = api.open(graph), api.open(graph)
    rebuild(folder, graph, 4)
    store = later.store
    del later
    for rows in (5, 6):
        rebuild(folder, graph, rows)
    assert len(opened.sparql("SELECT ?row { ?row a kgt:Row }")) == 3  # type: ignore[arg-type]
    assert opened.retrieve("amount of item", k=5).triples
    assert next(iter(store.graph(None)), None) is not None
    assert generations(graph) == ["1", "4"]


def test_readers_keep_their_index_when_it_is_built_anew(tmp_path: Path) -> None:
    folder, graph = tmp_path / "tables", tmp_path / "kg"
    rebuild(folder, graph, 3)
    opened = api.open(graph)
    (opened.generation.index_path / "index.json").unlink()
    rebuild(folder, graph, 3)
    assert GraphDirectory(graph).current().number == 2
    assert generations(graph) == ["1", "2"]
    after = api.open(graph)
    assert after.retrieve("amount of item", k=5).triples
    assert len(after.tables) == len(opened.tables) == 1
    rebuild(folder, graph, 3)
    assert GraphDirectory(graph).current().number == 2


def test_a_released_lease_lets_the_generation_go(tmp_path: Path) -> None:
    folder, graph = tmp_path / "tables", tmp_path / "kg"
    rebuild(folder, graph, 3)
    generation = GraphDirectory(graph).lease()
    rebuild(folder, graph, 4)
    assert generations(graph) == ["1", "2"]
    generation.release()
    generation.release()
    build_graph([folder], graph)
    assert generations(graph) == ["2"]
    with api.open(graph) as opened:
        assert len(opened.tables) == 1
        rebuild(folder, graph, 5)
        assert generations(graph) == ["2", "3"]
    build_graph([folder], graph)
    assert generations(graph) == ["3"]


def test_a_generation_that_goes_before_it_is_leased_is_looked_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, graph = tmp_path / "tables", tmp_path / "kg"
    rebuild(folder, graph, 3)
    place = GraphDirectory(graph)
    pointers = iter([place._pointer()])
    rebuild(folder, graph, 4)
    monkeypatch.setattr(place, "_pointer", lambda: next(pointers, None) or GraphDirectory(graph)._pointer())
    assert place.lease().number == 2


def test_what_cannot_be_leased(tmp_path: Path) -> None:
    with pytest.raises(GraphNotFoundError):
        GraphDirectory(tmp_path).lease()
    folder, graph = tmp_path / "tables", tmp_path / "kg"
    rebuild(folder, graph, 3)
    content = json.loads((graph / POINTER).read_text(encoding="utf-8"))
    content = {"generation": 9} | {name: content[name] for name in content if name not in ("generation", "checksum")}
    (graph / POINTER).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(GraphVersionError, match="is gone"):
        GraphDirectory(graph).lease()


def test_leases_on_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "1"
    folder.mkdir()
    one, other = Lease(folder), Lease(folder)
    assert (folder / LEASE).exists()
    assert not remove_unread(folder)
    one.release()
    assert not remove_unread(folder)
    del other
    assert remove_unread(folder)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError):
        Lease(folder)


def test_a_folder_replaced_while_it_is_leased(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "1"
    folder.mkdir()
    (folder / LEASE).touch()
    opened = os.open

    def replace_after(path: Path, flags: int, mode: int = 0o777) -> int:
        descriptor = opened(path, flags, mode)
        monkeypatch.undo()
        (folder / LEASE).unlink()
        (folder / LEASE).touch()
        return descriptor

    monkeypatch.setattr(os, "open", replace_after)
    with pytest.raises(FileNotFoundError, match="replaced"):
        Lease(folder)


def test_a_graph_without_a_lease_file_on_a_disk_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, graph = tmp_path / "tables", tmp_path / "kg"
    rebuild(folder, graph, 3)
    (graph / "generations" / "1" / LEASE).unlink()
    opened = os.open

    def read_only(path: Path, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_CREAT:
            raise OSError(30, "Read-only file system")
        return opened(path, flags, mode)

    monkeypatch.setattr(os, "open", read_only)
    assert GraphDirectory(graph).lease().number == 1


class Recorder:
    """The order in which files were synced and put in place, by their paths."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced: set[tuple[int, int]] = set()
        self.missing: list[list[str]] = []
        self._fsync, self._replace = os.fsync, Path.replace
        monkeypatch.setattr(os, "fsync", self.fsync)
        recorder = self

        def replace(path: Path, target: Path) -> Path:
            recorder.switch(target)
            return recorder._replace(path, target)

        monkeypatch.setattr(Path, "replace", replace)

    def fsync(self, descriptor: int) -> None:
        self._fsync(descriptor)
        status = os.fstat(descriptor)
        # A file that grew after it was synced has another size.
        self.synced.add((status.st_ino, status.st_mtime_ns))

    def switch(self, target: Path) -> None:
        """Notes what the pointer's generation holds that was not synced since it was last changed."""
        if target.name != POINTER:
            return
        folders = target.parent / "generations"
        numbers = [int(entry.name) for entry in folders.glob("[0-9]*")]
        if not numbers:
            return
        newest = folders / str(max(numbers))
        found = [target.parent, folders, newest, *newest.rglob("*")]
        statuses = {path: path.stat() for path in found if path != target.parent}
        self.missing.append(
            [str(path) for path, status in statuses.items() if (status.st_ino, status.st_mtime_ns) not in self.synced]
        )


def test_all_that_a_pointer_names_is_on_disk_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, graph = tmp_path / "tables", tmp_path / "new" / "kg"
    recorder = Recorder(monkeypatch)
    rebuild(folder, graph, 3)
    assert (tmp_path / "new").stat().st_ino in {node for node, _ in recorder.synced}
    for number in range(5):
        (folder / f"other{number}.csv").write_text(f"A,B\nx,{number}\n", encoding="utf-8")
    rebuild(folder, graph, 3)
    (folder / "other1.csv").write_text("A,B\ny,7\n", encoding="utf-8")
    rebuild(folder, graph, 3)
    (GraphDirectory(graph).current().index_path / "index.json").unlink()
    rebuild(folder, graph, 3)
    assert recorder.missing == [[]] * 4
