"""Build a graph directory: convert only what changed, and switch to the result in one step."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from kgtable.building.assembly import BuildPlan, GenerationContent, make_plan
from kgtable.building.catalogue import Catalogue, Changes
from kgtable.building.contents import PartFiles
from kgtable.building.conversion_report import ConversionReport, Progress, silent
from kgtable.building.convert import ConversionOptions, JobRunner, few_collections
from kgtable.building.generations import Generation, GraphDirectory
from kgtable.building.load import carry_over, change_store, describe_store, fill_store
from kgtable.errors import UsageError
from kgtable.graph.terms import DEFAULT_BASE, Blocks, Namespaces
from kgtable.graph.writers import Format
from kgtable.ontology.column_stats import Propose, by_name, propose
from kgtable.ontology.inferred_names import SURE_FROM, InferredName, InferredNames, is_missing_header, is_missing_title
from kgtable.ontology.mapping import MappingKey, UserMapping
from kgtable.ontology.mapping_files import EditedMapping, is_saved, load_edits, save_mapping
from kgtable.ontology.mapping_rows import INFERRED
from kgtable.storage import PARTS, differing, storage_errors
from kgtable.tables.discovery import Walk, walk
from kgtable.tables.limits import ReadLimits
from kgtable.tables.model import Notice
from kgtable.values.decimals import in_own_context

if TYPE_CHECKING:
    from kgtable.ontology.proposals import AnnotationReport

_Item = TypeVar("_Item")


class Stopwatch:
    """Seconds by stage; the time of a stage within another counts for the inner one alone."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._running: list[str] = []
        self._since = time.perf_counter()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time of the block for the stage."""
        self._lap()
        self._running.append(name)
        self.seconds.setdefault(name, 0.0)
        try:
            yield
        finally:
            self._lap()
            self._running.pop()

    def waiting(self, name: str, items: Iterable[_Item]) -> Iterator[_Item]:
        """Iterate over the items; the time to produce each counts for the stage."""
        iterator = iter(items)
        while True:
            with self.stage(name):
                try:
                    item = next(iterator)
                except StopIteration:
                    return
            yield item

    def _lap(self) -> None:
        now = time.perf_counter()
        if self._running:
            self.seconds[self._running[-1]] += now - self._since
        self._since = now


BuildStep: TypeAlias = Callable[[Generation], None]


@dataclass(frozen=True)
class BuildReport:
    """The outcome of a build: changes to the tables, and a report over the whole graph.

    `messages` report an editable mapping that could not be brought up to date, `seconds` how long
    each stage took: finding what changed, converting (as far as loading had to wait for it), loading, describing,
    indexing, saving the mapping. `annotation` reports on a model that was asked about the tables.
    """

    generation: Generation
    changes: Changes
    conversion: ConversionReport
    messages: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    annotation: AnnotationReport | None = None

    def to_json(self) -> dict[str, Any]:
        """The changes, the seconds of each stage, the messages and the report over the graph."""
        changed = {name: list(getattr(self.changes, name)) for name in ("added", "changed", "removed")}
        return {
            **changed,
            "unchanged": self.changes.unchanged,
            "seconds": {stage: round(taken, 3) for stage, taken in self.seconds.items()},
            "messages": list(self.messages),
            "report": self.conversion.to_json(),
        }


@in_own_context
def build_graph(
    paths: Sequence[Path | str] | Walk,
    directory: Path | str,
    *,
    mapping: UserMapping | None = None,
    base: str | None = None,
    limits: ReadLimits | None = None,
    encoding: str | None = None,
    workers: int = 1,
    before: Callable[[], object] = lambda: None,
    after: Sequence[BuildStep] = (),
    is_complete: Callable[[Generation], bool] = lambda generation: True,
    propose: Propose = propose,
    progress: Progress = silent,
    runner: JobRunner | None = None,
) -> BuildReport:
    """Bring the graph in `directory` up to date with the tables under `paths`, or in the files of a walk.

    The decisions in `mapping` win over those edited in the directory's own ``ontology.csv``, and these
    over the generator. Without `base` the one the graph was built with counts, or `DEFAULT_BASE`.
    `encoding` is the codec of text whose encoding the mapping does not say (None: it is detected).
    `propose` finds the column names that may mean the same, for the mapping and the ontology.
    `runner` converts elsewhere than in `workers` processes here.
    `before` is called once there is something to do, `after` are further steps on the new generation
    before readers see it; one of them may describe it, with what it finds (`Generation.describe`). There is nothing to
    do, and none of them is called, where all tables are as they were and `is_complete` says of the current generation
    that the steps would make what it has. A table that cannot be read is reported and the others are built; what was
    read of its file before is kept until the file is gone. Where files of the graph are damaged, nothing is changed.
    Killed at any instant, the directory still holds the last complete graph, and the next build does the work.

    Raises `UsageError`, `GraphLockedError`, `GraphVersionError`, `DamagedGraphError`, `StorageError`, `MappingError`.
    """
    place = GraphDirectory(directory)
    found = paths if isinstance(paths, Walk) else walk(paths)
    if not isinstance(paths, Walk) and not found.files:
        raise UsageError(
            f"There are no tables in {', '.join(map(str, paths))}.",
            hint="Give files or folders with .csv, .xlsx, .html or other tables.",
        )
    with place.building() as current, few_collections():
        names = Namespaces(base or (current.base if current else DEFAULT_BASE))
        edited = load_edits(place.path)
        if mapping is not None:
            edited = edited.under(mapping)
        settings = ConversionOptions(names, Format.NQUADS, edited.mapping, limits or ReadLimits(), encoding)
        watch = Stopwatch()
        with watch.stage("finding changes"):
            known = Catalogue()
            if current is not None:
                current.check()
                known = Catalogue.load(current.catalogue_path)
            same_base = current is None or current.base == names.base
            plan = make_plan(found, known, settings, same_base=same_base)
        if current is not None and plan.is_done(known) and is_complete(current):
            changes = Changes(unchanged=len(known.tables))
            report = ConversionReport.of(known.files.values(), found.notices)
            messages = _bring_mapping_up_to_date(current, place.path, edited, known, propose)
            return BuildReport(replace(current, changes=changes), changes, report, messages)
        before()
        generation = place.begin(current, names.base)
        try:
            assembly = GenerationContent(plan, settings, workers, progress, propose, runner)
            made = _make(generation, known, assembly, found.notices, watch, after, edited.mapping)
        except BaseException:
            shutil.rmtree(generation.path, ignore_errors=True)
            raise
        place.point_to(made.generation, names.base)
        with watch.stage("saving the mapping"):
            inferred = inferred_by_name(made.generation, assembly.catalogue())
            messages = save_mapping(place.path, edited, assembly.summaries, assembly.proposals, inferred)
        return replace(made, messages=messages, seconds=watch.seconds)


def inferred_by_name(generation: Generation, catalogue: Catalogue) -> dict[MappingKey, InferredName]:
    """The names proposed in the index of a generation, as `save_mapping` takes them; those of users are edits."""
    names = InferredNames.open(generation.index_path)
    if not len(names):
        return {}
    found = {("", name.table): name for name in names if name.column is None}
    for fact in catalogue.facts():
        name = names.at(fact.table, fact.index)
        if name is not None and name.basis != "user":
            found.setdefault((fact.name, fact.table), name)
    return found


def _save_given_names(generation: Generation, mapping: UserMapping, assembly: GenerationContent) -> None:
    """Keep for the index the names by the user, or else a model, of columns without a header and untitled tables."""
    given = []
    for table in assembly.catalogue().tables.values():
        proposal = mapping.proposal(table.id, table.sha256, [fact.name for fact in table.facts])
        for at, said in proposal.columns.items():
            if INFERRED in said.values:
                given.append(InferredName(table.id, at, said.values[INFERRED], said.confidence, "model"))
        if proposal.title and is_missing_title(table.title, table.id):
            given.append(InferredName(table.id, None, proposal.title, SURE_FROM, "model"))
    decided = {
        (fact.table, fact.index): decision.name
        for fact in (assembly.catalogue().facts() if mapping.edits else ())
        if is_missing_header(fact.name)
        and (decision := mapping.lookup(fact.name, fact.table)) is not None
        and decision.name
    }
    given = [name for name in given if (name.table, name.column) not in decided]
    given += [InferredName(table, column, name, 1.0, "user") for (table, column), name in decided.items()]
    if given:
        with storage_errors(generation.path):
            InferredNames(given).save(generation.path)


def _bring_mapping_up_to_date(
    current: Generation, place: Path, edited: EditedMapping, catalogue: Catalogue, propose: Propose
) -> tuple[str, ...]:
    """Write the mapping if a build was killed before it could, or decisions were given explicitly."""
    summaries = by_name(catalogue.facts())
    if is_saved(place, edited, summaries):
        return edited.mapping.unmatched(summaries, {table for s in summaries.values() for table in s.tables})
    inferred = inferred_by_name(current, catalogue)
    return save_mapping(place, edited, summaries, propose(summaries), inferred)


def start_empty(directory: Path | str) -> Generation:
    """Make an empty graph in a new or empty directory; an existing graph stays as it is.

    Raises `GraphLockedError`, `GraphVersionError`, `StorageError`.
    """
    place = GraphDirectory(directory)
    with place.building() as current:
        if current is not None:
            return current
        names = Namespaces(DEFAULT_BASE)
        generation = place.begin(None, names.base)
        settings = ConversionOptions(names, Format.NQUADS)
        made = _make(generation, Catalogue(), GenerationContent(BuildPlan((), (), ()), settings), (), Stopwatch())
        place.point_to(made.generation, names.base)
        return made.generation


_TEXTS = "texts"
"""The folder in a generation with the text and the contents of converted tables, until the generation is complete."""


def _make(
    generation: Generation,
    before: Catalogue,
    assembly: GenerationContent,
    notices: tuple[Notice, ...],
    watch: Stopwatch,
    after: Sequence[BuildStep] = (),
    mapping: UserMapping | None = None,
) -> BuildReport:
    """Load the tables, run the further steps, and describe the result once all of it is known."""
    folder = generation.path / _TEXTS
    is_described = _load_tables(generation, before, assembly, folder, watch)
    with watch.stage("describing"):
        assembly.save_ontology(generation.path)
        catalogue = assembly.catalogue()
        catalogue.save(generation.catalogue_path)
        report = ConversionReport.of(catalogue.files.values(), notices)
        with storage_errors(generation.path):
            generation.report_path.write_text(report.json_text(), encoding="utf-8")
    _save_given_names(generation, mapping or UserMapping(), assembly)
    described: list[Path] = []

    def describe(found: Blocks) -> None:
        with watch.stage("describing"):
            known = generation.previous.description_path if generation.previous and is_described else None
            assembly.describe(generation.description_path, found)
            describe_store(generation.store_path, generation.description_path, known, assembly.progress)
        described.append(generation.description_path)

    made = replace(generation, changes=catalogue.changes_since(before), catalogue=catalogue)
    with watch.stage("indexing"):
        for step in after:
            step(replace(made, fresh=PartFiles(assembly.contents).get, describe=describe))
    if not described:
        describe(())
    with storage_errors(generation.path):
        shutil.rmtree(folder)
    return BuildReport(made, made.changes, report)


def _load_tables(
    generation: Generation, before: Catalogue, assembly: GenerationContent, folder: Path, watch: Stopwatch
) -> bool:
    """Fill the store with the graphs of the tables; returns whether its default graph is the description before."""
    previous = generation.previous
    tables = watch.waiting("converting", assembly.table_texts(folder))
    with watch.stage("loading"), storage_errors(generation.path):
        folder.mkdir()
        if previous is None or not assembly.plan.kept:
            fill_store(generation.store_path, tables, assembly.progress)
            if previous is not None:
                known = set(before.graphs(Namespaces(previous.base)))
                carry_over(previous.store_path, generation.store_path, known)
            return False
        kept = Catalogue(assembly.plan.kept).graphs(assembly.names)
        gone = sorted(set(before.graphs(assembly.names)).difference(kept))
        change_store(previous.store_path, generation.store_path, gone, tables, assembly.progress)
        path = previous.description_path
        return path.exists() and not differing(previous.path, [path.name], PARTS) and previous.is_as_made
