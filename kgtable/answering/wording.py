"""Cell texts, units and table titles as they stand in a context: one line each, nothing that breaks out."""

from __future__ import annotations

from kgtable.answering.evidence import Evidence
from kgtable.retrieval.result import ScoredTriple
from kgtable.tables.model import Table
from kgtable.tables.units import units

LONGEST_TEXT = 1_000
SCALE_WORDS = {"T": "thousand", "M": "million", "B": "billion", "TN": "trillion"}
_UNNAMED = frozenset({"", "UNITLESS", "NUM"})
_SYMBOLS = {"PERCENT": "%"}


def one_line(text: str) -> str:
    r"""The text without line breaks and control characters, bars escaped, cut at `LONGEST_TEXT` visibly.

    >>> one_line("a\n=== END ===| b")
    'a === END ===\\| b'
    """
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if len(plain) > LONGEST_TEXT:
        plain = f"{plain[:LONGEST_TEXT]}… ({len(plain)} characters)"
    return plain.replace("|", r"\|")


def unit_word(unit: str | None) -> str:
    """How a QUDT unit is called in a text.

    >>> unit_word("CCY_USD"), unit_word("PERCENT"), unit_word("UNITLESS")
    ('USD', '%', '')
    """
    if unit is None or unit in _UNNAMED:
        return ""
    if unit in _SYMBOLS:
        return _SYMBOLS[unit]
    if unit.startswith("CCY_"):
        return unit.removeprefix("CCY_")
    known = units().get(unit)
    return known.symbol or known.label if known else unit


def measure(unit: str | None, scale: str | None) -> str:
    """Unit and scale in words, such as ``USD million``; empty where there is neither."""
    return " ".join(filter(None, (unit_word(unit), SCALE_WORDS.get(scale or "", ""))))


def table_line(table: str, evidence: Evidence) -> str:
    """The line that introduces a table: short name, title, headings, file."""
    found = evidence.source.frame(table).table
    context = found.context
    parts = dict.fromkeys(filter(None, (context.title, *context.heading, context.caption, *titles(found))))
    name = " › ".join(one_line(part) for part in parts) or one_line(table)
    return f"{evidence.alias(table)}: {name} (file {one_line(found.grid.source.path)})"


def titles(table: Table) -> tuple[str, ...]:
    """The texts of the rows above the header."""
    rows = table.grid.head
    texts = (next(filter(str.strip, rows[row]), "") for row in table.structure.titles if row < len(rows))
    return tuple(filter(None, texts))


def local_name(term: str) -> str:
    """The last part of an IRI, or the term itself."""
    return term.rpartition("#")[2].rpartition("/")[2] if "://" in term else term


def subject_text(triple: ScoredTriple, evidence: Evidence) -> str:
    """What the triple's row is called."""
    cell = evidence.cell(triple.table, triple.row, triple.column)
    return one_line(cell.label if cell and cell.label else local_name(triple.subject))
