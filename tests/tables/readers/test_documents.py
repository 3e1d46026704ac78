"""Documents: DOCX, PPTX, PDF and the text of pages, with hostile ones."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import docx
import pytest
from reportlab.lib import pdfencrypt
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

import kgtable
from kgtable.errors import TableError, UnreadableTableError
from kgtable.tables.discovery import TableFile
from kgtable.tables.limits import ReadLimits
from kgtable.tables.loader import read_content
from kgtable.tables.model import ReadContent

ROWS = [["Region", "2019", "2018"], ["Europe", "1,200", "1,100"], ["Asia", "900", "850"], ["Total", "2,100", "1,950"]]


def read(path: Path, limits: ReadLimits | None = None) -> ReadContent:
    return read_content(TableFile(path, path.name, path.stem), limits)


def fault(path: Path, limits: ReadLimits | None = None) -> str:
    with pytest.raises(TableError) as caught:
        read(path, limits)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(path.name)
    return message


def cells(content: ReadContent, table: int = 0) -> list[list[str]]:
    return [list(row) for row in content.grids[table].head]


def pdf_of(path: Path, rows: list[list[str]], *, ruled: bool, **options: Any) -> Path:
    styles = getSampleStyleSheet()
    table = Table(rows, repeatRows=1)
    if ruled:
        table.setStyle(TableStyle([("GRID", (0, 0), (-1, -1), 0.5, "black")]))
    story = [
        Paragraph("Sales of the group", styles["Heading1"]),
        Paragraph(
            "Sales grew in all regions, as the table below shows for two years of growth. " * 3, styles["BodyText"]
        ),
        Paragraph("Table 1: Sales by region", styles["Italic"]),
        table,
        Paragraph("The group sold 2,100 units in 2019. " * 4, styles["BodyText"]),
    ]
    SimpleDocTemplate(str(path), pagesize=A4, **options).build(story)
    return path


@pytest.mark.parametrize("ruled", [True, False])
def test_a_pdf_gives_its_table_with_caption_and_its_text(tmp_path: Path, ruled: bool) -> None:
    content = read(pdf_of(tmp_path / "a.pdf", ROWS, ruled=ruled))
    assert cells(content) == ROWS
    [grid] = content.grids
    assert grid.context.heading == ("Sales of the group",)
    assert grid.context.caption == "Table 1: Sales by region"
    assert "Sales grew in all regions" in grid.context.before[-1]
    assert content.text.paragraphs[0].level == 1
    assert content.text.paragraphs[-1].page == 1
    assert content.text.paragraphs[-1].text == ("The group sold 2,100 units in 2019. " * 4).strip()


@pytest.mark.parametrize("ruled", [True, False])
def test_a_table_over_several_pages_is_one(tmp_path: Path, ruled: bool) -> None:
    rows = [ROWS[0], *([f"Region {n}", f"{n:,}", f"{2 * n:,}"] for n in range(100, 200))]
    content = read(pdf_of(tmp_path / "a.pdf", rows, ruled=ruled))
    assert cells(content) == rows
    assert content.text.pages == 4 or content.text.pages == 3


def page_of(path: Path, lines: list[dict[float, str]]) -> ReadContent:
    """A page of lines, each with texts that begin at given places."""
    canvas = Canvas(str(path), pagesize=A4)
    canvas.setFont("Helvetica", 10)
    for number, line in enumerate(lines):
        for left, text in line.items():
            canvas.drawString(left, 780 - 14 * number, text)
    canvas.save()
    return read(path)


DOTS = "." * 40


def test_contents_of_a_pdf_are_text_and_no_table(tmp_path: Path) -> None:
    names = ["Introduction", "Data", "Methods", "Results", "Other work", "Outlook", "Sources"]
    lines = [{60.0: f"{n}", 80.0: f"{name} {DOTS} {3 * n}"} for n, name in enumerate(names, 1)]
    content = page_of(tmp_path / "contents.pdf", lines)
    assert not content.grids
    text = " ".join(paragraph.text for paragraph in content.text.paragraphs)
    assert all(name in text for name in names)


def test_an_index_of_a_pdf_in_two_columns_is_no_table(tmp_path: Path) -> None:
    lines = [{60.0: f"alpha{n} {DOTS} {90 - n}, {95 - n}", 330.0: f"beta{n} {DOTS} {50 - n}"} for n in range(20)]
    assert not page_of(tmp_path / "index.pdf", lines).grids


def test_figures_that_dots_lead_to_are_a_table(tmp_path: Path) -> None:
    labels = ["Revenue", "Costs", "Wages", "Rent", "Tax", "Profit"]
    lines = [{60.0: f"{label} {DOTS}", 400.0: f"{n * 7}", 470.0: f"{n * 9}"} for n, label in enumerate(labels, 2)]
    content = page_of(tmp_path / "figures.pdf", lines)
    assert [row[1:] for row in cells(content)] == [[f"{n * 7}", f"{n * 9}"] for n in range(2, 8)]
    amounts = [{60.0: f"{label} {DOTS}", 400.0: f"{n},{n}00"} for n, label in enumerate(labels, 2)]
    assert len(cells(page_of(tmp_path / "amounts.pdf", amounts))) == 6


def test_kinds_in_brackets_at_the_margin_make_no_table(tmp_path: Path) -> None:
    kinds = ["Function", "Constant", "Function", "Context struct", "Function"]
    lines = [{60.0: f"void digest{n} ( size{n} )", 480.0: f"[{kind}]"} for n, kind in enumerate(kinds)]
    assert not page_of(tmp_path / "manual.pdf", lines).grids
    numbers = [{60.0: f"Author {n}", 480.0: f"[{n}]"} for n in range(5)]
    assert len(page_of(tmp_path / "sources.pdf", numbers).grids) == 1


def pdf_with(path: Path, rows: list[list[str]], *, space: float = 0.0, head: int = 1, **style: Any) -> Path:
    """A page with some text, a space, and a table with its first rows printed again on the next page."""
    styles = getSampleStyleSheet()
    table = Table(rows, repeatRows=head, hAlign="LEFT")
    if style.get("ruled"):
        table.setStyle(TableStyle([("GRID", (0, 0), (-1, -1), 0.5, "black")]))
    if style.get("rules"):
        table.setStyle(TableStyle([("LINEABOVE", (0, 0), (-1, 0), 0.7, "black")]))
    text = Paragraph("The table below shows what the group sold in two years of growth. " * 3, styles["BodyText"])
    SimpleDocTemplate(str(path), pagesize=A4).build([text, Spacer(1, space), table, Spacer(1, 20), text])
    return path


def test_a_heading_in_one_cell_that_the_next_page_repeats_is_a_row(tmp_path: Path) -> None:
    rows = [["Parent", "", ""], *([f"Region {n}", f"{n:,}", f"{2 * n:,}"] for n in range(100, 150))]
    content = read(pdf_with(tmp_path / "a.pdf", rows, space=20))
    assert cells(content) == rows
    assert "Parent" not in [paragraph.text for paragraph in content.text.paragraphs]


@pytest.mark.parametrize("ruled", [True, False])
def test_a_table_whose_last_row_alone_is_on_the_next_page(tmp_path: Path, ruled: bool) -> None:
    content = read(pdf_with(tmp_path / "a.pdf", ROWS, space=590, ruled=ruled))
    assert content.text.pages == 2
    assert cells(content) == ROWS
    assert len(content.grids) == 1
    assert len(content.text.paragraphs) == 2


def test_a_table_whose_headings_alone_are_on_the_page_before(tmp_path: Path) -> None:
    rows = [["", "Fiscal Years", ""], *ROWS]
    content = read(pdf_with(tmp_path / "a.pdf", rows, space=603))
    assert content.text.paragraphs[0].text.endswith("growth.")
    assert len(content.text.paragraphs) == 2
    assert cells(content) == rows


def test_a_ruled_table_whose_first_part_has_an_empty_column(tmp_path: Path) -> None:
    rows = [["", "December 31,", ""], ["", "2019", "2018"], *ROWS[1:]]
    content = read(pdf_with(tmp_path / "a.pdf", rows, space=590, ruled=True))
    assert cells(content) == rows


def test_what_stands_below_a_rule_as_wide_as_the_table_is_its_row(tmp_path: Path) -> None:
    rows = [["(in millions)", "", ""], ["", "As at the end of the year", ""], *ROWS]
    content = read(pdf_with(tmp_path / "a.pdf", rows, rules=True))
    assert cells(content)[0] == ["(in millions)", "", ""]
    assert cells(content)[2:] == ROWS


OPEN_SIDES = [(f"LINE{side}", (0, 0), (-1, -1), 0.5, "black") for side in ("ABOVE", "BELOW")]
OPEN_SIDES += [("LINEAFTER", (0, 0), (1, -1), 0.5, "black")]
COLUMN_FRAMES = [("BOX", (column, 0), (column, -1), 0.5, "black") for column in range(3)]


@pytest.mark.parametrize("style", [OPEN_SIDES, COLUMN_FRAMES], ids=["open sides", "frames of columns"])
def test_rules_that_do_not_close_each_cell(tmp_path: Path, style: list[Any]) -> None:
    rows = [["Town", "2023", "2024"], *([f"Town {n}", f"{n * 7}", f"{n * 9}"] for n in range(2, 12))]
    table = Table(rows, hAlign="LEFT", colWidths=[120, 60, 60], style=TableStyle(style))
    SimpleDocTemplate(str(tmp_path / "a.pdf"), pagesize=A4).build([table])
    assert cells(read(tmp_path / "a.pdf")) == rows


def test_a_word_document_gives_text_tables_and_merged_cells(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_heading("Report", 0)
    document.add_heading("Sales", 1)
    document.add_paragraph("Sales grew.")
    document.add_paragraph("Table 1: Sales by region", style="Caption")
    table = document.add_table(4, 3)
    for row, texts in zip(table.rows, ROWS, strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text
    merged = document.add_table(2, 2)
    merged.cell(0, 0).merge(merged.cell(0, 1)).text = "Years"
    merged.cell(1, 0).text, merged.cell(1, 1).text = "2019", "2018"
    document.add_paragraph("The end.")
    document.save(str(tmp_path / "a.docx"))
    content = read(tmp_path / "a.docx")
    assert [p.text for p in content.text.paragraphs] == [
        "Report", "Sales", "Sales grew.", "Table 1: Sales by region", "The end."
    ]  # fmt: skip
    assert cells(content) == ROWS
    first, second = content.grids
    assert (first.context.title, first.context.heading) == ("Report", ("Sales",))
    assert first.context.caption == "Table 1: Sales by region"
    assert cells(content, 1) == [["Years", ""], ["2019", "2018"]]
    assert [(a.top, a.left, a.bottom, a.right) for a in second.merged] == [(0, 0, 0, 1)]


def test_raised_marks_of_a_word_document_join_no_word(tmp_path: Path) -> None:
    document = docx.Document()
    table = document.add_table(2, 2)
    for (row, column), (text, mark) in {
        (0, 0): ("Energy", ""), (0, 1): ("GWh", "a"), (1, 0): ("Wind", "1"), (1, 1): ("12", "2"),
    }.items():  # fmt: skip
        paragraph = table.cell(row, column).paragraphs[0]
        paragraph.add_run(text)
        paragraph.add_run(mark).font.superscript = True
    document.save(str(tmp_path / "t.docx"))
    (grid,) = read(tmp_path / "t.docx").grids
    assert grid.head == (("Energy", "GWhᵃ"), ("Wind¹", "12²"))


def test_slides_give_their_texts_and_tables_with_their_number(tmp_path: Path) -> None:
    a, p, r = (
        f"http://schemas.openxmlformats.org/{part}"
        for part in ("drawingml/2006/main", "presentationml/2006/main", "officeDocument/2006/relationships")
    )
    row = "<a:tr>{}</a:tr>".format(
        "".join(f"<a:tc><a:txBody><a:p><a:r><a:t>{t}</a:t></a:r></a:p></a:txBody></a:tc>" for t in ("x", "1"))
    )
    slide = (
        f'<p:sld xmlns:a="{a}" xmlns:p="{p}"><p:sp><p:nvSpPr><p:nvPr><p:ph type="title"/></p:nvPr></p:nvSpPr>'
        f"<p:txBody><a:p><a:r><a:t>Sales</a:t></a:r></a:p></p:txBody></p:sp><a:tbl>{row}{row}</a:tbl></p:sld>"
    )
    with zipfile.ZipFile(tmp_path / "a.pptx", "w") as archive:
        archive.writestr(
            "ppt/presentation.xml", f'<p:presentation xmlns:p="{p}" xmlns:r="{r}"><p:sldId r:id="r1"/></p:presentation>'
        )
        archive.writestr(
            "ppt/_rels/presentation.xml.rels",
            '<Relationships><Relationship Id="r1" Target="slides/slide1.xml"/></Relationships>',
        )
        archive.writestr("ppt/slides/slide1.xml", slide)
    content = read(tmp_path / "a.pptx")
    assert cells(content) == [["x", "1"], ["x", "1"]]
    assert [(p.text, p.page, p.level) for p in content.text.paragraphs] == [("Sales", 1, 1)]
    assert content.grids[0].context.heading == ("Sales",)


def test_a_slide_that_is_named_again_is_read_once(tmp_path: Path) -> None:
    a, p, r = (
        f"http://schemas.openxmlformats.org/{part}"
        for part in ("drawingml/2006/main", "presentationml/2006/main", "officeDocument/2006/relationships")
    )
    row = "<a:tr>{}</a:tr>".format("".join(f"<a:tc><a:p><a:t>{t}</a:t></a:p></a:tc>" for t in ("x", "1")))
    slides = '<p:sldId r:id="r1"/>' * 20_000
    with zipfile.ZipFile(tmp_path / "a.pptx", "w") as archive:
        archive.writestr(
            "ppt/presentation.xml", f'<p:presentation xmlns:p="{p}" xmlns:r="{r}">{slides}</p:presentation>'
        )
        archive.writestr(
            "ppt/_rels/presentation.xml.rels",
            '<Relationships><Relationship Id="r1" Target="slides/slide1.xml"/></Relationships>',
        )
        slide = f'<p:sld xmlns:a="{a}" xmlns:p="{p}"><a:tbl>{row}{row}</a:tbl></p:sld>'
        archive.writestr("ppt/slides/slide1.xml", slide)
    assert len(read(tmp_path / "a.pptx").grids) == 1


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("<w:tr><w:tc/><w:tc/></w:tr>" * 500_100, "values span a table of"),
        ('<w:tr><w:trPr><w:gridBefore w:val="2000000000"/></w:trPr></w:tr>', "more cells than the limits"),
    ],
)
def test_a_word_table_of_nothing_but_empty_cells_is_refused(tmp_path: Path, rows: str, said: str) -> None:
    filled = "<w:tr><w:tc><w:p><w:r><w:t>x</w:t></w:r></w:p></w:tc></w:tr>"
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    body = f'<w:document xmlns:w="{space}"><w:body><w:tbl>{filled}{rows}</w:tbl></w:body></w:document>'
    with zipfile.ZipFile(tmp_path / "a.docx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", body)
    with pytest.raises(UnreadableTableError, match=said):
        read(tmp_path / "a.docx")


def test_a_page_gives_all_of_its_visible_text(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    page.write_text(
        "<title>T</title><body><h1>One</h1>loose <b>text</b><ul><li>item</ul><script>no()</script>"
        "<p style='display:none'>hidden</p><table><tr><th>a<th>b<tr><td>1<td>2</table>after<br>it</body>"
    )
    content = read(page)
    assert [(p.text, p.level) for p in content.text.paragraphs] == [
        ("One", 1), ("loose text", 0), ("item", 0), ("after\nit", 0)
    ]  # fmt: skip
    assert content.text.tables[0].paragraphs == 3


def test_markdown_keeps_its_lines_and_a_file_without_a_table_is_text(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("# Title\n\nfirst line\n  second line\n\n```\ncode\n```\n")
    content = read(path)
    assert [p.text for p in content.text.paragraphs] == ["Title", "first line\n  second line", "```\ncode\n```"]
    assert content.grids == ()


def test_what_a_sidecar_says_is_text_beside_the_table(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "a.json").write_text(json.dumps({"paragraphs": ["Sales were $5m in 2019."], "heading": "Sales"}))
    path = tmp_path / "a.csv"
    content = read_content(TableFile(path, path.name, "a", tmp_path / "a.json"))
    assert [(p.text, p.level) for p in content.text.paragraphs] == [("Sales", 1), ("Sales were $5m in 2019.", 0)]


def test_a_scanned_pdf_has_no_text(tmp_path: Path) -> None:
    from PIL import Image

    picture = io.BytesIO()
    Image.new("RGB", (40, 40)).save(picture, "PNG")
    canvas = Canvas(str(tmp_path / "scan.pdf"))
    canvas.drawImage(ImageReader(io.BytesIO(picture.getvalue())), 0, 0, 500, 700)
    canvas.save()
    assert "the PDF has no text: its pages are pictures" in fault(tmp_path / "scan.pdf")


def test_an_encrypted_pdf(tmp_path: Path) -> None:
    secret = pdfencrypt.StandardEncryption("secret", canPrint=0)
    assert "protected by a password" in fault(pdf_of(tmp_path / "a.pdf", ROWS, ruled=True, encrypt=secret))


def test_a_damaged_pdf(tmp_path: Path) -> None:
    whole = pdf_of(tmp_path / "whole.pdf", ROWS, ruled=True).read_bytes()
    (tmp_path / "cut.pdf").write_bytes(whole[: len(whole) // 3])
    (tmp_path / "noise.pdf").write_bytes(b"%PDF-1.7\n" + bytes(range(256)) * 40)
    (tmp_path / "empty.pdf").write_bytes(b"")
    assert "cut.pdf" in fault(tmp_path / "cut.pdf")
    assert "cannot be read" in fault(tmp_path / "noise.pdf")
    assert fault(tmp_path / "empty.pdf")


def test_too_many_pages(tmp_path: Path) -> None:
    canvas = Canvas(str(tmp_path / "long.pdf"))
    for _ in range(6):
        canvas.drawString(100, 100, "page")
        canvas.showPage()
    canvas.save()
    assert "has 6 pages, more than 5" in fault(tmp_path / "long.pdf", ReadLimits(max_pages=5))


def test_a_pdf_that_needs_too_much_memory_or_output(tmp_path: Path) -> None:
    path = pdf_of(tmp_path / "a.pdf", ROWS, ruled=True)
    assert "take more than 200 bytes" in fault(path, ReadLimits(max_unpacked=200))


def drawing(path: Path, pages: int) -> Path:
    """A PDF of pages that share one stream of a few kilobytes, which unpacks to two million lines."""
    stream = zlib.compress(b"0 0 m 9 9 l S\n" * 2_000_000, 9)
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 3 0 R >>"
    kids = b" ".join(b"%d 0 R" % (4 + number) for number in range(pages))
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, pages),
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(stream), stream), *[page] * pages,
    ]  # fmt: skip
    content = b"%PDF-1.4\n"
    for number, part in enumerate(parts, 1):
        content += b"%d 0 obj\n%s\nendobj\n" % (number, part)
    path.write_bytes(content + b"trailer << /Size %d /Root 1 0 R >>\n%%%%EOF" % (len(parts) + 1))
    return path


def test_a_pdf_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """Pages that share their content cost no bytes, and are given no time."""
    path = drawing(tmp_path / "bomb.pdf", 100)
    assert path.stat().st_size < 100_000
    limits = ReadLimits(base_seconds=1, max_page_seconds=0.01)
    assert "reading it takes more than 1 seconds." in fault(path, limits)


def test_a_build_reads_a_file_anew_that_is_given_more_time(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    pdf_of(tmp_path / "tables" / "a.pdf", ROWS, ruled=True)
    drawing(tmp_path / "tables" / "bomb.pdf", 1)

    def built(seconds: int | None) -> kgtable.BuildReport:
        out = tmp_path / "kg"
        with kgtable.build(tmp_path / "tables", out, embedding="none", file_seconds=seconds) as graph:
            assert graph.built is not None
            return graph.built

    for seconds in (1, 1, 2):
        report = built(seconds)
        assert [f"more than {seconds} seconds" in error for error in report.conversion.errors] == [True]
    assert report.changes.unchanged == 1


def test_scripts_in_a_pdf_are_not_run(tmp_path: Path) -> None:
    path = pdf_of(tmp_path / "a.pdf", ROWS, ruled=True)
    content = path.read_bytes().replace(
        b"/Type /Catalog", b"/OpenAction << /S /JavaScript /JS (app.alert\\(1\\)) >> /Type /Catalog"
    )
    path.write_bytes(content)
    assert cells(read(path)) == ROWS


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"word/document.xml": "<broken"}, "is damaged"),
        ({"other.xml": "<a/>"}, "not a Word document"),
        ({"word/document.xml": '<!DOCTYPE a [<!ENTITY b "x"><!ENTITY c "&b;&b;">]><a>&c;</a>'}, "no table and no text"),
        ({"word/document.xml": "<a>" * 400 + "</a>" * 400}, ""),
    ],
)
def test_hostile_word_documents(tmp_path: Path, parts: dict[str, str], words: str) -> None:
    with zipfile.ZipFile(tmp_path / "a.docx", "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    assert words in fault(tmp_path / "a.docx")


def test_a_bomb_in_a_word_document(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.docx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", "<a>" + " " * 3_000_000 + "</a>")
    limits = ReadLimits(ratio_from=1_000_000, max_ratio=50)
    assert "unpack" in fault(tmp_path / "a.docx", limits)
    (tmp_path / "b.docx").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 100)
    assert "protected by a password" in fault(tmp_path / "b.docx")
