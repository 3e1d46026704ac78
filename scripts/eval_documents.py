"""Score how documents are read: the tables found in reports whose tables are known, time and memory.

    python scripts/eval_documents.py REPORTS...

Every report ``x.pdf`` (``.docx``, ``.html``) has its tables in ``x.truth.json`` (see `make_reports.py`); files
without one are read and counted only. A table counts as found where one table that was read has nine tenths of its
filled cells; as exact where it has the same rows.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections import Counter
from pathlib import Path

from kgtable.errors import TableError
from kgtable.tables.discovery import TableFile
from kgtable.tables.loader import read_content
from kgtable.text.passages import split_passages

FOUND_FROM = 0.9


def plain(rows: list[list[str]] | tuple[tuple[str, ...], ...]) -> list[tuple[str, ...]]:
    """The rows without empty ones and white space at line ends."""
    texts = [tuple(" ".join(cell.split()) for cell in row) for row in rows]
    return [row for row in texts if any(row)]


def cells(rows: list[tuple[str, ...]]) -> Counter[str]:
    """The filled cells."""
    return Counter("".join(cell.split()) for row in rows for cell in row if cell)


def processor_seconds() -> float:
    """What this process and those that it waited for have computed, which a busy machine does not change much."""
    parts = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(part.ru_utime + part.ru_stime for part in parts)


def main() -> None:
    """Print a line for each report and the tables that were missed."""
    before = processor_seconds()
    for name in sys.argv[1:]:
        path = Path(name)
        started = time.perf_counter()
        try:
            content = read_content(TableFile(path, path.name, path.stem))
        except TableError as error:
            print(f"{path.name}: {time.perf_counter() - started:.1f} s: {error}")
            continue
        spent = time.perf_counter() - started
        passages = split_passages(content.text)
        now = processor_seconds()
        processor, before = now - before, now
        children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(
            f"{path.name}: {content.text.pages or '-'} pages, {len(content.text.paragraphs)} paragraphs, "
            f"{len(passages)} passages, {len(content.grids)} tables, {spent:.1f} s, {processor:.1f} s of processor, "
            f"{max(own, children)} MB"
        )
        truth = path.with_suffix(".truth.json")
        if not truth.exists():
            continue
        found = [cells(plain(grid.head)) for grid in content.grids]
        rows = [plain(grid.head) for grid in content.grids]
        hits = exact = captioned = 0
        for table in json.loads(truth.read_text(encoding="utf-8")):
            wanted = cells(plain(table["rows"]))
            shares = [sum((wanted & other).values()) / wanted.total() for other in found]
            best = max(range(len(shares)), key=shares.__getitem__, default=None)
            if best is None or shares[best] < FOUND_FROM:
                share = 0.0 if best is None else shares[best]
                print(
                    f"  missed: {table['caption']} ({table['dress']}, {len(table['rows'])} rows, {share:.2f})"
                )
                continue
            hits += 1
            exact += rows[best] == plain(table["rows"])
            captioned += content.grids[best].context.caption == table["caption"]
        total = len(json.loads(truth.read_text(encoding="utf-8")))
        print(
            f"  found {hits} of {total}, {exact} row for row, {captioned} with their caption; {len(found)} read"
        )


if __name__ == "__main__":
    main()
