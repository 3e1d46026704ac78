"""The ASGI application: access control, routing, request counters, start-up and shutdown."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import Protocol, TextIO

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kgtable.server import security
from kgtable.server.api_routes import Api
from kgtable.server.editing import Editing
from kgtable.server.pages import Pages, problem_response
from kgtable.server.requests import header_map, text
from kgtable.server.sparql_protocol import Description, GraphStore, SparqlEndpoint
from kgtable.server.state import CONTENT_TYPE, AccessLog, ServerState
from kgtable.server.workers.messages import KINDS, Problem, busy

_KIND_OF_STATUS = {404: "not-found", 405: "method-not-allowed"}


def make_site(state: ServerState) -> Starlette:
    """Build the application for the pages, the HTTP API and static files (everything but SPARQL)."""

    async def health(request: Request) -> Response:
        """Health check: 200 with the graph's version when queries can be answered, else 503."""
        job = {"op": "query", "query": "ASK {}", "union": False, "accept": "", "result_limit": 1_000}
        view = state.view()
        await state.read(job, view)
        return JSONResponse({"status": "ok", "version": view.version}, headers={"cache-control": "no-store"})

    async def metrics(request: Request) -> Response:
        """Counters in Prometheus's text format."""
        return PlainTextResponse(state.metrics.text(state.readers, state.writes), media_type=CONTENT_TYPE)

    async def http_exception(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        kind = _KIND_OF_STATUS.get(error.status_code, "bad-request")
        where = f"There is nothing at {request.url.path[:200]}."
        detail = where if kind == "not-found" else KINDS[kind].title
        told = Problem(kind, detail, {}, dict(error.headers or {}))
        return problem_response(told, request.headers.get("accept", ""), editable=state.settings.editable)

    async def problem(request: Request, error: Exception) -> Response:
        assert isinstance(error, Problem)
        return problem_response(error, request.headers.get("accept", ""), editable=state.settings.editable)

    return Starlette(
        routes=[
            Route("/health", health),
            Route("/metrics", metrics),
            *Editing(state).routes(),
            *Api(state).routes(),
            *Pages(state).routes(),
        ],
        middleware=[Middleware(GZipMiddleware, minimum_size=1_024, compresslevel=5)],
        exception_handlers={HTTPException: http_exception, Problem: problem},
    )


_LOG = logging.getLogger(__name__)


class Handler(Protocol):
    """A part of the server that answers requests itself and raises `Problem` for errors."""

    async def handle(self, scope: Scope, receive: Receive, send: Send, headers: Mapping[bytes, bytes]) -> None:
        """Answer one request."""
        ...


class Server:
    """The whole server: SPARQL and graph-store requests are handled directly, the rest by the site."""

    def __init__(self, state: ServerState, log: TextIO | None = None) -> None:
        self.state = state
        self._log = AccessLog(log if state.settings.access_log else None)
        self._sparql, self._store = SparqlEndpoint(state), GraphStore(state)
        self._description = Description(state)
        self._site: ASGIApp = make_site(state)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection, or the server's start-up and shutdown."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                try:
                    await self.state.start()
                except Exception as error:
                    await send({"type": "lifespan.startup.failed", "message": str(error)})
                    return
                await send({"type": "lifespan.startup.complete"})
            else:
                await self.state.close()
                self._log.flush()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        headers = header_map(scope)
        settings = self.state.settings
        status, size = 0, 0
        extra = list(security.SECURITY_HEADERS)
        if settings.origins:
            extra += security.cors_headers(settings, headers)

        async def watched(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *extra]
            else:
                size += len(message.get("body", b""))
            await send(message)

        route = _route(scope["path"])
        try:
            await self._guarded(route, scope, receive, watched, headers)
        except Problem as problem:
            if status:
                # The response is incomplete: without its end, the connection is closed.
                _LOG.warning("%s %s was cut short: %s", scope["method"], scope["path"], problem)
                return
            await self._tell(problem, scope, receive, watched, headers)
        except asyncio.CancelledError:
            # Requests are only cancelled when the server shuts down.
            if status:
                raise
            await self._tell(busy("The server is shutting down."), scope, receive, watched, headers)
        except Exception:
            _LOG.exception("%s %s", scope["method"], scope["path"])
            if status:
                raise
            mistake = Problem("internal-error", "The server's log has the details.")
            await self._tell(mistake, scope, receive, watched, headers)
        finally:
            seconds = time.perf_counter() - started
            self.state.metrics.record(route, status, seconds, size)
            client = scope.get("client") or ("", 0)
            query = scope["query_string"].decode("latin-1")
            self._log.record(client[0], scope["method"], scope["path"], query, status, size, seconds)

    async def _tell(
        self, problem: Problem, scope: Scope, receive: Receive, send: Send, headers: Mapping[bytes, bytes]
    ) -> None:
        response = problem_response(problem, text(headers, b"accept"), editable=self.state.settings.editable)
        if scope["method"] == "HEAD":
            response.body = b""
        await response(scope, receive, send)

    async def _guarded(
        self, route: str, scope: Scope, receive: Receive, send: Send, headers: Mapping[bytes, bytes]
    ) -> None:
        settings = self.state.settings
        security.require_known_host(settings, headers)
        if scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
            allowed = security.preflight_headers(settings, headers)
            await send({"type": "http.response.start", "status": 204, "headers": allowed})
            await send({"type": "http.response.body", "body": b""})
            return
        if route != "health" and not security.is_login(scope, settings):
            security.require_read_token(settings, headers)
        if route == "sparql":
            bare = scope["method"] in ("GET", "HEAD") and not scope["query_string"]
            handler: Handler = self._description if bare else self._sparql
            await handler.handle(scope, receive, send, headers)
        elif route == "store":
            await self._store.handle(scope, receive, send, headers)
        else:
            await self._site(scope, receive, send)


def _route(path: str) -> str:
    """The first segment of a path if it is a known route, else the site's."""
    first = path.split("/", 2)[1] if path.startswith("/") else ""
    if first == "sparql":
        return "sparql" if path in ("/sparql", "/sparql/") else "site"
    return first if first in ("store", "api", "static", "health", "metrics") else "site"
