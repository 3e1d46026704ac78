"""Everything but SPARQL: pages, API, health and metrics."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from kgtable.server.api_routes import Api
from kgtable.server.metrics import CONTENT_TYPE
from kgtable.server.pages import Pages
from kgtable.server.problem_pages import problem_response
from kgtable.server.problems import KINDS, Problem
from kgtable.server.state import ServerState

_KIND_OF_STATUS = {404: "not-found", 405: "method-not-allowed"}


def make_site(state: ServerState) -> Starlette:
    """The application for everything that is not SPARQL."""

    async def health(request: Request) -> Response:
        """Whether queries can be answered: 200 with the graph's version, or 503."""
        job = {"op": "query", "query": "ASK {}", "union": False, "accept": "", "result_limit": 1_000}
        view = state.view()
        await state.read(job, view)
        return JSONResponse({"status": "ok", "version": view.version}, headers={"cache-control": "no-store"})

    async def metrics(request: Request) -> Response:
        """The counters in Prometheus's text format."""
        return PlainTextResponse(state.metrics.text(state), media_type=CONTENT_TYPE)

    return Starlette(
        routes=[
            Route("/health", health),
            Route("/metrics", metrics),
            *Api(state).routes(),
            *Pages(state).routes(),
        ],
        middleware=[Middleware(GZipMiddleware, minimum_size=1_024, compresslevel=5)],
        exception_handlers={HTTPException: _http_exception, Problem: _problem},
    )


async def _http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = _KIND_OF_STATUS.get(error.status_code, "bad-request")
    detail = f"There is nothing at {request.url.path[:200]}." if kind == "not-found" else KINDS[kind].title
    problem = Problem(kind, detail, {}, dict(error.headers or {}))
    return problem_response(problem, request.headers.get("accept", ""))


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return problem_response(error, request.headers.get("accept", ""))
