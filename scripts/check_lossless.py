"""Check that no cell is lost: build a graph from each folder, export it to CSV, compare.

    python scripts/check_lossless.py ../shared/data/wtq/tables ../shared/data/tatqa/tables

The originals are read with Python's csv module, not with kgtable. Exits with 1 if any cell differs.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
import time
from pathlib import Path

import kgtable
from kgtable.building.export import safe_file_name

csv.field_size_limit(1 << 30)


def rows_of(path: Path) -> list[list[str]]:
    """Read all rows of a CSV file with Python's csv module; semicolons where its first line has more of them."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        first = file.readline()
        file.seek(0)
        return list(csv.reader(file, delimiter=";" if first.count(";") > first.count(",") else ","))


def check(folder: Path, workers: int) -> bool:
    """Compare all CSV files of a folder; print differences and a summary."""
    started = time.perf_counter()
    different = missing = cells = 0
    originals = sorted(folder.glob("*.csv"))
    with tempfile.TemporaryDirectory() as place:
        kg = kgtable.build(folder, Path(place, "kg"), embedding="none", workers=workers)
        kg.export(Path(place, "back"), format="csv")
        for original in originals:
            back = Path(place, "back", f"{safe_file_name(original.stem)}.csv")
            if not back.exists():
                missing += 1
                print(f"{folder}: {original.name} did not come back")
                continue
            expected = rows_of(original)
            cells += sum(map(len, expected))
            if rows_of(back) != expected:
                different += 1
                print(f"{folder}: {original.name} came back differently")
        errors = kg.info()["errors"]
    for error in errors:
        print(f"{folder}: {error}")
    seconds = time.perf_counter() - started
    print(
        f"{folder}: {len(originals):,} tables, {cells:,} cells, {different} different, {missing} missing, "
        f"{seconds:.0f} s"
    )
    return not (different or missing)


def main() -> None:
    """Check the given folders."""
    parser = argparse.ArgumentParser(description="Check that no cell is lost between CSV, graph and CSV.")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    checked = [check(folder, arguments.workers) for folder in arguments.folders]
    sys.exit(0 if all(checked) else 1)


if __name__ == "__main__":
    main()
