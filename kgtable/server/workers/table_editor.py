"""The worker process behind the page that adds tables: previews of files under decisions, and builds of the graph."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyoxigraph as ox

import kgtable
from kgtable.building.catalogue import Catalogue
from kgtable.building.decisions import file_of, preview_file
from kgtable.building.generations import GraphDirectory
from kgtable.errors import (
    GraphLockedError,
    GraphNotFoundError,
    KgtableError,
    StorageError,
    UsageError,
    VocabularyIndexError,
)
from kgtable.index.embedding import DEFAULT
from kgtable.index.graph_index import read_about
from kgtable.ontology.mapping import UserMapping
from kgtable.ontology.mapping_files import load_edits
from kgtable.ontology.mapping_rows import NAME, ONLY_IN, PARSERS, TABLE, TABLE_EDITABLE
from kgtable.resources import read_shipped
from kgtable.server.workers.messages import Emit, Head, Problem, storage_kind
from kgtable.storage import storage_errors
from kgtable.tables.discovery import find_files

FILES_A_PROCESS = 20
"""New files per additional process of a build."""
_FIELDS = {NAME, ONLY_IN, *PARSERS}


def decided(decisions: Mapping[str, Any]) -> UserMapping:
    """The decisions of a page as a mapping, in which an empty text takes a decision back, as in `kgtable.decide`.

    Raises `MappingError` for what makes no sense.
    """
    columns, tables = (
        [({name: text for name, text in row.items() if name not in (NAME, ONLY_IN, TABLE)}, row) for row in rows]
        for rows in (decisions["columns"], decisions["tables"])
    )
    made = [
        *(UserMapping.about(row.get(ONLY_IN, ""), said, row[NAME]) for said, row in columns),
        *(UserMapping.about(row[TABLE], said) for said, row in tables),
    ]
    return UserMapping(
        {key: said for one in made for key, said in one.edits.items()},
        {table: said for one in made for table, said in one.tables.items()},
        {table: place for one in made for table, place in one.places.items()},
    )


def check_decisions(value: object) -> dict[str, list[dict[str, str]]]:
    """The decisions of a request, checked in shape only. Raises `UsageError`."""
    if value is None:
        return {"columns": [], "tables": []}
    if not isinstance(value, dict) or not set(value) <= {"columns", "tables"}:
        raise UsageError("decisions must be an object with columns and tables.")
    checked: dict[str, list[dict[str, str]]] = {}
    for kind, name, fields in (("columns", NAME, _FIELDS), ("tables", TABLE, {TABLE, *TABLE_EDITABLE})):
        rows = value.get(kind, [])
        if not isinstance(rows, list) or len(rows) > 5_000:
            raise UsageError(f"{kind} must be a list of at most 5,000 decisions.")
        for row in rows:
            if not isinstance(row, dict) or not set(row) <= fields:
                raise UsageError(f"A decision about {kind} may have: {', '.join(sorted(fields))}.")
            if not all(isinstance(text, str) and len(text) <= 1_000 for text in row.values()):
                raise UsageError("Decisions are texts of at most 1,000 characters.")
            if not row.get(name):
                raise UsageError(f"A decision about {kind} needs a {name!r}.")
        checked[kind] = rows
    return checked


def source_paths(catalogue: Catalogue, roots: Sequence[Path] = ()) -> list[Path]:
    """The files and folders from which the graph was built and can be built again.

    A file below a folder is reached through the folder, as its relative path shows. The contents of `roots` count
    as they are now. Raises `UsageError` if another file no longer exists: a build without it
    would drop its tables.
    """
    paths: dict[str, None] = dict.fromkeys(map(str, roots))
    for record in catalogue.files.values():
        location = Path(record.location)
        if any(location.is_relative_to(root) for root in roots):
            continue
        if not location.is_file():
            raise UsageError(
                f"{record.location} is not there any more.",
                hint="The graph can only be changed here with every file it was built from; use kgtable build.",
            )
        depth = record.path.count("/")
        root = location.parents[depth] if depth and location.as_posix().endswith(f"/{record.path}") else location
        paths[str(root)] = None
    return [Path(path) for path in paths]


class TableEditor:
    """Executes previews and builds for one graph directory."""

    def answer(self, job: Head, body: bytes, emit: Emit) -> tuple[Head, bytes]:
        """The result as JSON; a build emits its progress before. Raises `Problem`."""
        try:
            with storage_errors(Path(job["directory"])):
                result = self._do(job, emit)
        except GraphLockedError as error:
            raise Problem("unavailable", str(error), {}, {"retry-after": "5"}) from None
        except GraphNotFoundError as error:
            raise Problem("not-found", str(error)) from None
        except KgtableError as error:
            kind = storage_kind(error) if isinstance(error, StorageError) else "bad-request"
            raise Problem(kind, str(error)) from None
        return {"status": 200}, json.dumps(result, ensure_ascii=False).encode("utf-8", "backslashreplace")

    def _do(self, job: Head, emit: Emit) -> dict[str, Any]:
        directory = GraphDirectory(job["directory"])
        decisions = check_decisions(job.get("decisions"))
        if job["op"] == "build":
            return _build(directory, job, decided(decisions), emit)
        known = Catalogue.load(directory.current().catalogue_path)
        edits = load_edits(directory.path).mapping
        mapping = decided(decisions).over(edits)
        if job["op"] == "changes":
            file = file_of(known, job["table"])
            before = preview_file(file, edits, job["table"])
            return {**preview_file(file, mapping, job["table"]), "before": before["tables"]}
        (file,) = find_files([job["file"]])
        return preview_file(replace(file, relative=file.path.name), mapping)


def _build(directory: GraphDirectory, job: Head, mapping: UserMapping, emit: Emit) -> dict[str, Any]:
    generation = directory.current()
    roots = [Path(root) for root in job.get("roots", ())]
    paths = source_paths(Catalogue.load(generation.catalogue_path), roots)
    gone = {str(Path(path)) for path in job.get("without", ())}
    paths = [path for path in paths if str(path) not in gone] + [Path(path) for path in job["files"]]

    def progress(stage: str, done: int, total: int) -> None:
        text = json.dumps({"stage": stage, "done": done, "total": total})
        emit({"name": "progress"}, text.encode())

    with kgtable.build(
        paths,
        directory.path,
        mapping=mapping,
        embedding=job.get("embedding") or _embedding_of(generation.index_path),
        workers=min(os.cpu_count() or 1, 1 + len(job["files"]) // FILES_A_PROCESS),
        progress=progress,
    ) as graph:
        assert graph.built is not None
        changes, report = graph.built.changes, graph.built.conversion
        return {
            "added": list(changes.added),
            "changed": list(changes.changed),
            "removed": list(changes.removed),
            "unchanged": changes.unchanged,
            "messages": list(graph.built.messages),
            "errors": list(report.errors),
            "question": next(_questions(graph, (*changes.added, *changes.changed)), None),
        }


def _embedding_of(folder: Path) -> str:
    """The embedding that an index was built with; the default if there is no index."""
    try:
        return str(read_about(folder)["embedding"])
    except (VocabularyIndexError, KeyError):
        return DEFAULT


def _questions(graph: kgtable.KnowledgeGraph, ids: Sequence[str]) -> Iterator[str]:
    """Questions about the first labelled number of tables, the first table's first."""
    for id in ids:
        for fact in graph.catalogue.tables[id].facts:
            if not fact.units or fact.name.startswith("["):
                continue
            bindings = {
                "table": ox.NamedNode(graph.names.table_iri(id)),
                "predicate": ox.NamedNode(graph.names.predicate_iri(fact.predicate)),
            }
            found = graph.store.query(read_shipped("queries/explorer/first-label.rq"), bindings=bindings)
            assert isinstance(found, ox.QuerySolutions)
            labels = [str(getattr(row["label"], "value", "")).strip() for row in found]
            if labels and labels[0]:
                where = f"in {fact.name}" if fact.name.isdigit() else ""
                yield f"What is {labels[0]} {where}?" if where else f"What is the {fact.name} of {labels[0]}?"
                break
