"""Whether two results say the same, whatever their blank nodes are called and in whatever order they come."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pyoxigraph as ox

FORMATS = {".srx": ox.QueryResultsFormat.XML, ".srj": ox.QueryResultsFormat.JSON, ".tsv": ox.QueryResultsFormat.TSV}
VARIABLE = "urn:variable:"


def canonical(dataset: ox.Dataset) -> list[str]:
    """The statements with blank nodes named after what is said of them."""
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return sorted(str(quad) for quad in dataset)


def said(results: Any) -> list[str]:
    """What a result says: a solution is a node with a statement for each variable that it binds."""
    if isinstance(results, ox.QueryBoolean):
        return [str(bool(results))]
    dataset = ox.Dataset()
    if isinstance(results, ox.QuerySolutions):
        variables = [variable.value for variable in results.variables]
        for number, solution in enumerate(results):
            node = ox.BlankNode(f"solution{number}")
            dataset.add(ox.Quad(node, ox.NamedNode("urn:solution"), ox.Literal("")))
            for name in variables:
                if solution[name] is not None:
                    dataset.add(ox.Quad(node, ox.NamedNode(VARIABLE + name), solution[name]))
        return sorted(variables) + canonical(dataset)
    for triple in results:
        dataset.add(ox.Quad(triple.subject, triple.predicate, triple.object))
    return canonical(dataset)


def said_in_file(path: Path, base: str) -> list[str]:
    """What the file with the expected result says."""
    if path.suffix == ".csv":
        return said_in_csv(path.read_text(encoding="utf-8"))
    if path.suffix in FORMATS:
        return said(ox.parse_query_results(path.read_bytes(), FORMATS[path.suffix]))
    form = ox.RdfFormat.from_extension(path.suffix[1:])
    return said([quad.triple for quad in ox.parse(path.read_bytes(), form, base_iri=base)])


def said_in_csv(text: str) -> list[str]:
    """The rows in any order, with blank nodes all called alike: CSV does not tell them from texts."""
    header, *rows = csv.reader(io.StringIO(text))
    alike = [["_:" if field.startswith("_:") else field for field in row] for row in rows]
    return [str(sorted(header)), *sorted(str(sorted(zip(header, row, strict=True))) for row in alike)]
