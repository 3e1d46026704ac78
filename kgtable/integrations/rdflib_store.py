"""An rdflib store over a graph: ``rdflib.Dataset("kgtable")`` reads it where it lies, without copying it.

Patterns and SPARQL run in the graph's own engine, on disk or behind an endpoint. The store is read-only.
Interface: https://rdflib.readthedocs.io, ``rdflib.store.Store``.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import pyoxigraph as ox
import rdflib
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, Graph
from rdflib.query import Result
from rdflib.store import NO_STORE, VALID_STORE, Store
from rdflib.term import Identifier, Node, Variable

import kgtable
from kgtable.errors import GraphError, QueryError
from kgtable.graph.store import TripleStore, query_errors

if TYPE_CHECKING:
    from rdflib.graph import _ContextType, _TriplePatternType, _TripleType

    from kgtable.knowledge_graph import KnowledgeGraph

_NAMES = ("s", "p", "o")


class RdflibStore(Store):
    """A `kgtable.KnowledgeGraph` as an rdflib store.

    `configuration` is the directory of a graph or an open graph, given here or to ``open``. The default graph is
    the description alone, every table a named graph; a ``Dataset(…, default_union=True)`` has all of them.
    """

    context_aware = True
    graph_aware = True
    formula_aware = False
    transaction_aware = False

    def __init__(self, configuration: str | KnowledgeGraph | None = None, identifier: Identifier | None = None) -> None:
        self._graph: KnowledgeGraph | None = None
        self._own = False
        self._bound: dict[str, rdflib.URIRef] = {}
        super().__init__(None, identifier)
        if configuration is not None:
            self.open(configuration)

    def open(self, configuration: str | tuple[str, str] | KnowledgeGraph, create: bool = False) -> int | None:
        """Open the graph in a directory; `create` is refused. Raises what `kgtable.open` raises."""
        if create:
            raise GraphError("A graph is made by kgtable.build, not by rdflib.")
        if isinstance(configuration, kgtable.KnowledgeGraph):
            self._graph, self._own = configuration, False
        elif isinstance(configuration, str):
            self._graph, self._own = kgtable.open(configuration), True
        else:
            return NO_STORE
        self._bound = {name: rdflib.URIRef(iri) for name, iri in self._graph.names.prefixes.items()}
        return VALID_STORE

    def close(self, commit_pending_transaction: bool = False) -> None:
        """Close the graph, if it was opened here."""
        if self._graph is not None and self._own:
            self._graph.close()
        self._graph = None

    @property
    def _store(self) -> TripleStore:
        if self._graph is None:
            raise GraphError("No graph is open in this store.", hint="Call open with a graph directory.")
        return self._graph.store

    def triples(
        self, triple_pattern: _TriplePatternType, context: _ContextType | None = None
    ) -> Iterator[tuple[_TripleType, Iterator[_ContextType | None]]]:
        """The triples that match, each with the graphs it is in."""
        known = [_sparql(term) for term in triple_pattern]
        if "" in known:
            return
        graph = _graph_of(context)
        shown = [f"?{name}" for name, term in zip(_NAMES, known, strict=True) if term is None]
        pattern = " ".join(term or f"?{name}" for name, term in zip(_NAMES, known, strict=True))
        text = f"SELECT {' '.join(shown) or '?s'} WHERE {_where(pattern, graph)}"
        if not shown:
            text = f"ASK {_where(pattern, graph)}"
        union = graph is None
        with query_errors():
            found = self._store.query(text, union_default_graph=union)
            if isinstance(found, ox.QueryBoolean):
                if found:
                    yield self._in_graphs(tuple(triple_pattern), context)  # type: ignore[arg-type]
                return
            assert isinstance(found, ox.QuerySolutions)
            for row in found:
                triple = tuple(
                    given if term is not None else to_rdflib(row[name])
                    for name, term, given in zip(_NAMES, known, triple_pattern, strict=True)
                )
                yield self._in_graphs(triple, context)  # type: ignore[arg-type]

    def _in_graphs(
        self, triple: _TripleType, context: _ContextType | None
    ) -> tuple[_TripleType, Iterator[_ContextType | None]]:
        if context is not None and _graph_of(context) is not None:
            return triple, iter((context,))
        return triple, self.contexts(triple)

    def contexts(self, triple: _TripleType | None = None) -> Generator[_ContextType, None, None]:
        """The named graphs, or those that hold a triple."""
        pattern = (
            "?s ?p ?o"
            if triple is None
            else " ".join(_sparql(term) or f"?{name}" for name, term in zip(_NAMES, triple, strict=True))
        )
        text = f"SELECT DISTINCT ?g WHERE {{ GRAPH ?g {{ {pattern} }} }}"
        if triple is None:
            text = "SELECT ?g WHERE { GRAPH ?g {} }"
        found = self._store.query(text, union_default_graph=False)
        assert isinstance(found, ox.QuerySolutions)
        for row in found:
            yield Graph(self, rdflib.URIRef(row["g"].value))

    def __len__(self, context: _ContextType | None = None) -> int:
        graph = _graph_of(context)
        text = f"SELECT (COUNT(*) AS ?n) WHERE {_where('?s ?p ?o', graph)}"
        found = self._store.query(text, union_default_graph=graph is None)
        assert isinstance(found, ox.QuerySolutions)
        return int(next(iter(found))["n"].value)

    def query(
        self,
        query: Any,
        initNs: Mapping[str, Any],
        initBindings: Mapping[str, Identifier],
        queryGraph: str,
        **kwargs: Any,
    ) -> Result:
        """Run SPARQL in the graph's engine; forms that it does not support go back to rdflib's own."""
        if not isinstance(query, str) or initBindings or queryGraph not in _WHOLE:
            raise NotImplementedError
        declared = "".join(f"PREFIX {name}: <{iri}> " for name, iri in dict(initNs).items())
        try:
            found = self._store.query(declared + query, union_default_graph=queryGraph == "__UNION__")
            return _result(found)
        except QueryError as error:
            raise ValueError(str(error)) from error

    def bind(self, prefix: str, namespace: rdflib.URIRef, override: bool = True) -> None:
        """Note a prefix for this store alone; the graph keeps its own."""
        if override or prefix not in self._bound:
            self._bound[prefix] = rdflib.URIRef(namespace)

    def namespace(self, prefix: str) -> rdflib.URIRef | None:
        """The namespace of a prefix."""
        return self._bound.get(prefix)

    def prefix(self, namespace: rdflib.URIRef) -> str | None:
        """The prefix of a namespace."""
        return next((name for name, iri in self._bound.items() if iri == rdflib.URIRef(namespace)), None)

    def namespaces(self) -> Iterator[tuple[str, rdflib.URIRef]]:
        """All prefixes with their namespaces."""
        return iter(list(self._bound.items()))

    def add(self, triple: _TripleType, context: _ContextType, quoted: bool = False) -> None:
        """Refused: raises `GraphError`."""
        _refuse()

    def remove(self, triple: _TriplePatternType, context: _ContextType | None = None) -> None:
        """Refused: raises `GraphError`."""
        _refuse()

    def update(self, *_: Any, **__: Any) -> None:
        """Refused: raises `GraphError`."""
        _refuse()

    def add_graph(self, graph: Graph) -> None:
        """Does nothing: rdflib calls it for each graph that it accesses."""

    def remove_graph(self, graph: Graph) -> None:
        """Refused: raises `GraphError`."""
        _refuse()


_WHOLE = ("__UNION__", str(DATASET_DEFAULT_GRAPH_ID))
"""The names in rdflib of the union of all graphs and of the default graph."""


def to_rdflib(term: Any) -> rdflib.URIRef | rdflib.BNode | rdflib.Literal:
    """A term of the engine as rdflib's."""
    if isinstance(term, ox.NamedNode):
        return rdflib.URIRef(term.value)
    if isinstance(term, ox.BlankNode):
        return rdflib.BNode(term.value)
    if term.language:
        return rdflib.Literal(term.value, lang=term.language)
    plain = term.datatype.value == "http://www.w3.org/2001/XMLSchema#string"
    return rdflib.Literal(term.value, datatype=None if plain else rdflib.URIRef(term.datatype.value))


def _sparql(term: Node | None) -> str | None:
    """A term as SPARQL writes it; None for a wildcard, empty for one that no triple of a graph can have."""
    if term is None or isinstance(term, Variable):
        return None
    if isinstance(term, rdflib.URIRef):
        return str(ox.NamedNode(str(term)))
    if isinstance(term, rdflib.Literal):
        if term.language:
            return str(ox.Literal(str(term), language=term.language))
        datatype = None if term.datatype is None else ox.NamedNode(str(term.datatype))
        return str(ox.Literal(str(term), datatype=datatype))
    return ""


def _graph_of(context: Any) -> str | None:
    """The IRI of a named graph, empty for the default graph, None for all graphs together."""
    if context is None or getattr(context, "default_union", False):
        return None
    identifier = getattr(context, "identifier", context)
    if identifier == DATASET_DEFAULT_GRAPH_ID:
        return ""
    return str(identifier) if isinstance(identifier, rdflib.URIRef) else None


def _where(pattern: str, graph: str | None) -> str:
    return f"{{ GRAPH {ox.NamedNode(graph)} {{ {pattern} }} }}" if graph else f"{{ {pattern} }}"


def _result(found: ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples) -> Result:
    with query_errors():
        if isinstance(found, ox.QueryBoolean):
            answer = Result("ASK")
            answer.askAnswer = bool(found)
            return answer
        if isinstance(found, ox.QueryTriples):
            described = Result("CONSTRUCT")
            described.graph = Graph()
            for triple in found:
                described.graph.add(tuple(map(to_rdflib, triple)))  # type: ignore[arg-type]
            return described
        names = [variable.value for variable in found.variables]
        rows = Result("SELECT")
        rows.vars = [Variable(name) for name in names]
        rows.bindings = [
            {Variable(name): to_rdflib(term) for name in names if (term := row[name]) is not None} for row in found
        ]
        return rows


def _refuse() -> NoReturn:
    raise GraphError(
        "This store is read-only.", hint="Build the graph again, or write through kgtable serve --writable."
    )
