"""What `kgtable doctor` finds, and what it says to do about it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import kgtable
from tests.cli.test_graph_commands import run


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("doctor")
    (folder / "planets.csv").write_text("Planet,Moons\nMars,2\nSaturn,146\n", encoding="utf-8")
    return kgtable.build(folder / "planets.csv", folder / "kg", embedding="none").path


pytestmark = pytest.mark.usefixtures("unconfigured")


def faults(directory: Path | None = None) -> dict[str, str]:
    checks = kgtable.doctor(directory).checks
    assert all(check.next_step for check in checks if check.fault)
    return {check.name: check.fault for check in checks if check.fault}


def test_a_sound_installation_and_graph_have_no_faults(place: Path) -> None:
    assert faults(place) == {}
    assert "graph: " in run("doctor", "--kg", place).stdout
    told = json.loads(run("doctor", "--json").stdout)
    assert told["sound"] is True
    assert {check["name"]: check["found"] for check in told["checks"]}["kgtable"] == kgtable.__version__


@pytest.mark.parametrize("name", ["catalogue.sqlite", "index.json", "report.json", "CURRENT", "*.sst", "kgtable.json"])
def test_each_damaged_file_of_a_graph_is_a_fault(place: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(place, tmp_path / "kg")
    file = next((tmp_path / "kg").rglob(name))
    file.write_bytes(file.read_bytes()[:-9])
    assert set(faults(tmp_path / "kg")) == {"graph"}
    assert "Build" in run("doctor", "--kg", tmp_path / "kg", code=1).stdout


def test_what_is_missing_or_cannot_be_written_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("KGTABLE_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setenv("KGTABLE_MODEL", "gpt-4o")
    assert set(faults(tmp_path / "nowhere")) == {"model", "cache", "graph"}
    monkeypatch.setenv("KGTABLE_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("KGTABLE_CACHE", str(tmp_path / "new" / "cache"))
    assert faults() == {}
    assert not (tmp_path / "new").exists()
