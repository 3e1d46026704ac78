"""Tables to one RDF document in one pass, in this process or in several."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from kgtable.errors import UsageError
from kgtable.graph.assembly import Assembly, Plan
from kgtable.graph.conversion import Settings
from kgtable.graph.progress import Progress, silent
from kgtable.graph.report import ConversionReport
from kgtable.graph.storage import storage_errors
from kgtable.tables.walk import walk


def convert_tables(
    paths: Sequence[Path | str],
    out: IO[bytes],
    settings: Settings,
    *,
    workers: int = 1,
    progress: Progress = silent,
) -> ConversionReport:
    """Writes the tables under `paths`, then the dataset's description and ontology, to `out`.

    The same files give the same bytes, whatever the number of `workers`. A file that cannot be read
    is named in the report and the others are written. Raises `UsageError` where no file may hold a
    table, `StorageError` where there is no space for the text.
    """
    found = walk(paths)
    if not found.files:
        raise UsageError(
            f"There are no tables in {', '.join(map(str, paths))}.",
            hint="Give files or folders with .csv, .xlsx, .html or other tables.",
        )
    plan = Plan((), tuple((file, "") for file in found.files), tuple(file.relative for file in found.files))
    with TemporaryDirectory(prefix="kgtable-") as folder, storage_errors(folder):
        assembly = Assembly(plan, settings, workers, progress)
        assembly.write(out, Path(folder))
    return ConversionReport.of(assembly.catalogue().files.values(), found.notices)
