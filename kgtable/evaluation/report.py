"""Report of a run: Markdown, or one self-contained HTML page with every question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from string import Template

from kgtable.errors import spreadsheet_reference
from kgtable.evaluation.benchmark import BenchmarkQuestion
from kgtable.evaluation.records import Record
from kgtable.evaluation.run import Run
from kgtable.evaluation.summary import ReportTable, as_markdown, report_tables, report_title
from kgtable.resources import PACKAGE
from kgtable.storage import output_file

TABLES_SHOWN, CELLS_SHOWN = 10, 12
PROMPT_SHOWN = 8_000


def write_report(run: Run, path: Path) -> None:
    """Write the report atomically, as Markdown to a file ``.md`` and as HTML to others. Raises `StorageError`."""
    text = as_markdown(run) if path.suffix == ".md" else report_html(run)
    with output_file(path) as file:
        file.write(text.encode("utf-8", "replace"))


def report_html(run: Run) -> str:
    """The report as HTML; all text from questions, tables and answers is escaped."""
    records: dict[str, list[Record]] = {}
    for record in run.records:
        records.setdefault(record.question, []).append(record)
    return Template((PACKAGE / "evaluation" / "report.html").read_text(encoding="utf-8")).substitute(
        title=escape(report_title(run)),
        tables="".join(_table(table) for table in report_tables(run) if len(table.rows) > 1),
        questions="".join(_question(question, records.get(question.id, ())) for question in run.plan.questions),
    )


def _table(table: ReportTable) -> str:
    head, *rows = (
        "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>"
        for row, tag in zip(table.rows, ("th", *["td"] * (len(table.rows) - 1)), strict=True)
    )
    inside = f"<thead>{head}</thead><tbody>{''.join(rows)}</tbody>"
    return f'<h2>{escape(table.title)}</h2><div class="scroll"><table>{inside}</table></div>'


def _question(question: BenchmarkQuestion, records: Iterable[Record]) -> str:
    places = [f"{table} {spreadsheet_reference(row, column)}" for table, row, column in question.cells]
    more = [f"… {len(places):,} cells in all"] if len(places) > CELLS_SHOWN else []
    gold = ["; ".join(question.answers) or "no gold answer", *question.tables, *places[:CELLS_SHOWN], *more]
    sides = "".join(_side(record, question) for record in records)
    return (
        f"<article><h3>{escape(question.text)} <small>{escape(question.id)}</small></h3>"
        f'<div class="sides"><div><b>gold</b>{"".join(map(_line, gold))}</div>{sides}</div></article>'
    )


def _side(record: Record, question: BenchmarkQuestion) -> str:
    prompt = record.prompt
    if len(prompt) > PROMPT_SHOWN:
        prompt = f"{prompt[:PROMPT_SHOWN]}\n… {len(prompt) - PROMPT_SHOWN:,} more characters are omitted here"
    shown = f"<details><summary>Prompt</summary><pre>{escape(prompt)}</pre></details>" if prompt else ""
    return f"<div><b>{escape(record.system)}</b>{''.join(map(_line, _found(record, question)))}{shown}</div>"


def _found(record: Record, question: BenchmarkQuestion) -> Iterator[str]:
    if record.answer is not None:
        right = {0.0: ", wrong", 1.0: ", right"}.get(record.scores.get("match", -1.0), "")
        yield f"{record.answer['text'] or 'no answer'} ({record.answer['status']}{right})"
        if record.answer["calculation"]:
            yield f"= {record.answer['calculation']}"
        for table, row, column, text in record.answer["citations"]:
            yield f"{table} {spreadsheet_reference(row, column)}: {text}"
    if record.verdict:
        yield f"judge: {record.verdict}"
    for failure in record.failures:
        yield f"{failure.stage} failed, {failure.cause}: {failure.message}"
    for place, table in enumerate(record.tables[:TABLES_SHOWN], 1):
        yield f"{place}. {table}{' (gold)' if table in question.tables else ''}"
    yield from record.triples


def _line(text: str) -> str:
    return f"<p>{escape(text)}</p>"
