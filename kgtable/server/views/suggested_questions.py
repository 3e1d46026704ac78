"""Questions worth asking about a graph, written from its real tables and kept where their program verifies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from kgtable.answering.answer import Answer
from kgtable.errors import GraphNotFoundError, KgtableError
from kgtable.graph.table_decoder import TableFrame, TableRow
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.ontology.column_stats import QUANTITY, ColumnFact, clean_text
from kgtable.ontology.inferred_names import SURE_FROM
from kgtable.programs.algebra import tables_of
from kgtable.server.views.table_list import titled
from kgtable.server.workers.messages import Head
from kgtable.tables.model import MeasureKind, Role
from kgtable.values.lexicon import language_of, senses
from kgtable.values.periods import is_temporal
from kgtable.values.unit_phrases import parse_unit_phrase

AT_FRONT, AFTER = 4, 3
"""Questions offered on the start page, and after an answer."""
TRIED = 14
"""Number of candidates that are answered to find them."""
SAMPLED_ROWS = 40
LONGEST_NAME = 48
LARGEST = 100_000
"""Maximum cells of a table on which questions are tried while a reader waits."""

LONGEST_CODE = 3
"""Letters of a unit's code; longer words, such as *minutes*, may be what a column is called."""

_UNIT_BEHIND = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\s*$")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_WORDS = re.compile(r"[A-Za-z][A-Za-z'’-]*(?: [A-Za-z'’-]+){0,3}")
_LINKS = re.compile(r" (?:of|per|in|for|from|to|by|with|at|on) ")
_PLURAL = re.compile(r"[a-z][^\W\daius]s$")
_NO_MEMBERS = frozenset(
    {"Group", "HeaderRow", "TitleRow", "TotalRow", "StatisticRow", "ChangeRow", "OfWhichRow", "FootnoteRow"}
)
_ADDED = frozenset({MeasureKind.COUNT, MeasureKind.AMOUNT, MeasureKind.DURATION})

_NOT_NOUNS = frozenset({"code", "Label", "Text"})
"""Senses of what a row is called by, rather than of what it is."""

_Place: TypeAlias = tuple[int, int] | None


def suggestions(graph: KnowledgeGraph, job: Head, tell: Any) -> dict[str, Any]:
    """Questions about the whole graph, or about the table `table`, near a cell of it where one is given.

    Raises `GraphNotFoundError` for a table that is not there.
    """
    table = job.get("table") or None
    if table is None:
        return {"questions": list(_at_front(graph))}
    if table not in graph.catalogue.tables:
        raise GraphNotFoundError(f"The graph holds no table {table!r}.")
    place = None if job.get("row") is None or job.get("column") is None else (job["row"], job["column"])
    asked = _plain(job.get("question") or "")
    found = [question for question in _about(graph, table, place) if _plain(question) != asked]
    return {"questions": found[:AFTER]}


@lru_cache(maxsize=4)
def _at_front(graph: KnowledgeGraph) -> tuple[str, ...]:
    """Questions that the rules answer with confidence, of the largest tables first, of kinds that take turns."""
    sizes = {id: record.cells for id, record in graph.catalogue.tables.items() if 0 < record.cells <= LARGEST}
    found: dict[str, str] = {}
    tried = 0
    for turn in range(2):
        for id in sorted(sizes, key=sizes.__getitem__, reverse=True)[:TRIED]:
            if id in found or tried >= TRIED or len(found) == AT_FRONT:
                continue
            kinds = Counter(map(_kind, found.values()))
            candidates = sorted(filter(None, TableQuestions.of(graph, id).general()), key=lambda one: kinds[_kind(one)])
            if len(candidates) <= turn:
                continue
            question = candidates[turn]
            title = clean_text(graph.catalogue.tables[id].title)
            narrowed = f"{question[:-1]} in {title}?" if title and question else ""
            for asked in filter(None, (question, narrowed)):
                tried += 1
                if asked not in found.values() and is_answered(graph, asked, id):
                    found[id] = asked
                    break
    return tuple(found.values())


@lru_cache(maxsize=64)
def _about(graph: KnowledgeGraph, id: str, place: _Place) -> tuple[str, ...]:
    """Questions that the rules answer with confidence about one table, those near the cell first."""
    if graph.catalogue.tables[id].cells > LARGEST:
        return ()
    questions = TableQuestions.of(graph, id)
    candidates = list(filter(None, dict.fromkeys([*questions.near(place), *questions.general()])))
    found: list[str] = []
    for question in candidates[: TRIED // 2]:
        if len(found) <= AFTER and is_answered(graph, question, id):
            found.append(question)
    return tuple(found)


def is_answered(graph: KnowledgeGraph, question: str, table: str) -> bool:
    """Whether the rules answer a question from a table alone, with confidence."""
    try:
        answer: Answer = graph.ask(question, model="none")
    except KgtableError:
        return False
    return answer.is_sure and answer.program is not None and set(tables_of(answer.program)) == {table}


@dataclass(frozen=True)
class TableQuestions:
    """The subjects of questions about a table: its name in a question, the name of its rows, its measures.

    `added` are the kinds of measures whose total over the rows makes sense: levels only where rows are not times.
    """

    title: str
    noun: str
    labels: tuple[tuple[int, str], ...]
    measures: tuple[ColumnFact, ...]
    added: frozenset[MeasureKind] = _ADDED

    @classmethod
    def of(cls, graph: KnowledgeGraph, id: str) -> TableQuestions:
        """Read from the table's frame and first rows. Raises `GraphError` if it cannot be read."""
        frame, record = graph.reader.frame(id), graph.catalogue.tables[id]
        structure = frame.table.structure
        start = structure.body_start
        rows = graph.reader.rows(id, range(start, min(record.rows, start + SAMPLED_ROWS)))
        labels = tuple(_labels(rows, structure.label_column))
        names = {column.index: column.path[-1] if column.path else "" for column in frame.table.columns}
        roles = {fact.index: fact.meaning.role for fact in record.facts if fact.meaning is not None}
        label = structure.label_column
        called = [row.cells[label] for row in rows.values() if label < len(row.cells) and not row.kinds & _NO_MEMBERS]
        is_key = roles.get(label) is not Role.TIME and len(set(called)) == len(called)
        is_english = language_of(names.values()) == "en"  # as the questions are
        own = [fact for fact in record.facts if is_english and fact.index != label]
        measures = tuple(fact for fact in own if _is_measure(fact, frame, len(rows)))
        added = _ADDED if Role.TIME in roles.values() else _ADDED | {MeasureKind.LEVEL}
        noun = _noun(names.get(label, ""), roles.get(label)) if is_key else ""
        return cls(titled(graph, id).title, noun, labels, measures, added)

    def general(self) -> Iterator[str]:
        """A question of each kind: the largest, a look-up, a total, a count."""
        if not self.measures:
            return
        fact = self.measures[0]
        name = _lowered(said_name(fact.name))
        if self.noun and not is_temporal([name]):
            yield f"Which {self.noun} has the {'most' if is_plural(name) else 'highest'} {name}?"
        if self.labels:
            yield _look_up(name, self.labels[len(self.labels) // 2][1])
        subject = self.title[:1].lower() + self.title[1:]
        plural = is_plural(subject) and _WORDS.fullmatch(subject) is not None
        if plural and not is_temporal([name]) and fact.meaning and fact.meaning.kind in self.added:
            yield f"What {'are' if is_plural(name) else 'is'} the total {name} of the {subject}?"
        if plural:
            yield f"How many {subject} are there?"

    def near(self, place: _Place) -> Iterator[str]:
        """Questions one step from a cell: the next row, the other columns, the extremes of its column."""
        if place is None or not self.measures:
            return
        row, column = place
        fact = next((fact for fact in self.measures if fact.index == column), self.measures[0])
        name = _lowered(said_name(fact.name))
        label = next((label for number, label in self.labels if number == row), None)
        later = next((label for number, label in self.labels if number > row), None)
        if later is not None:
            yield _look_up(name, later)
        if label is not None:
            for other in [other for other in self.measures if other.index != fact.index][:2]:
                yield _look_up(_lowered(said_name(other.name)), label)
        if self.noun and not is_temporal([name]):
            for end in ("most", "fewest") if is_plural(name) else ("highest", "lowest"):
                yield f"Which {self.noun} has the {end} {name}?"


def _labels(rows: dict[int, TableRow], column: int) -> Iterator[tuple[int, str]]:
    """The rows that are members of the table, by names that are theirs alone."""
    names: dict[str, int] = {}
    counts: dict[str, int] = {}
    for number, row in rows.items():
        text = " ".join((row.cells[column] if column < len(row.cells) else "").split()).lstrip("-–—•· ")
        is_name = sum(sign.isalpha() for sign in text) > len(text) // 2 and not any(map(str.isdigit, text))
        if is_name and len(text) <= LONGEST_NAME and not row.kinds & _NO_MEMBERS:
            names.setdefault(text, number)
            counts[text] = counts.get(text, 0) + 1
    return ((number, text) for text, number in names.items() if counts[text] == 1)


def _is_measure(fact: ColumnFact, frame: TableFrame, rows: int) -> bool:
    """Whether a column is surely a measure, holds quantities, and has a name that fits into a question."""
    if fact.meaning is None or fact.meaning.role is not Role.MEASURE or fact.name.startswith("["):
        return False
    name = said_name(fact.name)
    if fact.meaning.confidence < SURE_FROM or not _LINKS.split(f" {name} ")[-1]:
        return False
    return 0 < len(name) <= LONGEST_NAME and 2 * fact.ranges.get(QUANTITY, 0) >= min(rows, frame.body_rows)


def said_name(header: str) -> str:
    """A column's name as it is in a question: without its unit, on one line.

    >>> said_name("Harvest (kg)"), said_name("cost_of_treatment"), said_name("2023"), said_name("fee_eur")
    ('Harvest', 'cost of treatment', '2023', 'fee')
    """
    words = header.replace("_", " ").split()
    if "_" in header and len(words) > 1 and _is_unit_code(words[-1]):
        words.pop()
    return _UNIT_BEHIND.sub("", " ".join(words))


def _is_unit_code(word: str) -> bool:
    """Whether the last part of a header as programs write them is the code of a unit, such as ``eur``, ``kg``."""
    codes = (word, word.upper()) if len(word) <= LONGEST_CODE else ()
    return any(parse_unit_phrase(code) is not None for code in codes)


def _lowered(name: str) -> str:
    is_plain = name[1:] == name[1:].lower() and not is_temporal([name])
    return name[:1].lower() + name[1:] if is_plain else name


def _noun(header: str, role: Role | None) -> str:
    """The noun for a row, from its label's header; empty for a code, a name, a note or anything but a plain word."""
    name = said_name(header).lower()
    is_named = any(found.last == len(name.split()) - 1 for found in senses(name, _NOT_NOUNS))
    is_number = role is Role.IDENTIFIER and " " in name
    return name if _WORDS.fullmatch(name) and len(name) <= LONGEST_NAME and not is_named and not is_number else ""


def _look_up(name: str, label: str) -> str:
    years = set(_YEAR.findall(name))
    if is_temporal([name]):
        return f"What was {label} in {years.pop()}?" if len(years) == 1 else ""
    return f"What {'are' if is_plural(name) else 'is'} the {name} of {label}?"


def is_plural(name: str) -> bool:
    """Whether a column's name is one of several things, by the last letters of its noun.

    >>> is_plural("Lifts"), is_plural("Cars per hour"), is_plural("Net sales"), is_plural("Countries")
    (True, True, True, True)
    >>> is_plural("Number of guests"), is_plural("Status"), is_plural("Gas"), is_plural("Net loss"), is_plural("2023")
    (False, False, False, False, False)
    """
    noun = _LINKS.split(name, maxsplit=1)[0]
    return _PLURAL.search(noun) is not None


def _kind(question: str) -> tuple[str, bool]:
    words = question.split()
    return words[0], "total" in words


def _plain(question: str) -> str:
    return " ".join(question.casefold().split()).rstrip("?")


def forget_questions() -> None:
    """Drop the caches of a graph that is closed."""
    _at_front.cache_clear()
    _about.cache_clear()
