"""Compare the tables read from a manual's PDF with those that its authors marked as tables in its HTML.

    python scripts/compare_manuals.py MANUAL.pdf PAGES.html...

A table of the HTML counts where at least two rows have two filled cells and it neither frames the page nor leads
through it. It is found where one table of the PDF has nine tenths of its words. What is missed is listed, and how many
tables of the PDF hold no table of the HTML: lists, code and figures that only look like tables, or tables that the HTML
does not mark.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from lxml import html

from kgtable.tables.discovery import TableFile
from kgtable.tables.loader import read_content

FOUND_FROM = 0.9
_FRAME = re.compile(r"nav|menu|index|presentation|footnote|field-list|cartouche|toc|q and a", re.IGNORECASE)
_WORD = re.compile(r"\w+")


def marked_tables(pages: Sequence[Path]) -> Iterator[list[list[str]]]:
    """The rows of each table that HTML pages mark."""
    for page in pages:
        for table in html.fromstring(page.read_bytes()).iter("table"):
            said = " ".join(table.get(name) or "" for name in ("class", "role", "summary"))
            if _FRAME.search(said) or any(outer.tag == "table" for outer in table.iterancestors()):
                continue
            rows = [
                [" ".join(cell.text_content().split()) for cell in row if cell.tag in ("td", "th")]
                for row in table.iter("tr")
            ]
            if sum(sum(map(bool, row)) >= 2 for row in rows) >= 2:
                yield [row for row in rows if any(row)]


def words_of(rows: Sequence[Sequence[str]]) -> Counter[str]:
    """The words of all cells."""
    return Counter(word.lower() for row in rows for cell in row for word in _WORD.findall(cell or ""))


def main() -> None:
    """Print what was found and what was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pdf", type=Path)
    parser.add_argument("pages", type=Path, nargs="+")
    given = parser.parse_args()
    content = read_content(TableFile(given.pdf, given.pdf.name, given.pdf.stem))
    read = [words_of(grid.head) for grid in content.grids]
    hits, used = 0, set()
    wanted = list(marked_tables(sorted(given.pages)))
    for rows in wanted:
        own = words_of(rows)
        shares = [sum((own & other).values()) / max(own.total(), 1) for other in read]
        best = max(range(len(shares)), key=shares.__getitem__, default=None)
        if best is not None and shares[best] >= FOUND_FROM:
            hits += 1
            used.add(best)
            continue
        share = 0.0 if best is None else shares[best]
        print(f"  missed ({share:.2f}): {len(rows)} rows, {' | '.join(rows[0])[:90]}")
    print(
        f"{given.pdf.name}: {content.text.pages} pages, {hits} of {len(wanted)} tables of the HTML found; "
        f"{len(read)} tables read, {len(read) - len(used)} of them none of the HTML"
    )


if __name__ == "__main__":
    main()
