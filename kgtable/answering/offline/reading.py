"""Whether a finding takes account of all that a question says: its reading, not its arithmetic.

Arithmetic that is right over the wrong cells is wrong. So each word that names a row, a column or a
period must be met by the cells of the finding, cells that are compared must be told apart by the
question, and no other cell may fit it as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kgtable.answering.offline import english
from kgtable.answering.offline.finding import Finding
from kgtable.answering.offline.question import Form, Question
from kgtable.answering.offline.rivals import column_doubts, counted_doubts, rival_doubts
from kgtable.answering.offline.view import TableView
from kgtable.answering.offline.words import spoken, stems
from kgtable.answering.wording import SCALE_WORDS
from kgtable.tables.units import units

_OF_MANY_ROWS = frozenset({Form.COUNT, Form.SUM, Form.AVERAGE, Form.EXTREME})
"""The rules that take a set of rows, each of which must be one that the question means."""

_NOT_OF_LABELS = frozenset({Form.COUNT, Form.EXTREME, Form.COMPARE, Form.NEIGHBOUR})
_FEW_ROWS = 2

_OF_A_PAIR = frozenset({Form.DIFFERENCE, Form.CHANGE, Form.SHARE})


@dataclass(frozen=True, slots=True)
class Reading:
    """Stems of the question's words that the finding leaves out, and all doubts in words."""

    missed: tuple[str, ...]
    doubts: tuple[str, ...]


def read_finding(question: Question, view: TableView, finding: Finding) -> Reading:
    """What the finding leaves out of the question, or takes to mean one of several things."""
    missed = tuple(sorted(_missed(question, view, finding)))
    doubts = list(_words_left(question, view, missed))
    if question.negated and not finding.negated:
        doubts.append("the question says what is not so, which the rule does not take into account")
    if finding.rule in _OF_A_PAIR and len(finding.cells) > 1:
        doubts += _operand_doubts(question, view, finding)
    if finding.rule in (Form.EXTREME, Form.COMPARE):
        doubts += column_doubts(question, view, finding)
    if finding.rule == Form.COUNT:
        doubts += counted_doubts(question, view, finding)
    doubts += rival_doubts(question, view, finding)
    if finding.rule not in _NOT_OF_LABELS:
        doubts += _label_doubts(question, view, finding)
    doubts += _unsaid(question, view, finding)
    doubts += finding.doubts
    return Reading(missed, tuple(doubts))


def _unsaid(question: Question, view: TableView, finding: Finding) -> Iterable[str]:
    """Something else that the question asks for, or an answer that says nothing."""
    if not any(sign.isalnum() for sign in finding.text):
        yield "the cell only says that there is nothing"
    if finding.rule == Form.LOOKUP and question.form == Form.SHARE:
        yield "it is not known of what whole the cell gives a share"
    letters = any(sign.isalpha() for sign in finding.text)
    if question.wants in ("person", "place") and not letters:
        yield f"the question asks for a {question.wants}, which a number is not"
    many = english.asked("how_many").search(question.text) and finding.rule in (Form.LOOKUP, Form.EXTREME)
    if many and (";" in finding.text or not any(sign.isdigit() for sign in finding.text)):
        yield "the question asks how many"
    timed = any(view.time_share(column) > 0.5 for _, column in finding.cells)
    if timed and finding.rule == Form.LOOKUP and english.asked("how_long").search(question.text):
        yield "the question asks how long, and the cell says when"
    if question.first_several > 1 and not question.several_words <= finding.used:
        yield f"the question asks for the first {question.first_several}"
    if finding.rule in (Form.GROUPS, Form.LIST) or ";" in finding.text:
        return
    if english.asked("and_another").search(question.text):
        yield "the question asks for more than one thing"
    if question.grouping and not view.own_name & frozenset(stems(question.grouping)):
        yield "the question asks for something of each"


def _words_left(question: Question, view: TableView, missed: tuple[str, ...]) -> Iterable[str]:
    said = spoken(question.text)
    named = [word for word in missed if view.names(word)]
    strange = [word for word in missed if not view.names(word)]
    if named:
        words = ", ".join(said.get(word, word) for word in named)
        yield f"the table has cells or columns of these words, which the answer leaves out: {words}"
    if strange:
        yield f"the cells say nothing of: {', '.join(said.get(word, word) for word in strange)}"


def _missed(question: Question, view: TableView, finding: Finding) -> frozenset[str]:
    """The words that name something the finding does not rest on, or that nothing explains."""
    explained = finding.used | frozenset(stems(english.explained(finding.rule)))
    columns = {column for _, column in finding.cells}
    rows = {row for row, _ in finding.cells if row in view.rows}
    for column in columns | {view.label_column} | view.naming_columns(question.content, rows):
        explained |= view.headers[column]
    explained |= question.adjectives(explained) | _unit_words(view, finding)
    left = question.content - explained
    context = view.table.context
    titles = {word for text in (context.title, context.caption, *context.heading) for word in stems(text)}
    left = frozenset(word for word in left if word not in titles | view.own_name or view.names(word))
    if finding.rule in _OF_MANY_ROWS:
        return left - _met_by_all(view, rows, left, question.enumerates)
    return left - frozenset().union(*(view.row_words(row) for row in rows))


def _met_by_all(view: TableView, rows: set[int], words: frozenset[str], enumerates: bool) -> frozenset[str]:
    """Those of the words that hold of every row; words of one column are alternatives in an enumeration."""
    if not enumerates:
        return frozenset(word for word in words if rows and all(word in view.row_words(row) for row in rows))
    met: set[str] = set()
    pending = {word: frozenset(view.columns_of(word)) for word in sorted(words) if view.rows_with(word)}
    while pending:
        first, columns = next(iter(pending.items()))
        alternatives = {word for word, found in pending.items() if word == first or found & columns}
        each = [alternatives & view.row_words(row) for row in rows]
        if all(each):
            met |= alternatives & frozenset().union(*each)
        for word in alternatives:
            del pending[word]
    return frozenset(met)


def _unit_words(view: TableView, finding: Finding) -> frozenset[str]:
    """The words for unit and scale of the finding's cells."""
    words: set[str] = set()
    for place in {column: (row, column) for row, column in finding.cells}.values():
        cell = view.evidence.cell(view.id, *place)
        unit = units().get(cell.unit) if cell and cell.unit else None
        if cell is not None:
            words.update(stems(SCALE_WORDS.get(cell.scale or "", "")))
        if unit is not None:
            words.update(stems(f"{unit.label} {unit.symbol} {unit.currency}"))
    return frozenset(words)


def _label_doubts(question: Question, view: TableView, finding: Finding) -> Iterable[str]:
    """A row of numbers whose label says more than the question may be another than the one meant."""
    rows = dict.fromkeys(row for row, column in finding.cells if view.number(row, column) is not None)
    if len(rows) > len(finding.cells) or len(rows) > _FEW_ROWS:
        return
    said = spoken(" ".join(view.text(row, view.label_column) for row in rows))
    for row in rows:
        extra = sorted(view.label_words(row) - question.content)
        if extra:
            words = ", ".join(said.get(word, word) for word in extra)
            yield f"the row {view.text(row, view.label_column)!r} says more than the question: {words}"


def _operand_doubts(question: Question, view: TableView, finding: Finding) -> Iterable[str]:
    """Each of two cells must be named by what tells it from the other."""
    one, other = finding.cells[:2]
    asked = question.content | frozenset(question.years)
    for here, there in ((one, other), (other, one)):
        own, its = _names_of(view, here), _names_of(view, there)
        if (own - its) & asked or (not own - its and its - own):
            continue
        years = {word for word in own - its if word.isdigit() and len(word) == 4}
        if any(str(int(year) + 1) in (its - own) & asked for year in years) and finding.rule != Form.SHARE:
            continue
        called = view.called(here) if here[0] == there[0] else view.text(here[0], view.label_column)
        yield f"the question does not name {called!r}, which was taken for one side"


def _names_of(view: TableView, place: tuple[int, int]) -> frozenset[str]:
    row, column = place
    year = view.year_columns.get(column)
    return view.label_words(row) | view.headers[column] | ({year} if year else frozenset())
