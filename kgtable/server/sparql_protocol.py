"""SPARQL 1.1 Protocol at ``/sparql``: queries and, where allowed, updates."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path

from starlette.types import Receive, Scope, Send

from kgtable.server import requests
from kgtable.server.frames import Head
from kgtable.server.negotiation import accepts_gzip
from kgtable.server.pool import View
from kgtable.server.problems import Problem
from kgtable.server.requests import Abandoned, Parameters, not_modified, send_answer, send_empty
from kgtable.server.security import require_write_token
from kgtable.server.state import CachedResponse, ServerState

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

    async def handle(
        self, scope: Scope, receive: Receive, send: Send, headers: Mapping[bytes, bytes]
    ) -> None:
        """Answer one request. Raises `Problem`."""
        method = scope["method"]
        if method == "OPTIONS":
            await send_empty(send, 204, {"allow": METHODS, "accept-post": f"{QUERY_TYPE}, {requests.FORM}"})
            return
        if method not in ("GET", "HEAD", "POST"):
            raise Problem("method-not-allowed", f"{method} is not supported here.", {}, {"allow": METHODS})
        key, view = _address_key(scope, headers), self._state.view()
        if key is not None and await self._answer_from_cache(key, view, scope, send, headers):
            return
        base = requests.origin_of(scope, headers) + "/sparql"
        if method == "POST" and requests.media_type(requests.text(headers, b"content-type")) == UPDATE_TYPE:
            await self._update_from_body(base, scope, receive, headers, send)
            return
        operation = await self._operation(scope, receive, headers)
        if operation.update is not None:
            require_write_token(self._state.settings, headers)
            await self._update(operation, base, send)
        else:
            await self._query(operation, base, key, view, scope, receive, send, headers)

    async def _answer_from_cache(
        self, key: Hashable, view: View, scope: Scope, send: Send, headers: Mapping[bytes, bytes]
    ) -> bool:
        """Answer a repeated GET from the cache, if the graph is unchanged."""
        answer = self._state.cache.get(view.version, key)
        if answer is None:
            return False
        self._state.metrics.hit_cache()
        await _send(send, answer, scope, headers, tagged=True)
        return True

    async def _operation(
        self, scope: Scope, receive: Receive, headers: Mapping[bytes, bytes]
    ) -> ProtocolOperation:
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
        return _from_parameters({**in_url, "query": [requests.utf8(body)]}, headers)

    async def _query(
        self,
        operation: ProtocolOperation,
        base: str,
        key: Hashable,
        view: View,
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
        tagged = key is not None
        key = key or (operation, compress, base)
        answer = state.cache.get(view.version, key)
        gone = requests.until_disconnect(receive)
        if answer is None:
            known = requests.text(headers, b"if-none-match") if tagged else ""
            answer, cacheable = await self._evaluate(operation, known, compress, base, view, gone)
            if cacheable:
                state.cache.put(view.version, key, answer)
        else:
            state.metrics.hit_cache()
        await _send(send, answer, scope, headers, tagged=tagged, gone=gone)

    async def _evaluate(
        self,
        operation: ProtocolOperation,
        known: str,
        compress: bool,
        base: str,
        view: View,
        gone: Abandoned,
    ) -> tuple[CachedResponse, bool]:
        """Execute an operation in a worker; the response, and whether it may be cached.

        `known` are the entity tags that the client has; where the result has one of them, the status is 304.
        """
        settings = self._state.settings
        job: Head = {
            "op": "query",
            "query": operation.query,
            "union": settings.default_graph == "union",
            "base": base,
            "accept": operation.accept,
            "result_limit": settings.limits.result,
            "held_limit": settings.limits.held,
            "version": view.version,
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
        return await self._state.read(job, view, gone)

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
        async with (
            state.upload() as folder,
            requests.saved_body(receive, headers, limit, folder) as path,
        ):
            await self._update(operation, base, send, path)

    async def _update(
        self, operation: ProtocolOperation, base: str, send: Send, path: Path | None = None
    ) -> None:
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


def _address_key(scope: Scope, headers: Mapping[bytes, bytes]) -> Hashable:
    """The parts of a GET or HEAD that determine its response, or None for other methods."""
    if scope["method"] == "POST":
        return None
    names = (b"accept", b"accept-encoding", b"host")
    return (scope["query_string"], *(headers.get(name) for name in names))


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
        await send_empty(
            send, 304, {"etag": tag, "vary": "Accept, Accept-Encoding", "cache-control": "no-cache"}
        )
    else:
        await send_answer(send, answer, tag, head=scope["method"] == "HEAD", gone=gone)


def _from_parameters(found: Parameters, headers: Mapping[bytes, bytes]) -> ProtocolOperation:
    query, update = requests.single(found, "query"), requests.single(found, "update")
    if query is not None and update is not None:
        raise Problem("bad-request", "A request is either a query or an update, not both.")
    if update is not None:
        default, named = (
            requests.iris(found, "using-graph-uri"),
            requests.iris(found, "using-named-graph-uri"),
        )
    else:
        default, named = requests.iris(found, "default-graph-uri"), requests.iris(found, "named-graph-uri")
    accept = requests.text(headers, b"accept") if update is not None else requests.accepted(found, headers)
    return ProtocolOperation(query, update, default, named, accept)
