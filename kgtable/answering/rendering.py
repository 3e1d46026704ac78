"""An answer as text for a terminal, Markdown and HTML."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Sequence

from kgtable.answering.answer import Answer, Citation
from kgtable.answering.wording import unit_word
from kgtable.tables.model import spreadsheet_reference

_HEADINGS = ("file", "cell", "row", "column", "text", "unit")
_WIDEST = 40


def evidence_rows(citations: Sequence[Citation]) -> list[tuple[str, ...]]:
    """For each cited cell: file, spreadsheet reference, names of row and column, text, unit."""
    return [
        (
            found.file,
            spreadsheet_reference(found.row, found.column),
            _named(found.row, found.label),
            _named(found.column, found.header),
            found.text,
            unit_word(found.unit),
        )
        for found in citations
    ]


def verdict(answer: Answer) -> str:
    """One line that says whether the answer was verified, and why not."""
    if not answer.found:
        return ""
    if answer.verified:
        return "verified: " + ("; ".join(answer.reasons) or "every number is in a cited cell")
    return "not verified: " + ("; ".join(answer.reasons) or "nothing could be checked")


def as_text(answer: Answer) -> str:
    """The answer and what it rests on, for a terminal."""
    if not answer.found:
        return "\n".join(["Nothing was found that answers this question.", *answer.reasons])
    return f"{printable(answer.text)}\n{evidence_text(answer)}"


def evidence_text(answer: Answer) -> str:
    """What an answer rests on: calculation, cited cells as a small table, verdict, other tables' answers."""
    parts = [f"  = {printable(answer.calculation)}"] if answer.calculation else []
    if answer.citations:
        parts += ["", _aligned([_HEADINGS, *evidence_rows(answer.citations)])]
    parts += ["", f"{verdict(answer)} ({_source(answer)})"]
    parts += [
        f"also: {printable(other.text)} ({other.citations[0].file if other.citations else other.table})"
        for other in answer.alternatives
    ]
    return "\n".join(parts)


def as_markdown(answer: Answer) -> str:
    """The answer for a notebook or a Markdown file."""
    if not answer.found:
        return "*Nothing was found that answers this question.*"
    lines = [f"**{_escaped(answer.text)}**", ""]
    if answer.calculation:
        lines += [f"= {_escaped(answer.calculation)}", ""]
    if answer.citations:
        lines += ["| " + " | ".join(_HEADINGS) + " |", "|" + "---|" * len(_HEADINGS)]
        lines += ["| " + " | ".join(map(_escaped, row)) + " |" for row in evidence_rows(answer.citations)]
        lines.append("")
    lines.append(f"{_escaped(verdict(answer))} ({_escaped(_source(answer))})")
    for other in answer.alternatives:
        lines.append(f"\nalso: {_escaped(other.text)} ({_escaped(other.table)})")
    return "\n".join(lines)


def as_html(answer: Answer) -> str:
    """The answer as an HTML fragment; all texts are escaped."""
    if not answer.found:
        return "<p><em>Nothing was found that answers this question.</em></p>"
    parts = [f"<p><strong>{html.escape(answer.text)}</strong></p>"]
    if answer.calculation:
        parts.append(f"<p>= {html.escape(answer.calculation)}</p>")
    if answer.citations:
        rows = "".join(_html_row("td", row) for row in evidence_rows(answer.citations))
        parts.append(f"<table><thead>{_html_row('th', _HEADINGS)}</thead><tbody>{rows}</tbody></table>")
    parts.append(f"<p>{html.escape(verdict(answer))} ({html.escape(_source(answer))})</p>")
    if answer.alternatives:
        others = (f"<li>{html.escape(o.text)} ({html.escape(o.table)})</li>" for o in answer.alternatives)
        parts.append(f"<p>also:</p><ul>{''.join(others)}</ul>")
    return "".join(parts)


def _source(answer: Answer) -> str:
    return answer.model or answer.method


def _named(index: int, name: str) -> str:
    return f"{index} {' '.join(name.split())}".rstrip()


def _html_row(tag: str, texts: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts) + "</tr>"


def _escaped(text: str) -> str:
    plain = " ".join(text.split())
    for sign in "\\`*_[]<>|#":
        plain = plain.replace(sign, f"\\{sign}")
    return plain


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows as columns of even width; long texts are cut with an ellipsis."""
    short = [[_cut(" ".join(text.split())) for text in row] for row in rows]
    widths = [max(map(_width, column)) for column in zip(*short, strict=True)]
    lines = (
        "  ".join(text + " " * (width - _width(text)) for text, width in zip(row, widths, strict=True))
        for row in short
    )
    return "\n".join(f"  {line}".rstrip() for line in lines)


def printable(text: str) -> str:
    """The text with the control characters, by which it could steer a terminal, made visible."""
    return "".join(sign if sign.isprintable() or sign == "\n" else "�" for sign in text)


def _cut(text: str) -> str:
    plain = printable(text)
    return plain if len(plain) <= _WIDEST else plain[: _WIDEST - 1] + "…"


def _width(text: str) -> int:
    """Terminal columns: wide letters take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1
        for sign in text
    )
