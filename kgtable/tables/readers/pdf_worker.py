"""A separate program that reads a PDF and prints the words and ruled tables of its pages, one JSON text a line.

The library that reads PDFs can be led by a hostile file to use any amount of memory or time, so it runs apart,
with bounds. Nothing in a PDF is run: no script, no form, no link. Only that library and what comes with Python
is imported. Argument: a JSON object with `path`, `memory` in bytes, `seconds` of processor time and
`page_seconds` for each of at most `paid_pages` beside, `pages` at most, `size` in bytes of what is printed.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from typing import Any

PROTECTED, DAMAGED, TOO_LONG, MISSING = 3, 4, 5, 6
MOST_RULES = 1_000
WORD = ("text", "x0", "top", "x1", "bottom", "size")


def main(argument: str) -> int:
    """Prints the number of pages and the title, then an object for each page."""
    order: dict[str, Any] = json.loads(argument)
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
    ruled = page.find_tables() if len(page.edges) > 3 else []
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
    sys.exit(main(sys.argv[1]))
