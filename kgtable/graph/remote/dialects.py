"""Differences between SPARQL engines, in one table.

Standard queries run on all of them. They differ in what a query sees outside ``GRAPH``, in whether
there is a graph without a name at all, in how many rows they give, and in their text search.
"""

from __future__ import annotations

from dataclasses import dataclass

from kgtable.errors import UsageError
from kgtable.graph.terms import DEFAULT_BASE

DESCRIPTION = "urn:kgtable:description"
"""The substitute of the default graph in engines that have none, or none within their union.

Jena's TDB2 can make the union of the named graphs the default graph of queries (`tdb2:unionDefaultGraph`); asked for
as ``default-graph-uri=urn:x-arq:UnionGraph``, it would hide the named graphs from ``GRAPH``.
"""

DURATION = "urn:kgtable:dayTimeDuration"
"""The datatype of `xsd:dayTimeDuration` in engines that change the durations they store.

Virtuoso 7.2.5 makes PT1H4M20S the number 3860.2, whichever datatype of XML Schema it has; of a datatype that it does
not know it keeps the text.
"""


@dataclass(frozen=True)
class StoreEndpoint:
    """A SPARQL endpoint that a graph directory points to instead of holding a store.

    `store` is the address of its Graph Store Protocol, where it has one.
    """

    url: str
    dialect: str = "generic"
    base: str = DEFAULT_BASE
    store: str | None = None


@dataclass(frozen=True)
class EngineDialect:
    """The dialect of one engine.

    `union` are the values of ``default-graph-uri`` that make a query see every graph, `own` those
    that make it see the default graph alone; empty if nothing needs to be asked, or can be.
    `union_parameter` is a form field that asks for the union instead. `default_graph` names the graph
    that stands for the default graph in the Graph Store Protocol, None if there is a real one.
    `row_limit` is the number of rows after which results are cut without a word. `spoils_durations` says
    that it stores other durations than it is given; they are kept there under the datatype `DURATION`.
    """

    name: str
    title: str
    union: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    union_parameter: str = ""
    default_graph: str | None = None
    row_limit: int | None = None
    spoils_durations: bool = False

    def dataset(self, union_default_graph: bool) -> list[tuple[str, str]]:
        """The form fields that choose the default graph of a query."""
        if union_default_graph and self.union_parameter:
            return [(self.union_parameter, "true")]
        graphs = self.union if union_default_graph else self.own
        return [("default-graph-uri", iri) for iri in graphs]


_NEPTUNE_DEFAULT = "http://aws.amazon.com/neptune/vocab/v01/DefaultNamedGraph"
_QLEVER_DEFAULT = "http://qlever.cs.uni-freiburg.de/builtin-functions/default-graph"

DIALECTS = {
    dialect.name: dialect
    for dialect in (
        EngineDialect("generic", "any SPARQL 1.1 endpoint"),
        EngineDialect("kgtable", "kgtable serve"),
        EngineDialect("oxigraph", "Oxigraph", union_parameter="union-default-graph"),
        EngineDialect("qlever", "QLever", own=(_QLEVER_DEFAULT,)),
        EngineDialect("fuseki", "Apache Jena Fuseki", own=(DESCRIPTION,), default_graph=DESCRIPTION),
        EngineDialect(
            "virtuoso",
            "OpenLink Virtuoso",
            own=(DESCRIPTION,),
            default_graph=DESCRIPTION,
            row_limit=10_000,
            spoils_durations=True,
        ),
        EngineDialect("neptune", "Amazon Neptune", own=(_NEPTUNE_DEFAULT,), default_graph=_NEPTUNE_DEFAULT),
    )
}


def dialect_named(name: str) -> EngineDialect:
    """The dialect of this name, in any case; raises `UsageError` for an unknown one.

    >>> dialect_named("Virtuoso").row_limit
    10000
    """
    found = DIALECTS.get(name.lower())
    if found is None:
        raise UsageError(f"Unknown dialect {name!r}.", hint=f"Choose one of: {', '.join(DIALECTS)}.")
    return found
