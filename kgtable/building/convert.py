"""Convert files to RDF text, in this process or in several."""

from __future__ import annotations

import gc
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain, islice
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import IO, TypeAlias

from kgtable.building.catalogue import DocumentRecord, FileRecord, TableRecord
from kgtable.building.contents import ContentWriter
from kgtable.building.conversion_report import Progress, silent
from kgtable.errors import StorageError, TableError, UnavailableTableError, UnreadableTableError
from kgtable.graph.document_statements import DocumentShape
from kgtable.graph.row_forms import Parts
from kgtable.graph.table_encoder import TableShape
from kgtable.graph.tally import Tally, counted
from kgtable.graph.terms import WHOLE, Namespaces, Share
from kgtable.graph.writers import Format, writer_for
from kgtable.ontology.annotate import annotate
from kgtable.ontology.column_stats import ColumnFact
from kgtable.ontology.mapping import UserMapping
from kgtable.resources import PACKAGE, __version__, shipped_path
from kgtable.storage import storage_errors
from kgtable.tables.discovery import FileVersion, TableFile, hash_file
from kgtable.tables.layout.detect import make_table
from kgtable.tables.limits import ProcessSetting, ReadingTime, ReadLimits, content_size, each_of, faults_of, unchanged
from kgtable.tables.loader import read_content
from kgtable.tables.model import Grid, ReadContent, Row
from kgtable.tables.readers.delimited import DelimitedScan, scan_delimited

_CONVERTING = ("values", "text", "tables", "ontology", "graph")
"""Subpackages that decide which statements a file becomes."""


@cache
def conversion_version() -> str:
    """A hash of everything that determines a file's statements: the code and the vocabulary.

    A graph that was built by another version is converted again.
    """
    digest = hashlib.sha256(__version__.encode())
    paths = [path for room in _CONVERTING for path in (PACKAGE / room).rglob("*.py")]
    for path in sorted(filter(Path.is_file, [*paths, *shipped_path("ontologies").rglob("*"), *_CONVERTERS])):
        digest.update(f"\0{path.name}\0".encode("utf-8", "surrogatepass") + path.read_bytes())
    return digest.hexdigest()


_CONVERTERS = (Path(__file__), Path(__file__).with_name("contents.py"))

SPLIT_ABOVE = 4_000_000
"""Delimited files above this many bytes are split by rows among the processes."""

LONG_TABLE = 10_000
"""Rows from which a table's progress is reported."""

SMALLEST_JOB = 150_000
"""Fewer bytes than this are not worth a process."""

_BATCHES_A_WORKER = 12


@dataclass(frozen=True)
class ConversionOptions:
    """Settings that decide, in addition to a file's content, which text it becomes."""

    names: Namespaces = field(default_factory=Namespaces)
    format: Format = Format.NQUADS
    mapping: UserMapping | None = None
    limits: ReadLimits = field(default_factory=ReadLimits)
    encoding: str | None = None

    def told(self, file: TableFile) -> TableFile:
        """The file with the mapping's decisions on reading it: its encoding, else that of all files, and splits."""
        mapping = self.mapping or UserMapping()
        encoding = mapping.about_table(file.id).get("encoding", self.encoding)
        return replace(file, encoding=encoding, splits=mapping.splits(file.id))

    def key(self, facts: Iterable[ColumnFact], file: TableFile | None = None) -> str:
        """A hash of the settings for columns of these names, in a file described by `told`."""
        names: dict[str, list[str]] = {}
        for fact in facts:
            names.setdefault(fact.table, []).append(fact.name)
        mapping = self.mapping or UserMapping()
        decisions = [mapping.fingerprint(columns, table) for table, columns in names.items()]
        # More time makes no other text of a file, but may make one of a file that could not be read.
        timeless = replace(self.limits, max_seconds=0, base_seconds=0, max_page_seconds=0)
        limits = repr(timeless if names else self.limits)
        told = (self.encoding, ()) if file is None else (file.encoding, file.splits)
        text = json.dumps([conversion_version(), self.names.base, limits, decisions, told])
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class SplitFile:
    """Content, hash and scan of a file, made once before its rows are distributed.

    `scan` is None for a file whose rows are held in memory: the layout of such a table depends on all
    of them, so each process parses it.
    """

    version: FileVersion
    sha256: str
    scan: DelimitedScan | None


@dataclass(frozen=True)
class ConversionJob:
    """Files to convert into one text, or a share of the rows of a single file."""

    files: tuple[TableFile, ...]
    versions: tuple[FileVersion | None, ...]
    """The content of each file when the job was planned, if that is known."""
    output: Path
    share: Share = WHOLE
    known: SplitFile | None = None
    contents: Path | None = None
    """Where the contents of the tables go that an index is made from, if they are wanted."""
    mark: Path | None = None
    """File that holds the number of the file being converted, read if the process dies."""
    barred: frozenset[int] = frozenset()
    """The numbers of files that no process survived: they are not tried again."""


@dataclass(frozen=True)
class Converted:
    """The text of a job and the records of its files."""

    job: ConversionJob
    records: tuple[FileRecord, ...]


def plan_jobs(
    files: Sequence[tuple[TableFile, FileVersion | None]], folder: Path, workers: int, limits: ReadLimits
) -> list[ConversionJob]:
    """Plan jobs of about equal size in the order of the files; each writes to its own file in `folder`.

    A file whose rows are shared out is hashed and scanned here, once for all its jobs.
    """
    sizes = [file.path.stat().st_size if file.path.exists() else 0 for file, _ in files]
    share = max(sum(sizes) // (workers * _BATCHES_A_WORKER), SMALLEST_JOB) if workers > 1 else SPLIT_ABOVE
    jobs: list[ConversionJob] = []
    batch: list[tuple[TableFile, FileVersion | None]] = []
    size = 0

    def close() -> None:
        nonlocal size
        if batch:
            found, versions = zip(*batch, strict=True)
            jobs.append(ConversionJob(found, versions, folder / str(len(jobs))))
            batch.clear()
            size = 0

    for (file, version), bytes_in_file in zip(files, sizes, strict=True):
        split = _split(file, version, workers, limits) if workers > 1 and bytes_in_file > SPLIT_ABOVE else None
        if split is not None:
            close()
            for part in range(workers):
                output = folder / str(len(jobs))
                jobs.append(ConversionJob((file,), (split.version,), output, Share(part, workers), split))
            continue
        batch.append((file, version))
        size += bytes_in_file
        if size >= share:
            close()
    close()
    return jobs


def _split(file: TableFile, version: FileVersion | None, parts: int, limits: ReadLimits) -> SplitFile | None:
    """Hash and scan a file; None if its rows are not shared out or it cannot be read."""
    if not file.media_type.startswith("text/"):
        return None
    try:
        with unchanged(file, version) as read:
            sha256 = read.digest if file.sidecar is None else hash_file(file)
            streamed = bool(file.format.delimiter) and content_size(file, limits) > limits.stream_above
            return SplitFile(read, sha256, scan_delimited(file, limits, parts) if streamed else None)
    except Exception:  # the job that reads the file reports what is wrong with it
        return None


JobRunner: TypeAlias = Callable[[Sequence[ConversionJob], ConversionOptions], Iterator[Converted]]
"""Runs jobs somewhere and returns their results in order, each with its text at the job's output."""


def run_jobs(
    jobs: Sequence[ConversionJob], settings: ConversionOptions, workers: int, progress: Progress = silent
) -> Iterator[Converted]:
    """Run the jobs and return their results in order; parts of one file come as separate results.

    `progress` receives the rows of long tables that are converted in this process.
    """
    if workers <= 1 or len(jobs) <= 1:
        for job in jobs:
            yield run_job(job, settings, progress)
        return
    with in_processes(jobs, settings, workers) as made:
        yield from made


@contextmanager
def in_processes(
    jobs: Sequence[ConversionJob], settings: ConversionOptions, workers: int
) -> Iterator[Iterator[Converted]]:
    """Run the jobs in other processes while the block lasts; returns their results in order.

    A file whose process does not survive it is named in its record, and the others are converted.
    """
    if not jobs:
        yield iter(())
        return
    jobs = [replace(job, mark=job.output.with_suffix(".file")) for job in jobs]
    with _pool(min(workers, len(jobs))) as pool:
        futures = [_submitted(pool, job, settings) for job in jobs]
        try:
            yield (_result(job, future, settings) for job, future in zip(jobs, futures, strict=True))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _pool(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, get_context("spawn"), initializer=_end_with_parent)


def _submitted(pool: ProcessPoolExecutor, job: ConversionJob, settings: ConversionOptions) -> Future[Converted]:
    try:
        return pool.submit(run_job, job, settings)
    except BrokenProcessPool as error:
        failed: Future[Converted] = Future()
        failed.set_exception(error)
        return failed


def _result(job: ConversionJob, future: Future[Converted], settings: ConversionOptions) -> Converted:
    """The result of a job, which is run again on its own where a process of the pool did not survive."""
    with suppress(BrokenProcessPool):
        return future.result()
    assert job.mark is not None
    while True:
        job.mark.unlink(missing_ok=True)
        with suppress(BrokenProcessPool), _pool(1) as pool:
            return pool.submit(run_job, job, settings).result()
        # In a process of its own, which it did not survive either: the file at the mark is to blame.
        try:
            fatal = int(job.mark.read_bytes())
        except (OSError, ValueError) as error:
            raise StorageError(
                "A process that converts tables does not start, or was ended from outside.",
                hint="Perhaps memory ran out: try --workers 1. A script that asks for workers needs "
                'if __name__ == "__main__": around what it does.',
            ) from error
        job = replace(job, barred=job.barred | {fatal})


def _end_with_parent() -> None:
    """End this process when the one that started it is gone, even if that was killed."""
    Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def run_job(job: ConversionJob, settings: ConversionOptions, progress: Progress = silent) -> Converted:
    """Convert the files of one job into its output file."""
    with storage_errors(job.output), job.output.open("wb") as output, few_collections():
        if job.contents is None:
            return Converted(job, tuple(write_job(job, settings, output, progress=progress)))
        with job.contents.open("w", encoding="ascii") as contents:
            return Converted(job, tuple(write_job(job, settings, output, contents=contents, progress=progress)))


_COLLECTOR = ProcessSetting(gc.get_threshold, lambda thresholds: gc.set_threshold(*thresholds))


def few_collections() -> AbstractContextManager[None]:
    """Run cyclic garbage collection a hundred times less often: millions of small tuples have no cycles."""
    return _COLLECTOR.changed(lambda thresholds: (100 * thresholds[0], *thresholds[1:]))


def write_job(
    job: ConversionJob,
    settings: ConversionOptions,
    output: IO[bytes],
    beginning: int = 0,
    contents: IO[str] | None = None,
    progress: Progress = silent,
) -> Iterator[FileRecord]:
    """Write the files of one job to `output`, which must be seekable, and return their records.

    `beginning` is the position of the document's first table. A file that cannot be read leaves a
    record with its error and nothing in the output.
    """
    for number, (file, version) in enumerate(zip(job.files, job.versions, strict=True)):
        start = output.tell()
        contents_start = contents.tell() if contents is not None else 0
        tables: list[TableRecord] = []
        error, document = None, None
        version = version or FileVersion()
        try:
            if job.mark is not None:
                job.mark.write_text(str(number), encoding="ascii")
            if number in job.barred:
                raise UnavailableTableError(
                    "the process that converted it did not survive it: it crashed, or memory ran out.",
                    path=file.relative,
                    hint="Split the file, or free some memory.",
                )
            with unchanged(file, version) as version:
                if job.known is not None and version.digest != job.known.version.digest:
                    raise UnavailableTableError(
                        "the file changed before it was read.", path=file.relative, hint="Run it again."
                    )
                time = ReadingTime(file, settings.limits)
                with time:
                    content = _content(file, version.digest, job.known, settings.limits)
                for grid in content.grids:
                    scan = None if job.known is None else job.known.scan
                    with faults_of(file), time:
                        conversion = TableConversion(grid, settings, job.share, scan, contents)
                    for piece in _pieces(conversion, file, settings, is_first=output.tell() == beginning):
                        output.write(piece)
                        if len(grid.rows) >= LONG_TABLE and job.share.parts == 1:
                            progress(f"converting rows of {file.relative}", conversion.rows, len(grid.rows))
                    with faults_of(file):
                        tables.append(conversion.record())
                if content.has_text and job.share.is_first:
                    with faults_of(file), time:
                        text = TextConversion(file, content, settings)
                    output.writelines(_pieces(text, file, settings, is_first=output.tell() == beginning))
                    document = text.record()
        except TableError as caught:
            error, document = str(caught), None
            if isinstance(caught, UnavailableTableError):
                version = FileVersion()  # so that the next build tries again
            tables.clear()
            output.seek(start)
            output.truncate()
            if contents is not None:
                contents.seek(contents_start)
                contents.truncate()
        facts = [fact for table in tables for fact in table.facts]
        yield FileRecord(
            file.relative,
            file.id,
            version.digest,
            settings.key(facts, file),
            str(file.path),
            tuple(tables),
            error,
            document,
            version.stamp,
        )


def _pieces(
    graph: TextConversion | TableConversion, file: TableFile, settings: ConversionOptions, *, is_first: bool
) -> Iterator[bytes]:
    """The pieces of a graph, after what separates it from the one before.

    Raises `UnreadableTableError` for a statement that is longer than a store can load.
    """
    if not is_first:
        yield graph.writer.between.encode("utf-8")
    most = settings.limits.max_statement
    for piece in each_of(file, map(str.encode, graph)):
        is_checked = len(piece) > most and settings.format is Format.NQUADS
        if is_checked and any(len(line) > most for line in piece.split(b"\n")):
            raise UnreadableTableError(
                f"the text of one of its cells becomes a statement of more than {most:,} bytes.",
                path=file.relative,
                hint="Is a quote never closed? Close it, or split the text.",
            )
        yield piece


def _content(file: TableFile, digest: str, known: SplitFile | None, limits: ReadLimits) -> ReadContent:
    """Read a file, without hashing or scanning it again."""
    if known is not None:
        return read_content(file, limits, sha256=known.sha256, scan=known.scan)
    return read_content(file, limits, sha256=digest if file.sidecar is None else "")


class TextConversion:
    """The text of a file as pieces of text; `record` returns the counts afterwards."""

    def __init__(self, file: TableFile, content: ReadContent, settings: ConversionOptions) -> None:
        self._file, self._content = file, content
        tables = [grid.id for grid in content.grids]
        self._shape = DocumentShape(file.id, file.relative, content.text, tables, settings.names)
        self.writer = writer_for(settings.format, settings.names)
        self._tally = Tally()

    def __iter__(self) -> Iterator[str]:
        blocks = chain.from_iterable(self._shape.batches())
        return self.writer.graph(self._shape.graph, counted(blocks, self._tally), WHOLE)

    def record(self) -> DocumentRecord:
        """The record of the text."""
        text, content = self._content.text, self._content
        return DocumentRecord(
            self._file.id, self._file.relative, content.media_type, content.sha256, text.title, text.pages,
            len(text.paragraphs), len(self._shape.passages), self._shape.quantities,
            self._tally.predicates.total(), self._tally.to_json(), () if content.grids else content.notices,
        )  # fmt: skip


class TableConversion:
    """One table, or a share of its rows, as pieces of text; `record` returns the counts afterwards.

    Attributes:
        rows: how many have been converted.
    """

    def __init__(
        self,
        grid: Grid,
        settings: ConversionOptions,
        share: Share = WHOLE,
        scan: DelimitedScan | None = None,
        contents: IO[str] | None = None,
    ) -> None:
        """`scan` says where a share of a streamed table begins.

        `contents` is where the content for an index goes, if it is wanted.
        """
        mapping = settings.mapping
        table = make_table(grid, mapping.layout(grid.id, grid.source.sha256) if mapping is not None else None)
        self._grid = table.grid
        self._scan = scan
        self._share = share
        self._shape = TableShape(annotate(table, mapping), settings.names)
        self.writer = writer_for(settings.format, settings.names)
        self._contents = (
            None if contents is None else ContentWriter(self._shape.content(), contents, with_head=share.is_first)
        )
        self._tally = Tally()
        self.rows = 0

    def __iter__(self) -> Iterator[str]:
        return self.writer.graph(self._shape.graph, counted(self._parts(), self._tally), self._share)

    def _parts(self) -> Parts:
        if self._share.is_first:
            yield from self._shape.description()
        for rows, said in self._shape.rows(self._numbered_rows()):
            self.rows += len(rows)
            if self._contents is not None:
                self._contents.add(self._shape.content_rows(rows, said))
            yield from said
        if self._contents is not None:
            self._contents.flush()

    def _numbered_rows(self) -> Iterator[tuple[int, Row]]:
        """The rows of the share with their grid indexes."""
        part, parts, rows = self._share.part, self._share.parts, self._grid.rows
        if parts == 1:
            return enumerate(rows)
        if self._scan is not None:
            return self._scan.piece(part)
        assert isinstance(rows, Sequence)
        return islice(enumerate(rows), len(rows) * part // parts, len(rows) * (part + 1) // parts)

    def record(self) -> TableRecord:
        """The record of the table; rows and counts are those of this share."""
        grid, cells = self._grid, self._shape.cells
        self._tally.add(cells.tally())
        self._tally.rows.update(self._shape.counted)
        source = grid.source
        return TableRecord(
            grid.id, source.path, source.sheet, source.number, source.media_type, source.sha256,
            grid.context.title, self.rows, grid.width, self._tally.cells, self._tally.predicates.total(),
            cells.facts(), self._tally.to_json(), grid.notices if self._share.is_first else (),
        )  # fmt: skip
