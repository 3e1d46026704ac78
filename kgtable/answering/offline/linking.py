"""What a question's words mean in a table: which rows, which columns, which cells are named."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import zip_longest

from kgtable.answering.offline import question as english
from kgtable.answering.offline.question import STOPWORDS, AskedQuestion, Threshold, stems
from kgtable.answering.offline.view import KEYS, RuleTable
from kgtable.tables.model import Position

_SMALL = frozenset(stems("of the a an in and for to"))
_PART = re.compile(r",|\band\b|&", re.IGNORECASE)
_OF = re.compile(r"\bof\b", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"\[column \d+\]")


def columns_named(view: RuleTable, phrase: str) -> tuple[int, ...]:
    """The columns all of whose header's words the phrase has, in its order.

    What follows *of* only completes a header, since it names the thing and not what is told of it. A
    header's last word counts once: *manager name* names the column of that header, and none called name.
    """
    words = stems(phrase)
    before = frozenset(word for part in _PART.split(phrase) for word in stems(_OF.split(part)[0]))
    left = Counter(words)
    found: dict[int, int] = {}
    headers = {column: _header(view, column) for column in view.columns}
    for column in sorted(headers, key=lambda one: (-len(headers[one]), one)):
        header = headers[column]
        if header and left[header[-1]] and before & set(header) and set(header) <= set(words):
            left[header[-1]] -= 1
            found[column] = words.index(header[-1])
    return tuple(sorted(found, key=lambda column: (found[column], column)))


def _header(view: RuleTable, column: int) -> tuple[str, ...]:
    if _PLACEHOLDER.fullmatch(view.called((0, column))):
        return ()
    return tuple(word for word in view.spelled_headers[column] if word not in _SMALL)


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """An answer with the cells it rests on, all of one table.

    `calculation` is written with cell ids. `support` says how surely the question's words name these
    cells; it is compared between tables. `rule` says in words what was done. `used` are the words of
    the question that the rule itself took account of, such as a threshold's, `negated` tells that it
    did so of a negation, `doubts` are its own.
    """

    text: str
    cells: tuple[Position, ...]
    support: float
    rule: str
    calculation: str | None = None
    used: frozenset[str] = frozenset()
    negated: bool = False
    doubts: tuple[str, ...] = ()


def cell_id(view: RuleTable, row: int, column: int) -> str:
    """The short id under which a calculation names a cell."""
    return view.evidence.cell_id(view.id, row, column)


def cell_ids(view: RuleTable, cells: tuple[Position, ...]) -> str:
    """The ids of several cells, as arguments."""
    return ", ".join(cell_id(view, *place) for place in cells)


def printed(view: RuleTable, number: Decimal, cells: tuple[Position, ...]) -> str:
    """A computed number in the scale in which the cells are printed.

    Quotients are cut to ten decimals, which the check of the answer allows for.
    """
    powers = {cell.power for place in cells if (cell := view.evidence.cell(view.id, *place)) is not None}
    power = powers.pop() if len(powers) == 1 else 0
    scaled = number.scaleb(-power)
    rounded = scaled.quantize(Decimal("1e-10")) if abs(scaled) < Decimal("1e16") else scaled
    text = f"{rounded:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


_LONGEST_MENTION = 12
_MOST_ROWS = 0.7
_NEAR = 3
"""How many words away from a small number its column may be named."""

HINTED_AT = 0.8
"""How much it speaks for a column that an adjective hints at it: *how long* at a length."""

_AROUND = 5
"""How many words away from a condition on numbers its column may be named."""

_MISSING_LABEL_WORD = 0.35


@dataclass(frozen=True, slots=True)
class Mention:
    """Words `start` to `end` of the question that are the whole text of cells, all in one column."""

    start: int
    end: int
    column: int
    rows: frozenset[int]


class Linking:
    """A question over a table."""

    def __init__(self, question: AskedQuestion, view: RuleTable) -> None:
        self.question, self.view = question, view

    def without_thresholds(self) -> Linking:
        """The same question as if it had no thresholds."""
        return Linking(replace(self.question, thresholds=()), self.view)

    @cached_property
    def mentions(self) -> tuple[Mention, ...]:
        """Cells named in the question, the longest first, none overlapping another.

        Words that are no cell's whole text name the cells that contain them, unless they name a column.
        """
        words, taken, found = self.question.words, set[int](), []
        for length in range(min(_LONGEST_MENTION, len(words)), 0, -1):
            for start in range(len(words) - length + 1):
                span = words[start : start + length]
                if taken & set(range(start, start + length)):
                    continue
                if self._telling(span):
                    columns = self._preferred(self._places(span), start)
                else:
                    columns = self._numbered(span, start)
                found += [Mention(start, start + length, c, frozenset(rows)) for c, rows in columns.items()]
                if columns:
                    taken |= set(range(start, start + length))
        return tuple(found)

    def _places(self, span: tuple[str, ...]) -> dict[int, set[int]]:
        """The rows by column in which cells are named by these words."""
        columns: dict[int, set[int]] = {}
        for row, column in self.view.cells_by_words.get(span, ()):
            columns.setdefault(column, set()).add(row)
        if columns or span[0] in STOPWORDS or span[-1] in STOPWORDS or self._names_columns(span):
            return columns
        for row in self.view.rows_with(span[0]):
            for column in self.view.columns_with(row, span):
                columns.setdefault(column, set()).add(row)
        most = _MOST_ROWS * len(self.view.rows)
        return {column: rows for column, rows in columns.items() if len(rows) <= most}

    def _preferred(self, columns: dict[int, set[int]], start: int) -> dict[int, set[int]]:
        """Of several columns with the same cell those that the question names, best of all just before it."""
        if len(columns) < 2:
            return columns
        words, headers = self.question.words, self.view.spelled_headers
        before = words[start - 1] if start else ""
        scores = self.column_scores()
        for kept in (
            [column for column in columns if headers[column] == (before,)],
            [column for column in columns if scores[column] > 0],
        ):
            if kept:
                return {column: columns[column] for column in kept}
        return columns

    def _numbered(self, span: tuple[str, ...], start: int) -> dict[int, set[int]]:
        """The cells that are a small number, of the column named next to it: *grade 10*, *3 cylinders*."""
        if len(span) > 1 or not span[0].isdigit() or span[0] in self.question.threshold_words:
            return {}
        words = self.question.words
        near = frozenset(words[max(0, start - _NEAR) : start + _NEAR]) - {span[0]} - STOPWORDS
        columns: dict[int, set[int]] = {}
        for row, column in self.view.cells_by_words.get(span, ()):
            if near & self.view.headers[column]:
                columns.setdefault(column, set()).add(row)
        return columns

    def _names_columns(self, span: tuple[str, ...]) -> bool:
        """Whether all of the words stand in headers or say what is asked for."""
        known = frozenset().union(*self.view.headers) | self.question.focus
        return all(word in known for word in span)

    def _telling(self, span: tuple[str, ...]) -> bool:
        """Whether these words may name a cell: no stop words, no small numbers, which stand everywhere."""
        if len(span) > 1:
            return any(word not in STOPWORDS for word in span)
        if span[0] in self.question.threshold_words:
            return False
        word = span[0]
        return len(word) >= 4 if word.isdigit() else len(word) > 1 and word not in STOPWORDS

    @cached_property
    def mentioned_words(self) -> frozenset[str]:
        """The words of all mentions."""
        return frozenset(
            word for found in self.mentions for word in self.question.words[found.start : found.end]
        )

    def column_scores(self) -> dict[int, float]:
        """How well each column's header is named: the share of its telling words, weighted."""
        weights, found = self.view.header_weights, {}
        for column, words in enumerate(self.view.headers):
            whole = sum(weights[word] for word in words)
            met = sum(weights[word] for word in words if word in self.question.content)
            found[column] = met / whole * (1 + 0.1 * met) if whole else 0.0
        return found

    def row_score(self, row: int) -> float:
        """How much of the question a row says, less what its label says besides."""
        weights = self.view.row_weights
        said = self.view.row_words(row) & self.question.content
        label = self.view.label_words(row)
        extra = sum(weights.get(word, 0.0) for word in label - self.question.content)
        return sum(weights[word] for word in said) - _MISSING_LABEL_WORD * extra

    def best_row(self, among: tuple[int, ...] | None = None) -> tuple[int, float] | None:
        """The row that says the most of the question, and its score; None where none says anything."""
        scored = [(self.row_score(row), -row) for row in (among or self.view.rows)]
        if not scored:
            return None
        score, row = max(scored)
        said = self.view.row_words(-row) & self.question.content
        return (-row, score) if said else None

    def named_rows(self, without_columns: frozenset[int] = frozenset()) -> tuple[int, ...] | None:
        """The rows that hold all the cells that are named, as far as any row does; None where none are."""
        rows: frozenset[int] | None = None
        spans: dict[tuple[int, int], frozenset[int]] = {}
        for found in self.mentions:
            if found.column not in without_columns:
                span = (found.start, found.end)
                spans[span] = spans.get(span, frozenset()) | found.rows
        for named in spans.values():
            both = named if rows is None else rows & named
            rows = both or ((rows or named) | named if self.question.enumerates else rows)
        return None if rows is None else tuple(sorted(rows))

    def conditioned(self, rows: tuple[int, ...]) -> tuple[tuple[int, ...], bool]:
        """The rows that meet the question's thresholds, and whether there were any that could be applied."""
        applied = False
        for threshold in self.question.thresholds:
            column = self._threshold_column(threshold)
            if column is None:
                continue
            kept = []
            for row in rows:
                number = self._comparable(row, column, years=threshold.years)
                if number is not None and threshold.holds(number):
                    kept.append(row)
            rows, applied = tuple(kept), True
        return self._beside_average(rows, applied)

    def _beside_average(self, rows: tuple[int, ...], applied: bool) -> tuple[tuple[int, ...], bool]:
        """The rows above or below the average of the column named beside it, where that is asked for."""
        match = english.asked("beside_average").search(self.question.text)
        column = None if match is None else self._measured_near(*match.span())
        if match is None or column is None:
            return rows, applied
        numbers = {row: found for row in rows if (found := self.view.number(row, column)) is not None}
        if not numbers:
            return rows, applied
        mean = sum(numbers.values(), Decimal(0)) / len(numbers)
        kept = (row for row, found in numbers.items() if (found > mean if match["more"] else found < mean))
        return tuple(kept), True

    def _measured_near(self, start: int, end: int) -> int | None:
        """The column of numbers that is named the nearest to this part of the question."""
        before = stems(self.question.text[:start])[: -_AROUND - 1 : -1]
        after = stems(self.question.text[end:])[:_AROUND]
        for words in zip_longest(before, after):
            for column in self.view.columns:
                named = any(word in self.view.headers[column] for word in words)
                if named and self.view.numeric_share(column) > 0.5:
                    return column
        return None

    def truth_column(self) -> int | None:
        """The column of yes and no that the question names, if there is one."""
        view, scores = self.view, self.column_scores()
        asked = [c for c in view.columns if scores[c] > 0.5 and view.says_yes_or_no(c)]
        return max(asked, key=lambda found: scores[found], default=None)

    def said_yes(self, rows: tuple[int, ...], column: int) -> tuple[int, ...]:
        """Those of the rows that say yes in the column; no, where the question asks for that."""
        wanted = not self.question.negated
        return tuple(row for row in rows if self.view.truth(row, column) is wanted)

    @cached_property
    def asked_columns(self) -> tuple[int, ...]:
        """The columns whose whole headers the question lists as what it asks for, in its order."""
        return columns_named(self.view, self.question.selection)

    def meant_rows(self, without_columns: frozenset[int] = frozenset()) -> tuple[tuple[int, ...], float]:
        """The rows that hold what is named and meet the thresholds, else all data rows; and how sure it is.

        Where the question asks for what is not so, they are the other rows.
        """
        named, plain = self.named_rows(without_columns), self.view.plain_rows
        rows = plain if named is None else tuple(row for row in named if row in plain) or named
        if named is not None and self.question.negated:
            rows = tuple(row for row in plain if row not in named)
        rows, applied = self.conditioned(rows)
        return rows, (1.0 if named is not None else 0.0) + (1.0 if applied else 0.0) + 0.2

    @property
    def threshold_doubts(self) -> tuple[str, ...]:
        """Says where a condition on numbers was applied to a column that the question does not name."""
        scores, doubts = self.column_scores(), []
        for threshold in self.question.size_thresholds:
            column = self._threshold_column(threshold)
            if column is None or scores[column] or self.view.headers[column] & self.question.hinted:
                continue
            name = self.view.called((0, column))
            doubts.append(f"the question does not name the column {name!r}, taken for its condition")
        return tuple(doubts)

    @property
    def negated_words(self) -> frozenset[str]:
        """The words by which it is told what the rows meant are not, and in which columns."""
        columns = {found.column for found in self.mentions}
        return self.mentioned_words.union(*(self.view.headers[column] for column in columns))

    @cached_property
    def threshold_columns(self) -> tuple[int, ...]:
        """The columns to which the question's thresholds apply."""
        found = map(self._threshold_column, self.question.thresholds)
        return tuple(column for column in found if column is not None)

    def _comparable(self, row: int, column: int, *, years: bool) -> Decimal | None:
        time = self.view.time(row, column) if years else None
        if time is not None and time[:4].isdigit():
            return Decimal(time[:4])
        if column == self.view.rank_column:
            return self.view.place(row, column)
        return self.view.number(row, column)

    def _threshold_column(self, threshold: Threshold) -> int | None:
        scores, years = self.column_scores(), threshold.years
        if threshold.sign == "==" or "top" in stems(threshold.said):
            return self.view.rank_column
        at = self.question.text.find(threshold.said)
        near = None if years else self._measured_near(at, at + len(threshold.said))
        if near is not None:
            return near
        kind = self.view.time_share if years else self.view.numeric_share
        fitting = [column for column in self.view.columns if kind(column) > 0.5]
        return max(
            fitting,
            key=lambda column: (
                scores[column],
                not self.view.numbers_rows(column),
                self.view.is_total(column),
                -column,
            ),
            default=None,
        )

    def answer_column(self, exclude: frozenset[int] = frozenset()) -> tuple[int, float]:
        """The column that holds what is asked for, and how sure that is."""
        scores = self.column_scores()
        focus, best, support = self.question.focus, self.view.label_column, float("-inf")
        for column in self.view.columns:
            words = self.view.headers[column]
            score = scores[column]
            if focus and words & focus:
                score += 1.5 * len(words & focus) / len(words | focus) + 0.5
            elif focus:
                score += self.view.share_with(column, focus)
            score += self._kind_bonus(column)
            if self.question.wants == "number" and words & self.question.hinted:
                score += HINTED_AT
            if column in exclude:
                score -= 2.0
            if KEYS & words and not KEYS & self.question.content:
                score -= 1.0
            if column == self.view.label_column:
                score += 0.15
            if not self.question.wants and (
                self.view.numbers_rows(column) or self.view.time_share(column) > 0.6
            ):
                score -= 0.3
            if score > support:
                best, support = column, score
        return best, support

    def _kind_bonus(self, column: int) -> float:
        """What speaks for a column where a time, a person, a place or a number is asked for."""
        wants, numbers = self.question.wants, self.view.numeric_share(column)
        if wants == "number" or not wants:
            return 0.5 * numbers if wants else 0.0
        named = not self.view.headers[column].isdisjoint(stems(" ".join(english.words(wants))))
        if wants == "time":
            return 0.8 * self.view.time_share(column) + 0.4 * named
        return 0.75 * named - 0.6 * numbers
