"""The operations of the HTTP API that read: one table from which routes, checks and the OpenAPI document come."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from kgtable.config import DEFAULT_K
from kgtable.server import requests
from kgtable.server.options import LIST_SORTS
from kgtable.server.workers.messages import Head, Problem

LONGEST_QUESTION = 2_000
LONGEST_WORDS = 500
MOST_TRIPLES = 11_000
MOST_ROWS, MOST_COLUMNS = 10**9, 10**6

QUESTION = {"type": "string", "minLength": 1, "maxLength": LONGEST_QUESTION, "pattern": r"\S"}
METHOD = {"type": "string", "default": "hybrid"}

_Schema: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an operation: its entry in the OpenAPI document, and its parser.

    `read` takes the text, None if it is absent, and raises `Problem`; `key` is the name in the job, if another.
    """

    name: str
    about: str
    schema: _Schema
    read: Callable[[str | None], Any]
    required: bool = False
    key: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation: its name in a job, its path, its result and the schema of that, its parameters and errors."""

    name: str
    path: str
    about: str
    schema: str
    parameters: tuple[Parameter, ...] = ()
    statuses: tuple[int, ...] = ()

    def job(self, query: bytes, path: Mapping[str, str]) -> Head:
        """The job of a request, by its query string and the parameters of its path.

        Raises `Problem` for a parameter that is unknown, repeated, missing or of another kind.
        """
        found = requests.parameters(query)
        names = [parameter.name for parameter in self.parameters]
        unknown = sorted(found.keys() - set(names))
        if unknown:
            known = f"it takes {', '.join(names)}" if names else "it takes none"
            raise Problem("bad-request", f"Unknown parameter {unknown[0][:100]!r}: {known}.")
        given = {name: requests.single(found, name) for name in names}
        values = {
            parameter.key or parameter.name: parameter.read(given[parameter.name]) for parameter in self.parameters
        }
        return {"op": self.name, **path, **values}


def whole_schema(low: int, high: int, default: int | None = None) -> _Schema:
    """The schema of a whole number in a range."""
    schema = {"type": "integer", "minimum": low, "maximum": high}
    return schema if default is None else {**schema, "default": default}


def _whole(
    name: str, about: str, low: int, high: int, default: int | None = None, *, required: bool = False
) -> Parameter:
    """A whole number; None if it is absent and neither required nor of a default."""

    def read(text: str | None) -> int | None:
        if text is None and not required:
            return default
        if not text or not text.isascii() or not text.isdigit() or len(text) > 12 or not low <= int(text) <= high:
            raise Problem("bad-request", f"{name} must be a whole number from {low:,} to {high:,}.")
        return int(text)

    return Parameter(name, about, whole_schema(low, high, default), read, required)


def _text(name: str, about: str, most: int | None = LONGEST_WORDS) -> Parameter:
    """A text, cut after so many characters; empty if it is absent."""
    schema = {"type": "string", **({"maxLength": most} if most else {})}
    return Parameter(name, about, schema, lambda text: (text or "")[:most])


def _needed(name: str, about: str, key: str = "", **schema: Any) -> Parameter:
    """A text that has to be there."""

    def read(text: str | None) -> str:
        if not text:
            raise Problem("bad-request", f"The parameter {name} is missing.")
        return text

    return Parameter(name, about, {"type": "string", **schema}, read, True, key)


def _numbers(name: str, about: str) -> Parameter:
    """Whole numbers with commas between them."""

    def read(text: str | None) -> list[int]:
        parts = text.split(",") if text else []
        if len(parts) > 50 or not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
            raise Problem("bad-request", f"{name} takes at most 50 numbers, separated by commas.")
        return [int(part) for part in parts]

    schema = {"type": "string", "pattern": r"^$|^[0-9]{1,9}(,[0-9]{1,9}){0,49}$"}
    return Parameter(name, about, schema, read)


MOST_CONDITIONS = 8


def _conditions(name: str) -> Parameter:
    """Columns with one of the values that their facet names, as a JSON array of pairs."""
    about = f"Only rows with these values: a JSON array of at most {MOST_CONDITIONS} pairs of column and value."

    def read(text: str | None) -> list[tuple[int, str]]:
        try:
            pairs = json.loads(text) if text else []
            found = [(column, value) for column, value in pairs]
        except (ValueError, TypeError, RecursionError):
            found = [(-1, "")]
        if len(found) > MOST_CONDITIONS or not all(
            type(column) is int and 0 <= column <= MOST_COLUMNS and isinstance(value, str) for column, value in found
        ):
            raise Problem("bad-request", f'{name} takes pairs of column and value, such as [[7,"shipped"]].')
        return found

    return Parameter(name, about, {"type": "string", "maxLength": 4_000}, read)


def _choice(name: str, about: str, values: tuple[str, ...], default: str = "") -> Parameter:
    """One of these values."""

    def read(text: str | None) -> str:
        if text and text not in values:
            raise Problem("bad-request", f"{name} must be {' or '.join(values)}.")
        return text or default

    return Parameter(name, about, {"enum": list(values), **({"default": default} if default else {})}, read)


def question_of(value: object) -> str:
    """A question without surrounding space. Raises `Problem` for anything else."""
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_QUESTION:
        raise Problem("bad-request", f"question must be a text of 1 to {LONGEST_QUESTION:,} characters.")
    return value.strip()


def method_of(name: object) -> str | None:
    """The method that a request names, without options: some let a model's programs run as Python."""
    if name is not None and (not isinstance(name, str) or ":" in name):
        raise Problem("bad-request", "method must be the name of a retrieval method, without options.")
    return name


EXPLORED = {
    "table": "The table's id.",
    "tables": "The ids of tables that are parts of one, in place of `table`.",
    "measure": "The column that is measured; without one, rows are counted.",
    "how": "value, list, sum, mean, median, min, max, count, distinct or share.",
    "by": "The columns, at most four, whose values make groups.",
    "where": "The conditions.",
    "ask": "The columns shown.",
    "order": "The order, by a column or by @value.",
    "first": "How many rows or groups.",
    "skip": "How many of them are left out first.",
    "ties": "Whether those that equal the last one are shown, too.",
    "distinct": "Whether equal rows are shown once.",
    "having": "A condition on the value of a group.",
    "join": "A second table, and the columns by which it is joined.",
    "choice": "members, all or totals.",
}
"""The fields of an exploration."""
LONGEST_ADDRESS = 16_000
SQL_FORMATS = ("rows", "csv", "tsv", "json")

_PAGE = (
    _text("q", "Words that all have to occur."),
    _whole("offset", "Number of results to skip.", 0, 10**9, 0),
    _whole("limit", "Maximum number of results.", 1, 200, 50),
)
_ORDER = _choice("order", "The order.", ("ascending", "descending"), "ascending")
_CELL = (
    _needed("table", "The table's id.", "id", minLength=1),
    _whole("row", "The row, from 0.", 0, MOST_ROWS, required=True),
    _whole("column", "The column, from 0.", 0, MOST_COLUMNS, required=True),
)
_IRI = _needed("iri", "An absolute IRI.", format="iri")

READING = (
    Operation("info", "/api/info", "Size of the graph and example questions", "Info"),
    Operation("dataset", "/api/dataset", "Prefixes, example queries, properties and classes", "Dataset"),
    Operation("classes", "/api/classes", "The classes and how many entities each has", "Classes"),
    Operation(
        "chart",
        "/api/chart",
        "The chart of a SELECT query's first rows",
        "Chart",
        (
            _needed("query", "A SELECT query."),
            _choice("language", "The language of the query.", ("sparql", "sql"), "sparql"),
        ),
    ),
    Operation("landmarks", "/api/landmarks", "Shared subjects, and relations between tables", "Landmarks"),
    Operation("units", "/api/units", "The units of the numbers", "Units"),
    Operation(
        "tables",
        "/api/tables",
        "The tables, searched by words and narrowed",
        "Tables",
        (
            *_PAGE,
            _text("unit", "A QUDT unit that a column has, by its local name."),
            _text("kind", "What a table is, one of the values of the facet."),
            _text("folder", "The folder of its file."),
            _choice("sort", "What the list is ordered by; by default the best match.", LIST_SORTS),
            _ORDER,
        ),
    ),
    Operation(
        "table",
        "/api/tables/{id}",
        "A window of one table, as printed",
        "Table",
        (
            _whole("row", "The first row of the window.", 0, MOST_ROWS, 0),
            _whole("rows", "Number of rows.", 1, 500, 200),
            _whole("column", "The first column; the column of labels comes with all.", 0, MOST_COLUMNS, 0),
            _whole("columns", "Number of columns.", 1, 200, 60),
            _numbers("around", "Rows to show with those beside them."),
            _numbers("across", "Columns to show with those beside them."),
            _whole("sort", "The column by whose values the rows of the body are ordered.", 0, MOST_COLUMNS),
            _ORDER,
            _text("find", "A text: only rows with a cell that holds it."),
            _conditions("where"),
            _choice("format", "csv returns the whole table.", ("json", "csv"), "json"),
        ),
        (404,),
    ),
    Operation(
        "explore",
        "/api/explore",
        "The result of fields: what is measured, how, by what, of which rows; and what may be chosen there",
        "Explored",
        tuple(
            _text(name, f"{about} Texts as they are, everything else as JSON.", LONGEST_ADDRESS)
            for name, about in EXPLORED.items()
        ),
        (404,),
    ),
    Operation(
        "values",
        "/api/values",
        "The values of a column, the most frequent first",
        "Values",
        (
            _needed("table", "The table's id.", "id", minLength=1),
            _needed("column", "The column: its header, or its number as JSON."),
            _text("find", "Only values with this text."),
        ),
        (404,),
    ),
    Operation(
        "facets",
        "/api/facets",
        "The values of a table's categories, flags and times, with their rows",
        "Facets",
        (
            _needed("table", "The table's id.", "id", minLength=1),
            _text("find", "A text: only rows with a cell that holds it count."),
            _conditions("where"),
        ),
        (404,),
    ),
    Operation("cell", "/api/cells", "Value, unit, scale and provenance of one cell", "Cell", _CELL, (404,)),
    Operation(
        "row-chart",
        "/api/row-chart",
        "The numbers of a row over the periods of its columns, as the page draws them beside a cell",
        "Chart",
        _CELL,
        (404,),
    ),
    Operation(
        "sql",
        "/api/sql",
        "The rows of one SELECT over the tables in DuckDB's SQL",
        "SqlRows",
        (
            _needed("query", "The query."),
            _choice(
                "format", "csv, tsv and json (an array of objects) return up to 100,000 rows.", SQL_FORMATS, "rows"
            ),
        ),
    ),
    Operation(
        "sql-columns",
        "/api/sql/columns",
        "The columns of one table in SQL",
        "SqlColumns",
        (_needed("table", "The table's id.", "id", minLength=1),),
        (404,),
    ),
    Operation("sql-tables", "/api/sql/tables", "What the tables are called in SQL", "SqlTables", _PAGE),
    Operation("documents", "/api/documents", "The documents, searched in titles and files", "Documents", _PAGE),
    Operation(
        "document",
        "/api/documents/{id}",
        "Some paragraphs of a document, and the tables beside them",
        "Document",
        (
            _whole("first", "The first paragraph, from 0.", 0, 10**9, 0),
            _whole("count", "Number of paragraphs.", 1, 200, 40),
            _whole("paragraph", "A paragraph that is read from its words at `start` on if long.", 0, 10**9, 0),
            _whole("start", "Characters of that paragraph before the wanted words.", 0, 10**9, 0),
        ),
        (404,),
    ),
    Operation("ontology", "/api/ontology", "The generated predicates, searched by words", "Ontology", _PAGE),
    Operation("resource", "/api/resource", "The statements about an IRI", "Resource", (_IRI,), (404,)),
    Operation(
        "neighbours",
        "/api/neighbours",
        "The neighbourhood of an IRI",
        "Neighbours",
        (_IRI, _whole("limit", "Maximum number of neighbours.", 1, 200, 40)),
    ),
    Operation(
        "search",
        "/api/search",
        "Nodes by their label",
        "Hits",
        (_needed("q", "Words of a label.", minLength=1), _whole("limit", "Maximum number of results.", 1, 60, 12)),
    ),
    Operation(
        "suggestions",
        "/api/suggestions",
        "Questions that are answered",
        "Suggestions",
        (
            _text("table", "A table that the questions are about; by default the whole graph.", None),
            _whole("row", "The row of a cell that they are near to.", 0, MOST_ROWS),
            _whole("column", "The column of that cell.", 0, MOST_COLUMNS),
            _text("question", "The question that was asked.", LONGEST_QUESTION),
        ),
        (404,),
    ),
    Operation(
        "retrieve",
        "/api/retrieve",
        "The triples that may answer a question",
        "Retrieval",
        (
            Parameter("question", "The question.", QUESTION, question_of, True),
            _whole("k", "Maximum number of triples.", 1, MOST_TRIPLES, DEFAULT_K),
            Parameter("method", "The retrieval method.", METHOD, lambda name: method_of(name or "hybrid")),
        ),
    ),
)
