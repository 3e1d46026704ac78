"""Programs executed over a graph: in memory, or as SPARQL on its store.

Whichever engine computes the values, the program is also executed in memory, which yields the derivation in
words and the cells that were read.
"""

from __future__ import annotations

import html
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from kgtable.answering.answer import SHOWN_ROWS, ComputedCell, chart_of_rows, computed_text, rows_text
from kgtable.answering.charts import Chart, image_of, saved
from kgtable.answering.evidence import Citation, Evidence
from kgtable.answering.program_answers import citations_of, relations_of, shown_as
from kgtable.errors import EvaluationError, UsageError
from kgtable.graph.store import TripleStore, query_errors
from kgtable.graph.table_source import TableReader
from kgtable.programs.algebra import Program
from kgtable.programs.compiled.to_sparql import SparqlQuery, compile_sparql
from kgtable.programs.executor import run
from kgtable.programs.relation import Relation
from kgtable.programs.scalars import quantity, truth
from kgtable.programs.syntax import parse_program, program_to_json
from kgtable.retrieval.result import Retrieval
from kgtable.values.decimals import shortened
from kgtable.values.text import harmless_text, single_line

if TYPE_CHECKING:
    import pandas as pd


MOST_ROWS = 1_000
"""Rows of a result that are kept unless more are asked for."""


class Engine(StrEnum):
    """Engine that computes the values: kgtable itself, or the graph's store."""

    MEMORY = "memory"
    SPARQL = "sparql"


@dataclass(frozen=True)
class ProgramRun:
    """Result of a program, and the cells it was computed from.

    `names` are the columns of the result and `rows` its first rows (`size` counts all); a value that is
    missing is None. A program that returns one value has one column, called ``value``. `calculation` is the
    program in words, with the numbers of rows; `citations` are the first cells that were read, `cells_read`
    counts all. `query` is the SPARQL that gave the values, empty in memory.
    """

    program: Program
    engine: Engine
    names: tuple[str, ...]
    rows: tuple[tuple[ComputedCell | None, ...], ...]
    size: int
    calculation: str
    citations: tuple[Citation, ...] = ()
    cells_read: int = 0
    query: str = field(default="", repr=False)

    @property
    def found(self) -> bool:
        """Whether there is any value."""
        return any(cell is not None for row in self.rows for cell in row)

    @property
    def single(self) -> ComputedCell | None:
        """The only value, where there is only one."""
        return self.rows[0][0] if len(self.rows) == 1 and self.size == 1 and len(self.names) == 1 else None

    @property
    def value(self) -> Decimal | str | bool | None:
        """The only value, exact: a number in `unit`, a truth value, or a text."""
        return None if self.single is None else self.single.value

    @property
    def unit(self) -> str | None:
        """The QUDT unit of the only value."""
        return None if self.single is None else self.single.unit

    @property
    def text(self) -> str:
        """All values as one text: rows separated by "; ", values of a row by ", "."""
        rows = (", ".join(str(cell) for cell in row if cell is not None) for row in self.rows)
        text = "; ".join(filter(None, rows))
        return f"{text}; … ({self.size:,} rows)" if self.size > len(self.rows) else text

    def to_json(self) -> dict[str, Any]:
        """The object that ``kgtable run --json`` prints."""
        single = None if self.single is None else self.single.to_json()
        return {
            "engine": self.engine.value,
            "text": self.text or None,
            "value": None if single is None else single["value"],
            "unit": self.unit,
            "columns": list(self.names),
            "rows": [[None if cell is None else cell.to_json() for cell in row] for row in self.rows],
            "row_count": self.size,
            "calculation": self.calculation,
            "citations": [citation.to_json() for citation in self.citations],
            "cells_read": self.cells_read,
            "program": program_to_json(self.program),
        }

    def plot(self, path: str | Path | None = None) -> Chart | None:
        """The chart of the stored rows: their first numbers over the texts or periods next to them.

        Args:
            path: also write the chart to this file: .svg, .png or .json.

        None if the result has no such columns, or its numbers are in several units. Raises as `Chart.save` does.
        """
        return saved(chart_of_rows(self.names, self.rows, self.calculation), path)

    def to_frame(self) -> pd.DataFrame:
        """The rows as a data frame of exact values: numbers are `Decimal`, missing values None."""
        import pandas as pd

        rows = [[None if cell is None else cell.value for cell in row] for row in self.rows]
        return pd.DataFrame(rows, columns=list(self.names), dtype=object)

    def __str__(self) -> str:
        return "\n".join((*self._shown(), *computed_text(self.calculation, self.citations, self.cells_read)))

    def __repr__(self) -> str:
        text = self.text if len(self.text) <= 60 else self.text[:59] + "…"
        rows = f"{self.size:,} row{'' if self.size == 1 else 's'}"
        return f"ProgramRun({text!r}, {rows}, engine={self.engine.value!r})"

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{html.escape(name)}</th>" for name in self.names)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(str(cell or ''))}</td>" for cell in row) + "</tr>"
            for row in self.rows[:SHOWN_ROWS]
        )
        more = f"<p>{html.escape(self._more())}</p>" if self._more() else ""
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
        return f"{table}{more}<p>= {html.escape(self.calculation)}</p>{image_of(self.plot())}"

    def _shown(self) -> Iterator[str]:
        """The values as lines: one value alone, or rows under the names of their columns."""
        if not self.found and self.size <= 1:
            yield "The program gives no value."
        elif self.size == 1 and len(self.names) == 1:
            yield single_line(harmless_text(self.text))
        else:
            yield from rows_text(self.names, self.rows, self.size)

    def _more(self) -> str:
        left = self.size - min(len(self.rows), SHOWN_ROWS)
        return f"… and {left:,} more rows" if left else ""


class GraphPrograms:
    """Checks, compiles and executes programs over the tables of one graph.

    Args:
        reader: reads the tables.
        store: the store that SPARQL is sent to.
        ids: the ids of all tables there are.
    """

    def __init__(self, reader: TableReader, store: TripleStore, ids: Collection[str]) -> None:
        self._reader, self._store = reader, store
        self._relations, self._ids = _GraphRelations(relations_of(reader), ids), ids

    def run(self, program: Program, engine: Engine = Engine.MEMORY, *, most: int = MOST_ROWS) -> ProgramRun:
        """Execute a program and keep the first rows.

        Raises leaves of `ProgramError`, `QueryError` and `RemoteStoreError` for a store that fails.
        """
        result = run(program, self._relations)
        nowhere = Evidence(Retrieval("", (), (), method="program"), self._reader)
        citations, count = citations_of([result], nowhere)
        if engine is Engine.SPARQL:
            query = self._sparql(program)
            rows, size, text = *self._solutions(query, most), query.text
            names = query.names
        else:
            shown = shown_as(citations, [result])
            rows = [tuple(ComputedCell.of(value, shown) for value in row) for row in islice(result.rows(), most)]
            names, size, text = result.names, len(result), ""
        return ProgramRun(program, engine, names, tuple(rows), size, result.derivation, citations, count, text)

    def compiled(self, program: Program) -> str:
        """A program as SPARQL for the graph's store.

        Raises leaves of `ProgramError`; `ProgramCompilationError` for what does not map to SPARQL.
        """
        return self._sparql(program).text

    def _sparql(self, program: Program) -> SparqlQuery:
        return compile_sparql(program, self._relations, self._reader.names)

    def _solutions(self, query: SparqlQuery, most: int) -> tuple[list[tuple[ComputedCell | None, ...]], int]:
        """The first rows of a query's result, and how many there are."""
        found = self._store.query(query.text)
        if not isinstance(found, ox.QuerySolutions):
            raise EvaluationError("The store gave no rows.")
        rows: list[tuple[ComputedCell | None, ...]] = []
        size = 0
        with query_errors():
            for size, solution in enumerate(found, 1):
                if size <= most:
                    terms = (_plain(solution[name]) for name in query.variables)
                    rows.append(_row(terms, query.units))
        return rows, size


class _GraphRelations(Mapping[str, Relation]):
    """The relations of a graph by the ids of its tables, read when a program first needs them."""

    def __init__(self, relations: Mapping[str, Relation], ids: Collection[str]) -> None:
        self._relations, self._ids = relations, ids

    def __getitem__(self, id: str) -> Relation:
        if id not in self._ids:
            raise KeyError(id)
        return self._relations[id]

    def __contains__(self, id: object) -> bool:
        return id in self._ids

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)


def read_given(program: object) -> Program:
    """A program from a Python caller: a program, its JSON text, or the decoded JSON.

    Raises `ProgramSyntaxError` for JSON that is not a program, `UsageError` for anything else.
    """
    if isinstance(program, Program):
        return program
    if isinstance(program, str | Mapping):
        return parse_program(program)
    raise UsageError(f"A program is JSON (text or a dict) or a Program, not {type(program).__name__}.")


def program_json(program: Program) -> str:
    """A program as JSON text, indented."""
    return json.dumps(program_to_json(program), ensure_ascii=False, indent=2)


def _row(
    cells: Iterable[Decimal | float | str | None], units: tuple[str | None, ...]
) -> tuple[ComputedCell | None, ...]:
    return tuple(map(_of_engine, cells, units))


def _of_engine(cell: Decimal | float | str | None, unit: str | None) -> ComputedCell | None:
    """A value that a store gave."""
    if cell is None:
        return None
    if isinstance(cell, bool):
        return ComputedCell.of(truth(cell))
    if isinstance(cell, str):
        return ComputedCell(cell, cell)
    return ComputedCell.of(quantity(shortened(Decimal(str(cell))), unit))


def _plain(term: object) -> Decimal | str | bool | None:
    """An RDF term as a plain value."""
    if not isinstance(term, ox.Literal):
        return None if term is None else str(getattr(term, "value", term))
    kind = term.datatype.value.rpartition("#")[2]
    if kind == "boolean":
        return term.value in ("true", "1")
    return Decimal(term.value) if kind in ("decimal", "integer", "double", "float") else term.value
