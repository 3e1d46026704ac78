"""Reading parts of a table from the graph: its layout once, then row by row, whatever its size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import pyoxigraph as ox

from kgtable.api import KnowledgeGraph
from kgtable.errors import GraphError
from kgtable.graph.terms import KGT, RDF, XSD, literal_text
from kgtable.resources import read_shipped

Node: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Literal


@dataclass(frozen=True)
class Layout:
    """What holds for every window of a table: its description and its columns."""

    facts: dict[str, list[str]]
    texts: dict[str, tuple[str, ...]]
    titles: tuple[str, ...]
    predicates: tuple[str, ...]

    def number(self, name: str, default: int = 0) -> int:
        """A number of the table's description."""
        return int(self.facts.get(KGT + name, [str(default)])[0])

    def first(self, name: str) -> str:
        """A text of the table's description, empty where there is none."""
        return self.facts.get(name, [""])[0]


@lru_cache(maxsize=64)
def layout_of(graph: KnowledgeGraph, id: str) -> Layout:
    """The layout of a table."""
    iri = ox.NamedNode(graph.names.table_iri(id))
    facts: dict[str, list[str]] = {}
    texts: dict[str, list[tuple[int, str]]] = {}
    for row in ask(graph, "table-facts", table=iri):
        predicate, value = row["predicate"].value, row["object"]
        if row["text"] is not None:
            name = predicate.removeprefix(KGT)
            texts.setdefault(name, []).append((int(row["order"].value), text_of(row["text"])))
        else:
            facts.setdefault(predicate, []).append(
                text_of(value) if isinstance(value, ox.Literal) else value.value
            )
    width = int(facts.get(KGT + "width", ["0"])[0])
    titles, predicates = [""] * width, [""] * width
    for row in ask(graph, "table-columns", table=iri):
        index = int(row["index"].value)
        predicates[index] = row["predicate"].value
        titles[index] = "" if row["title"] is None else text_of(row["title"])
    ordered = {name: tuple(text for _, text in sorted(pairs)) for name, pairs in texts.items()}
    return Layout(facts, ordered, tuple(titles), tuple(predicates))


def row_of(
    graph: KnowledgeGraph, id: str, layout: Layout, index: int
) -> tuple[dict[int, str], frozenset[str], dict[str, list[Node]]]:
    """The texts of a row by column, the classes of the row, and its statements by predicate."""
    places = {predicate: column for column, predicate in enumerate(layout.predicates)}
    names = graph.names
    table = ox.NamedNode(names.table_iri(id))
    cells: dict[int, str] = {}
    printed: dict[int, str] = {}
    statements: dict[str, list[Node]] = {}
    for found in ask(graph, "table-row", table=table, row=ox.NamedNode(names.row_iri(id, index))):
        predicate, value = found["predicate"].value, found["object"]
        statements.setdefault(predicate, []).append(value)
        if predicate == KGT + "printed" and found["text"] is not None:
            address = names.parse_cell_iri(value.value)
            if address is not None:
                printed[address.column] = text_of(found["text"])
        elif predicate in places:
            text = found["text"] if isinstance(value, ox.NamedNode) else value
            cells[places[predicate]] = "" if text is None else text_of(text)
    types = frozenset(value.value for value in statements.get(f"{RDF}type", ()))
    if types & {f"{KGT}HeaderRow", f"{KGT}TitleRow"}:
        number = ox.Literal(str(index), datatype=ox.NamedNode(f"{XSD}integer"))
        for found in ask(graph, "header-cells", table=table, index=number):
            cells[int(found["column"].value)] = text_of(found["text"])
    return {**cells, **printed}, types, statements


@lru_cache(maxsize=20_000)
def group_rows(graph: KnowledgeGraph, id: str, index: int) -> tuple[int, ...]:
    """The rows of the groups a row is in, the innermost first."""
    path: list[int] = []
    table = ox.NamedNode(graph.names.table_iri(id))
    while len(path) < 20:
        row = ox.NamedNode(graph.names.row_iri(id, path[-1] if path else index))
        parents = [found["object"].value for found in ask(graph, "group", table=table, row=row)]
        if not parents or not parents[0].rpartition("/")[2].isdigit():
            break
        parent = int(parents[0].rpartition("/")[2])
        if parent in path:
            break
        path.append(parent)
    return tuple(path)


@contextmanager
def sound_table(id: str) -> Iterator[None]:
    """Turns what goes wrong where a table's statements were changed by hand into a `GraphError`."""
    try:
        yield
    except (KeyError, IndexError, ValueError, AttributeError) as error:
        raise GraphError(
            f"The statements about table {id!r} are incomplete or damaged.",
            hint="Building the graph again restores them.",
        ) from error


def ask(graph: KnowledgeGraph, name: str, **bindings: ox.NamedNode | ox.Literal) -> Iterable[Any]:
    """The solutions of one of the pages' queries."""
    found = graph.store.query(read_shipped(f"queries/explorer/{name}.rq"), bindings=bindings)
    assert isinstance(found, ox.QuerySolutions)
    return found


def text_of(value: ox.Literal) -> str:
    """The text a literal of the graph stands for."""
    return literal_text(value.value, value.datatype.value)


def forget() -> None:
    """Lets go of what is remembered of a graph that is closed."""
    layout_of.cache_clear()
    group_rows.cache_clear()
