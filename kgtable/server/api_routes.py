"""HTTP API at ``/api``: validated parameters in, JSON out; `openapi.py` describes it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from kgtable.config import DEFAULT_K
from kgtable.server import requests
from kgtable.server.openapi import document
from kgtable.server.options import LIST_FACETS, LIST_SORTS
from kgtable.server.requests import not_modified, server_event
from kgtable.server.state import ServerState
from kgtable.server.workers.messages import Head, Problem
from kgtable.server.workers.process import WorkerFrame

LONGEST_QUESTION = 2_000
MOST_TRIPLES = 11_000
LISTENING = 0.5
"""Seconds of silence after which a stream of events looks whether its client is still there."""
COMMENTS_EVERY = 20
"""Such looks after which a comment keeps the connection alive."""


class Api:
    """The operations on the graph of one server."""

    def __init__(self, state: ServerState) -> None:
        self._state = state

    def routes(self) -> list[Route]:
        """The routes below ``/api``."""
        return [
            Route("/api/openapi.json", self.openapi, methods=["GET"]),
            Route("/api/info", self.simple, methods=["GET"]),
            Route("/api/dataset", self.simple, methods=["GET"]),
            Route("/api/classes", self.simple, methods=["GET"]),
            Route("/api/landmarks", self.simple, methods=["GET"]),
            Route("/api/units", self.simple, methods=["GET"]),
            Route("/api/tables", self.tables, methods=["GET"]),
            Route("/api/tables/{id:path}", self.table, methods=["GET"]),
            Route("/api/cells", self.cell, methods=["GET"]),
            Route("/api/documents/{id:path}", self.document, methods=["GET"]),
            Route("/api/ontology", self.ontology, methods=["GET"]),
            Route("/api/resource", self.resource, methods=["GET"]),
            Route("/api/neighbours", self.neighbours, methods=["GET"]),
            Route("/api/search", self.search, methods=["GET"]),
            Route("/api/suggestions", self.suggestions, methods=["GET"]),
            Route("/api/retrieve", self.retrieve, methods=["GET"]),
            Route("/api/ask", self.ask, methods=["POST"]),
        ]

    async def openapi(self, request: Request) -> Response:
        """The OpenAPI document."""
        return JSONResponse(document(str(request.base_url)))

    async def simple(self, request: Request) -> Response:
        """An operation without parameters, named by the path."""
        _known_parameters(request, ())
        return await self._give(request, {"op": request.url.path.rpartition("/")[2]})

    async def tables(self, request: Request) -> Response:
        """Tables by search words."""
        names = ("q", "offset", "limit", "sort", "order", *LIST_FACETS)
        found = _known_parameters(request, names)
        sort = _one_of(found, "sort", ("", *LIST_SORTS))
        job = {"op": "tables", **_page(found), "sort": sort, "descending": _descending(found)}
        return await self._give(request, {**job, **{name: found.get(name, "")[:500] for name in LIST_FACETS}})

    async def ontology(self, request: Request) -> Response:
        """Predicates by search words."""
        found = _known_parameters(request, ("q", "offset", "limit"))
        return await self._give(request, {"op": "ontology", **_page(found)})

    async def table(self, request: Request) -> Response:
        """A window of a table as JSON, or the whole table as CSV."""
        names = ("row", "rows", "column", "columns", "around", "across", "sort", "order", "find", "format")
        found = _known_parameters(request, names)
        id = request.path_params["id"]
        if _one_of(found, "format", ("json", "csv")) == "csv":
            return await whole_csv(self._state, id)
        job = {
            "op": "table",
            "id": id,
            "row": _integer(found, "row", 0, 0, 10**9),
            "rows": _integer(found, "rows", 200, 1, 500),
            "column": _integer(found, "column", 0, 0, 10**6),
            "columns": _integer(found, "columns", 60, 1, 200),
            "around": _numbers(found, "around"),
            "across": _numbers(found, "across"),
            "sort": _integer(found, "sort", 0, 0, 10**6) if "sort" in found else None,
            "descending": _descending(found),
            "find": found.get("find", "")[:500],
        }
        return await self._give(request, job)

    async def suggestions(self, request: Request) -> Response:
        """Questions that are answered, about the graph or near a cell of a table."""
        found = _known_parameters(request, ("table", "row", "column", "question"))
        job = {
            "op": "suggestions",
            "table": found.get("table", ""),
            "question": found.get("question", "")[:LONGEST_QUESTION],
            "row": _integer(found, "row", 0, 0, 10**9) if "row" in found else None,
            "column": _integer(found, "column", 0, 0, 10**6) if "column" in found else None,
        }
        return await self._give(request, job)

    async def cell(self, request: Request) -> Response:
        """Value, unit, scale and provenance of one cell."""
        found = _known_parameters(request, ("table", "row", "column"))
        job = {
            "op": "cell",
            "id": _required(found, "table"),
            "row": _integer(found, "row", None, 0, 10**9),
            "column": _integer(found, "column", None, 0, 10**6),
        }
        return await self._give(request, job)

    async def document(self, request: Request) -> Response:
        """Some paragraphs of a document, and the tables beside them."""
        found = _known_parameters(request, ("first", "count", "paragraph", "start"))
        job = {
            "op": "document",
            "id": request.path_params["id"],
            "first": _integer(found, "first", 0, 0, 10**9),
            "count": _integer(found, "count", 40, 1, 200),
            "paragraph": _integer(found, "paragraph", 0, 0, 10**9),
            "start": _integer(found, "start", 0, 0, 10**9),
        }
        return await self._give(request, job)

    async def resource(self, request: Request) -> Response:
        """The statements about an IRI."""
        found = _known_parameters(request, ("iri",))
        return await self._give(request, {"op": "resource", "iri": _required(found, "iri")})

    async def neighbours(self, request: Request) -> Response:
        """The neighbourhood of an IRI."""
        found = _known_parameters(request, ("iri", "limit"))
        limit = _integer(found, "limit", 40, 1, 200)
        return await self._give(request, {"op": "neighbours", "iri": _required(found, "iri"), "limit": limit})

    async def search(self, request: Request) -> Response:
        """Nodes by label."""
        found = _known_parameters(request, ("q", "limit"))
        job = {"op": "search", "q": _required(found, "q"), "limit": _integer(found, "limit", 12, 1, 60)}
        return await self._give(request, job)

    async def retrieve(self, request: Request) -> Response:
        """The triples retrieved for a question."""
        found = _known_parameters(request, ("question", "k", "method"))
        job = {
            "op": "retrieve",
            "question": _question(found.get("question")),
            "k": _integer(found, "k", DEFAULT_K, 1, MOST_TRIPLES),
            "method": _method(found.get("method", "hybrid")),
        }
        return await self._give(request, job)

    async def ask(self, request: Request) -> Response:
        """The answer to a question, at once or as server-sent events."""
        _same_site(request)
        headers = requests.header_map(request.scope)
        names = {"question", "method", "k", "after"}
        given = await requests.json_object(request.receive, headers, 64 << 10, names)
        k, method = given.get("k"), given.get("method")
        if k is not None and (isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MOST_TRIPLES):
            raise Problem("bad-request", f"k must be a whole number from 1 to {MOST_TRIPLES:,}.")
        method = _method(method)
        after = None if given.get("after") is None else _question(given["after"])
        job = {"op": "ask", "question": _question(given.get("question")), "k": k, "method": method}
        job["after"] = after
        if "text/event-stream" in request.headers.get("accept", ""):
            unbuffered = {"cache-control": "no-store", "x-accel-buffering": "no"}
            return StreamingResponse(self._events(job, request), media_type="text/event-stream", headers=unbuffered)
        body = await self._state.explore(job)
        return Response(body, media_type=requests.JSON, headers={"cache-control": "no-store"})

    async def _events(self, job: Head, request: Request) -> AsyncIterator[bytes]:
        """Server-sent events: the question as it is understood, stages, what was found, text, then the answer.

        An error takes the place of the answer. In silence a comment is sent now and then, and the work ends
        where the client is gone.
        """
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()

        def told(frame: WorkerFrame) -> None:
            queue.put_nowait(server_event(frame[0]["name"], frame[1]))

        async def work() -> None:
            try:
                queue.put_nowait(server_event("answer", await self._state.explore(job, told)))
            except Problem as problem:
                queue.put_nowait(server_event("problem", problem.body()))
            finally:
                queue.put_nowait(None)

        task = asyncio.create_task(work())
        silent = 0
        try:
            while True:
                try:
                    event = await asyncio.wait_for(queue.get(), LISTENING)
                except TimeoutError:
                    silent += 1
                    if await request.is_disconnected():
                        return
                    if silent % COMMENTS_EVERY == 0:
                        yield b": working\n\n"
                    continue
                if event is None:
                    return
                silent = 0
                yield event
        finally:
            task.cancel()

    async def _give(self, request: Request, job: Head) -> Response:
        tag = f'W/"{self._state.view().version}"'
        headers = {"etag": tag, "cache-control": "no-cache", "vary": "Accept-Encoding"}
        body = await self._state.explore(job)
        if job["op"] != "retrieve" and not_modified(requests.header_map(request.scope), tag):
            return Response(status_code=304, headers=headers)
        return Response(body, media_type=requests.JSON, headers=headers)


def _known_parameters(request: Request, names: tuple[str, ...]) -> Mapping[str, str]:
    """The parameters, each given at most once. Raises `Problem` for an unknown or repeated one."""
    found = requests.parameters(request.scope["query_string"])
    unknown = sorted(found.keys() - set(names))
    if unknown:
        known = f"it takes {', '.join(names)}" if names else "it takes none"
        raise Problem("bad-request", f"Unknown parameter {unknown[0][:100]!r}: {known}.")
    return {name: requests.single(found, name) or "" for name in found}


def _page(found: Mapping[str, str]) -> Head:
    return {
        "q": found.get("q", "")[:500],
        "offset": _integer(found, "offset", 0, 0, 10**9),
        "limit": _integer(found, "limit", 50, 1, 200),
    }


def _required(found: Mapping[str, str], name: str) -> str:
    if not found.get(name):
        raise Problem("bad-request", f"The parameter {name} is missing.")
    return found[name]


def _integer(found: Mapping[str, str], name: str, default: int | None, low: int, high: int) -> int:
    text = found.get(name)
    if text is None and default is not None:
        return default
    if not text or not text.isascii() or not text.isdigit() or len(text) > 12 or not low <= int(text) <= high:
        raise Problem("bad-request", f"{name} must be a whole number from {low:,} to {high:,}.")
    return int(text)


def _numbers(found: Mapping[str, str], name: str) -> list[int]:
    text = found.get(name, "")
    parts = text.split(",") if text else []
    if len(parts) > 50 or not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise Problem("bad-request", f"{name} takes at most 50 numbers, separated by commas.")
    return [int(part) for part in parts]


def _one_of(found: Mapping[str, str], name: str, values: tuple[str, ...]) -> str:
    """A parameter that takes one of these values, the first by default."""
    value = found.get(name) or values[0]
    if value not in values:
        raise Problem("bad-request", f"{name} must be {' or '.join(filter(None, values))}.")
    return value


def _descending(found: Mapping[str, str]) -> bool:
    return _one_of(found, "order", ("ascending", "descending")) == "descending"


async def whole_csv(state: ServerState, id: str) -> Response:
    """A whole table as a CSV file that is named after the table. Raises `Problem` where there is none."""
    named = json.loads(await state.explore({"op": "exists", "id": id}))
    body = await state.explore({"op": "csv", "id": id})
    headers = {"content-disposition": attachment(f"{named['name']}.csv"), "cache-control": "no-cache"}
    return Response(body, headers=headers, media_type="text/csv; charset=utf-8")


def attachment(name: str) -> str:
    """The header that names a download, also in letters beyond ASCII (RFC 6266)."""
    plain = name.encode("ascii", "ignore").decode("ascii")
    told = plain if plain.partition(".")[0].strip("-_") else f"table{name[name.rindex('.') :]}"
    return f"attachment; filename=\"{told}\"; filename*=UTF-8''{quote(name, safe='')}"


def _method(name: object) -> str | None:
    """The method that a request names, without options: some let a model's programs run as Python."""
    if name is not None and (not isinstance(name, str) or ":" in name):
        raise Problem("bad-request", "method must be the name of a retrieval method, without options.")
    return name


def _question(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_QUESTION:
        raise Problem("bad-request", f"question must be a text of 1 to {LONGEST_QUESTION:,} characters.")
    return value.strip()


def _same_site(request: Request) -> None:
    """Raise `Problem` for a cross-site request made by a browser."""
    if request.headers.get("sec-fetch-site", "same-origin") == "cross-site":
        raise Problem("forbidden", "Requests from pages of other sites are not accepted.")
