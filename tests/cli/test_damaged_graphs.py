"""Commands on damaged graphs: one line of error, or a graph made anew; `scripts/damage_sweep.py` tries more."""

from __future__ import annotations

import os
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


COUNT = "SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } }"


def test_a_damaged_block_is_told_before_it_is_counted_without_end_and_a_build_repairs_it(
    whole: Path, tmp_path: Path
) -> None:
    kg = tmp_path / "kg"
    shutil.copytree(whole / "kg", kg)
    right = CliRunner().invoke(main, ["sparql", COUNT, "--kg", str(kg)]).stdout
    path = max(kg.rglob("*.sst"), key=lambda path: path.stat().st_size)
    data = bytearray(path.read_bytes())
    data[100:300] = bytes(200)
    path.unlink()  # the copy may be a link
    path.write_bytes(data)
    for command in (["sparql", COUNT], ["ask", QUESTION], ["export", "-o", str(tmp_path / "x.nq")]):
        found = CliRunner().invoke(main, [*command, "--kg", str(kg)])
        assert found.exit_code == 2
        assert "is damaged" in found.stderr
        assert len(found.stderr.strip().splitlines()) == 1
    built = CliRunner().invoke(main, ["build", str(whole / "tables"), "--kg", str(kg), "--embedding", "none"])
    assert f"The store was damaged ({path.name})" in built.output
    assert CliRunner().invoke(main, ["sparql", COUNT, "--kg", str(kg)]).stdout == right


def test_a_query_that_ends_its_process_is_an_error_of_one_line(
    whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kgtable.KnowledgeGraph, "sparql_text", lambda *_, **__: os.kill(os.getpid(), 9))
    found = CliRunner().invoke(main, ["sparql", COUNT, "--kg", str(whole / "kg")])
    assert found.exit_code == 2
    assert found.stderr.startswith("Error: The query took more memory than there is")


def test_a_damaged_record_of_checksums_hides_nothing_else(whole: Path, tmp_path: Path) -> None:
    kg = tmp_path / "kg"
    shutil.copytree(whole / "kg", kg)
    (record,) = kg.rglob(".checksums")
    for content in (b"", b"[]", b'{"../../x.sst": 1, "000009.sst": "a"}', b"\xff"):
        record.write_bytes(content)
        assert CliRunner().invoke(main, ["sparql", COUNT, "--kg", str(kg)]).exit_code == 0


@pytest.mark.parametrize(
    "name", ["row_table.npy", "text_terms.starts.npy", "heads.txt", "column_predicate.npy"]
)
def test_nothing_is_taken_over_from_a_damaged_index(whole: Path, tmp_path: Path, name: str) -> None:
    kg = tmp_path / "kg"
    shutil.copytree(whole / "kg", kg)
    (path,) = kg.rglob(name)
    data = bytearray(path.read_bytes())
    data[-8:] = b"\x7f" * 8
    path.write_bytes(data)
    tables = ["build", str(whole / "tables"), "--embedding", "none"]
    for command in (
        ["ask", QUESTION],
        ["retrieve", QUESTION],
        tables,
        ["ask", QUESTION],
        ["retrieve", QUESTION],
    ):
        found = CliRunner().invoke(main, [*command, "--kg", str(kg)])
        assert isinstance(found.exception, SystemExit | None), (command, found.exception)
    assert found.exit_code == 0


@pytest.mark.parametrize("command", ["ask", "retrieve"])
def test_a_question_that_is_no_unicode_is_refused_in_one_line(whole: Path, command: str) -> None:
    found = CliRunner().invoke(main, [command, "\udcff radius", "--kg", str(whole / "kg")])
    assert found.exit_code == 2
    assert "half characters" in found.stderr
