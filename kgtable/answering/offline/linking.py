"""What a question's words mean in a table: which rows, which columns, which cells are named."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property

from kgtable.answering.offline import english
from kgtable.answering.offline.question import Question
from kgtable.answering.offline.view import TableView
from kgtable.answering.offline.words import STOPWORDS, stems

_LONGEST_MENTION = 12
_MOST_ROWS = 0.7
_KEY = frozenset({"id", "key"})
"""The words of headers of columns that only tell rows apart."""

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

    def __init__(self, question: Question, view: TableView) -> None:
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
                if taken & set(range(start, start + length)) or not self._telling(span):
                    continue
                columns = self._places(span)
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

    def _names_columns(self, span: tuple[str, ...]) -> bool:
        """Whether all of the words stand in headers or say what is asked for."""
        known = frozenset().union(*self.view.headers) | self.question.focus
        return all(word in known for word in span)

    def _telling(self, span: tuple[str, ...]) -> bool:
        """Whether these words may name a cell: no stop words, no small numbers, which stand everywhere."""
        if len(span) > 1:
            return any(word not in STOPWORDS for word in span)
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
            column = self._threshold_column(threshold.years)
            if column is None:
                continue
            kept = []
            for row in rows:
                number = self._comparable(row, column, years=threshold.years)
                if number is not None and threshold.holds(number):
                    kept.append(row)
            rows, applied = tuple(kept), True
        return rows, applied

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
    def threshold_columns(self) -> tuple[int, ...]:
        """The columns to which the question's thresholds apply."""
        found = (self._threshold_column(threshold.years) for threshold in self.question.thresholds)
        return tuple(column for column in found if column is not None)

    def _comparable(self, row: int, column: int, *, years: bool) -> Decimal | None:
        time = self.view.time(row, column) if years else None
        if time is not None and time[:4].isdigit():
            return Decimal(time[:4])
        return self.view.number(row, column)

    def _threshold_column(self, years: bool) -> int | None:
        scores = self.column_scores()
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
            if column in exclude:
                score -= 2.0
            if _KEY & words and not _KEY & self.question.content:
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
