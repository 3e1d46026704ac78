"""The answer to a question, its citations, and its rendering for a terminal, Markdown and HTML."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from kgtable.answering.charts import Chart, ChartPoint, chart_of, chart_of_columns, image_of, saved
from kgtable.answering.evidence import Citation
from kgtable.answering.prompting import measure
from kgtable.programs.algebra import Program
from kgtable.programs.batch_execution import value_text
from kgtable.programs.display import display
from kgtable.programs.scalars import Datum, format_decimal, text_of
from kgtable.programs.syntax import program_to_json
from kgtable.questions.ranker_weights import SURE_FROM
from kgtable.retrieval.result import Retrieval
from kgtable.tables.model import spreadsheet_reference
from kgtable.values.text import harmless_text, single_line


@dataclass(frozen=True, slots=True)
class PassageCitation:
    """Words of a document that an answer rests on: the passage's IRI, the file, page and paragraph.

    `start` counts the characters of the paragraph before the words.
    """

    passage: str
    file: str
    page: int | None
    paragraph: int
    start: int
    words: str

    def to_json(self) -> dict[str, Any]:
        """As ``ask --json`` prints it."""
        return {name: getattr(self, name) for name in self.__slots__}

    def __str__(self) -> str:
        page = "" if self.page is None else f", page {self.page}"
        return f"{self.file}{page}, paragraph {self.paragraph}: “{self.words}”"


class Status(StrEnum):
    """How certain the reading of a question is.

    `VERIFIED`: two readers that know nothing of one another, such as a language model and the rules, get the same
    result from the same table. `SURE`: one reading, nothing of the question unused, no rival, and a confidence above
    the calibrated threshold. `LIKELY`: the best reading, with a reason for doubt. `SEVERAL`: other readings fit about
    as well and give other results. `NOT_FOUND`: no table covers the question, or the confidence is below the floor.
    """

    VERIFIED = "verified"
    SURE = "sure"
    LIKELY = "likely"
    SEVERAL = "several"
    NOT_FOUND = "not found"


@dataclass(frozen=True, slots=True)
class ComputedCell:
    """One value of a result: plain text, exact value, the QUDT unit of a number, and the text as it is shown."""

    text: str
    value: Decimal | str | bool
    unit: str | None = None
    display: str = ""

    @classmethod
    def of(cls, datum: Datum | None, shown: Callable[[Datum], str] | None = None) -> ComputedCell | None:
        """The cell of a value; None for a missing one. `shown` writes it as people read it."""
        if datum is None:
            return None
        exact = datum.value if isinstance(datum.value, Decimal | bool) else text_of(datum)
        unit = datum.unit if datum.number is not None else None
        return cls(value_text(datum), exact, unit, (shown or display)(datum))

    def __str__(self) -> str:
        return self.display or self.text

    def to_json(self) -> dict[str, Any]:
        """Text, value, unit and the text as it is shown; the value of a number is a decimal string."""
        value = format_decimal(self.value) if isinstance(self.value, Decimal) else self.value
        return {"text": self.text, "value": value, "unit": self.unit, "display": str(self)}


ResultRows = tuple[tuple[ComputedCell | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Alternative:
    """One reading of a question: its result, its own cells and how it was computed.

    `text` is the result as plain text, `shown` the same as people read it. `names` and `rows` are those of a result
    of several rows or columns, its first rows. `confidence` (0 to 1) is that of the ranker of programs, None for a
    reading by a model.
    """

    text: str
    table: str
    citations: tuple[Citation, ...] = ()
    value: str | None = None
    unit: str | None = None
    calculation: str | None = None
    program: Program | None = None
    confidence: float | None = None
    shown: str = ""
    names: tuple[str, ...] = ()
    rows: ResultRows = ()
    size: int = 0
    cells_read: int = 0

    @property
    def display(self) -> str:
        """The text as people read it, with unit and scale."""
        return self.shown or self.text

    def to_json(self) -> dict[str, Any]:
        """As ``ask --json`` prints it."""
        return {
            "answer": self.text,
            "table": self.table,
            "value": self.value,
            "unit": self.unit,
            "calculation": self.calculation,
            "program": None if self.program is None else program_to_json(self.program),
            "display": self.display,
            "confidence": None if self.confidence is None else round(self.confidence, 4),
            "citations": [citation.to_json() for citation in self.citations],
            **(_rows_json(self) if self.rows else {}),
        }


@dataclass(frozen=True)
class Answer:
    """An answer with its evidence: cells (`citations`) and words of documents (`passages`).

    `text` is empty if nothing was found; `shown` is the same as people read it, with unit and scale. `value` is the
    number, exact and with the scale applied, as a decimal string; `unit` its QUDT local name. A result of several rows
    or columns has `names` and `rows` (the first rows of `size`). `program` is what was executed and `calculation` the
    same in words: where there is a program, its result is the answer, and the sentence of a model at most a `remark`
    that agrees with it. `grounded` is about the numbers: each is a cell or computed from cells. `confidence` (0 to 1)
    is that of the ranker of programs, None if it was not asked. `reasons` say what was checked and what speaks against
    the reading. `citations` are the first cells that were read; `cells_read` counts all. `model` names the language
    model, or kgtable's own rules. `failure` says why the replies of a model could not be used.
    """

    question: str
    text: str
    value: str | None = None
    unit: str | None = None
    verified: bool = False
    reasons: tuple[str, ...] = ()
    citations: tuple[Citation, ...] = ()
    calculation: str | None = None
    alternatives: tuple[Alternative, ...] = ()
    grounded: bool = False
    ambiguous: bool = False
    program: Program | None = None
    confidence: float | None = None
    cells_read: int = 0
    method: str = "hybrid"
    model: str = ""
    reasoning: str = ""
    failure: str = ""
    prompt: str = field(default="", repr=False)
    context: Mapping[str, Any] = field(default_factory=dict, repr=False)
    usage: Mapping[str, Any] = field(default_factory=dict, repr=False)
    timings_ms: Mapping[str, float] = field(default_factory=dict, repr=False)
    retrieval: Retrieval | None = field(default=None, repr=False, compare=False)
    passages: tuple[PassageCitation, ...] = ()
    doubtful: bool = False
    shown: str = ""
    names: tuple[str, ...] = ()
    rows: ResultRows = ()
    size: int = 0
    remark: str = ""

    def reading(self, found: Alternative) -> Self:
        """This answer with the result, the cells and the program of a reading."""
        return replace(self, **{name: getattr(found, name) for name in _OF_A_READING})

    @property
    def found(self) -> bool:
        """Whether there is an answer."""
        return bool(self.text)

    @property
    def display(self) -> str:
        """The text with its unit and scale, as it is printed; empty if there is no answer."""
        return self.shown or self.text

    @property
    def status(self) -> Status:
        """The status of the reading as one word, the same in every interface."""
        if not self.found:
            return Status.NOT_FOUND
        if self.verified:
            return Status.VERIFIED
        if self.ambiguous:
            return Status.SEVERAL
        confident = self.grounded and not self.doubtful and (self.confidence or 0.0) >= SURE_FROM
        return Status.SURE if confident else Status.LIKELY

    @property
    def sentence(self) -> str:
        """The status as shown to people; for an answer that is not grounded, that fact."""
        return SENTENCES[self.status] if self.grounded or not self.found else UNSUPPORTED

    @property
    def is_sure(self) -> bool:
        """Whether it is verified, or the only reading that fits and its confidence is above the threshold."""
        return self.status in (Status.VERIFIED, Status.SURE)

    def to_json(self) -> dict[str, Any]:
        """The object that ``kgtable ask --json`` prints."""
        return {
            "question": self.question,
            "answer": self.text or None,
            "value": self.value,
            "unit": self.unit,
            "verified": self.verified,
            "citations": [citation.to_json() for citation in self.citations],
            "calculation": self.calculation,
            "method": self.method,
            "model": self.model,
            "usage": dict(self.usage),
            "timings_ms": dict(self.timings_ms),
            "display": self.display or None,
            "status": self.status.value,
            "confidence": None if self.confidence is None else round(self.confidence, 4),
            "reasons": list(self.reasons),
            "program": None if self.program is None else program_to_json(self.program),
            "alternatives": [other.to_json() for other in self.alternatives],
            "grounded": self.grounded,
            "remark": self.remark or None,
            **(_rows_json(self) if self.rows else {}),
            **({"passages": [cited.to_json() for cited in self.passages]} if self.passages else {}),
        }

    def plot(self, path: str | Path | None = None) -> Chart | None:
        """The chart of the result's rows, or else of the numbers that the answer rests on, with what it names marked.

        Args:
            path: also write the chart to this file: .svg, .png or .json.

        None, and no file, if there is nothing to compare: fewer than two numbers, of several units or tables, or more
        than it cites. Raises as `Chart.save` does.
        """
        return saved(self._chart(), path)

    def _chart(self) -> Chart | None:
        if self.rows:
            return chart_of_rows(self.names, self.rows, self.question)
        numbers = [cited for cited in self.citations if cited.value is not None]
        kinds = {(cited.table, cited.unit) for cited in numbers}
        if len(kinds) != 1 or self.cells_read > len(self.citations):
            return None
        named = {self.text, *self.text.split("; ")}
        exact = None if self.value is None else Decimal(self.value)
        points = [
            ChartPoint(cited.label, cited.header, cited.value, cited.label in named or cited.value == exact)
            for cited in numbers
            if cited.value is not None
        ]
        return chart_of(points, self.question, numbers[0].unit)

    def __str__(self) -> str:
        return self.display or "Nothing was found."

    def __repr__(self) -> str:
        if not self.found:
            return f"Answer(nothing found, model={self.model!r})"
        text = self.text if len(self.text) <= 60 else self.text[:59] + "…"
        cited = f"{len(self.citations)} citation{'' if len(self.citations) == 1 else 's'}"
        return f"Answer({text!r}, {self.status}, {cited}, model={self.model!r})"

    def _repr_markdown_(self) -> str:
        return as_markdown(self)

    def _repr_html_(self) -> str:
        return as_html(self) + image_of(self.plot())


WEAK = 0.25
"""Confidence below which an unverified answer is not a headline, and another one is not named next to it: of
those below it on the everyday questions of the tuning data (3 of 68), one is right."""
_HEADINGS = ("file", "cell", "row", "column", "text", "unit")
_WIDEST = 40
_WIDEST_CALCULATION = 300
SHOWN_CELLS = 5
"""Cited cells that are printed, unless all are asked for."""
SHOWN_ROWS = 30
"""Rows of a result that are printed as text."""
_OF_A_READING = (
    "text", "shown", "value", "unit", "citations", "calculation", "program", "names", "rows", "size", "cells_read",
)  # fmt: skip
"""The fields that an answer takes from its reading."""


def evidence_rows(citations: Sequence[Citation]) -> list[tuple[str, ...]]:
    """For each cited cell: file, spreadsheet reference, names of row and column, text, unit and scale."""
    return [
        (
            found.file,
            spreadsheet_reference(found.row, found.column),
            " ".join(found.label.split()),
            " ".join(found.header.split()),
            found.text,
            measure(found.unit, found.scale, found.per),
        )
        for found in citations
    ]


SENTENCES = {
    Status.VERIFIED: "Verified: two independent readings agree.",
    Status.SURE: "Confident in this reading.",
    Status.LIKELY: "Likely.",
    Status.SEVERAL: "Several readings fit.",
    Status.NOT_FOUND: "Nothing was found that answers this question.",
}
"""What each status says to a person."""

UNSUPPORTED = "Not supported by the cells."
"""The status text of an answer that is not grounded."""


def verdict(answer: Answer) -> str:
    """The status of an answer as a sentence, with its reasons; empty if there is no answer."""
    return " ".join((answer.sentence, *answer.reasons)) if answer.found else ""


def chart_of_rows(names: Sequence[str], rows: ResultRows, title: str) -> Chart | None:
    """The chart of a result: its first numbers over the texts or periods next to them.

    None if the result has no such columns, or its numbers are in several units.
    """
    columns = zip(names, zip(*rows, strict=True), strict=True)
    values = {name: [_drawn(cell) for cell in column] for name, column in columns}
    units = {cell.unit for row in rows for cell in row if cell is not None and isinstance(cell.value, Decimal)}
    return chart_of_columns(values, title, units.pop()) if len(units) == 1 else None


def _rows_json(found: Answer | Alternative) -> dict[str, Any]:
    rows = [[None if cell is None else cell.to_json() for cell in row] for row in found.rows]
    return {"names": list(found.names), "rows": rows, "row_count": found.size}


def _drawn(cell: ComputedCell | None) -> Decimal | str | None:
    """A value as shown in a chart: a truth value in words."""
    return None if cell is None else str(cell) if isinstance(cell.value, bool) else cell.value


def rows_text(names: Sequence[str], rows: ResultRows, size: int) -> list[str]:
    """The rows of a result as lines: its first rows under the names of their columns, and how many more there are."""
    texts = [["(blank)" if cell is None else str(cell) for cell in row] for row in rows[:SHOWN_ROWS]]
    more = size - len(texts)
    return [aligned([names, *texts]), *([f"  … and {more:,} more rows"] if more else [])]


def as_text(answer: Answer, cells: bool | None = None) -> str:
    """The answer and what it rests on, for a terminal.

    `cells` prints every cited cell instead of the first five; False says that ``--cells`` does.
    """
    if not answer.found:
        lines = [SENTENCES[answer.status], *answer.reasons, *_quoted(answer)]
        lines += _others(answer)
        return "\n".join(harmless_text(line) for line in lines)
    if len(answer.names) > 1:
        return "\n".join((*rows_text(answer.names, answer.rows, answer.size), evidence_text(answer, cells)))
    said = harmless_text(answer.display)
    if answer.calculation or not answer.prompt:
        said = single_line(said)  # the text of a cell must not look like the lines below it
    return f"{said}\n{evidence_text(answer, cells)}"


def evidence_text(answer: Answer, cells: bool | None = None) -> str:
    """Evidence of an answer as text: calculation, cited cells as a small table, verdict, other tables' answers."""
    parts = computed_text(answer.calculation, answer.citations, answer.cells_read, cells)
    parts += _quoted(answer)
    parts += ["", f"The model remarks: {_cut(answer.remark, _WIDEST_CALCULATION)}"] if answer.remark else []
    parts += ["", f"{verdict(answer)} ({_source(answer)})"]
    parts += [used] if (used := usage_text(answer)) else []
    parts += _others(answer)
    return "\n".join(parts)


def _quoted(answer: Answer) -> list[str]:
    return [f"  {_cut(str(cited), 2 * _WIDEST_CALCULATION)}" for cited in answer.passages]


def computed_text(
    calculation: str | None, citations: Sequence[Citation], cells_read: int, cells: bool | None = None
) -> list[str]:
    """The lines that explain how something was computed and from which cells; `cells` as for `as_text`."""
    parts = [f"  = {_cut(calculation, _WIDEST_CALCULATION)}"] if calculation else []
    if citations:
        shown = citations if cells else citations[:SHOWN_CELLS]
        parts += ["", aligned([_HEADINGS, *evidence_rows(shown)])]
        more = max(len(citations), cells_read) - len(shown)
        hint = ", --cells lists them" if cells is False else ""
        parts += [f"  + {more:,} {'cell' if more == 1 else 'cells'}{hint}"] if more > 0 else []
    return parts


def _others(answer: Answer) -> list[str]:
    return [
        f"also: {_cut(other.display, _WIDEST_CALCULATION)}"
        f" ({harmless_text(other.citations[0].file if other.citations else other.table)})"
        for other in _likely(answer)
    ]


def _likely(answer: Answer) -> list[Alternative]:
    """The other answers that are not marked as unlikely."""
    return [other for other in answer.alternatives if other.confidence is None or other.confidence >= WEAK]


def usage_text(answer: Answer) -> str:
    """One line with the language model's usage, in total and by stage; empty if no model was called.

    >>> usage_text(Answer("?", "5", usage={"requests": 0}))
    ''
    """
    if not answer.usage.get("requests"):
        return ""
    stages = answer.usage.get("stages", {})
    parts = "; ".join(f"{name} {spent_text(spent)}" for name, spent in stages.items())
    return f"used: {spent_text(answer.usage)}" + (f" ({parts})" if len(stages) > 1 else "")


def spent_text(usage: Mapping[str, Any]) -> str:
    """The requests, tokens and dollars of a usage in words."""
    requests, cost = usage["requests"], usage["cost_usd"]
    counts = (usage["prompt_tokens"], usage["completion_tokens"])
    read, written = ("?" if count is None else f"{count:,}" for count in counts)
    price = "cost not known" if cost is None else f"${cost:.4f}"
    return f"{requests} request{'s' if requests != 1 else ''}, {read} + {written} tokens, {price}"


def as_markdown(answer: Answer) -> str:
    """The answer for a notebook or a Markdown file."""
    if not answer.found:
        quoted = (f"- {escaped_markdown(str(cited))}" for cited in answer.passages)
        return "\n".join(["*Nothing was found that answers this question.*", *quoted])
    lines = [f"**{escaped_markdown(answer.display)}**", ""]
    if answer.calculation:
        lines += [f"= {escaped_markdown(answer.calculation)}", ""]
    if answer.citations:
        lines += ["| " + " | ".join(_HEADINGS) + " |", "|" + "---|" * len(_HEADINGS)]
        lines += ["| " + " | ".join(map(escaped_markdown, row)) + " |" for row in evidence_rows(answer.citations)]
        lines.append("")
    lines += [f"- {escaped_markdown(str(cited))}" for cited in answer.passages] + ([""] if answer.passages else [])
    lines.append(f"{escaped_markdown(verdict(answer))} ({escaped_markdown(_source(answer))})")
    for other in _likely(answer):
        lines.append(f"\nalso: {escaped_markdown(other.display)} ({escaped_markdown(other.table)})")
    return "\n".join(lines)


def as_html(answer: Answer) -> str:
    """The answer as an HTML fragment; all texts are escaped."""
    if not answer.found:
        return f"<p><em>Nothing was found that answers this question.</em></p>{_quotes(answer)}"
    parts = [f"<p><strong>{html.escape(answer.display)}</strong></p>"]
    if answer.calculation:
        parts.append(f"<p>= {html.escape(answer.calculation)}</p>")
    if answer.citations:
        rows = "".join(_html_row("td", row) for row in evidence_rows(answer.citations))
        parts.append(f"<table><thead>{_html_row('th', _HEADINGS)}</thead><tbody>{rows}</tbody></table>")
    parts.append(_quotes(answer))
    parts.append(f"<p>{html.escape(verdict(answer))} ({html.escape(_source(answer))})</p>")
    if likely := _likely(answer):
        others = (f"<li>{html.escape(o.display)} ({html.escape(o.table)})</li>" for o in likely)
        parts.append(f"<p>also:</p><ul>{''.join(others)}</ul>")
    return "".join(parts)


def _quotes(answer: Answer) -> str:
    quoted = "".join(f"<li>{html.escape(str(cited))}</li>" for cited in answer.passages)
    return f"<ul>{quoted}</ul>" if quoted else ""


def _source(answer: Answer) -> str:
    return answer.model or answer.method


def _html_row(tag: str, texts: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts) + "</tr>"


def escaped_markdown(text: str) -> str:
    plain = " ".join(text.split())
    for sign in "\\`*_[]<>|#":
        plain = plain.replace(sign, f"\\{sign}")
    return plain


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows as columns of even width; long texts are cut with an ellipsis."""
    short = [[_cut(" ".join(text.split())) for text in row] for row in rows]
    widths = [max(map(_width, column)) for column in zip(*short, strict=True)]
    lines = (
        "  ".join(text + " " * (width - _width(text)) for text, width in zip(row, widths, strict=True)) for row in short
    )
    return "\n".join(f"  {line}".rstrip() for line in lines)


def _cut(text: str, widest: int = _WIDEST) -> str:
    """The sanitized text; if it is too wide, an ellipsis replaces its middle."""
    plain = single_line(harmless_text(text))
    if len(plain) <= widest:
        return plain
    end = widest // 4
    return f"{plain[: widest - end - 1]}…{plain[-end:]}"


def _width(text: str) -> int:
    """Terminal columns: wide letters take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text
    )
