"""``kgtable serve``: the SPARQL endpoint, the pages and the HTTP API of a graph."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kgtable.cli.graph_commands import kg_option
from kgtable.server.options import DefaultGraph, Lanes, ServerLimits, ServerSettings
from kgtable.server.running import serve_directory

MEBIBYTE = 1 << 20


@click.command()
@kg_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=7878, show_default=True, type=click.IntRange(0, 65_535), help="0 for any.")
@click.option("--writable", is_flag=True, help="Take SPARQL updates and graphs, with the bearer token.")
@click.option("--token", envvar="KGTABLE_TOKEN", help="The bearer token; made up where one is needed.")
@click.option(
    "--default-graph",
    type=click.Choice([graph.value for graph in DefaultGraph]),
    default=DefaultGraph.UNION.value,
    show_default=True,
    help="What queries see outside GRAPH: every table, or the description alone.",
)
@click.option(
    "--cors", multiple=True, metavar="ORIGIN", help="A web origin that may call this server; * for all."
)
@click.option("--allow-host", multiple=True, metavar="NAME", help="A further name this server answers to.")
@click.option("--allow-service", multiple=True, metavar="IRI", help="An endpoint that SERVICE may ask.")
@click.option("--allow-load", multiple=True, metavar="IRI", help="A document that LOAD may fetch.")
@click.option(
    "--timeout", default=30.0, show_default=True, type=click.FloatRange(0.1), help="Seconds a query may take."
)
@click.option(
    "--memory", default=1_024, show_default=True, type=click.IntRange(64), help="MiB a query may use."
)
@click.option(
    "--result-size", default=64, show_default=True, type=click.IntRange(1), help="MiB a result may have."
)
@click.option("--workers", default=None, type=click.IntRange(1), help="Queries that run side by side.")
@click.option(
    "--access-log/--no-access-log", default=True, help="One JSON object a request on standard output."
)
def serve(
    kg: Path,
    host: str,
    port: int,
    writable: bool,
    token: str | None,
    default_graph: str,
    cors: tuple[str, ...],
    allow_host: tuple[str, ...],
    allow_service: tuple[str, ...],
    allow_load: tuple[str, ...],
    timeout: float,
    memory: int,
    result_size: int,
    workers: int | None,
    access_log: bool,
) -> None:
    """Serve a graph: SPARQL endpoint, web pages and HTTP API."""
    settings = ServerSettings(
        host=host,
        port=port,
        writable=writable,
        token=token,
        default_graph=DefaultGraph(default_graph),
        origins=cors,
        hosts=tuple(name.lower() for name in allow_host),
        services=allow_service,
        loads=allow_load,
        limits=ServerLimits(query_seconds=timeout, memory=memory * MEBIBYTE, result=result_size * MEBIBYTE),
        lanes=Lanes() if workers is None else Lanes(fast=workers),
        access_log=access_log,
    )
    serve_directory(kg, settings, log=sys.stdout, say=lambda line: click.echo(line, err=True))


COMMANDS = (serve,)
