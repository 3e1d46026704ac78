"""What a method shows of tables against what the gold query needs: precision, recall and F1 of columns and values.

As in the TableRAG paper (Chen et al. 2024, section 4.5, Table 3): gold columns are those that the gold query
reads; gold values those cells of its tables that it names in quotes.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from threading import Lock

from kgtable.evaluation.benchmark import BenchmarkQuestion
from kgtable.evaluation.scoring import traced
from kgtable.graph.table_content import TableContent
from kgtable.systems.tablerag.shown_tables import ShownRetrieval

Column = tuple[str, int]
Value = tuple[str, int, str]

_QUOTED = re.compile(r"'((?:[^']|'')+)'|\"([^\"]+)\"")
_WORD = re.compile(r"\w+")
_KEPT = 128


class ShownGold:
    """The gold columns and values of questions; `content` reads the tables."""

    def __init__(self, content: Callable[[str], TableContent]) -> None:
        self._content = content
        self._tables: OrderedDict[str, Mapping[str, frozenset[Value]]] = OrderedDict()
        self._lock = Lock()

    def columns(self, question: BenchmarkQuestion) -> set[Column]:
        """The columns that the gold query reads; none where they are not known."""
        named = {(str(table), int(column)) for table, column in question.extra.get("columns") or ()}
        if named:
            return named
        return {(table, column) for table, _, column in question.cells} if traced(question) else set()

    def values(self, question: BenchmarkQuestion) -> set[Value]:
        """The values in the gold tables that the gold SQL names in quotes."""
        sql = str(question.extra.get("sql") or "")
        named = {_plain(one or other) for one, other in _QUOTED.findall(sql)}
        found: set[Value] = set()
        for table in question.tables if named else ():
            cells = self._cells(table)
            for text in named:
                found |= cells.get(text, frozenset())
        return found

    def scores(self, question: BenchmarkQuestion, found: ShownRetrieval) -> dict[str, float]:
        """Recall, precision and F1 of columns and of values, where there are gold ones."""
        scores: dict[str, float] = {}
        for kind, gold, shown in (
            ("column", self.columns(question), found.shown_columns),
            ("value", self.values(question), found.shown_values),
        ):
            if gold:
                scores |= _scores(kind, gold, shown)
        return scores

    def _cells(self, table: str) -> Mapping[str, frozenset[Value]]:
        with self._lock:
            if table not in self._tables:
                cells: dict[str, set[Value]] = {}
                for row in self._content(table).rows:
                    for column, cell in () if row.is_header else row.cells:
                        text = " ".join(cell.text.split())
                        cells.setdefault(_plain(text), set()).add((table, column, text))
                self._tables[table] = {text: frozenset(found) for text, found in cells.items()}
                if len(self._tables) > _KEPT:
                    self._tables.popitem(last=False)
            return self._tables[table]


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def _scores(kind: str, gold: Collection[object], shown: Collection[object]) -> dict[str, float]:
    """Recall, precision and F1.

    >>> _scores("column", {1, 2}, {2, 3, 4, 5})
    {'column_recall': 0.5, 'column_precision': 0.25, 'column_f1': 0.3333333333333333}
    """
    hit = len(set(gold) & set(shown))
    recall = hit / len(gold)
    precision = hit / len(shown) if shown else 0.0
    f1 = 2 * recall * precision / (recall + precision) if hit else 0.0
    return {f"{kind}_recall": recall, f"{kind}_precision": precision, f"{kind}_f1": f1}
