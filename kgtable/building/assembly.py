"""Plan a build and convert what changed: the text and the records of a new generation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TypeVar

from kgtable.building.catalogue import Catalogue, FileRecord, TableRecord
from kgtable.building.conversion_report import ConversionReport, Progress, silent
from kgtable.building.convert import (
    ConversionJob,
    ConversionOptions,
    Converted,
    JobRunner,
    in_processes,
    plan_jobs,
    run_jobs,
    write_job,
)
from kgtable.building.description import dataset_blocks, ontology_blocks
from kgtable.errors import UsageError
from kgtable.graph.tally import Tally
from kgtable.graph.terms import Blocks
from kgtable.graph.writers import writer_for
from kgtable.ontology.column_stats import ColumnFact, Proposals, Propose, Summary, between_predicates, by_name, propose
from kgtable.ontology.owl import GeneratedOntology, generate
from kgtable.storage import append_file, storage_errors
from kgtable.tables.discovery import FileVersion, TableFile, Walk, file_version, walk
from kgtable.values.decimals import in_own_context

_Key = TypeVar("_Key")


def merge_shares(records: Iterable[FileRecord]) -> tuple[FileRecord, ...]:
    """Join the records of all jobs, in order, to one record for each file."""
    files: dict[str, FileRecord] = {}
    for record in records:
        before = files.get(record.path)
        files[record.path] = record if before is None else _merged(before, record)
    return tuple(files.values())


def _merged(one: FileRecord, other: FileRecord) -> FileRecord:
    error = one.error or other.error
    tables = () if error else tuple(map(_merged_table, one.tables, other.tables))
    document = None if error else one.document or other.document
    digest = one.digest if one.digest == other.digest else ""
    return replace(one, digest=digest, tables=tables, error=error, document=document)


def _merged_table(one: TableRecord, other: TableRecord) -> TableRecord:
    tally = Tally.from_json(one.tally)
    tally.add(Tally.from_json(other.tally))
    return replace(
        one,
        rows=one.rows + other.rows,
        cells=one.cells + other.cells,
        quads=one.quads + other.quads,
        facts=tuple(map(_merged_fact, one.facts, other.facts)),
        tally=tally.to_json(),
        notices=one.notices + other.notices,
    )


def _merged_fact(one: ColumnFact, other: ColumnFact) -> ColumnFact:
    return replace(
        one,
        ranges=_sum(one.ranges, other.ranges),
        units=_sum(one.units, other.units),
        scales=_sum(one.scales, other.scales),
    )


def _sum(one: Mapping[_Key, int], other: Mapping[_Key, int]) -> dict[_Key, int]:
    return dict(Counter(one) + Counter(other))


CONVERT_ALL_ABOVE = 0.3
"""If a larger share of its quads is gone or changed, a graph is converted and loaded again."""


@dataclass(frozen=True)
class BuildPlan:
    """Which files to convert, with their contents, and which records of the last build to keep.

    `order` are the paths of all files in reading order, `unreadable` records of files that could
    not even be opened. Of such files the tables of the last build are among those to keep, with the
    error in their record.
    """

    kept: tuple[FileRecord, ...]
    convert: tuple[tuple[TableFile, FileVersion | None], ...]
    order: tuple[str, ...]
    unreadable: tuple[FileRecord, ...] = ()

    def is_done(self, before: Catalogue) -> bool:
        """Whether the graph with this catalogue is already up to date with the plan."""
        found = {record.path: (record.location, record.error) for record in (*self.kept, *self.unreadable)}
        known = {record.path: (record.location, record.error) for record in before.files.values()}
        return not self.convert and found == known


def make_plan(found: Walk, before: Catalogue, settings: ConversionOptions, *, same_base: bool = True) -> BuildPlan:
    """Compare the files found with the catalogue of the last build, by content and settings.

    Tables of files that are there but cannot be read now stay as they were, if they can: with
    `same_base` false, their IRIs are no longer those of the graph.
    """
    files = tuple(map(settings.told, found.files))
    kept: list[FileRecord] = []
    stale: list[FileRecord] = []
    changed: list[tuple[TableFile, FileVersion | None]] = []
    versions: dict[str, FileVersion] = {}
    unreadable: list[FileRecord] = []
    for file in files:
        record = before.files.get(file.relative)
        try:
            known = FileVersion(record.stamp, record.digest) if record is not None and record.is_read else None
            version = versions[file.relative] = file_version(file, known)
        except OSError as error:
            message = f"{file.relative}: the file cannot be read ({error.strerror})."
            if record is not None and record.is_read and record.id == file.id and same_base:
                stale.append(_stale(record, str(file.path), message))
            else:
                unreadable.append(FileRecord(file.relative, file.id, "", "", str(file.path), (), message))
            continue
        if record is not None and _is_same(record, file, version.digest, settings):
            fault = None if record.is_read else record.error
            kept.append(_kept(record, str(file.path), fault, version.stamp))
        else:
            changed.append((file, version))
    if same_base:
        stale += _in_unreadable_folders(found, before)
    order = (*(file.relative for file in files), *(record.path for record in stale))
    if _quads(kept) < (1 - CONVERT_ALL_ABOVE) * _quads(before.files.values()):
        changed = [(file, versions[file.relative]) for file in files if file.relative in versions]
        kept = []
    return BuildPlan((*kept, *stale), tuple(changed), tuple(dict.fromkeys(order)), tuple(unreadable))


def _kept(record: FileRecord, location: str, error: str | None, stamp: str) -> FileRecord:
    if (record.location, record.error, record.stamp) == (location, error, stamp):
        return record
    return replace(record, location=location, error=error, stamp=stamp)


def _quads(records: Iterable[FileRecord]) -> int:
    texts = (record.document for record in records if record.document is not None)
    return sum(table.quads for record in records for table in record.tables) + sum(text.quads for text in texts)


def _stale(record: FileRecord, location: str, message: str) -> FileRecord:
    return replace(record, location=location, error=f"{message} The previous version is kept.")


def _in_unreadable_folders(found: Walk, before: Catalogue) -> Iterator[FileRecord]:
    """Records of files in folders that cannot be read: whether these files still exist is unknown."""
    paths = {file.relative for file in found.files}
    ids = {file.id for file in found.files}
    for record in before.files.values():
        if record.path in paths or record.id in ids or not record.is_read:
            continue
        if any(Path(record.location).is_relative_to(folder) for folder in found.unreadable):
            message = f"{record.path}: the folder of the file cannot be read."
            yield _stale(record, record.location, message)


def _is_same(record: FileRecord, file: TableFile, digest: str, settings: ConversionOptions) -> bool:
    facts = (fact for table in record.tables for fact in table.facts)
    return (record.id, record.digest) == (file.id, digest) and record.settings == settings.key(facts, file)


class GenerationContent:
    """Conversion of the planned files.

    Catalogue, ontology and description are complete once `table_texts` was walked to its end.
    """

    def __init__(
        self,
        plan: BuildPlan,
        settings: ConversionOptions,
        workers: int = 1,
        progress: Progress = silent,
        propose: Propose = propose,
        runner: JobRunner | None = None,
    ) -> None:
        """`runner` runs the jobs elsewhere; without one they run in `workers` processes here."""
        self._runner = runner
        self.plan = plan
        self.names = settings.names
        self._settings = settings
        self._workers = workers
        self.progress = progress
        self._propose = propose
        self._records: list[FileRecord] = []
        self._done: set[str] = set()
        self.contents: list[Path] = []
        """The part files with the contents of the tables that `table_texts` converted, in order."""

    def table_texts(self, folder: Path) -> Iterator[Path]:
        """The text of the tables as files in `folder`."""
        jobs = [replace(job, contents=job.output.with_suffix(".contents")) for job in self._jobs(folder)]
        for converted in self._run(jobs):
            self._finished(converted.records)
            if converted.job.contents is not None:
                self.contents.append(converted.job.contents)
            yield converted.job.output

    def describe(self, path: Path, found: Blocks) -> None:
        """Write the text of the default graph to a file, with what else was `found`; the tables have been converted.

        Raises `StorageError`.
        """
        with storage_errors(path), path.open("wb") as output:
            self._write_description(output, found)

    def write(self, out: IO[bytes], folder: Path) -> None:
        """Write the whole document to `out`, in any format; `folder` holds intermediate texts."""
        writer = writer_for(self._settings.format, self.names)
        out.write(writer.start().encode("utf-8"))
        written = self._write_tables(out, folder, writer.between.encode("utf-8"))
        out.write(writer.between.encode("utf-8") if written else b"")
        self._write_description(out)
        out.write(writer.end().encode("utf-8"))

    def _write_tables(self, out: IO[bytes], folder: Path, between: bytes) -> bool:
        """Write the tables, the first job's directly to `out`; returns whether there were any."""
        jobs = self._jobs(folder)
        if not out.seekable() or self._runner is not None:
            return self._join(out, between, self._run(jobs), written=False)
        here = jobs[:1] if self._workers > 1 else jobs
        beginning = out.tell()
        with in_processes(jobs[len(here) :], self._settings, self._workers) as others:
            for job in here:
                for record in write_job(job, self._settings, out, beginning, progress=self.progress):
                    self._finished([record])
            return self._join(out, between, others, written=out.tell() > beginning)

    def _join(self, out: IO[bytes], between: bytes, texts: Iterable[Converted], *, written: bool) -> bool:
        for converted in texts:
            self._finished(converted.records)
            path = converted.job.output
            if path.stat().st_size:
                out.write(between if written and converted.job.share.is_first else b"")
                append_file(path, out)
                written = True
            path.unlink()
        return written

    def _run(self, jobs: Sequence[ConversionJob]) -> Iterator[Converted]:
        if self._runner is not None:
            return self._runner(jobs, self._settings)
        return run_jobs(jobs, self._settings, self._workers, self.progress)

    def _jobs(self, folder: Path) -> list[ConversionJob]:
        self.progress("converting", 0, len(self.plan.convert))
        return plan_jobs(self.plan.convert, folder, self._workers, self._settings.limits)

    def _finished(self, records: Sequence[FileRecord]) -> None:
        self._records += records
        self._done.update(record.path for record in records)
        self.progress("converting", len(self._done), len(self.plan.convert))

    def _write_description(self, out: IO[bytes], found: Blocks = ()) -> None:
        writer = writer_for(self._settings.format, self.names)
        blocks = [*self.default_graph(), *found]
        out.writelines(piece.encode("utf-8") for piece in writer.graph(None, blocks))

    def default_graph(self) -> Blocks:
        """The dataset's description and its ontology."""
        catalogue = self.catalogue()
        return [
            *dataset_blocks(catalogue.tables.values(), self.names, catalogue.documents.values()),
            *ontology_blocks(self.ontology.triples),
        ]

    @cached_property
    def ontology(self) -> GeneratedOntology:
        """The ontology of all tables."""
        equivalents = between_predicates(self.proposals, self.summaries)
        return generate(self.catalogue().facts(), self.names.ex, equivalents=equivalents)

    @cached_property
    def summaries(self) -> dict[str, Summary]:
        """Statistics of the columns, by column name."""
        return by_name(self.catalogue().facts())

    @cached_property
    def proposals(self) -> Proposals:
        """The column names that may mean the same."""
        return self._propose(self.summaries)

    def catalogue(self) -> Catalogue:
        """The records of all files, kept and new, in reading order."""
        records = {record.path: record for record in (*self.plan.kept, *self.plan.unreadable)}
        records |= {record.path: record for record in merge_shares(self._records)}
        return Catalogue(records[path] for path in self.plan.order)

    def save_ontology(self, folder: Path) -> None:
        """Write ``ontology.ttl`` and ``ontology.owl``."""
        with storage_errors(folder):
            (folder / "ontology.ttl").write_bytes(self.ontology.turtle)
            (folder / "ontology.owl").write_bytes(self.ontology.rdf_xml)


@in_own_context
def convert_tables(
    paths: Sequence[Path | str],
    out: IO[bytes],
    settings: ConversionOptions,
    *,
    workers: int = 1,
    progress: Progress = silent,
    runner: JobRunner | None = None,
) -> ConversionReport:
    """Write the tables under `paths`, then the dataset's description and ontology, to `out`.

    The same files yield the same bytes for any number of `workers`. A file that cannot be read
    is named in the report and the others are written. Raises `UsageError` if no file may hold a
    table, `StorageError` if there is no space for the text.
    """
    found = walk(paths)
    if not found.files:
        raise UsageError(
            f"There are no tables in {', '.join(map(str, paths))}.",
            hint="Give files or folders with .csv, .xlsx, .html or other tables.",
        )
    files = found.files
    plan = BuildPlan((), tuple((settings.told(file), None) for file in files), tuple(file.relative for file in files))
    with TemporaryDirectory(prefix="kgtable-") as folder, storage_errors(folder):
        assembly = GenerationContent(plan, settings, workers, progress, runner=runner)
        assembly.write(out, Path(folder))
    return ConversionReport.of(assembly.catalogue().files.values(), found.notices)
