"""Validate the responses of SPARQL endpoints."""

from __future__ import annotations

import json
import re

import pyoxigraph as ox

from kgtable.errors import QueryError, RemoteStoreError
from kgtable.graph.remote.dialects import EngineDialect
from kgtable.graph.remote.http import ORIGINS, TOKEN, HttpReply

LONGEST_MESSAGE = 300
"""Characters of an engine's own message that are shown."""

_JSON_TYPES = frozenset({"application/sparql-results+json", "application/json"})
_TURTLE_TYPES = frozenset({"text/turtle", "application/x-turtle"})
_MESSAGE_KEYS = ("detail", "exception", "message", "error", "title")


def checked(reply: HttpReply, url: str, *, asked: bool = False) -> None:
    """Raise `RemoteStoreError` for a reply that is no success, `QueryError` for a refused query.

    `asked` is whether the request was a query, for which status 400 blames its text.
    """
    status = reply.status
    if 200 <= status < 300:
        return
    said = _message(reply)
    if status in (401, 403):
        raise RemoteStoreError(
            f"{url} refused access (status {status}){said}",
            hint=f"Set {TOKEN}, and {ORIGINS} to the origin it is for.",
        )
    if status == 400 and asked:
        raise QueryError(f"{url} refused the query{said}")
    if 300 <= status < 400:
        raise RemoteStoreError(
            f"{url} redirects to {reply.location[:LONGEST_MESSAGE] or 'nowhere'}.",
            hint="Connect to that address if you trust it.",
        )
    hints = {
        404: "Check the path of the URL.",
        405: "Is this the address for this kind of request?",
        408: "Ask for less at once.",
        413: "Raise the size the endpoint takes.",
        429: "Wait, then run it again.",
        503: "Wait, then run it again.",
        504: "Ask for less at once.",
    }
    raise RemoteStoreError(f"{url} answered with status {status}{said}", hint=hints.get(status, ""))


def _message(reply: HttpReply) -> str:
    """The engine's own message, on one line and shortened; nothing of a web page."""
    text = reply.body[:20_000].decode("utf-8", "replace")
    if text.lstrip().startswith("<") or "html" in reply.media_type:
        return "."
    if text.lstrip().startswith("{"):
        try:
            content = json.loads(reply.body)
        except (ValueError, RecursionError):
            content = {}
        text = next((str(content[key]) for key in _MESSAGE_KEYS if content.get(key)), "")
    text = " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", text).split())
    if len(text) > LONGEST_MESSAGE:
        text = text[: LONGEST_MESSAGE - 1] + "…"
    return f": {text}" if text else "."


def count_rows(reply: HttpReply, url: str) -> int:
    """Count the rows of a SELECT result, 1 for ASK; raises `RemoteStoreError` unless it is whole."""
    if reply.media_type not in _JSON_TYPES:
        raise _wrong_type(reply, url, "SPARQL results in JSON")
    rows = _counted(reply.body)
    if rows is None:
        raise _damaged(url)
    return rows


def _counted(body: bytes) -> int | None:
    # No error leaves this function: its traceback would keep the solutions, which belong to this thread.
    try:
        found = parsed(body)
        return 1 if isinstance(found, ox.QueryBoolean) else sum(1 for _ in found)
    except (SyntaxError, ValueError):
        return None


def parsed(body: bytes) -> ox.QuerySolutions | ox.QueryBoolean:
    """Parse the results in a body that `count_rows` found whole."""
    return ox.parse_query_results(body, format=ox.QueryResultsFormat.JSON)


def triples(reply: HttpReply, url: str) -> list[ox.Triple]:
    """Parse the triples of a graph; raises `RemoteStoreError` unless they are whole."""
    if "html" in reply.media_type or reply.media_type in _JSON_TYPES:
        raise _wrong_type(reply, url, "N-Triples")
    form = ox.RdfFormat.TURTLE if reply.media_type in _TURTLE_TYPES else ox.RdfFormat.N_TRIPLES
    try:
        return [quad.triple for quad in ox.parse(reply.body, format=form, lenient=True)]
    except (SyntaxError, ValueError) as error:
        raise _damaged(url) from error


def _wrong_type(reply: HttpReply, url: str, wanted: str) -> RemoteStoreError:
    return RemoteStoreError(
        f"{url} answered with {reply.media_type or 'no type'} instead of {wanted}.",
        hint="Is this the address of the SPARQL endpoint itself, not of a page about it?",
    )


def _damaged(url: str) -> RemoteStoreError:
    return RemoteStoreError(
        f"The answer of {url} is damaged, or broke off before its end.",
        hint="Ask again, or for less at once.",
    )


def refuse_partial(reply: HttpReply, rows: int, dialect: EngineDialect, url: str) -> None:
    """Raise `RemoteStoreError` for a result that its engine cut without calling it an error.

    Virtuoso tells by status 206 or by headers; a result of just its usual limit counts as cut too.
    """
    state = reply.headers.get("x-sql-state")
    told = reply.headers.get("x-sparql-maxrows")
    limit = int(told) if told is not None and told.isdecimal() else dialect.row_limit
    if reply.status != 206 and not state and (limit is None or rows < limit):
        return
    raise RemoteStoreError(
        f"{url} gave only a part of the results, {rows:,} rows.",
        hint="Ask for less with LIMIT and OFFSET, or raise the limits of the endpoint "
        "(ResultSetMaxRows and MaxQueryExecutionTime in virtuoso.ini).",
    )
