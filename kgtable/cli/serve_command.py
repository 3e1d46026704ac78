"""`kgtable serve`: the SPARQL endpoint, the web pages and the HTTP API of a graph."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

import click

import kgtable
from kgtable.cli.common import Command, kg_option
from kgtable.server.options import DefaultGraph


def _a_number(context: click.Context, option: click.Parameter, value: float) -> float:
    """The value; no comparison refuses what is no number, and no time would be beyond it."""
    if math.isnan(value):
        raise click.BadParameter("it must be a number.")
    return value


@click.command(cls=Command)
@kg_option
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
@click.option(
    "--cors", multiple=True, metavar="ORIGIN", help="A web origin that may call this server; * for all."
)
@click.option(
    "--allow-host",
    "allow_hosts",
    multiple=True,
    metavar="NAME",
    help="A further name this server answers to.",
)
@click.option(
    "--allow-service",
    "allow_services",
    multiple=True,
    metavar="IRI",
    help="An endpoint that SERVICE may ask.",
)
@click.option(
    "--allow-load", "allow_loads", multiple=True, metavar="IRI", help="A document that LOAD may fetch."
)
@click.option(
    "--timeout",
    default=30.0,
    show_default=True,
    type=click.FloatRange(0.1, 86_400),
    callback=_a_number,
    help="Seconds a query may take; a write four times as long.",
)
@click.option(
    "--memory",
    default=1_024,
    show_default=True,
    type=click.IntRange(64),
    help="MiB a query or write may use.",
)
@click.option(
    "--result-size", default=1_024, show_default=True, type=click.IntRange(1), help="MiB a result may have."
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    help="Queries that run side by side.  [default: two for each processor]",
)
@click.option(
    "--connections",
    default=128,
    show_default=True,
    type=click.IntRange(1),
    help="Connections one address may keep open.",
)
@click.option(
    "--access-log/--no-access-log",
    default=True,
    help="Write one JSON object for each request to standard output.",
)
def serve(kg: Path, **options: Any) -> None:
    """Serve a graph: SPARQL endpoint, web pages and HTTP API."""
    kgtable.serve(kg, **options, say=partial(click.echo, err=True))


COMMANDS = (serve,)
