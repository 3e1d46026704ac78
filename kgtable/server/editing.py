"""Adding tables over HTTP: files are uploaded, previewed under decisions, and built into the graph."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import unicodedata
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from kgtable.building.catalogue import Catalogue
from kgtable.building.generations import GraphDirectory
from kgtable.errors import KgtableError
from kgtable.server import requests, security
from kgtable.server.options import MEBIBYTE, UPLOADS
from kgtable.server.requests import TellEvent
from kgtable.server.state import ServerState
from kgtable.server.workers.messages import Head, Problem, busy, storage_kind
from kgtable.storage import storage_errors
from kgtable.tables.discovery import FORMATS

WAITING = ".waiting"
MOST_WAITING = 50
"""Maximum number of pending uploads."""
LONGEST_NAME = 120
"""Maximum bytes of a name without its suffix, in UTF-8."""
_UNSAFE = re.compile(r"[\x00-\x1f\x7f/\\:*?\"<>|;#%\[\]]+")
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)")


def safe_name(name: str) -> str:
    """A safe file name from a client's name for its file: no folder, no control or reserved characters.

    >>> safe_name("../../etc/Sales 2024.CSV"), safe_name("C:\\\\x\\\\a?b.xlsx")
    ('Sales 2024.csv', 'a b.xlsx')

    Raises `Problem` if the suffix is not that of a table.
    """
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", name))[-1]
    clean = "".join(char for char in last if unicodedata.category(char)[0] != "C")
    clean = " ".join(_UNSAFE.sub(" ", clean).split()).strip(" .")
    stem, dot, suffix = clean.rpartition(".")
    if stem.lower().rpartition(".")[2] in ("csv", "tsv") and suffix.lower() == "gz":
        stem, _, inner = stem.rpartition(".")
        suffix = f"{inner}.gz"
    if not dot or not stem or f".{suffix.lower()}".removesuffix(".gz") not in FORMATS:
        known = ", ".join(sorted(suffix.removeprefix(".") for suffix in FORMATS))
        raise Problem("unsupported-media-type", f"{last[:100]!r} is not a file of tables. Supported: {known}.")
    stem = stem.encode()[:LONGEST_NAME].decode(errors="ignore").strip(" .") or "table"
    return f"_{stem}.{suffix.lower()}" if _RESERVED.match(stem) else f"{stem}.{suffix.lower()}"


@dataclass(frozen=True, slots=True)
class WaitingFile:
    """A file that was uploaded and is not part of the graph yet."""

    id: str
    name: str
    size: int
    path: Path


class Editing:
    """The operations that change what the graph is built from."""

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._waiting: OrderedDict[str, WaitingFile] = OrderedDict()
        self._arriving = 0
        self._building = False
        directory = state.view().directory
        if state.settings.editable and directory is not None:
            self._waiting.update((file.id, file) for file in _left_by_the_last_server(Path(directory)))

    def routes(self) -> list[Route]:
        """The routes below ``/api``."""
        return [
            Route("/api/editing", self.about, methods=["GET"]),
            Route("/api/uploads", self.upload, methods=["POST"]),
            Route("/api/uploads/{id}", self.remove, methods=["DELETE"]),
            Route("/api/preview", self.preview, methods=["POST"]),
            Route("/api/build", self.build, methods=["POST"]),
        ]

    async def about(self, request: Request) -> Response:
        """Whether this client may upload tables; the uploaded files, and those not built yet."""
        settings = self._state.settings
        allowed = security.may_edit(settings, requests.header_map(request.scope))
        found = {
            "editable": settings.editable,
            "allowed": allowed,
            "suffixes": sorted(FORMATS),
            "most_bytes": settings.limits.upload,
            "uploaded": [file.name for file in self._uploaded()] if allowed else [],
            "waiting": [_about(file) for file in self._waiting.values()] if allowed else [],
        }
        return JSONResponse(found, headers={"cache-control": "no-store"})

    async def upload(self, request: Request) -> Response:
        """Keep a file until it is built: the body as is, its name in ``?name=``; returns a preview of it."""
        headers = requests.header_map(request.scope)
        self._require(headers)
        name = safe_name(requests.single(requests.parameters(request.scope["query_string"]), "name") or "")
        if len(self._waiting) + self._arriving >= MOST_WAITING:
            raise busy(f"{MOST_WAITING} files wait to be built already. Build or remove them first.", 5)
        self._arriving += 1
        try:
            file = await self._keep(request, headers, name)
        finally:
            self._arriving -= 1
        try:
            found = await self._state.edit({"op": "preview", "file": str(file.path)})
        except Problem:
            self._forget(file.id)
            raise
        return _json({**_about(file), "preview": json.loads(found)}, 201)

    async def _keep(self, request: Request, headers: dict[bytes, bytes], name: str) -> WaitingFile:
        """Save the body of an upload among the files that wait."""
        limit = self._state.settings.limits.upload
        with _storing():
            folder = self._folder() / WAITING
            folder.mkdir(parents=True, exist_ok=True)
            async with requests.saved_body(request.receive, headers, limit, folder) as saved:
                file = _into_waiting(saved, folder, self._free_name(name))
                saved.touch()  # which the block removes
        self._waiting[file.id] = file
        return file

    async def remove(self, request: Request) -> Response:
        """Remove a file that waits."""
        self._require(requests.header_map(request.scope))
        self._file(request.path_params["id"])
        self._forget(request.path_params["id"])
        return Response(status_code=204)

    async def preview(self, request: Request) -> Response:
        """A preview of a pending file, or of a table of the graph, under decisions."""
        given = await self._object(request, {"upload", "table", "decisions"})
        job: Head = {"decisions": given.get("decisions")}
        if isinstance(given.get("table"), str):
            job |= {"op": "changes", "table": given["table"]}
        else:
            job |= {"op": "preview", "file": str(self._file(given.get("upload")).path)}
        return _json(json.loads(await self._state.edit(job)))

    async def build(self, request: Request) -> Response:
        """Build the graph with pending files, without some uploaded before, under decisions; as server-sent events."""
        given = await self._object(request, {"uploads", "remove", "decisions"})
        files = [self._file(id) for id in _texts(given.get("uploads"))]
        uploaded = {file.name: file for file in self._uploaded()}
        names = _texts(given.get("remove"))
        if not set(names) <= set(uploaded):
            raise Problem("not-found", "Only files that were uploaded here can be removed.")
        if self._building:
            raise busy("The graph is being built already.", 5)
        self._building = True
        job = {"op": "build", "decisions": given.get("decisions")}
        gone = [uploaded[name] for name in names]
        events = requests.server_events(lambda tell: self._work(job, files, gone, tell))
        return StreamingResponse(events, media_type="text/event-stream", headers={"cache-control": "no-store"})

    async def _work(self, job: Head, files: list[WaitingFile], gone: list[Path], tell: TellEvent) -> None:
        """Build, reporting progress, then ``built``. Raises `Problem`; the files then stay pending."""
        moved: list[tuple[WaitingFile, Path]] = []
        try:
            for file in files:
                target = self._folder() / self._free_name(file.name)
                os.replace(file.path, target)
                moved.append((file, target))
            whole = {**job, "files": [str(target) for _, target in moved], "without": [str(path) for path in gone]}
            told = await self._state.edit(whole, lambda frame: tell(frame[0]["name"], frame[1]))
            for file in files:
                self._forget(file.id)
            for path in gone:
                path.unlink(missing_ok=True)
            tell("built", told)
        except (Problem, OSError) as error:
            for file, target in moved:
                if target.exists():
                    os.replace(target, file.path)
            if isinstance(error, Problem):
                raise
            raise Problem(storage_kind(error), str(error)) from error
        finally:
            self._building = False

    def _require(self, headers: dict[bytes, bytes]) -> None:
        security.require_edit(self._state.settings, headers)

    async def _object(self, request: Request, names: set[str]) -> dict[str, Any]:
        headers = requests.header_map(request.scope)
        self._require(headers)
        return await requests.json_object(request.receive, headers, 4 * MEBIBYTE, names)

    def _folder(self) -> Path:
        directory = self._state.view().directory
        if directory is None:
            raise Problem("unavailable", "This server has a bare store, and no tables.")
        return Path(directory) / UPLOADS

    def _uploaded(self) -> list[Path]:
        folder = self._folder()
        if not folder.is_dir():
            return []
        return sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))

    def _free_name(self, name: str) -> str:
        """The name, with a number where a file of that name was uploaded already."""
        taken = {path.name.lower() for path in self._uploaded()}
        stem, dot, suffix = name.partition(".")
        number, free = 1, name
        while free.lower() in taken:
            number += 1
            free = f"{stem}-{number}{dot}{suffix}"
        return free

    def _file(self, id: object) -> WaitingFile:
        file = self._waiting.get(id) if isinstance(id, str) else None
        if file is None:
            raise Problem("not-found", "There is no such upload: it was built or removed.")
        return file

    def _forget(self, id: str) -> None:
        file = self._waiting.pop(id, None)
        if file is not None:
            shutil.rmtree(file.path.parent, ignore_errors=True)


def _about(file: WaitingFile) -> dict[str, Any]:
    return {"id": file.id, "name": file.name, "size": file.size}


def _texts(value: object) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise Problem("bad-request", "uploads and remove must be lists of texts.")
    return list(dict.fromkeys(value))


def _json(value: object, status: int = 200) -> Response:
    content = json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")
    return Response(content, status, {"cache-control": "no-store"}, requests.JSON)


@contextmanager
def _storing() -> Iterator[None]:
    """Raises a `Problem` in place of an error of the file system."""
    try:
        yield
    except OSError as error:
        raise Problem(storage_kind(error), f"The upload could not be saved: {error.strerror}.") from None


def _into_waiting(path: Path, folder: Path, name: str) -> WaitingFile:
    """Move a file among those that wait, each in a folder of its own."""
    place = folder / secrets.token_hex(8)
    place.mkdir()
    return WaitingFile(place.name, name, path.stat().st_size, path.replace(place / name))


def _left_by_the_last_server(directory: Path) -> Iterator[WaitingFile]:
    """The uploads that wait, with those of a build that did not end: they lie here, but the graph does not have them.

    Raises `ServerError` if they cannot be moved.
    """
    folder = directory / UPLOADS
    if not folder.is_dir():
        return
    try:
        catalogue = Catalogue.load(GraphDirectory(directory).current().catalogue_path)
    except KgtableError:
        return  # what a damaged graph has is not known
    built = {Path(record.location).resolve() for record in catalogue.files.values()}
    with storage_errors(folder):
        (folder / WAITING).mkdir(exist_ok=True)
        for entry in sorted((folder / WAITING).iterdir()):
            held = sorted(entry.iterdir()) if entry.is_dir() else []
            if len(held) == 1:
                yield WaitingFile(entry.name, held[0].name, held[0].stat().st_size, held[0])
            elif held:
                continue
            elif entry.is_dir():
                entry.rmdir()
            else:
                entry.unlink()  # half an upload
        for path in sorted(folder.iterdir()):
            if path.is_file() and not path.name.startswith(".") and path.resolve() not in built:
                yield _into_waiting(path, folder / WAITING, path.name)
