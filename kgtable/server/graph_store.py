"""SPARQL 1.1 Graph Store HTTP Protocol at ``/store``.

``?graph=IRI`` and ``?default`` name a graph; so does a path below ``/store/``, whose full address is then
the graph's IRI. ``/store`` alone means the whole store: GET returns all graphs, POST adds quads, or triples
as a new graph.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from pyoxigraph import RdfFormat
from starlette.types import Receive, Scope, Send

from kgtable.server import requests
from kgtable.server.negotiation import accepts_gzip
from kgtable.server.problems import Problem
from kgtable.server.requests import send_answer, send_empty
from kgtable.server.security import require_write_token
from kgtable.server.state import ServerState

METHODS = "GET, HEAD, PUT, POST, DELETE, OPTIONS"


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

    async def handle(
        self, scope: Scope, receive: Receive, send: Send, headers: Mapping[bytes, bytes]
    ) -> None:
        """Answer one request. Raises `Problem`."""
        method = scope["method"]
        origin = requests.origin_of(scope, headers)
        if method == "OPTIONS":
            await send_empty(send, 204, {"allow": METHODS})
            return
        target = _target(scope, origin)
        if method in ("GET", "HEAD"):
            await self._read(target, scope, receive, send, headers)
        elif method in ("PUT", "POST", "DELETE"):
            await self._write(target, origin, scope, receive, send, headers)
        else:
            raise Problem("method-not-allowed", f"{method} is not supported here.", {}, {"allow": METHODS})

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
        self,
        target: Target,
        origin: str,
        scope: Scope,
        receive: Receive,
        send: Send,
        headers: Mapping[bytes, bytes],
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
        raise Problem(
            "unsupported-media-type", f"{kind or 'A body without a type'} is not a format for a graph."
        )


def _has_graphs(content_type: str) -> bool:
    return RdfFormat.from_media_type(requests.media_type(content_type)) in (RdfFormat.N_QUADS, RdfFormat.TRIG)
