from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from kgtable import api
from kgtable.cli.main import main


def test_the_demo_shows_every_step_and_keeps_what_it_made(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["demo", "--keep", str(tmp_path / "demo")])
    assert result.exit_code == 0, result.output
    for text in (
        "1. Six tables", "6 tables from 6 files", "qudt:numericValue 1696900000.0", "data:table/halden-segments",
        '- Laboratory,"812,400","760,100",6.9',
    ):  # fmt: skip
        assert text in result.output
    assert set(api.open(tmp_path / "demo" / "graph").tables) == {
        path.stem for path in (tmp_path / "demo" / "samples").iterdir()
    }


def test_without_a_folder_nothing_is_left(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    result = CliRunner().invoke(main, ["demo"])
    assert result.exit_code == 0, result.output
    assert list(tmp_path.glob("kgtable-*")) == []


def test_a_folder_with_files_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    result = CliRunner().invoke(main, ["demo", "--keep", str(tmp_path)])
    assert result.exit_code == 2
    assert "is not an empty folder" in result.output
