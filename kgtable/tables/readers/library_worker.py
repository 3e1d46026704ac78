"""A separate program that reads a PDF by a library and prints what is in it, one JSON text a line.

A damaged or hostile file can lead the library to use any amount of memory or time, or to end the process, so
it runs apart, with bounds. Nothing in a PDF is run: no script, no form, no link. Only the library and what comes
with Python is imported. Argument: a JSON object with `path`, `memory` in bytes, `seconds` of processor time, `size` in
bytes of what is printed, and what `read_pdf` takes besides.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from typing import Any

PROTECTED, DAMAGED, TOO_LONG, MISSING = 3, 4, 5, 6
MOST_RULES = 1_000
RULED = {"snap_x_tolerance": 6}
WORD = ("text", "x0", "top", "x1", "bottom", "size")


def read_pdf(order: dict[str, Any]) -> int:
    """Print the number of pages and the title of a PDF, then an object for each page.

    At most `pages` are read; each of at most `paid_pages` gets `page_seconds` beside.
    """
    try:
        import pdfplumber
    except ImportError:
        return MISSING
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    _bound(order["memory"], order["seconds"], order["size"])
    from pdfplumber.utils.exceptions import PdfminerException

    try:
        with pdfplumber.open(order["path"], unicode_norm=None) as document:
            count = len(document.pages)
            if count > order["pages"]:
                _write(count)
                return TOO_LONG
            seconds = order["seconds"] + min(count, order["paid_pages"]) * order["page_seconds"]
            _bound(order["memory"], int(seconds), order["size"])
            title = document.metadata.get("Title") if document.metadata else None
            _write([count, title if isinstance(title, str) else ""])
            for page in document.pages:
                _write(_page(page))
                page.close()
    except PdfminerException as error:
        if "password" in repr(error).lower() or "encrypt" in repr(error).lower():
            return PROTECTED
        _write(_reason(error))
        return DAMAGED
    except (MemoryError, SystemError):  # the latter where the interpreter itself runs out of it
        _write("it needs more memory than a file may take")
        return DAMAGED
    except BaseException as error:  # a recursion too deep: whatever a file leads to
        _write(_reason(error))
        return DAMAGED
    return 0


def _page(page: Any) -> dict[str, Any]:
    if page.rotation % 360 and not page.chars:
        return {"width": 0, "height": 0, "words": [], "tables": [], "rules": [], "images": len(page.images)}
    page = _printed_once(page)
    words = page.extract_words(extra_attrs=["size", "fontname"], use_text_flow=False, keep_blank_chars=False)
    ruled = _ruled_tables(page) if len(page.edges) > 3 else []
    return {
        "width": float(page.width),
        "height": float(page.height),
        "words": [
            [*(round(w[k], 2) if k != "text" else w[k] for k in WORD), "bold" in str(w["fontname"]).lower()]
            for w in words
        ],
        "tables": [_table(table) for table in ruled],
        "rules": _rules(page),
        "images": len(page.images),
    }


def _ruled_tables(page: Any) -> list[Any]:
    """The tables between rules, also those that no rule closes at the left or right: there the level rules end."""
    tables: list[Any] = page.find_tables(RULED)
    sides = []
    for table in tables:
        left, top, right, bottom = table.bbox
        rules = [
            edge
            for edge in page.edges
            if edge["orientation"] == "h"
            and top - 1 <= edge["top"] <= bottom + 1
            and edge["x0"] < right
            and edge["x1"] > left
        ]
        for ends in (
            {(round(edge["x0"]), round(edge["top"])) for edge in rules if edge["x0"] < left - 5},
            {(round(edge["x1"]), round(edge["top"])) for edge in rules if edge["x1"] > right + 5},
        ):
            if len(ends) >= max(3, 0.8 * len(table.rows)) and len({x for x, _ in ends}) == 1:
                x = ends.pop()[0]
                side = {"x0": x, "x1": x, "top": top, "bottom": bottom, "height": bottom - top, "width": 0}
                sides.append(side | {"object_type": "line"})
    if sides:
        tables = page.find_tables(RULED | {"explicit_vertical_lines": sides})
    return tables


def _rules(page: Any) -> list[tuple[float, float, float]]:
    """The horizontal rules of the page: from where to where, and their height."""
    level = (edge for edge in page.edges if edge["orientation"] == "h" and edge["x1"] - edge["x0"] > 20)
    rules = {(round(edge["x0"], 1), round(edge["x1"], 1), round(edge["top"], 1)) for edge in level}
    return sorted(rules, key=lambda rule: rule[2])[:MOST_RULES]


def _printed_once(page: Any) -> Any:
    """The page without letters that are printed again over themselves, as some programs make them bold."""
    places = {(char["text"], round(char["x0"]), round(char["top"])) for char in page.chars}
    if len(places) > 0.97 * len(page.chars):
        return page
    seen = set()

    def first(item: dict[str, Any]) -> bool:
        if item["object_type"] != "char":
            return True
        place = (item["text"], round(item["x0"]), round(item["top"]))
        known = place in seen
        seen.add(place)
        return not known

    kept = page.filter(first)
    _ = kept.chars  # before the set is lost
    return kept


def _table(table: Any) -> dict[str, Any]:
    """The box of a table, the texts of its rows, and which of its cells span several."""
    rows = table.extract()
    lefts = sorted({round(cell[0], 1) for cell in table.cells})
    tops = sorted({round(cell[1], 1) for cell in table.cells})
    spans = []
    for left, top, right, bottom in table.cells:
        columns = sum(round(left, 1) <= at < right - 1 for at in lefts)
        lines = sum(round(top, 1) <= at < bottom - 1 for at in tops)
        if columns > 1 or lines > 1:
            row, column = tops.index(round(top, 1)), lefts.index(round(left, 1))
            spans.append([row, column, row + lines - 1, column + columns - 1])
    return {"box": [round(float(at), 2) for at in table.bbox], "rows": rows, "spans": spans}


def _reason(error: BaseException) -> str:
    inner = error.args[0] if error.args and isinstance(error.args[0], BaseException) else error
    return f"{type(inner).__name__}: {inner}"[:300] if str(inner) else type(inner).__name__


def _write(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def _bound(memory: int, seconds: int, size: int) -> None:
    try:
        import resource
    except ImportError:  # not on every system
        return
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    sys.exit(read_pdf(json.loads(sys.argv[1])))
