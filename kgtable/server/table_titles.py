"""What a table is called on the pages: its title, or what its context and columns say where it has none."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from kgtable.api import KnowledgeGraph
from kgtable.building.catalogue import TableRecord
from kgtable.ontology.column_stats import clean_text
from kgtable.tables.model import Table

LONGEST_TITLE = 90
SHORT_SHEET = 8
"""Letters up to which a sheet's name does not say a table without its file's."""
_NAMED_COLUMNS = 4

_OPAQUE = re.compile(
    r"[0-9a-f]{8}-[0-9a-f-]{18,}|[0-9a-f]{16,}|[\d_.\- ]+|(?:[a-z]{1,5}[-_ ]?)?(?!(?:19|20)\d\d$)\d{2,}(?:[-_]\w{1,3})?"
    r"|\S+\.(?:pdf|html?|xlsx?|csv|docx?|txt)",
    re.IGNORECASE,
)
"""Names that say nothing to a reader: UUIDs, digests, running numbers, file names."""

_SENTENCE = re.compile(r"(?<=[a-z0-9)]{3}[.!?:])\s+(?=[A-Z])")
_NUMBERED = re.compile(r"^(?:(?:note|table)?\s*\d+(?:\.\d+)*[.:)]\s+)", re.IGNORECASE)


class TableTitle(NamedTuple):
    """A table's title, and the headings that say more exactly what it holds."""

    title: str
    subtitle: str = ""


def titled(graph: KnowledgeGraph, id: str) -> TableTitle:
    """The title of a table of the graph: its own, its caption's, its headings', its file's or its columns'."""
    return _titled(graph, id)


@lru_cache(maxsize=4_096)
def _titled(graph: KnowledgeGraph, id: str) -> TableTitle:
    record = graph.catalogue.tables[id]
    table = graph.reader.frame(id).table
    texts = [_short(text) for text in _texts(record, table)]
    known = list(dict.fromkeys(text for text in texts if text and not _OPAQUE.fullmatch(text)))
    if not known:
        known = [_by_columns(table) or id]
    headings = [_short(text) for text in table.context.heading]
    more = [text for text in dict.fromkeys(headings) if text and text != known[0]]
    return TableTitle(known[0], " › ".join(more))


def _texts(record: TableRecord, table: Table) -> list[str]:
    """What may be the title, the likeliest first."""
    context, rows = table.context, table.grid.head
    above = [next(filter(str.strip, rows[row]), "") for row in table.structure.titles[:3] if row < len(rows)]
    stem = record.path.rpartition("/")[2].rpartition(".")[0] or record.path
    around = [*context.paragraphs[:1], *context.before[-1:]]
    named = record.title if record.title != record.id else ""
    sheet = ""
    if record.sheet and named in ("", record.sheet) and len(record.sheet) <= SHORT_SHEET:
        sheet = f"{_spaced(stem) or stem} – {record.sheet}"
    return [sheet, named, context.caption, *above, *reversed(context.heading), _spaced(stem), *around]


def _spaced(stem: str) -> str:
    """A file's name as words: ``bakery-orders`` is "Bakery orders"."""
    if _OPAQUE.fullmatch(stem):
        return ""
    words = " ".join(re.split(r"[-_\s]+", stem)).strip()
    return words[:1].upper() + words[1:]


def _short(text: str) -> str:
    """The first sentence on one line, without a number in front, cut where it is long."""
    plain = clean_text(text)
    first = _SENTENCE.split(plain)[0] if len(plain) > LONGEST_TITLE else plain
    first = _NUMBERED.sub("", first) or first
    if len(first) > LONGEST_TITLE:
        first = f"{first[:LONGEST_TITLE].rpartition(' ')[0]}…"
    return first.strip()


def _by_columns(table: Table) -> str:
    names = dict.fromkeys(clean_text(column.name) for column in table.columns)
    told = [name for name in names if name][:_NAMED_COLUMNS]
    return _short(" · ".join(told))


def forget_titles() -> None:
    """Let go of what is remembered of a graph that is closed."""
    _titled.cache_clear()
