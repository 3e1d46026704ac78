"""Query results as data frames, RDF graphs, text tables and the standard formats."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from kgtable.errors import UsageError
from kgtable.graph.store import Results, query_errors
from kgtable.graph.terms import XSD
from kgtable.values.text import delimited_text

if TYPE_CHECKING:
    import pandas as pd
    import rdflib


WIDEST_COLUMN = 60
"""Characters of a value shown in a text table before it is cut."""


class ResultFormat(StrEnum):
    """A way to print query results, by the name the command line uses."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    TSV = "tsv"
    XML = "xml"
    TURTLE = "turtle"

    @classmethod
    def of(cls, name: str) -> ResultFormat:
        """The format by name or media type; raises `UsageError` for an unknown one."""
        wanted = name.lower().partition(";")[0].strip()
        for found in cls:
            if wanted in {found.value, *_OTHER_NAMES.get(found, ())}:
                return found
        raise UsageError(f"Unknown result format {name!r}.", hint=f"Choose one of: {', '.join(cls)}.")


_STANDARD = {
    ResultFormat.JSON: ox.QueryResultsFormat.JSON,
    ResultFormat.CSV: ox.QueryResultsFormat.CSV,
    ResultFormat.TSV: ox.QueryResultsFormat.TSV,
    ResultFormat.XML: ox.QueryResultsFormat.XML,
}
_OTHER_NAMES = {format: {standard.media_type.partition(";")[0]} for format, standard in _STANDARD.items()}
_OTHER_NAMES[ResultFormat.TURTLE] = {ox.RdfFormat.TURTLE.media_type, "ttl"}


_NOT_XML = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|\xef\xbf[\xbe\xbf]")


def well_formed_xml(text: bytes) -> bytes:
    """The XML with U+FFFD for each character that XML 1.0 cannot hold, which the engine writes as it is.

    >>> well_formed_xml(b"<v>a\\x01b</v>").decode()
    '<v>a\ufffdb</v>'
    """
    return _NOT_XML.sub("\ufffd".encode(), text)


_TIMES: Mapping[str, Callable[[str], date | time]] = {
    f"{XSD}date": date.fromisoformat,
    f"{XSD}dateTime": datetime.fromisoformat,
    f"{XSD}time": time.fromisoformat,
}


def python_value(term: Any) -> Any:
    """A term as a Python value: exact numbers, booleans, dates, times, texts; None if a variable is unbound."""
    if not isinstance(term, ox.Literal):
        return None if term is None else str(term.value) if hasattr(term, "value") else str(term)
    datatype = term.datatype.value
    try:
        if datatype in (f"{XSD}integer", f"{XSD}int", f"{XSD}long"):
            return int(term.value)
        if datatype in (f"{XSD}decimal", f"{XSD}double", f"{XSD}float"):
            return Decimal(term.value)  # one type: a column may have both, and a frame adds no float to a Decimal
        if datatype in _TIMES:
            return _TIMES[datatype](term.value)
    except (ValueError, InvalidOperation):
        return term.value
    return term.value in ("true", "1") if datatype == f"{XSD}boolean" else term.value


def to_frame(solutions: ox.QuerySolutions) -> pd.DataFrame:
    """The solutions of a SELECT as a frame with one column per variable: numbers are exact, dates are dates."""
    import pandas as pd

    names = [variable.value for variable in solutions.variables]
    rows = [[python_value(solution[name]) for name in names] for solution in solutions]
    return pd.DataFrame(rows, columns=pd.Index(names, dtype=object))


def to_columns(solutions: ox.QuerySolutions, most: int) -> dict[str, list[Any]]:
    """The values of the first solutions by variable, as returned by `python_value`. Raises `QueryError`."""
    names = [variable.value for variable in solutions.variables]
    with query_errors():
        rows = list(islice(solutions, most))
    return {name: [python_value(row[name]) for row in rows] for name in names}


def to_graph(triples: ox.QueryTriples, prefixes: Mapping[str, str]) -> rdflib.Graph:
    """The triples of a CONSTRUCT or DESCRIBE as an rdflib graph."""
    import rdflib

    graph = rdflib.Graph(bind_namespaces="none")
    for name, namespace in prefixes.items():
        graph.bind(name, namespace)
    data = ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES)
    assert data is not None
    graph.parse(data=data, format="nt")
    return graph


def to_python(results: Results, prefixes: Mapping[str, str]) -> pd.DataFrame | bool | rdflib.Graph:
    """A frame for SELECT, a bool for ASK, an rdflib graph for CONSTRUCT and DESCRIBE.

    Raises `QueryError` if the evaluation fails on the way.
    """
    with query_errors():
        if isinstance(results, ox.QuerySolutions):
            return to_frame(results)
        if isinstance(results, ox.QueryBoolean):
            return bool(results)
        return to_graph(results, prefixes)


def to_text(results: Results, format: ResultFormat | None, prefixes: Mapping[str, str], *, defuse: bool = False) -> str:
    """The results as text that ends with a newline; without a format as a table, or Turtle for triples.

    With `defuse`, what a spreadsheet would run as a formula follows an apostrophe in CSV.

    Raises `UsageError` for a format that cannot hold this kind of result, `QueryError` if the
    evaluation fails on the way.
    """
    with query_errors():
        text = _printed(results, format, prefixes)
    if defuse and format is ResultFormat.CSV:
        text = delimited_text(csv.reader(io.StringIO(text, newline="")), defused=True)
    return text if text.endswith("\n") or not text else text + "\n"


def _printed(results: Results, format: ResultFormat | None, prefixes: Mapping[str, str]) -> str:
    if isinstance(results, ox.QueryTriples):
        if format not in (None, ResultFormat.TURTLE):
            raise UsageError(f"Triples cannot be printed as {format}.", hint="Use --format turtle.")
        return (ox.serialize(results, format=ox.RdfFormat.TURTLE, prefixes=dict(prefixes)) or b"").decode("utf-8")
    if format is ResultFormat.TURTLE:
        raise UsageError("Only triples can be printed as turtle.", hint="Use table, json, csv, tsv or xml.")
    if format is not None and format in _STANDARD:
        data = results.serialize(format=_STANDARD[format]) or b""
        return (well_formed_xml(data) if format is ResultFormat.XML else data).decode("utf-8")
    if isinstance(results, ox.QueryBoolean):
        return "true\n" if results else "false\n"
    names = [variable.value for variable in results.variables]
    found = [[_shown(solution[name], prefixes) for name in names] for solution in results]
    rows = [names, ["-" * _width(name) for name in names], *found]
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    padded = ([text + " " * (wide - _width(text)) for text, wide in zip(row, widths, strict=True)] for row in rows)
    lines = ("  ".join(cells).rstrip() + "\n" for cells in padded)
    return f"{''.join(lines)}({len(found):,} row{'' if len(found) == 1 else 's'})\n"


def _shown(term: Any, prefixes: Mapping[str, str]) -> str:
    if term is None:
        return ""
    text = str(term.value) if hasattr(term, "value") else str(term)
    if isinstance(term, ox.NamedNode):
        text = short_iri(text, prefixes)
    text = "".join(" " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in text)
    return text if len(text) <= WIDEST_COLUMN else text[: WIDEST_COLUMN - 1] + "…"


def short_iri(iri: str, prefixes: Mapping[str, str]) -> str:
    """The IRI with the longest prefix that fits.

    >>> short_iri("http://example.org/ontology#hasRank", {"ex": "http://example.org/ontology#"})
    'ex:hasRank'
    """
    fitting = [(namespace, name) for name, namespace in prefixes.items() if iri.startswith(namespace)]
    if not fitting:
        return iri
    namespace, name = max(fitting, key=lambda item: len(item[0]))
    return f"{name}:{iri[len(namespace) :]}"


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
