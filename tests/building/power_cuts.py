"""Power cuts, simulated: what a program has synced is recorded (see ``sync_log.c``), and the rest is dropped.

Two disks are made for each cut. On the strict one only synced names and synced contents are there; on the eager
one all names are there as they were given, with contents as far as they were synced (a file that never was is
empty), which is how a journal of names alone leaves a disk.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).with_name("sync_log.c")
PROJECT = Path(__file__).parents[2]


def can_record() -> bool:
    """Whether a program's syncs can be recorded here."""
    return sys.platform == "linux" and shutil.which("gcc") is not None


@dataclass(frozen=True)
class Entry:
    """A name on the disk: its kind (d, f or l), its inode and its mode."""

    kind: str
    inode: str
    mode: int


@dataclass(frozen=True)
class Event:
    """Something that happened: what, to which inode, and all names after it."""

    number: int
    kind: str
    inode: str
    names: Mapping[str, Entry]

    def folder(self, path: str) -> dict[str, Entry]:
        """The names in a folder."""
        prefix = "" if path == "." else path + "/"
        return {
            name.removeprefix(prefix): entry
            for name, entry in self.names.items()
            if name != "." and name.startswith(prefix) and "/" not in name[len(prefix) :]
        }


@dataclass
class Recording:
    """A program that ran on the files below `root`, and what it synced, in `log`."""

    root: Path
    log: Path
    events: list[Event] = field(default_factory=list)

    def run(self, code: str, *arguments: Path | str) -> None:
        """Run Python code under the recorder; what is below the root before counts as synced."""
        (self.log / "blobs").mkdir(parents=True)
        library = self.log / "sync_log.so"
        line = ["gcc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"]
        subprocess.run(line, check=True, capture_output=True)
        shutil.copytree(self.root, self.log / "before", symlinks=True)
        environment = {
            **os.environ,
            "LD_PRELOAD": str(library),
            "SYNC_LOG": str(self.log),
            "SYNC_LOG_ROOT": str(self.root),
            "PYTHONPATH": str(PROJECT),
        }
        begin = f"import os; os.mkdir({str(self.log / 'begun')!r})\n"  # lists the tree as it was
        subprocess.run([sys.executable, "-c", begin + code, *map(str, arguments)], check=True, env=environment)
        self.events = list(_distinct(_events(self.log / "events")))

    def restore(self, number: int, target: Path, *, strict: bool) -> None:
        """Make the disk as it is after a power cut right after an event."""
        begun, last = self.events[0], self.events[number]
        contents = {entry.inode: self.log / "before" / name for name, entry in begun.names.items() if entry.kind == "f"}
        folders = {entry.inode: begun.folder(name) for name, entry in begun.names.items() if entry.kind == "d"}
        for event in self.events[1 : number + 1]:
            paths = {entry.inode: name for name, entry in event.names.items() if entry.kind == "d"}
            if event.kind == "sync" and event.inode in paths:
                folders[event.inode] = event.folder(paths[event.inode])
            elif event.kind == "sync":
                contents[event.inode] = self.log / "blobs" / str(event.number)
        if not strict:
            folders = {entry.inode: last.folder(name) for name, entry in last.names.items() if entry.kind == "d"}
        _make_folder(target, begun.names["."].inode, folders, contents)


def _make_folder(
    target: Path, inode: str, folders: Mapping[str, Mapping[str, Entry]], contents: Mapping[str, Path]
) -> None:
    target.mkdir()
    for name, entry in folders.get(inode, {}).items():
        if entry.kind == "d":
            _make_folder(target / name, entry.inode, folders, contents)
        elif entry.kind == "f":
            source = contents.get(entry.inode)
            (target / name).write_bytes(b"" if source is None else source.read_bytes())
            (target / name).chmod(entry.mode)


def _events(path: Path) -> Iterator[Event]:
    number, kind, inode = -1, "", ""
    names: dict[str, Entry] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("event "):
            if number >= 0:
                yield Event(number, kind, inode, names)
            _, told, kind, inode = line.split(" ")
            number, names = int(told), {}
        else:
            what, of, mode, name = line.split(" ", 3)
            names[name] = Entry(what, of, int(mode, 8))
    yield Event(number, kind, inode, names)


def _distinct(events: Iterator[Event]) -> Iterator[Event]:
    """The events without those that changed nothing below the root."""
    last: Event | None = None
    for event in events:
        if last is None or event.kind == "sync" or event.names != last.names:
            yield event
        last = event


def spread(count: int, cuts: int) -> Sequence[int]:
    """At most so many numbers below `count`, evenly spread, the last among them."""
    if count <= cuts:
        return range(count)
    return sorted({round(number * (count - 1) / (cuts - 1)) for number in range(cuts)})
