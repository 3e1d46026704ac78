"""`kgtable serve` and `kgtable mcp`: serve a graph over HTTP, or by the Model Context Protocol.

`serve` gives the SPARQL endpoint, the web pages and the HTTP API; `mcp` tools for assistants, on standard input and
output or over HTTP.
"""

from __future__ import annotations

import asyncio
import math
import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

import kgtable
from kgtable.cli.common import Command, allow_hosts_option, kg_option, note, optional_kg_option
from kgtable.cli.folder_graphs import built_from, place_of
from kgtable.errors import UsageError
from kgtable.server.options import DefaultGraph


def _a_number(context: click.Context, option: click.Parameter, value: float) -> float:
    """The value; no comparison refuses what is not a number, and no time would be beyond it."""
    if math.isnan(value):
        raise click.BadParameter("it must be a number.")
    return value


@click.command(cls=Command)
@click.argument("folder", required=False, type=click.Path(path_type=Path, exists=True))
@optional_kg_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=7878, show_default=True, type=click.IntRange(0, 65_535), help="0 for any.")
@click.option("--writable", is_flag=True, help="Take SPARQL updates and graphs, with the bearer token.")
@click.option(
    "--token",
    envvar="KGTABLE_TOKEN",
    show_envvar=True,
    help="The bearer token; generated where one is needed and none is given.",
)
@click.option(
    "--default-graph",
    type=click.Choice([graph.value for graph in DefaultGraph]),
    default=DefaultGraph.UNION.value,
    show_default=True,
    help="What queries see outside GRAPH: every table, or the description alone.",
)
@click.option("--cors", multiple=True, metavar="ORIGIN", help="A web origin that may call this server; * for all.")
@allow_hosts_option
@click.option(
    "--allow-service", "allow_services", multiple=True, metavar="IRI", help="An endpoint that SERVICE may ask."
)
@click.option("--allow-load", "allow_loads", multiple=True, metavar="IRI", help="A document that LOAD may fetch.")
@click.option(
    "--timeout",
    default=30.0,
    show_default=True,
    type=click.FloatRange(0.1, 86_400),
    callback=_a_number,
    help="Seconds a query may take; a write four times as long.",
)
@click.option(
    "--memory", default=1_024, show_default=True, type=click.IntRange(64), help="MiB a query or write may use."
)
@click.option("--result-size", default=1_024, show_default=True, type=click.IntRange(1), help="MiB a result may have.")
@click.option(
    "--workers", type=click.IntRange(1), help="Queries that run side by side.  [default: two for each processor]"
)
@click.option(
    "--connections",
    default=512,
    show_default=True,
    type=click.IntRange(1),
    help="Connections that may be open at a time.",
)
@click.option(
    "--access-log/--no-access-log", default=True, help="Write one JSON object for each request to standard output."
)
@click.option(
    "--editable",
    is_flag=True,
    help="Let people add tables and decide about columns on the pages; on this machine without a token.",
)
@click.option(
    "--embedding", default="minilm", show_default=True, help="For FOLDER: the model of the search index, or none."
)
@click.option("--browser/--no-browser", default=None, help="Open a browser; by default for FOLDER, on a terminal.")
def serve(folder: Path | None, kg: Path | None, embedding: str, browser: bool | None, **options: Any) -> None:
    """Serve a graph: SPARQL endpoint, web pages and HTTP API.

    With a FOLDER of tables, its graph is built first, or brought up to date: in --kg, or in the user's cache.
    """
    if folder is None:
        if kg is None:
            raise UsageError("There is no graph to serve.", hint="Pass --kg, or a folder of tables.")
        kgtable.serve(kg, **options, browser=bool(browser), say=partial(click.echo, err=True))
        return
    place = place_of(folder, kg)
    with built_from(folder, place, embedding) as graph:
        note(f"{len(graph.catalogue.tables):,} tables.")
    if browser is None:
        browser = sys.stderr.isatty()
    kgtable.serve(place, **options, folder=folder, browser=browser, say=partial(click.echo, err=True))


@click.command(cls=Command)
@kg_option
@click.option("--http", is_flag=True, help="Serve streamable HTTP at /mcp instead of one client on stdio.")
@click.option("--host", default="127.0.0.1", show_default=True, help="With --http, the address to listen on.")
@click.option("--port", default=7879, show_default=True, type=click.IntRange(0, 65_535), help="With --http; 0 for any.")
@click.option(
    "--token",
    envvar="KGTABLE_TOKEN",
    show_envvar=True,
    help="With --http, the bearer token; generated where other machines can connect and none is given.",
)
@allow_hosts_option
@click.option(
    "--timeout",
    default=30.0,
    show_default=True,
    type=click.FloatRange(0.1, 86_400),
    help="Seconds a SPARQL query may take.",
)
def mcp(kg: Path, http: bool, timeout: float, **options: Any) -> None:
    """Serve a graph to assistants by the Model Context Protocol.

    The tools are ask, retrieve, sparql, run_program, tables, table and cell; cited cells are resources. An
    assistant starts the command itself and talks to it on standard input and output.
    """
    from kgtable.integrations.mcp_server import serve_http, serve_stdio

    if not http:
        asyncio.run(serve_stdio(kg, timeout=timeout))
        return
    asyncio.run(serve_http(kg, timeout=timeout, say=partial(click.echo, err=True), **options))


COMMANDS = (serve, mcp)
