"""Web pages of the server, and errors as pages for browsers."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import parse_qs, quote, urlencode

from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from kgtable.graph.terms import Namespaces
from kgtable.server import negotiation, requests
from kgtable.server.api_routes import TABLE_FILES, attachment, table_file
from kgtable.server.negotiation import GRAPH, HTML, Offer
from kgtable.server.operations import LONGEST_WORDS, question_of
from kgtable.server.plain_pages import PLAIN
from kgtable.server.security import COOKIE, require_own_site, same_secret
from kgtable.server.state import CachedResponse, ServerState
from kgtable.server.workers.messages import KINDS, Problem

FOLDER = Path(__file__).parent
NAVIGATION = (
    ("ask", "/", "Ask"),
    ("explore", "/explore", "Explore"),
    ("tables", "/tables", "Tables"),
    ("documents", "/documents", "Documents"),
    ("query", "/query", "SPARQL"),
    ("sql", "/sql", "SQL"),
    ("graph", "/graph", "Map"),
    ("ontology", "/ontology", "Ontology"),
)
UPLOAD = ("upload", "/upload", "Upload")
"""The page of an editable server."""
_TITLES = {name: title for name, _, title in NAVIGATION} | {
    "upload": "Upload",
    "table": "Table",
    "document": "Document",
    "resource": "Resource",
    "problem": "Problem",
}
_ABOVE = {"table": "tables", "document": "documents", "resource": "graph"}
"""The pages that the navigation does not name, and those that stand for them."""
_EDITORS = {"query": "sparql", "sql": "sql"}
"""The pages with an editor, and the language that it colours."""
MOST_LEADING = 1_000
"""Maximum statements shown for an IRI that is not a subject, such as a name shared by many rows."""

PLAIN_SECONDS = 5.0
"""How long a page without JavaScript waits for its content; scripts request theirs separately."""
_NEEDS_SCRIPTS = (
    '<p class="note warn">This page needs JavaScript; the list of <a href="/tables">tables</a> and '
    'the <a href="/sparql">endpoint</a> do not.</p>'
)
_SCRIPTLESS = ("documents", "problem", "resource")
"""The pages that the server writes in full."""
_CURRENT = ' aria-current="page"'
_FORMATS = {"turtle": "text/turtle", "jsonld": "application/ld+json", "ntriples": "application/n-triples"}
_TABLE_FORMATS = (*TABLE_FILES, "json", "ttl")
_DEFAULT_GRAPHS = {
    "union": "the union of all tables and the description of the dataset",
    "own": "the description of the dataset; each table is a graph of its own",
}

_IMPORTED = re.compile(r"""\bfrom "\./([\w-]+)\.js";""")


@cache
def _modules(script: str) -> tuple[str, ...]:
    """The scripts that a page's script imports, also through others, in order of their first mention."""
    found = [script]
    for name in found:
        text = (FOLDER / "static" / f"{name}.js").read_text(encoding="utf-8")
        found += (other for other in dict.fromkeys(_IMPORTED.findall(text)) if other not in found)
    return tuple(found[1:])


@cache
def _template(name: str) -> Template:
    return Template((FOLDER / "templates" / f"{name}.html").read_text(encoding="utf-8"))


def page(name: str, values: Mapping[str, str] | None = None, *, editable: bool = False) -> bytes:
    """Fill in a page template; `values` must already be escaped. An editable server has a page more."""
    current = _ABOVE.get(name, name)
    linked = (*NAVIGATION, UPLOAD) if editable else NAVIGATION
    links = "".join(f'<a href="{path}"{_CURRENT if key == current else ""}>{title}</a>' for key, path, title in linked)
    script = "shell" if name in _SCRIPTLESS else name
    scripts = "\n".join(  # imports are named here, since a browser finds them only in the scripts themselves
        (
            *(f'<link rel="modulepreload" href="/static/{part}.js">' for part in _modules(script)),
            f'<script type="module" src="/static/{script}.js"></script>',
        )
    )
    styles = ""
    if name in _EDITORS:
        styles = "\n".join(
            f'<link rel="stylesheet" href="/static/vendor/{part}.css">' for part in ("codemirror", "show-hint")
        )
        parts = ("codemirror", _EDITORS[name], "show-hint", "matchbrackets")
        editor = (f'<script src="/static/vendor/{part}.js" defer></script>' for part in parts)
        scripts = "\n".join((*editor, scripts))
    values = {"bench": _template("bench").template, **(values or {})}
    content = _template(name).safe_substitute(values)
    whole = _template("layout").substitute(
        title=values.get("title", _TITLES[name]),
        styles=styles,
        scripts=scripts,
        navigation=links,
        content=content,
        plain="" if name in _SCRIPTLESS else f"<noscript>{values.get('plain', _NEEDS_SCRIPTS)}</noscript>",
    )
    return whole.encode("utf-8")


class Files(StaticFiles):
    """Static files, revalidated by the browser on each visit."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file, or 404."""
        response = await super().get_response(path, scope)
        if isinstance(response, FileResponse):
            response.headers["cache-control"] = "no-cache"
        return response


class Pages:
    """The routes of one server's pages."""

    def __init__(self, state: ServerState) -> None:
        self._state = state

    def _page(self, name: str, values: Mapping[str, str] | None = None) -> bytes:
        """A page with this server's navigation."""
        settings = self._state.settings
        own = {"default_graph": _DEFAULT_GRAPHS[settings.default_graph], "query": ""}
        return page(name, {**own, **(values or {})}, editable=settings.editable)

    def routes(self) -> list[Route | Mount]:
        """The routes of all pages."""
        return [
            Route("/", self.ask, methods=["GET"]),
            Route("/tables", self.plain, methods=["GET"]),
            Route("/tables/{id:path}", self.table, methods=["GET"]),
            Route("/documents", self.plain, methods=["GET"]),
            Route("/documents/{id:path}", self.document, methods=["GET"]),
            Route("/graph", self.plain, methods=["GET"]),
            Route("/query", self.plain, methods=["GET"]),
            Route("/sql", self.plain, methods=["GET"]),
            Route("/explore", self.plain, methods=["GET"]),
            Route("/ontology", self.ontology, methods=["GET"]),
            *([Route("/upload", self.plain, methods=["GET"])] if self._state.settings.editable else []),
            Route("/resource", self.resource, methods=["GET"]),
            Route("/data/{path:path}", self.data, methods=["GET"]),
            Route("/dataset", self.data, methods=["GET"]),
            Mount("/static", Files(directory=FOLDER / "static")),
        ]

    async def ask(self, request: Request) -> Response:
        """The start page; a token in the address is exchanged for a cookie."""
        given = parse_qs(request.url.query).get("token", [""])[0]
        if given and same_secret(given, self._state.settings.token):
            response = RedirectResponse("/", 303)
            response.set_cookie(COOKIE, quote(given, safe=""), httponly=True, samesite="strict")
            return response
        question = request.query_params.get("q", "")
        if not question or "plain" not in request.query_params:
            link = f'<a href="/?plain=1&amp;{escape(urlencode({"q": question}))}">Answer without JavaScript</a>'
            return _html(request, self._page("ask", {"plain": f"<p>{link}</p>" if question else ""}))
        require_own_site(self._state.settings, requests.header_map(request.scope))
        return await self._plain(request, "ask", question=question_of(question))

    async def plain(self, request: Request) -> Response:
        """A page named by its path; requests of its form without JavaScript have the parameter ``plain``."""
        name = request.url.path.strip("/")
        if name not in PLAIN:
            return _html(request, self._page(name))
        given = {key: text for key, text in request.query_params.items() if text}
        query = given.get("query", "")
        if not given.pop("plain", None):
            return await self._plain(request, name, {"query": escape(query)})
        require_own_site(self._state.settings, requests.header_map(request.scope))
        wanted = {"op": name, "query": query, "format": "rows", "fields": given}
        return await self._plain(request, name, {"query": escape(query)}, must=True, **wanted)

    async def _plain(
        self, request: Request, name: str, values: Mapping[str, str] | None = None, *, must: bool = False, **wanted: Any
    ) -> Response:
        """A page with what it shows without JavaScript; without that where it takes long or fails.

        Raises `Problem` for a page that is nothing without it.
        """
        given = request.query_params.get("first", "")
        first = int(given) if given.isascii() and given.isdigit() and len(given) < 10 else 0
        words = request.query_params.get("q", "")[:LONGEST_WORDS]
        job, shown = PLAIN[name]
        job = {"op": name, "offset": first, "row": first, "first": first, "q": words, **job, **wanted}
        must = must or name in (*_SCRIPTLESS, "ask")
        try:
            found = await asyncio.wait_for(self._state.explore(job), None if must else PLAIN_SECONDS)
            content = shown(json.loads(found), job)
        except (Problem, TimeoutError):
            if must:
                raise
            content = ""
        return _html(request, self._page(name, {"q": escape(words), **(values or {}), "plain": content}))

    async def table(self, request: Request) -> Response:
        """One table: its page, or with a suffix or ``format`` the whole of it as CSV, XLSX, Parquet, JSON or Turtle.

        Raises `Problem` (404) if there is no such table.
        """
        id = request.path_params["id"]
        if await self._has_graph(self._table_iri(id)):
            form = request.query_params.get("format", "")
        else:
            id, _, form = id.rpartition(".")
            if form not in _TABLE_FORMATS or not await self._has_graph(self._table_iri(id)):
                raise Problem("not-found", f"There is no table {request.path_params['id'][:200]!r} here.")
        if form in TABLE_FILES:
            return await table_file(
                self._state, id, form, defuse=request.query_params.get("defuse", "0") not in ("", "0")
            )
        if form in ("", "html"):
            return await self._plain(request, "table", id=id)
        if form not in _TABLE_FORMATS:
            raise Problem("not-acceptable", f"A table comes as {', '.join(_TABLE_FORMATS)}.")
        named = json.loads(await self._state.explore({"op": "exists", "id": id}))
        headers = {"content-disposition": attachment(f"{named['name']}.{form}"), "cache-control": "no-cache"}
        if form == "json":
            content = await self._state.explore({"op": "whole", "id": id})
            return Response(content, headers=headers, media_type="application/json")
        query = f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ GRAPH <{self._table_iri(id)}> {{ ?s ?p ?o }} }}"
        offer = next(entry for entry in GRAPH if entry.media_type == _FORMATS["turtle"])
        response = await self._rdf(query, offer, union=False)
        response.headers.update(headers)
        return response

    async def document(self, request: Request) -> Response:
        """One document's text. Raises `Problem` (404) if there is no such document."""
        id = request.path_params["id"]
        base = self._base()
        if not await self._has_graph(Namespaces(base).document_iri(id) if base and id else ""):
            raise Problem("not-found", f"There is no document {id[:200]!r} here.")
        return await self._plain(request, "document", id=id)

    def _table_iri(self, id: str) -> str:
        """The IRI of a table; empty if the store is not a graph of tables."""
        base = self._base()
        return Namespaces(base).table_iri(id) if base and id else ""

    def _base(self) -> str:
        """The base of the graph's own IRIs; empty if the store is not a graph of tables."""
        return self._state.source.view().prefixes.get("data", "").removesuffix("data/")

    async def _has_graph(self, iri: str) -> bool:
        """Whether there is a graph of this name; there is none without a name."""
        if not iri:
            return False
        requests.check_iri(iri, "The address")
        return await self._holds(f"ASK {{ GRAPH <{iri}> {{ ?s ?p ?o }} }}")

    async def ontology(self, request: Request) -> Response:
        """The list of predicates as a page, or the ontology as RDF for programs."""
        offer = _wanted(request)
        if offer.media_type == HTML:
            return await self._plain(request, "ontology")
        query = "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o FILTER(STRSTARTS(STR(?s), STR(ex:))) }"
        return await self._rdf(query, offer, union=False)

    async def resource(self, request: Request) -> Response:
        """One IRI: a page for people, its statements as RDF for programs."""
        iri = request.query_params.get("iri", "")
        requests.check_iri(iri, "iri")
        return await self._dereference(request, iri)

    async def data(self, request: Request) -> Response:
        """A data IRI that is requested at its own path."""
        raw = request.scope.get("raw_path", b"").decode("latin-1").partition("?")[0]
        iri = self._base() + (raw or quote(request.url.path)).lstrip("/")
        requests.check_iri(iri, "The address")
        return await self._dereference(request, iri)

    async def _dereference(self, request: Request, iri: str) -> Response:
        """What the graph says of the IRI; of one that is not a subject, such as a shared name, what leads to it.

        Raises `Problem` (404) if the graph does not name it.
        """
        offer = _wanted(request)
        is_subject = await self._holds(f"ASK {{ <{iri}> ?p ?o }}")
        if not is_subject and not await self._holds(f"ASK {{ {{ ?s ?p <{iri}> }} UNION {{ ?s <{iri}> ?o }} }}"):
            raise Problem("not-found", f"The graph does not contain {iri[:200]}.")
        if offer.media_type == HTML:
            return await self._plain(request, "resource", {"iri": escape(iri, quote=True)}, iri=iri)
        leading = f"CONSTRUCT {{ ?s ?p <{iri}> }} WHERE {{ ?s ?p <{iri}> }} LIMIT {MOST_LEADING}"
        return await self._rdf(f"DESCRIBE <{iri}>" if is_subject else leading, offer, union=True)

    async def _read(self, query: str, accept: str, *, union: bool) -> CachedResponse:
        limit = self._state.settings.limits.held
        job = {"op": "query", "query": query, "union": union, "accept": accept, "result_limit": limit}
        answer, _ = await self._state.read(job, self._state.view())
        return answer

    async def _holds(self, query: str) -> bool:
        answer = await self._read(query, "application/sparql-results+json", union=True)
        return bool(json.loads(answer.body)["boolean"])

    async def _rdf(self, query: str, offer: Offer, *, union: bool) -> Response:
        answer = await self._read(query, offer.media_type, union=union)
        return Response(answer.body, headers={"vary": "Accept"}, media_type=answer.content_type.decode())


def _wanted(request: Request) -> Offer:
    form = request.query_params.get("format")
    accept = _FORMATS.get(form, form) if form else request.headers.get("accept", "")
    if accept in ("", "*/*"):
        accept = HTML
    offer = negotiation.choose(accept, GRAPH)
    if offer is None:
        names = [entry.media_type for entry in GRAPH]
        raise Problem("not-acceptable", f"Available formats: {', '.join(names)}.", {"available": names})
    return offer


def _html(request: Request, content: bytes) -> Response:
    tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    headers = {"etag": tag, "cache-control": "no-cache", "vary": "Accept"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type="text/html; charset=utf-8")


_OFFERS = (Offer("application/problem+json", ("application/json",), None), Offer(HTML, (), None))


def problem_response(problem: Problem, accept: str, *, editable: bool = False) -> Response:
    """The error in the format the client accepts: a page for browsers, else problem details."""
    offer = negotiation.choose(accept, _OFFERS)
    if offer is None or offer.media_type != HTML:
        return problem.response()
    values = {"title": KINDS[problem.kind].title, "detail": problem.detail, "status": str(problem.status)}
    content = page("problem", {name: escape(value) for name, value in values.items()}, editable=editable)
    headers = {"cache-control": "no-store", **problem.headers}
    return Response(content, problem.status, headers, offer.content_type)
