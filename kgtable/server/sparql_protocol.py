"""The protocols of the endpoint: SPARQL 1.1 Protocol, Graph Store HTTP Protocol and Service Description.

``/sparql`` answers queries and, where allowed, updates; a bare GET describes the service.

``/store`` reads and writes graphs. ``?graph=IRI`` and ``?default`` name one; so does a path below ``/store/``, whose
full address is then the IRI of the graph. ``/store`` alone means the whole store: GET returns all graphs, POST adds
quads, or triples as a new graph.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pyoxigraph as ox
from pyoxigraph import RdfFormat
from starlette.types import Receive, Scope, Send

from kgtable.graph.terms import KGT
from kgtable.server import negotiation, requests
from kgtable.server.negotiation import GRAPH, HTML, TABULAR, accepts_gzip
from kgtable.server.options import ServerSettings
from kgtable.server.requests import Abandoned, Parameters, not_modified, send_answer, send_empty
from kgtable.server.security import require_own_site, require_write_token
from kgtable.server.state import CachedResponse, ServerState
from kgtable.server.workers.execution import without_unused_prefixes
from kgtable.server.workers.messages import Head, Problem, utf8

METHODS = "GET, HEAD, POST, OPTIONS"
QUERY_TYPE = "application/sparql-query"
UPDATE_TYPE = "application/sparql-update"


@dataclass(frozen=True, slots=True)
class ProtocolOperation:
    """A parsed request: a query or an update, the dataset given by the protocol, the accepted media types."""

    query: str | None
    update: str | None
    default_graphs: tuple[str, ...]
    named_graphs: tuple[str, ...]
    accept: str


class SparqlEndpoint:
    """ASGI application for ``/sparql``. A bare GET goes to `description`."""

    def __init__(self, state: ServerState) -> None:
        self._state = state

    async def handle(self, scope: Scope, receive: Receive, send: Send, headers: Mapping[bytes, bytes]) -> None:
        """Answer one request. Raises `Problem`."""
        method = scope["method"]
        if method == "OPTIONS":
            await send_empty(send, 204, {"allow": METHODS, "accept-post": f"{QUERY_TYPE}, {requests.FORM}"})
            return
        if method not in ("GET", "HEAD", "POST"):
            raise Problem("method-not-allowed", f"{method} is not supported here.", {}, {"allow": METHODS})
        base = requests.origin_of(scope, headers) + "/sparql"
        if method == "POST" and requests.media_type(requests.text(headers, b"content-type")) == UPDATE_TYPE:
            await self._update_from_body(base, scope, receive, headers, send)
            return
        require_own_site(self._state.settings, headers)
        operation = await self._operation(scope, receive, headers)
        if operation.update is not None:
            require_write_token(self._state.settings, headers)
            await self._update(operation, base, send)
        else:
            await self._query(operation, base, scope, receive, send, headers)

    async def _operation(self, scope: Scope, receive: Receive, headers: Mapping[bytes, bytes]) -> ProtocolOperation:
        in_url = requests.parameters(scope["query_string"])
        limit = self._state.settings.limits.query_text
        if len(scope["query_string"]) > 3 * limit:
            raise Problem("too-large", f"The query is longer than {limit:,} bytes.", {"limit": limit})
        if scope["method"] != "POST":
            if "update" in in_url:
                raise Problem("bad-request", "Updates are sent by POST.")
            return _from_parameters(in_url, headers)
        content_type = requests.text(headers, b"content-type")
        kind = requests.media_type(content_type)
        if kind not in (QUERY_TYPE, UPDATE_TYPE, requests.FORM):
            detail = f"{kind or 'A body without a type'} is neither {QUERY_TYPE}, {UPDATE_TYPE} nor a form."
            raise Problem("unsupported-media-type", detail)
        body = await requests.body(receive, headers, limit if kind == QUERY_TYPE else limit * 3)
        if kind == requests.FORM:
            form = requests.parameters(body)
            together = {name: in_url.get(name, []) + form.get(name, []) for name in in_url | form}
            return _from_parameters(together, headers)
        if "query" in in_url or "update" in in_url:
            raise Problem("bad-request", "The query is in the body: it may not be in the address as well.")
        return _from_parameters({**in_url, "query": [utf8(body)]}, headers)

    async def _query(
        self,
        operation: ProtocolOperation,
        base: str,
        scope: Scope,
        receive: Receive,
        send: Send,
        headers: Mapping[bytes, bytes],
    ) -> None:
        state = self._state
        if operation.query is None:
            raise Problem("bad-request", "The parameter query is missing.")
        if len(operation.query) > state.settings.limits.query_text:
            limit = state.settings.limits.query_text
            raise Problem("too-large", f"The query is longer than {limit:,} bytes.", {"limit": limit})
        compress = accepts_gzip(requests.text(headers, b"accept-encoding"))
        tagged = scope["method"] != "POST"
        view = state.view()
        key = sha256(repr((operation, compress, base)).encode("utf-8", "surrogatepass")).digest()
        answer = state.cache.get(view.version, key)
        gone = requests.until_disconnect(receive)
        if answer is None:
            known = requests.text(headers, b"if-none-match") if tagged else ""
            job = query_job(state.settings, operation, known, base, view.version, compress=compress)
            answer, cacheable = await state.read(job, view, gone)
            if cacheable:
                state.cache.put(view.version, key, answer)
        else:
            state.metrics.hit_cache()
        await _send(send, answer, scope, headers, tagged=tagged, gone=gone)

    async def _update_from_body(
        self, base: str, scope: Scope, receive: Receive, headers: Mapping[bytes, bytes], send: Send
    ) -> None:
        """Apply an update sent as it is; a long one never is in this process's memory."""
        state = self._state
        require_write_token(state.settings, headers)
        in_url = requests.parameters(scope["query_string"])
        if "query" in in_url or "update" in in_url:
            raise Problem("bad-request", "The update is in the body: it may not be in the address as well.")
        operation = _from_parameters({**in_url, "update": [""]}, headers)
        limit = state.settings.limits.upload
        async with state.upload() as folder, requests.saved_body(receive, headers, limit, folder) as path:
            await self._update(operation, base, send, path)

    async def _update(self, operation: ProtocolOperation, base: str, send: Send, path: Path | None = None) -> None:
        state = self._state
        job: Head = {
            "op": "update",
            "update": operation.update,
            "default_graphs": operation.default_graphs,
            "named_graphs": operation.named_graphs,
            "base": base,
            "allowed": state.settings.loads + state.settings.services,
        }
        if path is not None:
            job["file"] = str(path)
        await state.write(job)
        await send_empty(send, 204)


def query_job(
    settings: ServerSettings, operation: ProtocolOperation, known: str, base: str, version: str, *, compress: bool
) -> Head:
    """The job of a query for a worker.

    `known` are the entity tags that the client has; where the result has one of them, the status is 304.
    """
    job: Head = {
        "op": "query",
        "query": operation.query,
        "union": settings.default_graph == "union",
        "base": base,
        "accept": operation.accept,
        "result_limit": settings.limits.result,
        "held_limit": settings.limits.held,
        "version": version,
        "stream": True,
    }
    for name, value in (
        ("default_graphs", operation.default_graphs),
        ("named_graphs", operation.named_graphs),
        ("gzip", compress),
        ("known", known),
        ("services", settings.services),
    ):
        if value:
            job[name] = value
    return job


async def _send(
    send: Send,
    answer: CachedResponse,
    scope: Scope,
    headers: Mapping[bytes, bytes],
    *,
    tagged: bool,
    gone: Abandoned | None = None,
) -> None:
    """Send a result, or that the client has it already; `tagged` is whether it may have an entity tag."""
    tag = answer.tag if tagged else ""
    if answer.status == 304 or (tag and not_modified(headers, tag)):
        await send_empty(send, 304, {"etag": tag, "vary": "Accept, Accept-Encoding", "cache-control": "no-cache"})
    else:
        await send_answer(send, answer, tag, head=scope["method"] == "HEAD", gone=gone)


def _from_parameters(found: Parameters, headers: Mapping[bytes, bytes]) -> ProtocolOperation:
    query, update = requests.single(found, "query"), requests.single(found, "update")
    if query is not None and update is not None:
        raise Problem("bad-request", "A request is either a query or an update, not both.")
    if update is not None:
        default, named = (requests.iris(found, "using-graph-uri"), requests.iris(found, "using-named-graph-uri"))
    else:
        default, named = requests.iris(found, "default-graph-uri"), requests.iris(found, "named-graph-uri")
    accept = requests.text(headers, b"accept") if update is not None else requests.accepted(found, headers)
    return ProtocolOperation(query, update, default, named, accept)


STORE_METHODS = "GET, HEAD, PUT, POST, DELETE, OPTIONS"


@dataclass(frozen=True, slots=True)
class Target:
    """The graph that a request addresses: an IRI, the default graph, or neither for the whole store."""

    graph: str | None
    default: bool

    @property
    def whole(self) -> bool:
        """Whether the whole store is addressed."""
        return self.graph is None and not self.default


class GraphStore:
    """ASGI application for ``/store``."""

    def __init__(self, state: ServerState) -> None:
        self._state = state

    async def handle(self, scope: Scope, receive: Receive, send: Send, headers: Mapping[bytes, bytes]) -> None:
        """Answer one request. Raises `Problem`."""
        method = scope["method"]
        origin = requests.origin_of(scope, headers)
        if method == "OPTIONS":
            await send_empty(send, 204, {"allow": STORE_METHODS})
            return
        target = _target(scope, origin)
        if method in ("GET", "HEAD"):
            await self._read(target, scope, receive, send, headers)
        elif method in ("PUT", "POST", "DELETE"):
            await self._write(target, origin, scope, receive, send, headers)
        else:
            raise Problem("method-not-allowed", f"{method} is not supported here.", {}, {"allow": STORE_METHODS})

    async def _read(
        self, target: Target, scope: Scope, receive: Receive, send: Send, headers: Mapping[bytes, bytes]
    ) -> None:
        state = self._state
        view = state.view()
        job = {
            "op": "graph",
            "graph": target.graph,
            "default": target.default,
            "accept": requests.accepted(requests.parameters(scope["query_string"]), headers),
            "gzip": accepts_gzip(requests.text(headers, b"accept-encoding")),
            "result_limit": state.settings.limits.result,
            "held_limit": state.settings.limits.held,
            "version": view.version,
            "known": requests.text(headers, b"if-none-match"),
            "stream": True,
        }
        gone = requests.until_disconnect(receive)
        answer, _ = await state.read(job, view, gone)
        if answer.status == 304:
            await send_empty(send, 304, {"etag": answer.tag, "vary": "Accept, Accept-Encoding"})
        else:
            await send_answer(send, answer, answer.tag, head=scope["method"] == "HEAD", gone=gone)

    async def _write(
        self, target: Target, origin: str, scope: Scope, receive: Receive, send: Send, headers: Mapping[bytes, bytes]
    ) -> None:
        method = scope["method"]
        settings = self._state.settings
        require_write_token(settings, headers)
        if target.whole and method != "POST":
            raise Problem("bad-request", f"{method} needs ?graph=IRI or ?default.")
        content_type = requests.text(headers, b"content-type")
        answer_headers = {}
        job = {"op": method.lower(), "graph": target.graph, "type": content_type}
        if method != "DELETE":
            _check_type(content_type, quads=target.whole)
        if target.whole and _has_graphs(content_type):
            job["op"] = "load"
        elif target.whole:
            job["graph"] = f"{origin}/store/{secrets.token_hex(8)}"
            answer_headers["location"] = job["graph"]
        job["base"] = job["graph"] or f"{origin}/store"
        async with (
            self._state.upload() as folder,
            requests.saved_body(receive, headers, settings.limits.upload, folder) as path,
        ):
            status = await self._state.write({**job, "file": str(path)})
        await send_empty(send, status, answer_headers)


def _target(scope: Scope, origin: str) -> Target:
    found = requests.parameters(scope["query_string"])
    graph, default = requests.single(found, "graph"), requests.single(found, "default")
    path = scope["path"].removeprefix("/store").strip("/")
    if path:
        if graph is not None or default is not None:
            raise Problem("bad-request", "The path names a graph already: leave out graph and default.")
        raw = scope.get("raw_path", scope["path"].encode()).partition(b"?")[0]
        graph = origin + raw.decode("latin-1")
    if graph is not None and default is not None:
        raise Problem("bad-request", "Name either a graph or the default graph, not both.")
    if graph is not None:
        requests.check_iri(graph, "graph")
    return Target(graph, default is not None)


def _check_type(content_type: str, *, quads: bool) -> None:
    """Raise `Problem` unless content of this media type can be stored."""
    kind = requests.media_type(content_type)
    if kind == "multipart/form-data":
        return
    form = RdfFormat.from_media_type(kind) if kind else None
    if form is None or (form.supports_datasets and form != RdfFormat.JSON_LD and not quads):
        raise Problem("unsupported-media-type", f"{kind or 'A body without a type'} is not a format for a graph.")


def _has_graphs(content_type: str) -> bool:
    return RdfFormat.from_media_type(requests.media_type(content_type)) in (RdfFormat.N_QUADS, RdfFormat.TRIG)


SD = "http://www.w3.org/ns/sparql-service-description#"
FORMATS = "http://www.w3.org/ns/formats/"
RDF_TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")


class Description:
    """ASGI handler of the service description: languages, formats, features, dataset."""

    def __init__(self, state: ServerState) -> None:
        self._state = state

    async def handle(self, scope: Scope, receive: Receive, send: Send, headers: Mapping[bytes, bytes]) -> None:
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
        yield say("extensionFunction", ox.NamedNode(f"{KGT}similarity"))
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
