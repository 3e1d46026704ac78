"""Compare how files of statistics offices are read with a reader's judgment.

    python scripts/eval_offices.py [--list] FOLDER [NAME ...]

The judgments are in ``scripts/benchmarks/offices.jsonl``, with the source of each file; the files are not part of the
repository. FOLDER holds those that you fetched. Files marked ``held`` are left out unless they are named.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kgtable.errors import TableError
from kgtable.ontology.annotate import annotate
from kgtable.tables.discovery import find_files
from kgtable.tables.layout.detect import make_table
from kgtable.tables.loader import read_file
from kgtable.tables.model import Table

JUDGMENTS = Path(__file__).parent / "benchmarks" / "offices.jsonl"


def main() -> None:
    """Print the shares of tables of which each part is as judged, with `--list` each miss."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--list"]
    folder, names = Path(arguments[0]), arguments[1:]
    right: Counter[str] = Counter()
    tables = 0
    for line in JUDGMENTS.read_text(encoding="utf-8").splitlines():
        judged = json.loads(line)
        wanted = any(name in judged["file"] for name in names) if names else not judged.get("held")
        if not wanted or not (folder / judged["file"]).exists():
            continue
        read = list(_read(folder / judged["file"], judged.get("sheet")))
        for expected in judged["tables"]:
            tables += 1
            found = _parts(read, expected)
            right.update(part for part, (got, want) in found.items() if got == want)
            if "--list" in sys.argv:
                misses = [f"{part} {got}, judged {want}" for part, (got, want) in found.items() if got != want]
                print(judged["file"], judged.get("sheet") or "", "; ".join(misses) or "as judged")
    for part in ("header", "first row", "last row", "label column", "totals", "groups"):
        print(f"{part}: {right[part]} of {tables}")


def _read(path: Path, sheet: str | None) -> Iterator[Table]:
    try:
        grids = read_file(next(iter(find_files([path]))))
    except TableError as error:
        print(error)
        return
    for grid in grids:
        if sheet is None or grid.source.sheet == sheet:
            yield annotate(make_table(grid)).table


def _parts(read: list[Table], expected: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What was found and what was judged, by part; nothing found where the file was not read."""
    first, last = expected["first_body_row"], expected["last_body_row"]
    table = min(read, key=lambda table: abs(table.structure.body_start - first), default=None)
    if table is None:
        return {"header": (None, expected["header_rows"])}
    structure = table.structure
    rows = dict(enumerate(table.grid.head))
    body = [row for row, cells in table.body() if any(map(str.strip, cells)) and row not in structure.footnotes]
    labels = expected["label_columns"]
    groups = set(expected.get("block_rows") or ())
    return {
        "header": ([row for row in structure.header if any(map(str.strip, rows[row]))], expected["header_rows"]),
        "first row": (structure.body_start, first),
        "last row": (body[-1] if body else None, last),
        "label column": (structure.label_column in labels, True),
        "totals": (sorted(structure.totals), sorted(expected.get("total_rows") or ())),
        "groups": (sorted(groups & structure.groups), sorted(groups)),
    }


if __name__ == "__main__":
    main()
