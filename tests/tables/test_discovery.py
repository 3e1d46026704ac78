"""Files found in a folder; bad names, links and disks get a clear error each, and the walk goes on."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.errors import TableError, UnreadableTableError, UsageError
from kgtable.tables import discovery
from kgtable.tables.discovery import assign_ids, file_digest, find_files, walk
from kgtable.tables.loader import read_folder
from kgtable.tables.model import Grid
from kgtable.values.text import sound_text
from tests.tables.readers.files import workbook_bytes


def put(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a,b\n1,2\n")


def test_files_come_sorted_by_relative_path(tmp_path: Path) -> None:
    put(tmp_path, "b.csv", "a/z.csv", "a/c/d.tsv", "A.csv")
    assert [file.relative for file in find_files([tmp_path])] == ["A.csv", "a/c/d.tsv", "a/z.csv", "b.csv"]


def test_hidden_files_and_folders_are_left_out(tmp_path: Path) -> None:
    put(tmp_path, ".x.csv", ".git/y.csv", "z.csv")
    assert [file.relative for file in find_files([tmp_path])] == ["z.csv"]


def test_other_files_are_noticed(tmp_path: Path) -> None:
    put(tmp_path, "a.csv", "b.png", "Makefile")
    assert [(n.code, n.path) for n in walk([tmp_path]).notices] == [
        ("skipped-file", "Makefile"),
        ("skipped-file", "b.png"),
    ]


def test_a_json_beside_a_table_is_its_sidecar(tmp_path: Path) -> None:
    put(tmp_path, "a.csv", "a.json", "b.json", "c.csv.gz", "c.json")
    found = walk([tmp_path])
    assert [(file.relative, file.sidecar and file.sidecar.name) for file in found.files] == [
        ("a.csv", "a.json"),
        ("b.json", None),
        ("c.csv.gz", "c.json"),
    ]
    assert found.notices == ()


def test_ids_are_stems_and_paths_where_stems_collide(tmp_path: Path) -> None:
    put(tmp_path, "one.csv", "x/two.csv", "y/two.csv", "three.csv", "three.tsv", "f#1.csv")
    assert {file.relative: file.id for file in find_files([tmp_path])} == {
        "f#1.csv": "f%231", "one.csv": "one", "three.csv": "three.csv", "three.tsv": "three.tsv", "x/two.csv": "x/two",
        "y/two.csv": "y/two",
    }  # fmt: skip


@given(st.lists(st.text("ab#%~2/", min_size=1, max_size=4), unique=True, max_size=8))
def test_ids_never_collide(names: list[str]) -> None:
    paths = sorted({f"{name.strip('/') or 'x'}{end}" for name in names for end in (".csv", ".tsv")})
    files = assign_ids((Path("/", name), name) for name in paths)
    assert len({file.id for file in files}) == len(paths)
    assert not any("#" in file.id for file in files)


def test_a_file_given_twice_is_read_once(tmp_path: Path) -> None:
    put(tmp_path, "a.csv", "sub/b.csv")
    found = find_files([tmp_path / "sub" / ".." / "a.csv", tmp_path / "a.csv", tmp_path / "sub"])
    assert [file.relative for file in found] == ["a.csv", "b.csv"]


def test_two_folders_with_equal_names_inside(tmp_path: Path) -> None:
    put(tmp_path, "p/t.csv", "q/t.csv")
    found = find_files([tmp_path / "p", tmp_path / "q"])
    assert [(file.relative, file.id) for file in found] == [("p/t.csv", "p/t"), ("q/t.csv", "q/t")]


def test_a_link_loop_ends(tmp_path: Path) -> None:
    put(tmp_path, "a/t.csv")
    (tmp_path / "a" / "loop").symlink_to(tmp_path, target_is_directory=True)
    assert [file.relative for file in find_files([tmp_path])] == ["a/t.csv"]


def test_links_that_lead_outside_are_followed_and_told_in_one_notice(tmp_path: Path) -> None:
    put(tmp_path / "elsewhere", "secret.csv", "more/u.csv", "side.json", "picture.png")
    put(tmp_path / "tables", "a.csv", "side.csv")
    for name in ("more", "secret.csv", "side.json", "picture.png"):
        (tmp_path / "tables" / name).symlink_to(tmp_path / "elsewhere" / name)
    (tmp_path / "tables" / "b.csv").symlink_to("a.csv")
    (tmp_path / "tables" / "gone.csv").symlink_to(tmp_path / "gone")
    found = walk([tmp_path / "tables"])
    names = ["a.csv", "b.csv", "gone.csv", "more/u.csv", "secret.csv", "side.csv"]
    assert [file.relative for file in found.files] == names
    [told] = [notice for notice in found.notices if notice.code == "outside-link"]
    assert told.path == "more"
    assert told.message == (
        f"a link to {tmp_path}/elsewhere/more, outside the folder; it was followed,"
        " and so were 2 more links that lead outside"
    )


def test_links_that_lead_to_another_given_folder_and_links_that_are_given_are_not_told(tmp_path: Path) -> None:
    put(tmp_path, "p/a.csv", "q/b.csv", "r.csv")
    (tmp_path / "p" / "b2.csv").symlink_to("../q/b.csv")
    (tmp_path / "p" / "q").symlink_to("../q", target_is_directory=True)
    (tmp_path / "to-p").symlink_to("p")
    (tmp_path / "to-r.csv").symlink_to("r.csv")
    given = [tmp_path / name for name in ("to-p", "q", "to-r.csv")]
    assert not [notice for notice in walk(given).notices if notice.code == "outside-link"]
    (tmp_path / "p" / "r.csv").symlink_to("../r.csv")
    assert [notice.path for notice in walk(given[:2]).notices if notice.code == "outside-link"] == ["r.csv"]


def test_a_pipe_is_never_opened(tmp_path: Path) -> None:
    put(tmp_path, "a.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    found = walk([tmp_path])
    assert [file.relative for file in found.files] == ["a.csv"]
    assert [notice.path for notice in found.notices] == ["pipe.csv"]


def test_a_missing_path_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere"):
        find_files([tmp_path / "nowhere"])


def test_a_name_that_is_no_utf8_becomes_sound_text(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.csv")).write_text("a,b\n")
    [file] = find_files([tmp_path])
    file.relative.encode()
    assert file.id == "caf\ufffd"
    assert file.path.exists()


def test_a_name_that_leaves_no_room_for_a_sidecar_is_read(tmp_path: Path) -> None:
    name = "a" * 251 + ".csv"
    (tmp_path / name).write_text("a,b\n1,2\n", encoding="utf-8")
    assert [(file.relative, file.sidecar) for file in find_files([tmp_path])] == [(name, None)]


def test_the_digest_covers_the_sidecar(tmp_path: Path) -> None:
    put(tmp_path, "a.csv", "a.json")
    [file] = find_files([tmp_path])
    before = file_digest(file)
    assert file_digest(file) == before
    (tmp_path / "a.json").write_text("{}")
    assert file_digest(file) != before


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


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "xlsx", "ods", "html", "md", "json", "jsonl", "parquet", "arrow"])
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


@pytest.mark.parametrize("fault", [PermissionError(13, "Permission denied"), OSError(5, "Input/output error")])
@pytest.mark.parametrize("suffix", ["csv", "xlsx", "html", "md", "json", "jsonl"])
def test_a_disk_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, fault: OSError) -> None:
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
        "a b.csv", os.fsdecode(b"caf\xe9.csv"), "ü.csv", "a#b.csv", "a%2Fb.csv", "-rf.csv", "a\nb.csv",
        "x" * 250 + ".csv",
    ],
)  # fmt: skip
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


def test_a_folder_with_too_many_other_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "tables", *(f"{n}.csv" for n in range(30)))
    put(tmp_path / "disk", *(f"a/{n}.png" for n in range(20)))
    monkeypatch.setattr(discovery, "MOST_OTHERS", 20)
    assert len(find_files([tmp_path / "tables"])) == 30
    (tmp_path / "tables" / "link").symlink_to(tmp_path)
    with pytest.raises(UsageError, match=r"more than 20 folders and files that are not tables .*link/disk"):
        find_files([tmp_path / "tables"])


def test_a_link_to_the_root_of_the_system_is_left_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "a.csv")
    (tmp_path / "link").symlink_to("/")
    monkeypatch.setattr(discovery, "MOST_OTHERS", 2_000)
    with pytest.raises(UsageError, match=r"more than 2,000 folders"):
        find_files([tmp_path])


def test_a_share_that_does_not_answer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "a/b.csv")
    answers = Event()
    real = os.scandir

    def scandir(path: str) -> object:
        if str(path).endswith("a"):
            answers.wait(60)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    monkeypatch.setattr(discovery, "SILENT_SECONDS", 0.2)
    with pytest.raises(UsageError, match=r"has not answered for 0.2 seconds"):
        find_files([tmp_path])
    answers.set()


def test_links_to_devices_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    for name in ("a.json", "kgtable.json", "b.csv"):
        (tmp_path / name).symlink_to("/dev/zero")
    found = walk([tmp_path])
    assert [file.relative for file in found.files] == ["a.csv"]
    assert "b.csv: not a regular file; it was passed over" in map(str, found.notices)
