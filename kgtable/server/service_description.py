"""SPARQL 1.1 Service Description of the endpoint, returned for a bare GET of ``/sparql``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyoxigraph as ox
from starlette.types import Receive, Scope, Send

from kgtable.server import negotiation, requests
from kgtable.server.execution import without_unused_prefixes
from kgtable.server.negotiation import GRAPH, HTML, TABULAR
from kgtable.server.problems import Problem
from kgtable.server.requests import not_modified, send_answer, send_empty
from kgtable.server.state import CachedResponse, ServerState

SD = "http://www.w3.org/ns/sparql-service-description#"
FORMATS = "http://www.w3.org/ns/formats/"
RDF_TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")


class Description:
    """ASGI handler of the service description: languages, formats, features, dataset."""

    def __init__(self, state: ServerState) -> None:
        self._state = state

    async def handle(
        self, scope: Scope, receive: Receive, send: Send, headers: Mapping[bytes, bytes]
    ) -> None:
        """Answer a GET or HEAD without a query. Raises `Problem`."""
        accept = requests.text(headers, b"accept")
        offer = negotiation.choose(accept, GRAPH)
        if offer is None:
            names = [entry.media_type for entry in GRAPH]
            raise Problem("not-acceptable", f"Available formats of the description: {', '.join(names)}.")
        if offer.media_type == HTML:
            await send_empty(send, 303, {"location": "/query", "vary": "Accept"})
            return
        view = self._state.view()
        tag = f'W/"{view.version}-description-{offer.name}"'
        if not_modified(headers, tag):
            await send_empty(send, 304, {"etag": tag, "vary": "Accept, Accept-Encoding"})
            return
        assert isinstance(offer.format, ox.RdfFormat)
        endpoint = requests.origin_of(scope, headers) + scope["path"]
        triples = self.triples(endpoint)
        body = ox.serialize(triples, format=offer.format, prefixes=dict(view.prefixes)) or b""
        if offer.format == ox.RdfFormat.TURTLE:
            body = without_unused_prefixes(body)
        answer = CachedResponse(offer.content_type.encode(), None, body)
        await send_answer(send, answer, tag, head=scope["method"] == "HEAD")

    def triples(self, endpoint: str) -> Iterator[ox.Triple]:
        """The service description for a server at an address."""
        settings = self._state.settings
        service = ox.NamedNode(endpoint)

        def say(name: str, value: ox.NamedNode | ox.BlankNode) -> ox.Triple:
            return ox.Triple(service, ox.NamedNode(SD + name), value)

        def sd(name: str) -> ox.NamedNode:
            return ox.NamedNode(SD + name)

        yield ox.Triple(service, RDF_TYPE, sd("Service"))
        yield say("endpoint", service)
        yield say("supportedLanguage", sd("SPARQL10Query"))
        yield say("supportedLanguage", sd("SPARQL11Query"))
        if settings.writable:
            yield say("supportedLanguage", sd("SPARQL11Update"))
        if settings.default_graph == "union":
            yield say("feature", sd("UnionDefaultGraph"))
        if settings.services:
            yield say("feature", sd("BasicFederatedQuery"))
        for offer in (*TABULAR, *GRAPH):
            if offer.format is not None:
                yield say("resultFormat", ox.NamedNode(offer.format.iri))
        if settings.writable:
            for offer in GRAPH:
                if offer.format is not None:
                    yield say("inputFormat", ox.NamedNode(offer.format.iri))
        dataset, graph = ox.BlankNode("dataset"), ox.BlankNode("graph")
        yield say("defaultDataset", dataset)
        yield ox.Triple(dataset, RDF_TYPE, sd("Dataset"))
        yield ox.Triple(dataset, sd("defaultGraph"), graph)
        yield ox.Triple(graph, RDF_TYPE, sd("Graph"))
