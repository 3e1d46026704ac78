"""Write the sample workbook that ships with kgtable: python scripts/make_samples.py.

The other samples are text files and are edited by hand.
"""

from __future__ import annotations

import argparse
from datetime import datetime
from pathlib import Path

from openpyxl import Workbook
from openpyxl.styles import Alignment, Font

OUT = Path(__file__).parent.parent / "kgtable" / "samples" / "harbour-cargo.xlsx"
PORTS = [
    ("Norrvik", 1840.5, 212.25, 1795.0, 198.75, 0.025),
    ("Tern Bay", 920.0, 64.5, 884.5, 61.0, 0.04),
    ("Alder Sound", 415.75, 12.5, 430.25, 13.25, -0.034),
]
FORMATS = ['#,##0.0" kt"', '[$€-2]\\ #,##0.00" m"', '#,##0.0" kt"', '[$€-2]\\ #,##0.00" m"', "0.0%"]


def main() -> None:
    """Write the workbook with a two-row header, merged cells and units in its number formats."""
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Cargo"
    sheet.append(["Port", 2024, None, 2023, None, "Change of weight"])
    sheet.append([None, "Weight", "Fees", "Weight", "Fees", None])
    for area in ("A1:A2", "B1:C1", "D1:E1", "F1:F2"):
        sheet.merge_cells(area)
    for row in PORTS:
        sheet.append(list(row))
    for cells in sheet.iter_rows(min_row=3, min_col=2, max_col=6):
        for cell, number_format in zip(cells, FORMATS, strict=True):
            cell.number_format = number_format
    for cells in sheet.iter_rows(max_row=2):
        for cell in cells:
            cell.font = Font(bold=True)
            cell.alignment = Alignment(horizontal="center")
    book.properties.creator = "kgtable"
    book.properties.created = book.properties.modified = datetime(2024, 1, 1)
    book.save(OUT)


if __name__ == "__main__":
    argparse.ArgumentParser(description="Write the sample workbook that ships with kgtable.").parse_args()
    main()
