"""Conversion on a Dask cluster: the same bytes, whoever is killed."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kgtable
from kgtable.building.convert import ConversionJob, ConversionOptions
from kgtable.building.distributed import PartFolder, make_part
from kgtable.errors import UsageError
from kgtable.tables.discovery import find_files
from tests.conftest import INCOME, PLANETS

distributed = pytest.importorskip("distributed")

TABLES = 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    for number in range(TABLES):
        text = INCOME if number % 2 else PLANETS
        (folder / f"t{number:02}.csv").write_text(text * (1 + number % 3), encoding="utf-8")
    (folder / "broken.parquet").write_bytes(b"PAR1 and no more")
    return folder


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two workers in processes of their own, started again where they are killed."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def small_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgtable.building.convert.SMALLEST_JOB", 1)


def test_a_worker_killed_changes_nothing(folder: Path, cluster: Any, tmp_path: Path) -> None:
    kgtable.convert(folder, tmp_path / "here.nq")
    parts = tmp_path / "parts"
    killed: list[int] = []
    ended = threading.Event()

    def kill() -> None:
        while not ended.wait(0.02):
            if len(killed) < 2 and len(list(parts.glob("*.records"))) > 2 * len(killed):
                worker = cluster.workers[len(killed) % 2]
                if worker.pid and worker.pid not in killed:
                    killed.append(worker.pid)
                    os.kill(worker.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        report = kgtable.convert(
            folder, tmp_path / "there.nq", workers=2, scheduler=cluster.scheduler_address, parts=str(parts)
        )
    finally:
        ended.set()
        killer.join()
    assert killed
    assert (tmp_path / "there.nq").read_bytes() == (tmp_path / "here.nq").read_bytes()
    assert len({table.path for table in report.tables}) == TABLES
    made = {path: path.stat().st_mtime_ns for path in parts.iterdir()}
    kgtable.convert(folder, tmp_path / "again.nq", workers=2, scheduler=cluster.scheduler_address, parts=str(parts))
    assert (tmp_path / "again.nq").read_bytes() == (tmp_path / "here.nq").read_bytes()
    assert {path: path.stat().st_mtime_ns for path in parts.iterdir()} == made, "nothing is made twice"


def test_a_graph_built_on_a_cluster_is_the_same(folder: Path, cluster: Any, tmp_path: Path) -> None:
    here = kgtable.build(folder, tmp_path / "here", embedding="none")
    there = kgtable.build(
        folder, tmp_path / "there", embedding="none", workers=2, scheduler=cluster.scheduler_address,
        parts=str(tmp_path / "parts"),
    )  # fmt: skip
    export = [sorted(line for piece in graph.rdf("nquads") for line in piece.splitlines()) for graph in (here, there)]
    assert export[0] == export[1]
    assert here.built is not None
    assert there.built is not None
    assert there.built.changes == here.built.changes
    assert there.retrieve("net income", 5).to_frame().equals(here.retrieve("net income", 5).to_frame())


def job(folder: Path, output: Path, *names: str) -> ConversionJob:
    files = tuple(file for file in find_files([folder]) if file.path.stem in names)
    return ConversionJob(files, (None,) * len(files), output)


def test_a_part_without_its_records_is_made_again(folder: Path, tmp_path: Path) -> None:
    url = f"file://{tmp_path}/parts"
    one, settings = job(folder, tmp_path / "a", "t00", "broken"), ConversionOptions()
    make_part(one, settings, url, "key")
    parts = PartFolder(url)
    made = parts.fetch("key", one)
    text = made.job.output.read_bytes()
    assert text
    assert [bool(record.error) for record in made.records] == [file.path.stem == "broken" for file in one.files]
    assert made.records[-1].location == str(one.files[-1].path)
    (tmp_path / "parts" / "key.records").unlink()
    (tmp_path / "parts" / "key.text").write_bytes(b"half a part")
    assert not parts.has("key")
    make_part(one, settings, url, "key")
    assert parts.has("key")
    assert parts.fetch("key", one).job.output.read_bytes() == text


def test_nobody_there(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgtable.building.distributed.CONNECTED_WITHIN", 0.3)
    with pytest.raises(UsageError, match="belong together"):
        kgtable.convert(folder, tmp_path / "a.nq", scheduler="tcp://127.0.0.1:1")
    with pytest.raises(UsageError, match="No Dask scheduler answers"):
        kgtable.convert(folder, tmp_path / "a.nq", scheduler="tcp://127.0.0.1:1", parts=str(tmp_path / "parts"))
