from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kgtable import api
from kgtable.building.catalogue import Changes
from kgtable.building.generations import Generation, GraphDirectory
from kgtable.building.pipeline import build_graph
from kgtable.errors import GraphLockedError, GraphVersionError
from kgtable.graph.store import EmbeddedStore
from kgtable.graph.table_source import read_table
from kgtable.graph.terms import Namespaces
from kgtable.storage import exclusive_lock
from tests.graph.support import dump


def many_tables(folder: Path, count: int = 40) -> Path:
    folder.mkdir()
    for number in range(count):
        rows = "".join(f"item {row},{row * number},{row}%\n" for row in range(30))
        (folder / f"table{number}.csv").write_text(f"Name,Amount,Share\n{rows}", encoding="utf-8")
    return folder


def test_a_build_holds_what_convert_writes(folder: Path, graph_path: Path, tmp_path: Path) -> None:
    build_graph([folder], graph_path)
    api.convert(folder, tmp_path / "all.nq")
    api.open(graph_path).export(tmp_path / "back.nq")
    lines = (tmp_path / "all.nq").read_text(encoding="utf-8").splitlines()
    assert sorted(lines) == sorted((tmp_path / "back.nq").read_text(encoding="utf-8").splitlines())
    assert len(lines) == len(set(lines)) > 200


def test_building_again_changes_nothing(folder: Path, graph_path: Path) -> None:
    first = build_graph([folder], graph_path)
    again = build_graph([folder], graph_path)
    assert first.changes == Changes(added=("income", "planets"))
    assert again.changes == Changes(unchanged=2)
    assert again.generation.number == first.generation.number


@pytest.mark.parametrize("change", ["add", "change", "remove", "sidecar"])
def test_an_incremental_build_equals_one_from_nothing(change: str, tmp_path: Path, graph_path: Path) -> None:
    folder = many_tables(tmp_path / "tables", 8)
    build_graph([folder], graph_path)
    expected = Changes(unchanged=7)
    if change == "add":
        (folder / "extra.csv").write_text("Name,Height (m)\nTower,300\n", encoding="utf-8")
        expected = Changes(added=("extra",), unchanged=8)
    elif change == "change":
        (folder / "table3.csv").write_text("Name,Height (m)\nTower,300\n", encoding="utf-8")
        expected = Changes(changed=("table3",), unchanged=7)
    elif change == "remove":
        (folder / "table3.csv").unlink()
        expected = Changes(removed=("table3",), unchanged=7)
    else:
        (folder / "table3.json").write_text('{"title": "A title"}', encoding="utf-8")
        expected = Changes(changed=("table3",), unchanged=7)
    assert build_graph([folder], graph_path).changes == expected
    build_graph([folder], tmp_path / "fresh")
    assert dump(graph_path) == dump(tmp_path / "fresh")


def test_processes_build_the_same_graph(tmp_path: Path, graph_path: Path) -> None:
    folder = many_tables(tmp_path / "tables", 30)
    build_graph([folder], graph_path, workers=2)
    build_graph([folder], tmp_path / "alone")
    assert dump(graph_path) == dump(tmp_path / "alone")


def test_a_file_that_cannot_be_read_does_not_stop_the_others(folder: Path, graph_path: Path) -> None:
    (folder / "broken.csv").write_bytes(b"PK\x03\x04\x00\x00binary\x00\x00")
    report = build_graph([folder], graph_path).conversion
    assert [table.id for table in report.tables] == ["income", "planets"]
    assert len(report.errors) == 1
    assert "broken.csv" in report.errors[0]
    assert build_graph([folder], graph_path).changes == Changes(unchanged=2)


def test_another_base_builds_everything_anew_and_is_kept(folder: Path, graph_path: Path) -> None:
    build_graph([folder], graph_path)
    assert build_graph([folder], graph_path, base="https://data.example/").changes.changed == ("income", "planets")
    assert not build_graph([folder], graph_path).changes
    assert all("http://example.org/" not in line for line in dump(graph_path))


def test_two_builds_at_once(folder: Path, graph_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgtable.building.generations.LOCK_WAIT", 0)
    graph_path.mkdir()
    with exclusive_lock(graph_path / ".kgtable.lock"), pytest.raises(GraphLockedError, match="Another process"):
        build_graph([folder], graph_path)
    build_graph([folder], graph_path)


def test_a_foreign_directory_is_left_alone(folder: Path) -> None:
    before = sorted(folder.iterdir())
    with pytest.raises(GraphVersionError, match="no kgtable graph"):
        build_graph([folder], folder)
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    "pointer", ['{"format": "kgtable graph", "version": 0, "generation": 1}', '{"format": "other"}', "nothing", "[]"]
)
def test_a_directory_of_another_version_is_refused(pointer: str, folder: Path, graph_path: Path) -> None:
    graph_path.mkdir()
    (graph_path / "kgtable.json").write_text(pointer, encoding="utf-8")
    with pytest.raises(GraphVersionError):
        build_graph([folder], graph_path)
    with pytest.raises(GraphVersionError):
        api.open(graph_path)


def test_a_failing_step_leaves_the_graph_as_it_was(folder: Path, graph_path: Path) -> None:
    build_graph([folder], graph_path)
    before = dump(graph_path)
    (folder / "planets.csv").unlink()

    def fail(generation: Generation) -> None:
        raise OSError(f"no index in {generation.path}")

    with pytest.raises(OSError, match="no index"):
        build_graph([folder], graph_path, after=[fail])
    assert dump(graph_path) == before
    assert [entry.name for entry in (graph_path / "generations").iterdir()] == ["1"]
    assert build_graph([folder], graph_path).changes.removed == ("planets",)


BUILD = "import sys; from kgtable.building.pipeline import build_graph; build_graph([sys.argv[1]], sys.argv[2])"


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_killed_at_any_instant_the_next_build_does_the_work(tmp_path: Path, graph_path: Path) -> None:
    folder = many_tables(tmp_path / "tables")
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", BUILD, str(folder), str(tmp_path / "undisturbed")], check=True)
    needed = time.monotonic() - started
    expected = dump(tmp_path / "undisturbed")
    for kill in range(4):
        process = subprocess.Popen([sys.executable, "-c", BUILD, str(folder), str(graph_path)])
        time.sleep(needed * (0.3 + 0.18 * kill))
        process.send_signal(signal.SIGKILL)
        process.wait()
    build_graph([folder], graph_path)
    assert dump(graph_path) == expected


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit on the size of files")
def test_a_full_disk_leaves_the_graph_as_it_was(tmp_path: Path, folder: Path, graph_path: Path) -> None:
    build_graph([folder], graph_path)
    before = dump(graph_path)
    big = tmp_path / "big"
    big.mkdir()
    rows = "".join(f"item {row},{row * 7919},{row}\n" for row in range(30_000))
    (big / "big.csv").write_text(f"Name,Amount,Share\n{rows}", encoding="utf-8")
    limited = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))\n"
        "from kgtable.cli.main import main\n"
        "main(['build', sys.argv[1], '--kg', sys.argv[2], '--workers', '1', '--embedding', 'none'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", limited, str(big), str(graph_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert "Error: No space left" in done.stderr
    assert "Traceback" not in done.stderr
    assert dump(graph_path) == before
    assert [entry.name for entry in (graph_path / "generations").iterdir()] == ["1"]


def test_a_reader_beside_a_build_sees_whole_tables(tmp_path: Path, graph_path: Path) -> None:
    folder = many_tables(tmp_path / "tables", 6)
    build_graph([folder], graph_path)
    done = threading.Event()
    seen: set[str] = set()

    def read() -> None:
        while not done.is_set():
            generation = GraphDirectory(graph_path).lease()
            store = EmbeddedStore(generation.store_path)
            seen.add(str(read_table(store, "table3", Namespaces()).grid.rows))

    reader = threading.Thread(target=read)
    reader.start()
    texts = {
        str(
            read_table(EmbeddedStore(GraphDirectory(graph_path).current().store_path), "table3", Namespaces()).grid.rows
        )
    }
    try:
        for number in range(5):
            (folder / "table3.csv").write_text(f"Name,Amount\nitem,{number}\n", encoding="utf-8")
            build_graph([folder], graph_path)
            store = EmbeddedStore(GraphDirectory(graph_path).current().store_path)
            texts.add(str(read_table(store, "table3", Namespaces()).grid.rows))
    finally:
        done.set()
        reader.join()
    assert seen
    assert seen <= texts


def test_the_data_files_of_an_unchanged_store_are_shared(tmp_path: Path, graph_path: Path) -> None:
    folder = many_tables(tmp_path / "tables", 8)
    build_graph([folder], graph_path)
    opened = api.open(graph_path)  # keeps the first generation
    (folder / "table1.csv").unlink()
    build_graph([folder], graph_path)
    first, second = (graph_path / "generations" / number / "store" for number in ("1", "2"))
    shared = [path for path in first.glob("*.sst") if (second / path.name).exists()]
    assert shared
    assert all(os.path.samefile(path, second / path.name) for path in shared)
    assert "table1" in opened.tables


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_the_processes_of_a_killed_build_end_too(tmp_path: Path, graph_path: Path) -> None:
    folder = many_tables(tmp_path / "tables", 30)
    build = BUILD.replace("sys.argv[2])", "sys.argv[2], workers=2)")
    with subprocess.Popen(
        [sys.executable, "-c", build, str(folder), str(graph_path)], stdout=subprocess.PIPE
    ) as process:
        while not list(graph_path.glob("generations/1/texts/*")):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        assert process.stdout is not None
        # Its children hold the other end of the pipe: it is closed when the last of them is gone.
        assert process.stdout.read() == b""
