"""Commands on damaged graphs: one line of error, or a graph made anew; `scripts/damage_sweep.py` tries more."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import kgtable
from kgtable.cli.main import main

PLANETS = "Planet,Radius (km)\nSaturn,58232\nEarth,6371\n"
QUESTION = "What is the radius of Saturn?"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    (folder / "tables").mkdir()
    (folder / "tables" / "planets.csv").write_text(PLANETS, encoding="utf-8")
    kgtable.build(folder / "tables", folder / "kg", embedding="none").close()
    return folder


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def zeros(data: bytes) -> bytes:
    return bytes(len(data))


@pytest.mark.parametrize("damage", [half, zeros])
@pytest.mark.parametrize(
    "name",
    ["kgtable.json", "catalogue.sqlite", "contents.sqlite", "index.json", "tables.json", "cell_text.npy"],
)
def test_a_damaged_file_is_told_in_one_line_or_made_anew(
    whole: Path, tmp_path: Path, name: str, damage: Callable[[bytes], bytes]
) -> None:
    kg = tmp_path / "kg"
    shutil.copytree(whole / "kg", kg)
    (path,) = kg.rglob(name)
    path.write_bytes(damage(path.read_bytes()))
    for command in (
        ["info"],
        ["ask", QUESTION],
        ["sparql", "ASK { ?s ?p ?o }"],
        ["build", str(whole / "tables"), "-q"],
        ["ask", QUESTION],
    ):
        found = CliRunner().invoke(main, [*command, "--kg", str(kg)])
        assert isinstance(found.exception, SystemExit | None), (command, found.exception)
        assert found.exit_code in (0, 1, 2)
        assert found.exit_code != 2 or len(found.stderr.strip().splitlines()) == 1, found.stderr
