from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
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


def write_whole(path: Path, data: bytes) -> None:
    with whole_file(path) as handle:
        handle.write(data)


def test_a_device_stays_a_device(tmp_path: Path) -> None:
    before = os.stat(os.devnull)
    with whole_file(Path(os.devnull)) as handle:
        assert not handle.seekable()
        handle.write(b"x")
    assert os.stat(os.devnull).st_ino == before.st_ino


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no FIFOs")
def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_bytes)
        write_whole(pipe, b"a" * 100_000)
        assert read.result() == b"a" * 100_000
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


@pytest.mark.skipif(sys.platform == "win32", reason="needs /dev/fd")
def test_an_open_file_by_its_descriptor(tmp_path: Path) -> None:
    with (tmp_path / "open").open("w+b") as file:
        write_whole(Path(f"/dev/fd/{file.fileno()}"), b"text")
        assert file.read() == b"text"
    assert [path.name for path in tmp_path.iterdir()] == ["open"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_followed(there: bool, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    file, link = tmp_path / "folder" / "file", tmp_path / "link"
    if there:
        file.write_bytes(b"before")
    link.symlink_to("folder/file")
    write_whole(link, b"after")
    assert link.is_symlink()
    assert file.read_bytes() == b"after"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder", "link"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_link_to_itself_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("a")
    with pytest.raises(StorageError):
        write_whole(tmp_path / "a", b"x")
    assert (tmp_path / "a").is_symlink()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
@pytest.mark.parametrize("mode", [0o600, 0o664, 0o444])
def test_a_file_keeps_its_mode(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(b"before")
    path.chmod(mode)
    with whole_file(path) as handle:
        [draft] = [entry for entry in tmp_path.iterdir() if entry != path]
        assert draft.stat().st_mode & 0o777 == mode
        handle.write(b"after")
    assert path.stat().st_mode & 0o777 == mode
    assert path.read_bytes() == b"after"


def test_two_threads_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with whole_file(path) as one, whole_file(path) as other:
        one.write(b"one")
        other.write(b"other")
    assert path.read_bytes() == b"one"
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
    held = "import fcntl, os, sys; file = open(sys.argv[1], 'ab'); fcntl.flock(file, fcntl.LOCK_EX); os._exit(1)"
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
