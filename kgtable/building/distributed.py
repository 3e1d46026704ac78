"""Conversion on many machines: jobs mapped by Dask distributed, their texts as part files on any fsspec path.

A part is named after all that decides its bytes: the contents of its files, their ids, the share of rows, the
settings and the version of the conversion. It counts as made once its records are there, which are written last and
in one step; a worker killed before that leaves no part, and one that makes it again writes the same bytes.
So a job may run twice, on any machine, and an interrupted conversion resumes from the existing parts.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kgtable.building.catalogue import Catalogue, FileRecord
from kgtable.building.convert import ConversionJob, ConversionOptions, Converted, run_job
from kgtable.errors import MissingExtraError, StorageError, UsageError
from kgtable.storage import storage_errors
from kgtable.tables.discovery import FileVersion, TableFile, file_version

ATTEMPTS = 20
"""Attempts of a job whose workers die, before the job is taken to be the cause."""

CONNECTED_WITHIN = 10.0
"""Timeout of the scheduler's reply, in seconds."""

_COPIED = 1 << 20
_TEXT, _CONTENTS, _RECORDS = ".text", ".contents", ".records"


@dataclass(frozen=True)
class Scheduler:
    """A Dask scheduler, and where the parts go.

    `address` is such as ``tcp://host:8786``; `parts` a folder or an fsspec URL (``s3://bucket/parts``) that the workers
    can write and this process can read. The workers read the tables under the paths that they have here.
    """

    address: str
    parts: str

    def run(self, jobs: Sequence[ConversionJob], settings: ConversionOptions) -> Iterator[Converted]:
        """Run the jobs on the workers, except those whose parts exist; returns the results in order.

        Raises `MissingExtraError` without Dask, `UsageError` if no scheduler answers, `StorageError` if
        parts cannot be read or written, or a job ended all workers that tried it.
        """
        jobs = [replace(job, versions=tuple(map(_version, job.files, job.versions))) for job in jobs]
        client = self._client()
        with closing(client):
            keys = [part_key(job, settings) for job in jobs]
            folder = PartFolder(self.parts)
            missing = [at for at, key in enumerate(keys) if not folder.has(key)]
            futures = {
                at: client.submit(
                    make_part, jobs[at], settings, self.parts, keys[at], key=f"convert-{keys[at]}",
                    retries=ATTEMPTS, pure=False,
                )
                for at in missing
            }  # fmt: skip
            for at, (job, key) in enumerate(zip(jobs, keys, strict=True)):
                if at in futures:
                    _wait(futures.pop(at), job)
                yield folder.fetch(key, job)

    def _client(self) -> Any:
        try:
            import dask
            from distributed import Client
        except ImportError as error:
            raise MissingExtraError("Conversion on a Dask cluster", "dask") from error
        try:
            with dask.config.set({"distributed.comm.timeouts.connect": f"{CONNECTED_WITHIN}s"}):
                return Client(self.address, timeout=CONNECTED_WITHIN, set_as_default=False)
        except (OSError, ValueError) as error:
            raise UsageError(
                f"No Dask scheduler answers at {self.address}.", hint="Start one with: dask scheduler"
            ) from error


def _wait(future: Any, job: ConversionJob) -> None:
    """Wait for a job; a worker's exception is raised here."""
    from distributed import KilledWorker

    try:
        future.result()
    except KilledWorker as error:
        names = ", ".join(file.relative for file in job.files[:3])
        raise StorageError(
            f"Every worker that converted {names} … ended.", hint="Perhaps memory ran out: give them more."
        ) from error


def part_key(job: ConversionJob, settings: ConversionOptions) -> str:
    """A hash of everything that determines the bytes of a job's text."""
    planned = zip(job.files, job.versions, strict=True)
    files = [[file.relative, file.id, _version(file, version).digest] for file, version in planned]
    share = [job.share.part, job.share.parts]
    mapping = settings.mapping
    decisions = None if mapping is None else [mapping.to_json(), {k: dict(v) for k, v in mapping.tables.items()}]
    decided = [settings.key(()), settings.format.value, decisions]
    text = json.dumps([files, share, decided, job.contents is not None, sorted(job.barred)])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _version(file: TableFile, planned: FileVersion | None) -> FileVersion:
    try:
        return planned or file_version(file)
    except OSError:  # the job reports what is wrong with it; its part is not used again
        return FileVersion(digest=uuid.uuid4().hex)


def make_part(job: ConversionJob, settings: ConversionOptions, parts: str, key: str) -> None:
    """Convert the files of a job and write its part: the task of a worker."""
    folder = PartFolder(parts)
    if folder.has(key):
        return
    with TemporaryDirectory(prefix="kgtable-") as name:
        contents = None if job.contents is None else Path(name, "contents")
        made = run_job(replace(job, output=Path(name, "text"), contents=contents, mark=None), settings)
        folder.put(key, made, Path(name, "records"))


class PartFolder:
    """The folder of part files."""

    def __init__(self, url: str) -> None:
        try:
            import fsspec
        except ImportError as error:
            raise MissingExtraError("Conversion on a Dask cluster", "dask") from error
        with storage_errors(url):
            self._files, root = fsspec.core.url_to_fs(url)
            self._files.makedirs(root, exist_ok=True)
        self._url = url
        self._root = root.rstrip("/")

    def has(self, key: str) -> bool:
        """Whether the part is complete."""
        with storage_errors(self._url):
            self._files.invalidate_cache()
            return bool(self._files.exists(f"{self._root}/{key}{_RECORDS}"))

    def put(self, key: str, made: Converted, records: Path) -> None:
        """Write a part: text and contents, then the records (made at a local path), each in one step."""
        Catalogue(made.records).save(records)
        self._put(f"{key}{_TEXT}", made.job.output)
        if made.job.contents is not None:
            self._put(f"{key}{_CONTENTS}", made.job.contents)
        self._put(f"{key}{_RECORDS}", records)

    def _put(self, name: str, source: Path) -> None:
        target = f"{self._root}/{name}"
        temporary = f"{target}.{uuid.uuid4().hex}"
        with storage_errors(self._url):
            with source.open("rb") as file, self._files.open(temporary, "wb") as out:
                shutil.copyfileobj(file, out, _COPIED)
            self._files.mv(temporary, target)

    def fetch(self, key: str, job: ConversionJob) -> Converted:
        """Copy a part to the output of the job."""
        records = job.output.with_suffix(_RECORDS)
        self._get(f"{key}{_TEXT}", job.output)
        if job.contents is not None:
            self._get(f"{key}{_CONTENTS}", job.contents)
        self._get(f"{key}{_RECORDS}", records)
        found = Catalogue.load(records).files
        records.unlink()
        made = [(found[file.relative], file, version) for file, version in zip(job.files, job.versions, strict=True)]
        if any(record.digest != (version.digest if version else record.digest or None) for record, _, version in made):
            with storage_errors(self._url):  # another content was read than the one the part is named after
                self._files.rm_file(f"{self._root}/{key}{_RECORDS}")
        return Converted(job, tuple(_here(*one) for one in made))

    def _get(self, name: str, target: Path) -> None:
        with (
            storage_errors(self._url),
            self._files.open(f"{self._root}/{name}", "rb") as file,
            target.open("wb") as out,
        ):
            shutil.copyfileobj(file, out, _COPIED)


def _here(record: FileRecord, file: TableFile, planned: FileVersion | None) -> FileRecord:
    """The record with the plan's data on the file: another file with the same content may have made the part."""
    stamp = planned.stamp if planned is not None and planned.digest == record.digest else ""
    return replace(record, location=str(file.path), stamp=stamp)
