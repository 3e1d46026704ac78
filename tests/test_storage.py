from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kgtable.errors import GraphLockedError, StorageError
from kgtable.storage import append_file, exclusive_lock, link_tree, storage_errors, whole_file


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "x"), "No space left to write /a/b"),
        (OSError("IO error: No space left on device: while writing"), "No space left"),
        (OSError("database or disk is full"), "No space left"),
        (OSError(errno.EROFS, "x"), "Writing to /a/b is not allowed"),
        (PermissionError("Permission denied (os error 13)"), "is not allowed"),
        (OSError(errno.ENOTDIR, "Not a directory"), "/a/b cannot be written: Not a directory"),
        (OSError("something else"), "Writing /a/b failed: something else"),
    ],
)
def test_errors_of_the_system_name_the_place_and_a_remedy(error: OSError, message: str) -> None:
    with pytest.raises(StorageError, match=message) as caught, storage_errors("/a/b"):
        raise error
    assert caught.value.hint
    assert caught.value.__cause__ is error


def test_other_errors_pass() -> None:
    with pytest.raises(KeyError), storage_errors("/a"):
        raise KeyError("x")


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a ü.txt"
    path.write_bytes(b"before")
    with pytest.raises(KeyError), whole_file(path) as handle:  # noqa: PT012 - how far it came matters
        handle.write(b"half")
        raise KeyError("x")
    assert path.read_bytes() == b"before"
    with path.open("rb") as reader:
        with whole_file(path) as handle:
            handle.write(b"after")
            assert path.read_bytes() == b"before"
        assert reader.read() == b"before"
    assert path.read_bytes() == b"after"
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_where_no_file_can_be(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere" / "a", tmp_path):
        with pytest.raises(StorageError), whole_file(path) as handle:
            handle.write(b"x")
    assert list(tmp_path.iterdir()) == []


def test_a_lock_is_held_by_one_and_given_back(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    for _ in range(2):
        with (
            exclusive_lock(path),
            pytest.raises(GraphLockedError, match=r"Another process.*Wait"),
            exclusive_lock(path),
        ):
            raise AssertionError
    with pytest.raises(KeyError), exclusive_lock(path):
        raise KeyError("x")
    with exclusive_lock(path):
        pass
    with pytest.raises(StorageError), exclusive_lock(tmp_path / "nowhere" / "lock"):
        raise AssertionError


def test_a_process_that_ends_gives_its_lock_back(tmp_path: Path) -> None:
    held = (
        "import fcntl, os, sys; file = open(sys.argv[1], 'ab'); fcntl.flock(file, fcntl.LOCK_EX); os._exit(1)"
    )
    if sys.platform != "win32":
        subprocess.run([sys.executable, "-c", held, str(tmp_path / "lock")], check=False)
    with exclusive_lock(tmp_path / "lock"):
        pass


def test_files_are_appended_to_files_and_to_memory(tmp_path: Path) -> None:
    for number, content in enumerate((b"one", b"", b"\x00" * 70_000)):
        (tmp_path / str(number)).write_bytes(content)
    memory = io.BytesIO(b"start ")
    memory.seek(0, os.SEEK_END)
    with (tmp_path / "out").open("wb") as out:
        out.write(b"start ")
        for number in range(3):
            append_file(tmp_path / str(number), out)
            append_file(tmp_path / str(number), memory)
        out.write(b" end")
    memory.write(b" end")
    expected = b"start one" + b"\x00" * 70_000 + b" end"
    assert (tmp_path / "out").read_bytes() == memory.getvalue() == expected


def test_a_linked_store_shares_its_data_and_nothing_else(tmp_path: Path) -> None:
    store = tmp_path / "store"
    (store / "folder").mkdir(parents=True)
    for name in ("1.sst", "CURRENT", "LOCK"):
        (store / name).write_text(name, encoding="utf-8")
    link_tree(store, tmp_path / "copy")
    assert sorted(path.name for path in (tmp_path / "copy").iterdir()) == ["1.sst", "CURRENT"]
    assert (tmp_path / "copy" / "1.sst").samefile(store / "1.sst")
    (tmp_path / "copy" / "CURRENT").write_text("changed", encoding="utf-8")
    assert (store / "CURRENT").read_text(encoding="utf-8") == "CURRENT"


@pytest.mark.parametrize("number", [errno.EXDEV, errno.EMLINK, errno.ENOSPC])
def test_where_links_are_not_possible_data_is_copied(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, "no")

    monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "1.sst").write_bytes(b"data")
    if number == errno.ENOSPC:
        with pytest.raises(OSError, match="no"):
            link_tree(tmp_path / "store", tmp_path / "copy")
        return
    link_tree(tmp_path / "store", tmp_path / "copy")
    assert (tmp_path / "copy" / "1.sst").read_bytes() == b"data"
