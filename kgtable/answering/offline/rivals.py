"""Cells beside those of a finding that fit the question as well."""

from __future__ import annotations

from collections.abc import Iterator

from kgtable.answering.offline import english
from kgtable.answering.offline.finding import Finding
from kgtable.answering.offline.question import Form, Question
from kgtable.answering.offline.view import TableView
from kgtable.answering.offline.words import spoken, stems
from kgtable.tables.model import Position

_MOST_NAMED = 3
_SOME = 0.3
_KINDS = ("time", "person", "place")


def rival_doubts(question: Question, view: TableView, finding: Finding) -> Iterator[str]:
    """Says where another column or row than that of the finding may be meant."""
    cells = finding.cells
    if finding.rule == Form.LOOKUP:
        if len({column for _, column in cells}) == 1:
            yield from _columns(question, view, cells[0])
        if len({row for row, _ in cells}) == 1:
            yield from _repeats(question, view, cells[0])
            yield from _rows(question, view, cells[0])
        return
    measured = tuple(place for place in cells if view.number(*place) is not None)
    if finding.rule in (Form.COUNT, Form.NEIGHBOUR) or finding.calculation is None or not measured:
        return
    last = measured[-1]
    if len({column for _, column in measured}) == 1 and len(measured) > 1:
        if not (finding.rule == Form.EXTREME and _same_extreme(question, view, measured)):
            yield from _columns(question, view, last)
    elif len(measured) > 1 and len({row for row, _ in measured}) == 1:
        yield from _rows(question, view, last)


def column_doubts(question: Question, view: TableView, finding: Finding) -> Iterator[str]:
    """Says where the answer stands in a column that the question does not ask for by name."""
    row, column = finding.cells[0]
    asked = question.focus or question.content
    if question.wants in _KINDS:
        kind = frozenset(stems(" ".join(english.words(question.wants))))
        fits = not view.headers[column].isdisjoint(kind | question.focus)
    else:
        fits = bool(view.headers[column] & asked) or column == view.label_column
    if not fits and not frozenset(stems(view.text(row, column))) & asked:
        yield f"the question does not ask for the column {view.called((row, column))!r} by name"


def counted_doubts(question: Question, view: TableView, finding: Finding) -> Iterator[str]:
    """Says where what is counted is not called what the question counts."""
    if not question.focus:
        yield "the question does not say what is to be counted"
    if question.negated and len(view.naming_columns(question.content, view.plain_rows)) > 1:
        yield "several columns have what the question says is not so"
    if len(finding.cells) == 1 and not question.thresholds:
        yield "only one row is counted, which may itself say the number"
    counted = {column for _, column in finding.cells} | {view.label_column}
    for column in view.columns:
        may_tell = view.numeric_share(column) > _SOME and view.time_share(column) < 0.5
        if column not in counted and may_tell and view.headers[column] & question.focus:
            yield f"the column {view.called((0, column))!r} may hold the number asked for"
            break
    said = question.focus - frozenset(stems(english.explained(Form.COUNT))) - view.last_name
    rows = {row for row, _ in finding.cells}
    naming = view.naming_columns(question.content, rows)
    for column in {view.label_column, *naming, *(column for _, column in finding.cells)}:
        said -= view.headers[column]
    left = sorted(word for word in said if not all(word in view.row_words(row) for row in rows))
    if left and left != sorted(finding.used & frozenset(left)):
        words = ", ".join(spoken(question.text).get(word, word) for word in left)
        yield f"nothing says that the rows counted are {words}"


def _columns(question: Question, view: TableView, place: Position) -> Iterator[str]:
    row, column = place
    asked = question.content | frozenset(question.years) | question.hinted
    mine = _header(view, column)
    rivals = []
    for other in view.columns:
        text = view.text(row, other)
        if other == column or not text or text == view.text(row, column):
            continue
        its = _header(view, other)
        if mine & asked:
            fits = its & asked >= mine & asked and len(its - asked) <= len(mine - asked)
        else:
            # no header is named: those rival that hold what is asked for, and did not pick the row
            fits = _of_kind(question, view, other) and not frozenset(stems(text)) & asked
        if fits:
            rivals.append(other)
    if rivals:
        names = ", ".join(repr(view.called((row, other))) for other in rivals[:_MOST_NAMED])
        yield f"the question does not tell the column {view.called(place)!r} from {names}"


def _of_kind(question: Question, view: TableView, column: int) -> bool:
    """Whether the column may hold what is asked for: a time, a number, a person or a place."""
    if question.wants == "time":
        return view.time_share(column) > 0.5
    if question.wants == "number" or question.form not in (Form.LOOKUP, Form.NEIGHBOUR):
        return view.numeric_share(column) > 0.5 and view.time_share(column) < 0.5
    if question.wants in _KINDS:
        kind = frozenset(stems(" ".join(english.words(question.wants))))
        return bool(view.headers[column] & kind)
    return not view.numbers_rows(column)


def _same_extreme(question: Question, view: TableView, measured: tuple[Position, ...]) -> bool:
    """Whether every other column of the same name has its extreme in the same row (as in other units)."""
    best, column = measured[0]
    asked = view.headers[column] & question.content
    for other in view.columns:
        if other != column and asked and view.headers[other] & question.content >= asked:
            numbers = {row: found for row, _ in measured if (found := view.number(row, other)) is not None}
            if numbers and numbers.get(best) not in (max(numbers.values()), min(numbers.values())):
                return False
    return bool(asked)


def _repeats(question: Question, view: TableView, place: Position) -> Iterator[str]:
    said = frozenset(stems(view.text(*place))) & question.content
    if said - _header(view, place[1]) and question.form != Form.YES_NO:
        yield f"the answer {view.text(*place)!r} only repeats what the question says"


def _rows(question: Question, view: TableView, place: Position) -> Iterator[str]:
    row, column = place
    asked = question.content - _header(view, column)
    mine, extra = view.row_words(row) & asked, len(view.label_words(row) - question.content)
    rivals = [
        other
        for other in view.rows
        if other != row
        and view.text(other, column)
        and view.text(other, column) != view.text(row, column)
        and view.row_words(other) & asked >= mine
        and len(view.label_words(other) - question.content) <= extra
    ]
    if rivals:
        many = len(rivals) > 1
        yield f"{len(rivals)} other row{'s' if many else ''} of the table fit{'' if many else 's'} as well"


def _header(view: TableView, column: int) -> frozenset[str]:
    year = view.year_columns.get(column)
    return view.headers[column] | ({year} if year else frozenset())
