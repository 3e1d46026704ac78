"""The graph of a folder of tables, in the user's cache or where ``--kg`` says: built, or brought up to date."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

import kgtable
from kgtable.cli.common import ProgressLine, note
from kgtable.errors import UsageError
from kgtable.resources import cache_folder
from kgtable.server.options import UPLOADS

if TYPE_CHECKING:
    from kgtable.knowledge_graph import KnowledgeGraph


@contextmanager
def graph_for(folder: Path | None, kg: Path | None) -> Iterator[KnowledgeGraph]:
    """The graph of a folder, brought up to date, or without one the graph in `kg`."""
    if folder is not None:
        with built_from(folder, place_of(folder, kg)) as graph:
            yield graph
        return
    if kg is None:
        raise UsageError("There is no graph to ask.", hint="Pass --kg, or a folder of tables.")
    with kgtable.open(kg) as graph:
        yield graph


def place_of(folder: Path, kg: Path | None) -> Path:
    """The directory of a folder's graph: what the command line says, else one in the user's cache.

    What the environment names is another folder's graph, whose tables a build would drop.
    """
    source = click.get_current_context().get_parameter_source("kg")
    return kg if kg is not None and source is ParameterSource.COMMANDLINE else graph_of(folder)


@contextmanager
def built_from(folder: Path, place: Path, embedding: str = "minilm") -> Iterator[KnowledgeGraph]:
    """The graph of a folder in a directory, brought up to date; its progress is told on standard error."""
    place.parent.mkdir(parents=True, exist_ok=True)
    note(f"Building the graph of {folder} in {place}.")
    workers = os.cpu_count() or 1
    with (
        ProgressLine() as progress,
        kgtable.build(_paths(folder, place), place, embedding=embedding, workers=workers, progress=progress) as graph,
    ):
        yield graph


def graph_of(folder: Path) -> Path:
    """The directory in the user's cache for the graph of a folder."""
    whole = folder.resolve()
    digest = hashlib.sha256(str(whole).encode("utf-8", "surrogateescape")).hexdigest()
    return cache_folder() / "graphs" / f"{slug(whole.name)}-{digest[:12]}"


def slug(name: str) -> str:
    """A name of letters, digits, dots and hyphens.

    >>> slug("Sales & Costs 2024")
    'Sales-Costs-2024'
    """
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.")[:60] or "tables"


def _paths(folder: Path, place: Path) -> list[Path]:
    """The folder, and the files that were brought to its graph by the pages."""
    brought = place / UPLOADS
    return [folder, *(sorted(path for path in brought.iterdir() if path.is_file()) if brought.is_dir() else ())]
