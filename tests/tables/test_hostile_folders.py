"""Names, links and disks that make trouble: a clear error each, and the walk goes on."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from kgtable.errors import TableError, UnreadableTableError
from kgtable.tables.discovery import walk
from kgtable.tables.loader import read_folder
from kgtable.tables.model import Grid
from kgtable.values.text import sound_text
from tests.tables.reading.files import workbook_bytes


def first_error(folder: Path) -> TableError:
    [error] = [item for item in read_folder(folder) if isinstance(item, TableError)]
    return error


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may read every file")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "b.csv"
    path.write_text("a,b\n")
    path.chmod(0)
    try:
        assert "permission denied" in first_error(tmp_path).message
    finally:
        path.chmod(stat.S_IRUSR | stat.S_IWUSR)


@pytest.mark.parametrize(
    "suffix", ["csv", "csv.gz", "xlsx", "ods", "html", "md", "json", "jsonl", "parquet", "arrow"]
)
def test_a_link_to_nowhere(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"b.{suffix}").symlink_to(tmp_path / "gone")
    error = first_error(tmp_path)
    assert isinstance(error, UnreadableTableError)
    assert "no such file" in error.message.lower()


@pytest.mark.parametrize("suffix", ["csv", "xlsx", "html", "md", "json", "jsonl", "parquet"])
def test_a_folder_with_a_files_name_is_walked(tmp_path: Path, suffix: str) -> None:
    folder = tmp_path / f"x.{suffix}"
    folder.mkdir()
    (folder / "t.csv").write_text("a,b\n")
    assert [file.relative for file in walk([tmp_path]).files] == [f"x.{suffix}/t.csv"]


@pytest.mark.parametrize(
    "fault", [PermissionError(13, "Permission denied"), OSError(5, "Input/output error")]
)
@pytest.mark.parametrize("suffix", ["csv", "xlsx", "html", "md", "json", "jsonl"])
def test_a_disk_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, fault: OSError
) -> None:
    (tmp_path / f"b.{suffix}").write_bytes(b"x")

    def fail(*_: object, **__: object) -> None:
        raise fault

    monkeypatch.setattr(Path, "open", fail)
    error = first_error(tmp_path)
    assert isinstance(error, UnreadableTableError)
    assert error.message.endswith(f"cannot be read: {str(fault.strerror).lower()}.")


@pytest.mark.parametrize(
    "name",
    [
        "a b.csv",
        os.fsdecode(b"caf\xe9.csv"),
        "ü.csv",
        "a#b.csv",
        "a%2Fb.csv",
        "-rf.csv",
        "a\nb.csv",
        "x" * 250 + ".csv",
    ],
)
def test_a_file_name_of_any_kind(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("a,b\n1,2\n")
    [grid] = read_folder(tmp_path)
    assert isinstance(grid, Grid)
    assert grid.source.path == sound_text(name)
    assert "#" not in grid.id


def test_a_workbook_whose_name_is_no_utf8(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.xlsx")).write_bytes(workbook_bytes({"A1": "x"}))
    [grid] = read_folder(tmp_path)
    assert isinstance(grid, Grid)
    assert grid.rows == (("x",),)
