"""HTTP API at ``/api``: validated parameters in, JSON out; `openapi.py` describes it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from kgtable.server import negotiation, requests
from kgtable.server.openapi import document
from kgtable.server.operations import MOST_TRIPLES, READING, Operation, method_of, question_of
from kgtable.server.options import COSTLY
from kgtable.server.requests import TellEvent, not_modified
from kgtable.server.security import require_own_site
from kgtable.server.state import ServerState
from kgtable.server.workers.messages import Head, Problem
from kgtable.tables.discovery import FORMATS


class Api:
    """The operations on the graph of one server."""

    def __init__(self, state: ServerState) -> None:
        self._state = state

    def routes(self) -> list[Route]:
        """The routes below ``/api``."""
        return [
            Route("/api/openapi.json", self.openapi, methods=["GET"]),
            *(Route(one.path.replace("{id}", "{id:path}"), self._reading(one), methods=["GET"]) for one in READING),
            Route("/api/ask", self.ask, methods=["POST"]),
        ]

    async def openapi(self, request: Request) -> Response:
        """The OpenAPI document."""
        return JSONResponse(document(str(request.base_url)))

    def _reading(self, operation: Operation) -> Callable[[Request], Awaitable[Response]]:
        """What answers the requests of an operation."""

        async def give(request: Request) -> Response:
            if operation.name in COSTLY:
                require_own_site(self._state.settings, requests.header_map(request.scope))
            job = operation.job(request.scope["query_string"], request.path_params)
            if operation.name == "explore":
                job = {"op": "explore", "fields": {name: text for name, text in job.items() if name != "op" and text}}
            if operation.name == "table" and job.pop("format") == "csv":
                return await table_file(self._state, job["id"])
            if "order" in job:
                job["descending"] = job.pop("order") == "descending"
            return await self._give(request, job)

        return give

    async def ask(self, request: Request) -> Response:
        """The answer to a question, at once or as server-sent events."""
        headers = requests.header_map(request.scope)
        require_own_site(self._state.settings, headers)
        names = {"question", "method", "k", "after"}
        given = await requests.json_object(request.receive, headers, 64 << 10, names)
        k, method = given.get("k"), given.get("method")
        if k is not None and (isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MOST_TRIPLES):
            raise Problem("bad-request", f"k must be a whole number from 1 to {MOST_TRIPLES:,}.")
        method = method_of(method)
        after = None if given.get("after") is None else question_of(given["after"])
        job = {"op": "ask", "question": question_of(given.get("question")), "k": k, "method": method}
        job["after"] = after
        if "text/event-stream" in request.headers.get("accept", ""):
            unbuffered = {"cache-control": "no-store", "x-accel-buffering": "no"}

            async def work(tell: TellEvent) -> None:
                told = await self._state.explore(job, lambda frame: tell(frame[0]["name"], frame[1]))
                tell("answer", told)

            events = requests.server_events(work, request.is_disconnected)
            return StreamingResponse(events, media_type="text/event-stream", headers=unbuffered)
        body = await self._state.explore(job)
        return Response(body, media_type=requests.JSON, headers={"cache-control": "no-store"})

    async def _give(self, request: Request, job: Head) -> Response:
        tag = f'W/"{self._state.view().version}"'
        headers = {"etag": tag, "cache-control": "no-cache", "vary": "Accept-Encoding"}
        body = await self._state.explore(job)
        if job["op"] != "retrieve" and not_modified(requests.header_map(request.scope), tag):
            return Response(status_code=304, headers=headers)
        kind = negotiation.SHORT_NAMES.get(job.get("format", ""), requests.JSON)
        return Response(body, media_type=kind, headers=headers)


TABLE_FILES = {
    "csv": "text/csv; charset=utf-8",
    **{form: FORMATS[f".{form}"].media_type for form in ("xlsx", "parquet")},
}
"""The formats of whole tables as files, with their media types."""


async def table_file(state: ServerState, id: str, form: str = "csv", *, defuse: bool = False) -> Response:
    """A whole table as a file that is named after the table, `defuse` as in exports. Raises `Problem` for none."""
    named = json.loads(await state.explore({"op": "exists", "id": id}))
    body = await state.explore({"op": "file", "id": id, "form": form, "defuse": defuse})
    headers = {"content-disposition": attachment(f"{named['name']}.{form}"), "cache-control": "no-cache"}
    return Response(body, headers=headers, media_type=TABLE_FILES[form])


def attachment(name: str) -> str:
    """The header that names a download, also in letters beyond ASCII (RFC 6266)."""
    plain = name.encode("ascii", "ignore").decode("ascii")
    told = plain if plain.partition(".")[0].strip("-_") else f"table{name[name.rindex('.') :]}"
    return f"attachment; filename=\"{told}\"; filename*=UTF-8''{quote(name, safe='')}"
