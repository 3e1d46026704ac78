"""Compare the detected structure of benchmark tables with their sidecars.

    python scripts/eval_structure.py [--list] [FOLDER]

FOLDER holds one folder per benchmark (default: $KGTABLE_BENCHMARKS or ../shared/data). The sidecars'
`header_rows`, `merged`, `group_rows` and `row_group` are read only here, never by kgtable. They count rows
from the line below the first; here rows are grid rows. `--list` prints every disagreement.

Reliability of the sidecars: `header_rows` is a guess (the rows above the first row with values); the merged
areas of hitab are Excel's and count as the truth if a corner cell spans the header. `row_group` does not
record where a group ends, so rows after a total are counted separately.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kgtable.errors import TableError
from kgtable.tables.layout.detect import make_table
from kgtable.tables.loader import read_folder
from kgtable.tables.model import Grid, Table

BENCHMARKS = ("tatqa", "hitab", "finqa", "wtq", "spider")
DEFAULT = os.environ.get("KGTABLE_BENCHMARKS") or Path(__file__).parent.parent.parent / "shared" / "data"


def main() -> None:
    """Print one line per benchmark, and disagreements on request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(DEFAULT))
    parser.add_argument("--list", action="store_true", help="print every disagreement")
    arguments = parser.parse_args()
    for name in BENCHMARKS:
        if (arguments.folder / name / "tables").is_dir():
            evaluate(name, arguments.folder / name / "tables", arguments.list)


def evaluate(name: str, folder: Path, listed: bool) -> None:
    """Print how often the structure of one benchmark's tables is as expected."""
    counts: Counter[str] = Counter()
    seconds = 0.0
    for grid, sidecar in tables_with_sidecars(folder):
        start = time.process_time()
        table = make_table(grid)
        seconds += time.process_time() - start
        counts["tables"] += 1
        counts["cells"] += sum(len(row) for row in grid.head)
        compare_header(table, sidecar, counts, listed)
        if "row_group" in sidecar or "group_rows" in sidecar:
            compare_groups(table, sidecar, counts, listed)
    print(f"{name}: {counts['tables']} tables, {counts['cells']} cells, {seconds:.2f} s")
    print(f"  header rows as expected: {share(counts['header agrees'], counts['tables'])}")
    if counts["corner"]:
        print(f"  as Excel's merged corner has them: {share(counts['corner agrees'], counts['corner'])}")
    if counts["headings"]:
        print(
            f"  heading rows: found {share(counts['headings found'], counts['headings'])},"
            f" others found {counts['headings more']}"
        )
    if counts["members"]:
        print(
            f"  rows under their heading: {share(counts['members agree'], counts['members'])}"
            f" ({counts['members after a total']} of the others after the group's total)"
        )


def tables_with_sidecars(folder: Path) -> Iterator[tuple[Grid, dict[str, Any]]]:
    """The tables of a folder with the content of their sidecars."""
    for grid in read_folder([folder]):
        if isinstance(grid, TableError):
            print(f"  {grid}")
            continue
        path = folder / f"{grid.id}.json"
        yield grid, json.loads(path.read_text("utf-8")) if path.is_file() else {}


def compare_header(table: Table, sidecar: dict[str, Any], counts: Counter[str], listed: bool) -> None:
    """Compare the header with the expected one; without a sidecar, one row is expected."""
    found = table.structure
    expected = sidecar.get("header_rows", 1)
    if found.body_start == expected:
        counts["header agrees"] += 1
    corner = [area for area in sidecar.get("merged", ()) if area[0] == -1 and area[1] == 0 and area[2] > -1]
    if corner:
        expected = corner[0][2] + 2
        counts["corner"] += 1
        counts["corner agrees"] += found.body_start == expected
    if listed and found.body_start != expected:
        print(f"HEADER {table.id}: expected {expected} rows, found {found.titles} + {found.header}")
        show(table, range(max(expected, found.body_start) + 2))


def compare_groups(table: Table, sidecar: dict[str, Any], counts: Counter[str], listed: bool) -> None:
    """Compare heading rows, and rows by the heading that the sidecar gives them."""
    found = table.structure
    headings = {row + 1 for row in sidecar["group_rows"]} & set(range(found.body_start, len(table.grid.head)))
    counts["headings"] += len(headings)
    counts["headings found"] += len(headings & found.groups)
    counts["headings more"] += len(found.groups - headings)
    if listed and headings != found.groups:
        missing, more = sorted(headings - found.groups), sorted(found.groups - headings)
        print(f"GROUPS {table.id}: missing {missing}, more {more}")
        show(table, sorted(headings ^ found.groups))
    for row, heading in enumerate(sidecar.get("row_group", ()), 1):
        if heading is None or heading + 1 not in headings or row in headings:
            continue
        counts["members"] += 1
        if heading + 1 in table.group_path(row):
            counts["members agree"] += 1
        elif any(heading + 1 < total < row for total in found.totals):
            counts["members after a total"] += 1
        elif listed:
            print(f"MEMBER {table.id}: sidecar has row {row} under {heading + 1}, found {table.group_path(row)}")
            show(table, (heading + 1, row))


def show(table: Table, rows: Any) -> None:
    """Print some rows with shortened cells."""
    for row in rows:
        if row < len(table.grid.head):
            print(f"    {row:3} " + " | ".join(text[:24].replace("\n", " ") for text in table.grid.head[row])[:140])


def share(part: int, whole: int) -> str:
    """A count out of a total, with its ratio."""
    return f"{part} of {whole} ({part / whole:.3f})"


if __name__ == "__main__":
    main()
