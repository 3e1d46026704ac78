"""Write long reports as PDF, DOCX and HTML from plain text and tables, with a list of what is in them.

    python scripts/make_reports.py OUT --text papers/*.txt --tables BENCH/tatqa/tables --count 240

Each report has headings, paragraphs, tables in different dress (ruled, lines only above and below, none at
all), some of them longer than a page, running headers and page numbers. ``OUT/<name>.truth.json`` lists the
tables as a person sees them: caption and rows.
"""

from __future__ import annotations

import argparse
import csv
import html
import json
import random
import re
from pathlib import Path
from typing import Any

DRESSES = ("grid", "rules", "plain")


def blocks_of(texts: list[Path], tables: list[Path], count: int, seed: int) -> list[dict[str, Any]]:
    """Headings, paragraphs and `count` tables in a made-up order that a seed decides."""
    chance = random.Random(seed)
    paragraphs = [
        paragraph
        for path in texts
        for part in re.split(
            r"\n\s*\n|(?<=[.])\n(?=[A-Z])", path.read_text(encoding="utf-8", errors="replace")
        )
        if 120 < len(paragraph := re.sub(r"[\x00-\x08\x0b-\x1f\ufffd]", "", " ".join(part.split()))) < 1200
    ]
    chosen = chance.sample(tables, min(count, len(tables)))
    blocks: list[dict[str, Any]] = [{"kind": "title", "text": f"Annual Review No. {seed}"}]
    at = chance.randrange(len(paragraphs))
    for number, path in enumerate(chosen, 1):
        if number % 4 == 1:
            blocks.append(
                {
                    "kind": "heading",
                    "text": f"{(number + 3) // 4}. Results of segment {path.stem[:4].upper()}",
                }
            )
        for _ in range(chance.randrange(2, 6)):
            blocks.append({"kind": "text", "text": paragraphs[at % len(paragraphs)]})
            at += 1
        rows = table_rows(path)
        if number % 7 == 0:  # one that runs over pages
            body = [
                [f"{row[0]} {again}" if row[0] else "", *row[1:]] for again in range(1, 9) for row in rows[1:]
            ]
            rows = [rows[0], *body]
        caption = f"Table {number}: Figures of {path.stem[:8]}"
        blocks.append({"kind": "caption", "text": caption})
        blocks.append({"kind": "table", "rows": rows, "dress": DRESSES[number % 3], "caption": caption})
    return blocks


def table_rows(path: Path) -> list[list[str]]:
    """The rows of a CSV file, without empty columns, texts in Latin letters that every font has."""
    with path.open(encoding="utf-8", newline="") as handle:
        rows = [[" ".join(cell.split()) for cell in row] for row in csv.reader(handle)]
    width = max(map(len, rows))
    rows = [row + [""] * (width - len(row)) for row in rows]
    used = [column for column in range(width) if any(row[column] for row in rows)]
    plain = str.maketrans({"’": "'", "—": "-", "–": "-", "“": '"', "”": '"', "−": "-"})
    return [[row[column].translate(plain) for column in used] for row in rows if any(row)]


def write_html(blocks: list[dict[str, Any]], path: Path) -> None:
    """The report as a web page."""
    tags = {"title": "h1", "heading": "h2", "text": "p"}
    parts = [
        f"<!doctype html><html><head><meta charset='utf-8'><title>{blocks[0]['text']}</title></head><body>"
    ]
    for block in blocks:
        if block["kind"] == "table":
            rows = block["rows"]
            cells = "".join(f"<th>{html.escape(cell)}</th>" for cell in rows[0])
            body = "".join(
                "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
                for row in rows[1:]
            )
            caption = f"<caption>{html.escape(block['caption'])}</caption>"
            parts.append(f"<table>{caption}<thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>")
        elif block["kind"] != "caption":
            tag = tags[block["kind"]]
            parts.append(f"<{tag}>{html.escape(block['text'])}</{tag}>")
    path.write_text("\n".join([*parts, "</body></html>"]), encoding="utf-8")


def write_docx(blocks: list[dict[str, Any]], path: Path) -> None:
    """The report as a Word document."""
    import docx

    document = docx.Document()
    for block in blocks:
        if block["kind"] == "title":
            document.add_heading(block["text"], 0)
        elif block["kind"] == "heading":
            document.add_page_break()
            document.add_heading(block["text"], 1)
        elif block["kind"] == "caption":
            document.add_paragraph(block["text"], style="Caption")
        elif block["kind"] == "text":
            document.add_paragraph(block["text"])
        else:
            rows = block["rows"]
            table = document.add_table(len(rows), len(rows[0]))
            if block["dress"] == "grid":
                table.style = "Table Grid"
            grid = [list(row.cells) for row in table.rows]
            for texts, cells in zip(rows, grid, strict=True):
                for text, cell in zip(texts, cells, strict=True):
                    cell.text = text
    document.save(str(path))


def write_pdf(blocks: list[dict[str, Any]], path: Path) -> int:
    """The report as a PDF; gives its number of pages."""
    from reportlab.lib import colors
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.styles import ParagraphStyle, getSampleStyleSheet
    from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

    styles = getSampleStyleSheet()
    small = ParagraphStyle("small", parent=styles["BodyText"], fontSize=8, leading=10)
    title = blocks[0]["text"]
    pages = 0

    def margins(canvas: Any, document: Any) -> None:
        nonlocal pages
        pages = max(pages, document.page)
        canvas.setFont("Helvetica", 8)
        canvas.drawString(60, A4[1] - 30, title)
        canvas.drawRightString(A4[0] - 60, 25, f"Page {document.page}")

    def printed(text: str) -> str:
        return html.escape(text.encode("cp1252", "replace").decode("cp1252"))

    story: list[Any] = []
    for block in blocks:
        if block["kind"] == "table":
            rows = block["rows"]
            room = A4[0] - 120
            first = min(0.45 * room, room / len(rows[0]) * 2)
            widths = (
                [first, *[(room - first) / (len(rows[0]) - 1)] * (len(rows[0]) - 1)]
                if len(rows[0]) > 1
                else None
            )
            cells = [[Paragraph(printed(cell), small) for cell in row] for row in rows]
            table = Table(cells, colWidths=widths, repeatRows=1)
            style: list[tuple[Any, ...]] = [("VALIGN", (0, 0), (-1, -1), "TOP")]
            if block["dress"] == "grid":
                style.append(("GRID", (0, 0), (-1, -1), 0.5, colors.grey))
            elif block["dress"] == "rules":
                style += [(f"LINE{side}", (0, 0), (-1, 0), 0.7, colors.black) for side in ("ABOVE", "BELOW")]
                style.append(("LINEBELOW", (0, -1), (-1, -1), 0.7, colors.black))
            table.setStyle(TableStyle(style))
            story += [table, Spacer(1, 10)]
        else:
            name = {"title": "Title", "heading": "Heading1", "caption": "Italic", "text": "BodyText"}[
                block["kind"]
            ]
            story.append(Paragraph(printed(block["text"]), styles[name]))
    SimpleDocTemplate(
        str(path), pagesize=A4, title=title, leftMargin=60, rightMargin=60, topMargin=60, bottomMargin=50
    ).build(story, onFirstPage=margins, onLaterPages=margins)
    return pages


def main() -> None:
    """Write the reports."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--text", type=Path, nargs="+", required=True)
    parser.add_argument("--tables", type=Path, required=True)
    parser.add_argument("--count", type=int, default=120, help="tables of each report")
    parser.add_argument("--reports", type=int, default=3)
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    tables = sorted(chosen.tables.glob("*.csv"))
    for seed in range(1, chosen.reports + 1):
        blocks = blocks_of(chosen.text, tables, chosen.count, seed)
        truth = [block for block in blocks if block["kind"] == "table"]
        for kind in ("pdf", "docx", "html"):
            path = chosen.out / f"report-{seed}.{kind}"
            pages = {"pdf": write_pdf, "docx": write_docx, "html": write_html}[kind](blocks, path)
            print(path, f"{pages} pages" if pages else "", f"{len(truth)} tables")
        (chosen.out / f"report-{seed}.truth.json").write_text(json.dumps(truth), encoding="utf-8")


if __name__ == "__main__":
    main()
