"""An answer as the page shows it: in plain words, with evidence and alternatives, or with the nearest tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from decimal import Decimal
from functools import lru_cache
from typing import Any

from kgtable.answering.answer import Alternative, Answer
from kgtable.answering.charts import Chart, svg_of
from kgtable.answering.evidence import CELL_ID, Citation
from kgtable.answering.program_answers import RULES, cited_style
from kgtable.errors import GraphError, MissingExtraError, ProgramError
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.programs.algebra import GroupBy, Program, tables_of, walk
from kgtable.programs.fields import Fields, address_of, fields_of, fields_to_json, told_of
from kgtable.programs.syntax import program_to_json
from kgtable.resources import read_shipped
from kgtable.retrieval.result import Retrieval
from kgtable.server.views.table_list import titled
from kgtable.tables.model import spreadsheet_reference
from kgtable.values.spoken import exact_number, spoken_period, unit_name
from kgtable.values.units import units

SHOWN_TRIPLES = 60
"""Triples sent to the page with an answer."""
MOST_CELLS_COMPILED = 200_000
"""Cells of the tables that a program may read to be compiled to SPARQL while the reader waits."""

SHOWN_TERMS = 60
LONGEST_TEXT = 20_000
"""Maximum characters of a cell in an answer; its page and ``/api/cells`` show the whole."""

_LEFT_WHOLE = frozenset(("prompt", "program", "sparql", "queries", "svg"))

LONGEST_PROMPT = 200_000
NEAREST = 6
"""Tables named if there is no answer, or as the first that were found."""


def answer_card(answer: Answer, graph: KnowledgeGraph) -> dict[str, Any]:
    """What the page shows of an answer in addition to what ``kgtable ask --json`` prints."""
    found = answer.retrieval
    trace: Mapping[str, Any] = {} if found is None else found.trace
    triples = () if found is None else found.triples[:SHOWN_TRIPLES]
    return {
        "offline": answer.model == RULES,
        "sentence": answer.sentence,
        **_reading(answer, graph),
        "reasons": [_with_titles(plain_words(reason), graph) for reason in answer.reasons],
        "chart": drawn(answer.plot()),
        "cells_read": answer.cells_read,
        "reasoning": plain_words(answer.reasoning),
        "prompt": answer.prompt[:LONGEST_PROMPT],
        "alternatives": [{**other.to_json(), **_reading(other, graph)} for other in answer.alternatives],
        "passages": [
            {**cited.to_json(), "document": graph.names.parse_passage_iri(cited.passage) or ""}
            for cited in answer.passages
        ],
        "nearest": nearest_tables(answer, graph) if not answer.found else [],
        "triples": [triple._asdict() for triple in triples],
        "tables": [] if found is None else [asdict(table) for table in found.tables[:20]],
        "trace": {
            "labels": [str(label) for label in trace.get("labels") or ()],
            "expanded": _terms(trace.get("expanded") or {})[:SHOWN_TERMS],
            "candidates": [f"{term}: {n:,}" for term, n in (trace.get("brought") or {}).items() if n],
            "queries": [*_cited_query(answer), *filter(None, [trace.get("query")]), *(found.queries if found else ())],
        },
    }


def drawn(chart: Chart | None) -> dict[str, str] | None:
    """A chart as SVG and in words; None without one, or without the packages that draw."""
    svg = "" if chart is None else svg_of(chart)
    return None if chart is None or not svg else {"svg": svg, "description": chart.spec["description"]}


def shortened(value: Any) -> Any:
    """A JSON value whose texts of cells are cut after `LONGEST_TEXT`; prompts, programs and queries are left whole."""
    if isinstance(value, str):
        return value if len(value) <= LONGEST_TEXT else f"{value[:LONGEST_TEXT]}…"
    if isinstance(value, Mapping):
        return {key: part if key in _LEFT_WHOLE else shortened(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [shortened(part) for part in value]
    return value


def _reading(reading: Answer | Alternative, graph: KnowledgeGraph) -> dict[str, Any]:
    """An answer or alternative as one says it, with its unit's name, period, program as SPARQL and cells."""
    exact = _exact(reading)
    program = reading.program
    asked = None if program is None else fields_of(program)
    return {
        "exact": exact or None,
        "unit_label": unit_name(reading.unit, plural=True) or None,
        "period": _period(reading.citations, graph) or None,
        "words": (words := plain_words(reading.calculation or "")) or None,
        "headline": _headline(reading, words),
        **forms_of(program, asked, graph),
        "told": None if asked is None else told_of(asked),
        "explore": None if asked is None else f"/explore?{address_of(asked)}",
        "citations": [cited_cell(citation, graph) for citation in reading.citations],
    }


def _headline(reading: Answer | Alternative, words: str) -> str:
    """The headline: the result, or a description of several rows and columns."""
    if len(reading.rows) < 2 or len(reading.names) < 2:
        return reading.display
    nodes = () if reading.program is None else walk(reading.program.root)
    group = next((node for node in nodes if isinstance(node, GroupBy)), None)
    if group is None or len(reading.names) != len(group.keys) + 1:
        return words
    *keys, value = reading.names
    return f"{value[:1].upper()}{value[1:]} by {' and '.join(keys)}, {reading.size:,} groups"


def _exact(reading: Answer | Alternative) -> str:
    """The whole number with the full name of its unit, if that says more than the answer itself."""
    if reading.value is None or not unit_name(reading.unit) or reading.unit == "PERCENT":
        return ""
    exact = exact_number(Decimal(reading.value), reading.unit, cited_style(reading.citations))
    return "" if exact == reading.display else exact


def _period(citations: Iterable[Citation], graph: KnowledgeGraph) -> str:
    """The period that the cited numbers are of, in words; empty if they have none in common."""
    found: dict[str, None] = {}
    for citation in list(citations)[:50]:
        if citation.unit is None:
            continue
        try:
            row = graph.reader.row(citation.table, citation.row)
        except GraphError:
            return ""
        quantity = None if row is None else row.quantity(citation.column)
        if quantity is None or quantity.period is None:
            return ""
        found[quantity.period] = None
    periods = list(found)
    if len(periods) == 1:
        return spoken_period(periods[0])
    if len(periods) > 1 and all(re.fullmatch(r"\d{4}", period) for period in periods):
        return f"{min(periods)} to {max(periods)}"
    return ""


def cited_cell(citation: Citation, graph: KnowledgeGraph) -> dict[str, Any]:
    """A cited cell with what names it: the table's title, its place in a spreadsheet, row and column."""
    return {
        **citation.to_json(),
        "title": title_of(citation.table, graph),
        "reference": spreadsheet_reference(citation.row, citation.column),
        "label": " ".join(citation.label.split())[:200],
        "header": " ".join(citation.header.split())[:200],
    }


def title_of(table: str, graph: KnowledgeGraph) -> str:
    """The title of a table of the graph; its id if there is no such table."""
    try:
        return titled(graph, table).title
    except (KeyError, GraphError):
        return table


def named_tables(ids: Iterable[str], graph: KnowledgeGraph) -> list[dict[str, Any]]:
    """Tables by id, each with title, file, size and columns for the reader."""
    records = graph.catalogue.tables
    return [
        {
            "id": id,
            "title": (name := titled(graph, id)).title,
            "subtitle": name.subtitle,
            "file": records[id].path,
            "rows": records[id].members,
            "columns": [fact.name[:80] for fact in records[id].facts[:8] if not fact.name.startswith("[")],
        }
        for id in ids
        if id in records
    ]


def found_tables(retrieval: Retrieval, graph: KnowledgeGraph) -> dict[str, Any]:
    """The retrieved tables, sent before there is an answer."""
    ids = [found.table for found in retrieval.tables]
    count = len(retrieval.addresses)
    return {
        "text": f"Found {count:,} cells in {len(ids):,} table{'' if len(ids) == 1 else 's'}",
        "labels": labels_as_said(map(str, retrieval.trace.get("labels") or ()), retrieval.question)[:8],
        "tables": named_tables(ids[:NEAREST], graph),
    }


def labels_as_said(labels: Iterable[str], question: str) -> list[str]:
    """The labels that were looked for, a stem as the word of the question that it is of.

    >>> labels_as_said(["electr", "arland", "2021"], "Which electricity price had Arland in 2021?")
    ['electricity', 'Arland', '2021']
    """
    words = question.replace("?", " ").split()
    said = (next((word for word in words if word.casefold().startswith(label)), label) for label in labels)
    return list(dict.fromkeys(said))


def nearest_tables(answer: Answer, graph: KnowledgeGraph) -> list[dict[str, Any]]:
    """The tables that lie nearest to a question, by what was retrieved or else by meaning."""
    found = answer.retrieval
    ids = [] if found is None else [table.table for table in found.tables]
    if not ids:
        from kgtable.retrieval.hybrid import HybridRetriever  # takes long to import

        retriever = graph.retrievers.get("hybrid")
        if isinstance(retriever, HybridRetriever):
            ids = retriever.nearest_tables(answer.question, NEAREST)
    return named_tables(ids[:NEAREST], graph)


_IN_BRACKETS = re.compile(r"\(([^()]{1,500})\)(?=[.;,]|$)")


def _with_titles(reason: str, graph: KnowledgeGraph) -> str:
    """A reason with tables by their titles, where it names them by their ids in brackets."""

    def told(found: re.Match[str]) -> str:
        ids = found[1].split(", ")
        if not all(id in graph.catalogue.tables for id in ids):
            return found[0]
        return f"({', '.join(title_of(id, graph) for id in ids)})"

    return _IN_BRACKETS.sub(told, reason)


_UNIT_NAME = re.compile(r"(?<![\w-])(?:CCY_[A-Z]{3,4}|UNITLESS|[A-Za-z][A-Za-z0-9]*(?:[-_][A-Z0-9a-z]+)*)(?![\w-])")


def plain_words(text: str) -> str:
    """A text without the names of cells in prompts and of units in QUDT.

    >>> plain_words("Cell T1.r2.c1 is in KiloW-HR, not CCY_EUR")
    'Cell B3 is in kilowatt hours, not euros'
    """
    named = CELL_ID.sub(lambda found: _reference(found[0]), text)
    return _UNIT_NAME.sub(lambda found: _unit_in_words(found[0]), named)


def _reference(cell: str) -> str:
    _, row, column = cell.split(".")
    return spreadsheet_reference(int(row[1:]), int(column[1:]))


@lru_cache(maxsize=4_096)
def _unit_in_words(name: str) -> str:
    """The unit of a QUDT name that is not an English word; other words as they are."""
    coded = name.startswith("CCY_") or "-" in name or re.search(r"[a-z][A-Z]", name) or name == "UNITLESS"
    if not coded or name not in units():
        return name
    return unit_name(name, plural=True) or "no unit"


def forms_of(program: Program | None, asked: Fields | None, graph: KnowledgeGraph) -> dict[str, Any]:
    """A program as JSON, in Python, in SPARQL and in SQL; None for what these cannot say, or for long tables."""
    if program is None:
        return dict.fromkeys(("program", "python", "sparql", "sql"))
    given = program_to_json(program) if asked is None else fields_to_json(asked)
    call = f'kgtable.open("DIRECTORY").{"run" if asked is None else "explore"}({json.dumps(json.dumps(given))})'
    found = {"program": program_to_json(program), "python": call, "sparql": None, "sql": None}
    if sum(graph.catalogue.tables[id].cells for id in tables_of(program)) > MOST_CELLS_COMPILED:
        return found
    with suppress(ProgramError):
        found["sparql"] = graph.compile(program)
    with suppress(ProgramError, MissingExtraError):
        found["sql"] = None if asked is None else graph.compile_sql(asked)
    return found


def _cited_query(answer: Answer) -> list[str]:
    """A SPARQL query for the numbers an answer cites, or none if it cites no number."""
    cells = [f"<{citation.cell}>" for citation in answer.citations if citation.unit is not None]
    if not cells:
        return []
    return [read_shipped("queries/explorer/cited.rq").replace("{ }", f"{{ {' '.join(cells)} }}")]


def _terms(expanded: Mapping[str, Mapping[str, float]]) -> list[str]:
    """The expanded terms with the vocabulary they come from and their cosines."""
    return [f"{kind}: {text} ({cosine:.2f})" for kind, terms in expanded.items() for text, cosine in terms.items()]
