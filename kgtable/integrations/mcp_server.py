"""A Model Context Protocol server over one graph: tools that ask, look and compute, and cells as resources.

Questions, queries and programs run in the worker processes of `kgtable.server`, under its limits of time, memory
and size; a graph that is built again is served from its next state on. Protocol:
https://modelcontextprotocol.io/specification (the official SDK, package ``mcp``).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from pydantic import Field

from kgtable.building.generations import GraphDirectory
from kgtable.errors import MissingExtraError
from kgtable.integrations.mcp_stdio import bounded_input
from kgtable.integrations.mcp_texts import (
    MOST_SHOWN,
    answer_text,
    beginning,
    cell_text,
    identifier,
    results_text,
    triple_line,
    window_text,
)
from kgtable.programs.syntax import program_schema
from kgtable.resources import __version__, read_packaged
from kgtable.server.options import QueueLimits, ServerSettings
from kgtable.server.requests import body, header_map
from kgtable.server.running import address, bind, http_server, with_token
from kgtable.server.security import bearer, is_loopback, require_known_host, same_secret
from kgtable.server.state import ConnectedFolder, GraphFolder, ServerState
from kgtable.server.workers.messages import Head, Problem
from kgtable.tables.model import spreadsheet_reference

try:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ResourceError, ToolError
    from mcp.server.mcpserver.resources import ResourceSecurity
    from mcp.server.transport_security import TransportSecuritySettings
    from mcp.types import CallToolResult, ContentBlock, ResourceLink, TextContent, ToolAnnotations
except ImportError as error:
    raise MissingExtraError("The MCP server", "mcp") from error

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LONGEST_QUESTION = 2_000
MOST_TRIPLES = 1_000
MOST_RESULT_ROWS = 1_000
MOST_TURTLE = 1 << 20
"""Maximum bytes of triples, or of rows of a query, returned to an assistant."""
MOST_GIVEN = 4 << 20
"""Maximum bytes of anything else returned, such as a table as CSV."""
MOST_MESSAGE = 4 << 20
"""Maximum bytes of a message, over HTTP and on standard input."""
_MOST_DIGITS = 9
PATH = "/mcp"
"""Where the server is over HTTP."""

_LOCAL = ("127.0.0.1", "localhost", "[::1]")
_RESULTS = "application/sparql-results+json, text/turtle;q=0.5"
_READ_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_DETAILS = frozenset({"prompt", "triples", "trace", "tables", "reasoning", "usage", "timings_ms"})
"""Fields that the page gets in addition to an answer, and a model does not need."""

TableId = Annotated[str, Field(max_length=4_096, description="The id of a table, as `tables` lists it.")]
AskedQuestion = Annotated[
    str, Field(min_length=1, max_length=LONGEST_QUESTION, description="A question in plain words.")
]
ChosenMethod = Annotated[
    str, Field(pattern=r"^[a-z0-9-]+$", max_length=100, description="The retrieval method; the default is hybrid.")
]
GridRow = Annotated[int, Field(ge=0, le=10**9, description="A row of the grid, from 0: the first line.")]
GridColumn = Annotated[int, Field(ge=0, le=10**6, description="A column of the grid, from 0.")]


def instructions() -> str:
    """The server's description for a model."""
    return read_packaged("integrations/prompts/mcp_instructions.txt")


def cell_uri(table: str, row: int, column: int) -> str:
    """The address of a cell as a resource.

    >>> cell_uri("reports/2024", 4, 2)
    'kgtable://cell/reports%2F2024/4/2'
    """
    return f"kgtable://cell/{quote(table, safe='')}/{row}/{column}"


def table_uri(table: str) -> str:
    """The address of a table as a resource."""
    return f"kgtable://table/{quote(table, safe='')}"


class GraphTools:
    """The tools of the server. Each raises `ToolError` with what kgtable says of a wrong argument or a limit."""

    def __init__(self, state: ServerState) -> None:
        self._state = state

    async def ask(
        self,
        question: AskedQuestion,
        method: ChosenMethod | None = None,
        k: Annotated[int, Field(ge=1, le=MOST_TRIPLES, description="How many triples to retrieve.")] | None = None,
    ) -> CallToolResult:
        """Answer a question from the tables, with status, calculation and the cells that the answer rests on."""
        job: Head = {"op": "ask", "question": question.strip(), "method": method, "k": k}
        found = await self._explored(job)
        answer = {name: value for name, value in found.items() if name not in _DETAILS}
        return _result(answer_text(answer), answer, _cell_links(answer["citations"]))

    async def retrieve(
        self,
        question: AskedQuestion,
        k: Annotated[int, Field(ge=1, le=MOST_TRIPLES, description="How many triples to give.")] = 20,
        method: ChosenMethod = "hybrid",
    ) -> CallToolResult:
        """Find the cells and tables that a question is about, the best first, without answering it."""
        job: Head = {"op": "retrieve", "question": question.strip(), "k": k, "method": method}
        found = await self._explored(job)
        lines = [triple_line(triple) for triple in found["triples"]]
        tables = ", ".join(identifier(scored["table"]) for scored in found["tables"][:10])
        text = "\n".join([f"tables: {tables or 'none'}", *lines])
        return _result(text, {name: found[name] for name in ("question", "triples", "tables")}, ())

    async def sparql(
        self,
        query: Annotated[str, Field(min_length=1, max_length=1 << 20, description="A SPARQL 1.1 query.")],
        limit: Annotated[int, Field(ge=1, le=MOST_RESULT_ROWS, description="Rows that are given.")] = 100,
    ) -> CallToolResult:
        """Run a SPARQL query (SELECT, ASK, CONSTRUCT, DESCRIBE) over the graph.

        kgtable's prefixes (kgt, ex, data, qudt, unit, rdfs, xsd …) need no declaration; every table is a named
        graph, and the default graph is their union. A number is a node with qudt:numericValue and qudt:hasUnit;
        a row has rdfs:label.
        """
        found = await self._queried(query)
        if isinstance(found, str):
            if len(found.encode("utf-8")) > MOST_TURTLE:
                raise ToolError(f"The triples have more than {MOST_TURTLE:,} bytes: ask for fewer, with LIMIT.")
            return _result(found, {"turtle": found}, ())
        results = _results(found, limit, self._state.view().prefixes)
        if _size(results) > MOST_TURTLE:
            raise ToolError(f"The rows have more than {MOST_TURTLE:,} bytes: ask for fewer, or for less of them.")
        return _result(results_text(results), results, ())

    async def _queried(self, query: str) -> dict[str, Any] | str:
        """The results of a query as SPARQL's JSON, its triples as Turtle; from the store, or its endpoint."""
        view = self._state.view()
        if not view.path:
            asked = await self._explored({"op": "sparql", "query": query})
            found: dict[str, Any] | str = asked.get("results") or asked["turtle"]
            return found
        job: Head = {
            "op": "query",
            "query": query,
            "union": True,
            "base": "kgtable://sparql",
            "accept": _RESULTS,
            "result_limit": self._state.settings.limits.held,
        }
        try:
            answer, _ = await self._state.read(job, view)
        except Problem as problem:
            raise ToolError(problem.detail) from problem
        found = json.loads(answer.body) if b"json" in answer.content_type else answer.body.decode("utf-8")
        return found

    async def run_program(
        self,
        program: Annotated[
            dict[str, Any],
            Field(description="The program as JSON; the resource kgtable://program-schema has its schema."),
        ],
        most: Annotated[int, Field(ge=1, le=MOST_RESULT_ROWS, description="Rows that are given.")] = 100,
    ) -> CallToolResult:
        """Compute exactly over tables: filter, sort, group, sum, count, compare, convert; every cell read is cited.

        For example {"op": "sum", "argument": {"column": "2024 Fees"}, "rows": "harbour-cargo"}, where
        harbour-cargo is the id of a table.
        """
        found = await self._explored({"op": "run", "program": program, "most": most})
        return _result(found.pop("shown"), found, _cell_links(found["citations"]))

    async def tables(
        self,
        search: Annotated[str, Field(max_length=500, description="Words of titles, files and columns.")] = "",
        offset: Annotated[int, Field(ge=0, le=10**9)] = 0,
        limit: Annotated[int, Field(ge=1, le=200)] = 50,
    ) -> CallToolResult:
        """List the tables of the graph with title, file and size; all of them, or those that match all words."""
        job: Head = {"op": "tables", "q": search, "offset": offset, "limit": limit}
        found = await self._explored(job)
        lines = [
            f"{identifier(table['id'])}: {beginning(table['title'])} ({beginning(table['file'])},"
            f" {table['rows']:,} rows)"
            for table in found["tables"]
        ]
        links = [_table_link(table) for table in found["tables"][:MOST_SHOWN]]
        return _result("\n".join([f"{found['total']:,} tables", *lines]), found, links)

    async def table(
        self,
        id: TableId,
        row: GridRow = 0,
        rows: Annotated[int, Field(ge=1, le=500)] = 50,
        column: GridColumn = 0,
        columns: Annotated[int, Field(ge=1, le=200)] = 30,
    ) -> CallToolResult:
        """Read a window of a table as it was printed, with title, caption, notes, and the header rows always."""
        job: Head = {"op": "table", "id": id, "row": row, "rows": rows, "column": column, "columns": columns}
        found = await self._explored({**job, "around": []})
        return _result(window_text(found), found, ())

    async def cell(self, table: TableId, row: GridRow, column: GridColumn) -> CallToolResult:
        """Everything known of one cell: text, exact value, unit, scale, period, and where unit and scale come from."""
        found = await self._cell(table, row, column)
        return _result(cell_text(found), found, _cell_links((found,)))

    async def cell_resource(self, table: str, row: str, column: str) -> str:
        """One cell as JSON, as the tool `cell` gives it."""
        if not (_is_index(row) and _is_index(column)):
            raise ResourceError(f"Row and column are whole numbers of at most {_MOST_DIGITS} digits.")
        try:
            return _json(await self._cell(table, int(row), int(column)))
        except ToolError as error:
            raise ResourceError(str(error)) from error

    async def table_resource(self, table: str) -> str:
        """A whole table as CSV, every cell as it was read."""
        try:
            text = await self._state.explore({"op": "file", "id": table, "form": "csv"})
        except Problem as problem:
            raise ResourceError(problem.detail) from problem
        if len(text) > MOST_GIVEN:
            raise ResourceError(
                f"The table has more than {MOST_GIVEN:,} bytes: read windows of it with the tool `table`."
            )
        return text.decode("utf-8", "replace")

    async def program_schema(self) -> str:
        """The JSON schema of the programs that `run_program` takes."""
        return _json(program_schema())

    async def _cell(self, table: str, row: int, column: int) -> dict[str, Any]:
        found = await self._explored({"op": "cell", "id": table, "row": row, "column": column})
        return {name: value for name, value in found.items() if name not in ("triples", "query")}

    async def _explored(self, job: Head) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(await self._state.explore(job))
        except Problem as problem:
            raise ToolError(problem.detail) from problem
        return found


def make_server(state: ServerState) -> MCPServer[Any]:
    """The MCP server with its tools and resources over a state that was started."""
    server: MCPServer[Any] = MCPServer(
        "kgtable",
        title="kgtable",
        description="Tables as a knowledge graph: answers that cite their cells.",
        instructions=instructions(),
        version=__version__,
        log_level="CRITICAL",  # what the SDK logs below that are faults of clients, with tracebacks
        subscriptions=False,
    )
    tools = GraphTools(state)
    for tool in (
        tools.ask, tools.retrieve, tools.sparql, tools.run_program, tools.tables, tools.table, tools.cell
    ):  # fmt: skip
        server.add_tool(tool, annotations=_READ_ONLY)
    # Ids of tables may look like paths; they are looked up in the catalogue and never opened.
    ids = ResourceSecurity(exempt_params={"table"})
    server.resource("kgtable://cell/{table}/{row}/{column}", name="cell", mime_type="application/json", security=ids)(
        tools.cell_resource
    )
    server.resource("kgtable://table/{table}", name="table", mime_type="text/csv", security=ids)(tools.table_resource)
    server.resource("kgtable://program-schema", name="program-schema", mime_type="application/schema+json")(
        tools.program_schema
    )
    return server


@asynccontextmanager
async def graph_server(directory: Path | str, *, timeout: float = 30.0) -> AsyncIterator[MCPServer[Any]]:
    """The MCP server over the graph in a directory, with its worker processes, for as long as the block lasts.

    A query may take `timeout` seconds, where the directory stands for an endpoint what that allows. Raises
    `GraphNotFoundError`, `GraphVersionError`.
    """
    settings = ServerSettings(queue=QueueLimits(processes=1))
    settings = replace(settings, limits=replace(settings.limits, query_seconds=timeout))
    path = Path(directory)
    connected = GraphDirectory(path).endpoint() is not None
    state = ServerState(settings, ConnectedFolder(path) if connected else GraphFolder(path))
    await state.start()
    try:
        yield make_server(state)
    finally:
        await state.close()


async def serve_stdio(directory: Path | str, *, timeout: float = 30.0) -> None:
    """Serve one client on standard input and output until it closes them; raises as `graph_server`."""
    with bounded_input(MOST_MESSAGE):
        async with graph_server(directory, timeout=timeout) as server:
            await server.run_stdio_async()


async def serve_http(
    directory: Path | str,
    *,
    host: str = "127.0.0.1",
    port: int = 7879,
    token: str | None = None,
    allow_hosts: Sequence[str] = (),
    timeout: float = 30.0,
    say: Callable[[str], object] = lambda line: None,
) -> None:
    """Serve clients over streamable HTTP at ``/mcp`` until the process is stopped.

    Where other machines can connect, a bearer token is needed; one is generated where `token` is None. `allow_hosts`
    are further names that the server answers to; `say` gets lines for the person who started it. Raises as
    `graph_server`.
    """
    settings = with_token(ServerSettings(host=host, port=port, token=token, hosts=tuple(allow_hosts)))
    async with graph_server(directory, timeout=timeout) as server:
        with bind(settings) as listener:
            web = http_server(http_app(server, settings), settings.connections)
            say(f"kgtable serves {directory} by MCP at {address(listener).rstrip('/')}{PATH}. Ctrl+C ends it.")
            if settings.token is not None and token is None:
                say(f"Token: {settings.token}")
            await web.serve(sockets=[listener])


def http_app(server: MCPServer[Any], settings: ServerSettings) -> ASGIApp:
    """The server as an ASGI application that answers to known host names and, with a token, to its bearer.

    Bodies are read here, within the server's bounds of size and time, once host and token are known.
    """
    security = _transport_security(settings)
    app = server.streamable_http_app(streamable_http_path=PATH, host=settings.host, transport_security=security)

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = header_map(scope)
            try:
                require_known_host(settings, headers)
                if settings.token is not None and not same_secret(bearer(headers), settings.token):
                    refusal = {"www-authenticate": 'Bearer realm="kgtable"'}
                    raise Problem("unauthorized", "This server needs its bearer token.", {}, refusal)
                receive = _again(await body(receive, headers, MOST_MESSAGE), receive)
            except Problem as problem:
                await problem.response()(scope, receive, send)
                return
        await app(scope, receive, send)

    return guarded


def _again(content: bytes, receive: Receive) -> Receive:
    """Replays a body that was read, then what comes after it."""
    messages: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]

    async def replayed() -> Message:
        return messages.pop() if messages else await receive()

    return replayed


def _transport_security(settings: ServerSettings) -> TransportSecuritySettings:
    """Names and web origins the SDK lets pass: those `require_known_host` knows; all where it knows none."""
    if not is_loopback(settings.host) and not settings.hosts:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    names = [f"{name}{port}" for name in (*_LOCAL, settings.host, *settings.hosts) for port in ("", ":*")]
    origins = [f"{scheme}://{name}" for scheme in ("http", "https") for name in names]
    return TransportSecuritySettings(allowed_hosts=names, allowed_origins=origins)


def _result(text: str, content: dict[str, Any], links: Sequence[ResourceLink]) -> CallToolResult:
    """A result as text for the model, as data for the program, with links to resources."""
    if max(len(text), _size(content)) > MOST_GIVEN:
        raise ToolError(f"The result has more than {MOST_GIVEN:,} bytes: ask for less.")
    blocks: list[ContentBlock] = [TextContent(type="text", text=text), *links]
    return CallToolResult(content=blocks, structured_content=content)


def _size(content: Mapping[str, Any]) -> int:
    """The bytes of data as JSON."""
    return len(_json(content).encode("utf-8", "replace"))


def _is_index(text: str) -> bool:
    """Whether a part of an address can be the number of a row or column."""
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS


def _cell_links(citations: Sequence[Mapping[str, Any]]) -> list[ResourceLink]:
    return [_cell_link(cited) for cited in citations[:MOST_SHOWN]]


def _cell_link(cited: Mapping[str, Any]) -> ResourceLink:
    table, row, column = cited["table"], cited["row"], cited["column"]
    return ResourceLink(
        type="resource_link",
        name=f"{beginning(cited.get('file') or table)} {spreadsheet_reference(row, column)}",
        uri=cell_uri(table, row, column),
        description=beginning(cited["text"]),
        mime_type="application/json",
    )


def _table_link(table: Mapping[str, Any]) -> ResourceLink:
    return ResourceLink(
        type="resource_link",
        name=identifier(table["id"]),
        uri=table_uri(table["id"]),
        description=beginning(table["title"]),
        mime_type="text/csv",
    )


def _results(found: Mapping[str, Any], limit: int, prefixes: Mapping[str, str]) -> dict[str, Any]:
    """SPARQL results as plain values: texts, and IRIs with a prefix where there is one."""
    if "boolean" in found:
        return {"boolean": found["boolean"]}
    names = found["head"]["vars"]
    rows = found["results"]["bindings"]
    shown = [[_term(row.get(name), prefixes) for name in names] for row in rows[:limit]]
    return {"variables": names, "rows": shown, "row_count": len(rows), "cut": len(rows) > limit}


def _term(term: Mapping[str, str] | None, prefixes: Mapping[str, str]) -> str | None:
    if term is None:
        return None
    value = term["value"]
    if term["type"] != "uri":
        return value if isinstance(value, str) else _json(value)
    for prefix, base in prefixes.items():
        local = value.removeprefix(base)
        if local != value and local.replace("_", "").replace("-", "").isalnum():
            return f"{prefix}:{local}"
    return f"<{value}>"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
