"""What is on the pages of a PDF: words, ruled tables and rules, as the library pdfplumber finds them.

Nothing in a PDF is run: no script, no form, no link.
"""

from __future__ import annotations

from typing import Any

MOST_RULES = 1_000
RULED = {"snap_x_tolerance": 6}
WORD = ("text", "x0", "top", "x1", "bottom", "size")


def page_content(page: Any) -> dict[str, Any]:
    """Width and height, words with their places, ruled tables, rules, and the number of images of a page."""
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
