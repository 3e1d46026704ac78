"""What the tools of the MCP server say to a model, each text of a table on one line.

A line break in a cell would otherwise begin a line of the cell's own, such as another status of an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kgtable.answering.answer import WEAK
from kgtable.tables.model import spreadsheet_reference
from kgtable.values.text import single_line

MOST_SHOWN = 20
"""Citations of an answer that are shown and linked to as resources; the structured content has all."""
SHOWN_VALUE = 200
"""Characters shown of a text in a list of many."""


def one_line(text: object) -> str:
    """A text of a table on one line, so that no text looks like the lines around it."""
    return single_line(str(text))


def beginning(text: object) -> str:
    """The beginning of a text of a table, on one line."""
    return one_line(text)[:SHOWN_VALUE]


def identifier(id: str) -> str:
    """The id of a table as it is; one that could begin another line, or turn the order of signs, on one line."""
    return id if id.isprintable() else one_line(id)


def _in_row(text: object) -> str:
    """A text of a table between bars."""
    return beginning(text).replace("|", r"\|")


def answer_text(answer: Mapping[str, Any]) -> str:
    """An answer in words: value, status with its reasons, calculation, cited cells, other readings."""
    if answer["answer"] is None:
        return "\n".join(["No answer was found.", *map(one_line, answer["reasons"])])
    status = answer["status"] if answer["grounded"] else f"{answer['status']}, but not supported by the cells"
    lines = [one_line(answer["display"]), f"status: {status}"]
    lines += [f"the model remarks: {one_line(answer['remark'])}"] if answer["remark"] else []
    lines += [f"= {one_line(answer['calculation'])}"] if answer["calculation"] else []
    lines += [_citation_line(cited) for cited in answer["citations"][:MOST_SHOWN]]
    lines += [
        f"document {beginning(cited['file'])}: {one_line(cited['words'])}" for cited in answer.get("passages", ())
    ]
    lines += [f"note: {one_line(reason)}" for reason in answer["reasons"]]
    lines += [
        f"also possible: {one_line(other['display'])} ({beginning(other['table'])})"
        for other in answer["alternatives"]
        if other["confidence"] is None or other["confidence"] >= WEAK
    ]
    return "\n".join(lines)


def _citation_line(cited: Mapping[str, Any]) -> str:
    place = spreadsheet_reference(cited["row"], cited["column"])
    return f"cell {identifier(cited['table'])} {place}: {beginning(cited['text'])}"


def triple_line(triple: Mapping[str, Any]) -> str:
    """A triple on one line: its cell, subject, predicate and object, and the details of its number."""
    place = f"{identifier(triple['table'])} {spreadsheet_reference(triple['row'], triple['column'])}"
    parts = [triple["subject"], triple["predicate"].rpartition("#")[2], triple["object"]]
    measured = [f"{name}={_in_row(triple[name])}" for name in ("value", "unit", "period", "group") if triple[name]]
    return " | ".join([place, *map(_in_row, parts), *measured])


def cell_text(cell: Mapping[str, Any]) -> str:
    """What is known of a cell, a line each."""
    names = ("text", "value", "unit", "unit_from", "scale", "scale_from", "period", "header", "label", "groups")
    place = f"{identifier(cell['table'])} {spreadsheet_reference(cell['row'], cell['column'])}"
    return "\n".join([place, *(f"{name}: {one_line(cell[name])}" for name in names if cell[name])])


def window_text(window: Mapping[str, Any]) -> str:
    """A window as lines of cells, each after the number of its row and its kind where it is not a plain one."""
    around = [window["title"], window["caption"], *window["heading"]]
    shown, total = len(window["rows"]), window["rows_total"]
    lines = [
        " / ".join(one_line(text) for text in around if text),
        f"{shown:,} of {total:,} rows, {window['width']:,} columns",
    ]
    for row in window["rows"]:
        kind = "" if row["kind"] == "body" else f" ({row['kind']})"
        lines.append(f"{row['index']}{kind}: " + " | ".join(map(_in_row, row["cells"])))
    return "\n".join(lines)


def results_text(results: Mapping[str, Any]) -> str:
    """The results of a query as lines."""
    if "boolean" in results:
        return str(results["boolean"]).lower()
    lines = [" | ".join(results["variables"])]
    lines += [" | ".join("" if value is None else one_line(value) for value in row) for row in results["rows"]]
    shown, total = len(results["rows"]), results["row_count"]
    lines.append(f"({total:,} rows)" if shown == total else f"(the first {shown:,} of {total:,} rows)")
    return "\n".join(lines)
