"""A graph kept by another engine, behind the SPARQL 1.1 Protocol and the Graph Store Protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import quote, urlencode

import pyoxigraph as ox

from kgtable.errors import QueryError, RemoteStoreError
from kgtable.graph.binding import Bindable
from kgtable.graph.credentials import Credentials, Login, credentials_for
from kgtable.graph.dialects import Dialect, dialect_named
from kgtable.graph.generation import Endpoint
from kgtable.graph.remote_query import prepare
from kgtable.graph.replies import checked, count_rows, parsed, refuse_partial, triples
from kgtable.graph.store import Results
from kgtable.graph.wire import Policy, Reply, send
from kgtable.resources import read_shipped

_RESULTS = "application/sparql-results+json"
_TRIPLES = "application/n-triples, text/turtle;q=0.8"
_FORM = "application/x-www-form-urlencoded"


class RemoteStore:
    """A SPARQL endpoint as a `TripleStore`.

    Answers are read whole before they are given, so that one that was cut is an error and never a
    short result. Queries may use the `prefixes` without declaring them, values are bound as
    `kgtable.graph.remote_query` tells. What queries see outside ``GRAPH`` is asked for in the way of
    the endpoint's dialect; ``generic`` and ``kgtable`` give what the endpoint was set up for.

    Every method raises `RemoteStoreError` where no whole answer comes, `QueryError` where the engine
    refuses the query. `environment` is where credentials are looked for, by default the process's.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        prefixes: Mapping[str, str] | None = None,
        *,
        policy: Policy | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.dialect: Dialect = dialect_named(endpoint.dialect)
        self._prefixes = dict(prefixes or {})
        self._policy = policy or Policy()
        self._environment = environment
        self._logins: dict[Credentials, Login] = {}

    def query(
        self, text: str, *, bindings: Mapping[str, Bindable] | None = None, union_default_graph: bool = True
    ) -> Results:
        """See `TripleStore.query`."""
        query = prepare(text, bindings or {}, self._prefixes)
        fields = [("query", query.text)]
        if not query.names_dataset:
            fields += self.dialect.dataset(union_default_graph)
        accept = _TRIPLES if query.gives_triples else _RESULTS
        reply = self._send(
            "POST", self.endpoint.url, urlencode(fields).encode("ascii"), Accept=accept, Content_Type=_FORM
        )
        checked(reply, self.endpoint.url, asked=True)
        if query.gives_triples:
            found = triples(reply, self.endpoint.url)
            refuse_partial(reply, len(found), self.dialect, self.endpoint.url)
            return _as_results(found)
        refuse_partial(reply, count_rows(reply, self.endpoint.url), self.dialect, self.endpoint.url)
        return parsed(reply.body)

    def graph(self, iri: str | None) -> Iterator[ox.Triple]:
        """See `TripleStore.graph`; by the Graph Store Protocol where its address is known."""
        if self.endpoint.store is None:
            yield from self._graph_by_query(iri)
            return
        url = self._graph_url(iri)
        reply = self._send("GET", url, None, Accept=_TRIPLES)
        if reply.status != 404:
            checked(reply, url)
            yield from triples(reply, url)

    def _graph_by_query(self, iri: str | None) -> Iterator[ox.Triple]:
        if iri is None:
            text, bindings = read_shipped("queries/remote/default-graph.rq"), None
        else:
            text, bindings = read_shipped("queries/remote/graph.rq"), {"graph": ox.NamedNode(iri)}
        found = self.query(text, bindings=bindings, union_default_graph=False)
        assert isinstance(found, ox.QueryTriples)
        yield from found

    def put_graph(self, iri: str | None, content: bytes) -> None:
        """Replaces a named graph, or with None the default graph, by N-Triples."""
        url = self._graph_url(iri)
        checked(self._send("PUT", url, content, Content_Type="application/n-triples"), url)

    def delete_graph(self, iri: str | None) -> None:
        """Removes a named graph, or with None what is in the default graph; no matter if it was there."""
        url = self._graph_url(iri)
        reply = self._send("DELETE", url, None)
        if reply.status != 404:
            checked(reply, url)

    def _graph_url(self, iri: str | None) -> str:
        store = self.endpoint.store
        if store is None:
            raise RemoteStoreError(
                f"No Graph Store Protocol address is known for {self.endpoint.url}.",
                hint="Name it with --store.",
            )
        iri = self.dialect.default_graph if iri is None else iri
        name = "default" if iri is None else f"graph={quote(iri, safe='')}"
        return f"{store}{'&' if '?' in store else '?'}{name}"

    def _send(self, method: str, url: str, body: bytes | None, **headers: str) -> Reply:
        return send(
            method,
            url,
            body=body,
            headers={name.replace("_", "-"): value for name, value in headers.items()},
            login=self._login(url),
            policy=self._policy,
        )

    def _login(self, url: str) -> Login | None:
        environment = {} if self._environment is None else {"environment": self._environment}
        credentials = credentials_for(url, **environment)
        return None if credentials is None else self._logins.setdefault(credentials, Login(credentials))

    def __repr__(self) -> str:
        return f"RemoteStore({self.endpoint.url!r}, {self.dialect.title})"


def _as_results(found: list[ox.Triple]) -> ox.QueryTriples:
    """Triples as the embedded engine gives them."""
    store = ox.Store()
    store.extend(ox.Quad(triple.subject, triple.predicate, triple.object) for triple in found)
    results = store.query(read_shipped("queries/remote/default-graph.rq"))
    if not isinstance(results, ox.QueryTriples):
        raise QueryError("The query gave no triples.")
    return results
