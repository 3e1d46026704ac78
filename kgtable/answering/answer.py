"""The answer to a question, its citations, and its rendering for a terminal, Markdown and HTML."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any

from kgtable.answering.charts import Chart, ChartPoint, chart_of, image_of
from kgtable.answering.evidence import Cell
from kgtable.answering.grounding import stated_numbers
from kgtable.answering.headlines import headline_and_exact
from kgtable.answering.prompting import measure, unit_word
from kgtable.programs.algebra import Program
from kgtable.programs.syntax import program_to_json
from kgtable.questions.ranker_weights import SURE_FROM
from kgtable.retrieval.result import Retrieval
from kgtable.tables.model import spreadsheet_reference
from kgtable.values.spoken import JOINT
from kgtable.values.text import harmless_text, single_line
from kgtable.values.units import SCALE_POWERS, scale_name


@dataclass(frozen=True, slots=True)
class Citation:
    """A cell that an answer rests on: IRI, table id, grid position, text as printed, file.

    The IRI is that of the cell's own node (numbers, header cells), or of its row, which says a text by
    `predicate` (an IRI; empty above the body): it is a subject in the graph either way.
    `unit` is a QUDT local name, `scale` one of ``T M B TN``; `label` names the row, `header` the column; `value` is the
    exact number, with the scale applied.
    """

    cell: str
    table: str
    row: int
    column: int
    text: str
    file: str
    unit: str | None = None
    scale: str | None = None
    label: str = ""
    header: str = ""
    predicate: str = ""
    value: Decimal | None = None

    @classmethod
    def of(cls, cell: Cell) -> Citation:
        """The citation of a cell."""
        place = cell.table, cell.row, cell.column
        named = cell.label, cell.header, cell.predicate
        return cls(cell.iri, *place, cell.text, cell.file, cell.unit, cell.scale, *named, cell.value)

    def to_json(self) -> dict[str, Any]:
        """As the contract of ``ask --json`` has it."""
        names = ("cell", "table", "row", "column", "text", "file")
        return {name: getattr(self, name) for name in names}


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
    """Status of an answer.

    `VERIFIED`: grounded, not ambiguous, and two readers that know nothing of one another, such as a language
    model and the rules, get the same result from the same table. `AMBIGUOUS`: another table, row, column or
    reading fits about as well and gives a different answer. `GROUNDED`: every number and text of it is a
    program's result or a cited cell.
    `UNVERIFIED`: not even that. `NONE`: there is no answer.
    """

    VERIFIED = "verified"
    AMBIGUOUS = "ambiguous"
    GROUNDED = "grounded"
    UNVERIFIED = "unverified"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another answer that fits the question, with its own cells and how it was computed.

    `confidence` (0 to 1) is that of the ranker of programs, None for one that a model named.
    """

    text: str
    table: str
    citations: tuple[Citation, ...] = ()
    value: str | None = None
    unit: str | None = None
    calculation: str | None = None
    program: Program | None = None
    confidence: float | None = None

    @property
    def display(self) -> str:
        """The text with its unit and scale."""
        return headline(self)

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
        }


@dataclass(frozen=True)
class Answer:
    """An answer with its evidence: cells (`citations`) and words of documents (`passages`).

    `text` is empty where nothing was found. `value` is the number it gives, exact and with the scale
    applied, as a decimal string; `unit` its QUDT local name. `program` is what was executed and
    `calculation` the same in words. `confidence` (0 to 1) is that of the ranker of programs, None where
    it was not asked. `reasons` say what was checked and what kept the answer from being verified.
    `citations` are the first cells that were read; `cells_read` counts all. `model` names the language
    model, or kgtable's own rules. `failure` says why a model's replies were of no use, where they were.
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

    @property
    def found(self) -> bool:
        """Whether there is an answer."""
        return bool(self.text)

    @property
    def display(self) -> str:
        """The text with its unit and scale, as it is printed; empty where there is no answer."""
        return headline(self) if self.text else ""

    @property
    def status(self) -> Status:
        """The one word for what is known of the answer."""
        if not self.found:
            return Status.NONE
        if self.verified:
            return Status.VERIFIED
        if self.ambiguous:
            return Status.AMBIGUOUS
        return Status.GROUNDED if self.grounded else Status.UNVERIFIED

    @property
    def is_sure(self) -> bool:
        """Whether it is verified, or one reading grounds it and the ranker is confident of that reading."""
        confident = (self.confidence or 0.0) >= SURE_FROM
        return self.verified or (self.grounded and not self.ambiguous and confident)

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
            **({"passages": [cited.to_json() for cited in self.passages]} if self.passages else {}),
        }

    def plot(self) -> Chart | None:
        """The chart of the numbers that the answer rests on, with what it names marked.

        None where there is nothing to compare: fewer than two numbers, of several units or tables, or more than it
        cites.
        """
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
"""Confidence below which an unverified answer is not a headline, and another one is not named beside it: of
those below it on the everyday questions of the tuning data (3 of 68), one is right."""
_HEADINGS = ("file", "cell", "row", "column", "text", "unit")
_WIDEST = 40
_WIDEST_CALCULATION = 300
_MOST_ROWS = 20


def evidence_rows(citations: Sequence[Citation]) -> list[tuple[str, ...]]:
    """For each cited cell: file, spreadsheet reference, names of row and column, text, unit and scale."""
    return [
        (
            found.file,
            spreadsheet_reference(found.row, found.column),
            _named(found.row, found.label),
            _named(found.column, found.header),
            found.text,
            measure(found.unit, found.scale),
        )
        for found in citations
    ]


_VERDICTS = {
    Status.VERIFIED: "verified",
    Status.AMBIGUOUS: "ambiguous",
    Status.GROUNDED: "grounded",
    Status.UNVERIFIED: "not verified",
}


def verdict(answer: Answer) -> str:
    """One line with the status of the answer and the reasons for it; empty where there is no answer."""
    if not answer.found:
        return ""
    return f"{_VERDICTS[answer.status]}: " + (" ".join(answer.reasons) or "nothing could be checked")


def headline(reading: Answer | Alternative) -> str:
    """The text of an answer or alternative; a bare number, or a list of them, is said with unit and scale.

    >>> headline(Answer("?", "109.6", "109600000", "CCY_USD"))
    '$109.6 million'
    """
    text, value, unit = reading.text, reading.value, reading.unit
    printed = [(cited.text, cited.unit, cited.scale) for cited in reading.citations]
    said, _ = headline_and_exact(text, value, unit, printed)
    return said.replace(JOINT, " ") if said != text else with_measure(text, value, unit)


def with_measure(text: str, value: str | None, unit: str | None) -> str:
    """A text that gives one number, with what it does not say of the number's scale and unit behind it.

    >>> with_measure("12.5%", "12.5", "PERCENT"), with_measure("58,232", "58232", "KiloM")
    ('12.5%', '58,232 (km)')
    """
    numbers = list(stated_numbers(text))
    if value is None or len(numbers) != 1:
        return text
    number, word = numbers[0], unit_word(unit)
    scale = ""
    if number.power is None and not number.percent and number.value:
        ratio = Fraction(value) / number.value
        scale = next(
            (scale_name(letters, unit) for letters, power in SCALE_POWERS.items() if ratio == Fraction(10) ** power),
            "",
        )
    said = text.casefold()
    missing = [word for word in (scale, word) if word and word.casefold() not in said]
    return f"{text} ({' '.join(missing)})" if missing else text


def as_text(answer: Answer) -> str:
    """The answer and what it rests on, for a terminal."""
    if not answer.found:
        lines = ["Nothing was found that answers this question.", *answer.reasons, *_quoted(answer)]
        lines += _others(answer)
        return "\n".join(harmless_text(line) for line in lines)
    said = harmless_text(answer.display)
    if answer.calculation or not answer.prompt:
        said = single_line(said)  # the text of a cell must not look like the lines below it
    return f"{said}\n{evidence_text(answer)}"


def evidence_text(answer: Answer) -> str:
    """Evidence of an answer as text: calculation, cited cells as a small table, verdict, other tables' answers."""
    parts = computed_text(answer.calculation, answer.citations, answer.cells_read)
    parts += _quoted(answer)
    parts += ["", f"{verdict(answer)} ({_source(answer)})"]
    parts += [used] if (used := usage_text(answer)) else []
    parts += _others(answer)
    return "\n".join(parts)


def _quoted(answer: Answer) -> list[str]:
    return [f"  {_cut(str(cited), 2 * _WIDEST_CALCULATION)}" for cited in answer.passages]


def computed_text(calculation: str | None, citations: Sequence[Citation], cells_read: int) -> list[str]:
    """The lines that tell how something was computed and from which cells."""
    parts = [f"  = {_cut(calculation, _WIDEST_CALCULATION)}"] if calculation else []
    if citations:
        parts += ["", aligned([_HEADINGS, *evidence_rows(citations[:_MOST_ROWS])])]
        more = max(len(citations), cells_read) - _MOST_ROWS
        parts += [f"  … and {more:,} more cells"] if more > 0 else []
    return parts


def _others(answer: Answer) -> list[str]:
    return [
        f"also: {_cut(other.display, _WIDEST_CALCULATION)}"
        f" ({harmless_text(other.citations[0].file if other.citations else other.table)})"
        for other in _likely(answer)
    ]


def _likely(answer: Answer) -> list[Alternative]:
    """The other answers that are not told to be unlikely."""
    return [other for other in answer.alternatives if other.confidence is None or other.confidence >= WEAK]


def usage_text(answer: Answer) -> str:
    """One line on what the language model used, in all and by stage; empty where none was asked.

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


def _named(index: int, name: str) -> str:
    return f"{index} {' '.join(name.split())}".rstrip()


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
    """The text made harmless; where it is too wide its middle gives way to an ellipsis."""
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
