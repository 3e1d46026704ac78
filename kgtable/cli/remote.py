"""The commands about graphs in other engines: connect, push."""

from __future__ import annotations

from pathlib import Path

import click

from kgtable import api
from kgtable.cli.graph import kg_option
from kgtable.cli.progress import ProgressLine
from kgtable.graph.dialects import DIALECTS

dialect_option = click.option(
    "--dialect",
    type=click.Choice(list(DIALECTS), case_sensitive=False),
    default="generic",
    show_default=True,
    help="The engine behind the address.",
)


@click.command()
@click.argument("url")
@kg_option
@click.option("--store", metavar="URL", help="Its Graph Store Protocol address, to read whole graphs from.")
@dialect_option
@click.option("--base", help="The IRI that generated IRIs begin with; by default the endpoint is asked.")
def connect(url: str, kg: Path, store: str | None, dialect: str, base: str | None) -> None:
    """Make a directory stand for the graph behind a SPARQL endpoint.

    The commands that read a graph then ask the endpoint. KGTABLE_SPARQL_TOKEN holds the token it may
    want, KGTABLE_SPARQL_ORIGIN the origins (https://host) the token may be sent to.
    """
    graph = api.connect(url, kg, store=store, dialect=dialect, base=base)
    click.echo(f"{kg}: {len(graph.tables):,} tables at {url}.", err=True)


@click.command()
@click.argument("url")
@kg_option
@dialect_option
def push(url: str, kg: Path, dialect: str) -> None:
    """Copy a graph to another engine, at its Graph Store Protocol address.

    Each table's graph and the description take the place of what was there under their names. A push
    that was broken off is simply run again.
    """
    graph = api.open(kg)
    with ProgressLine() as progress:
        sent = graph.push(url, dialect=dialect, progress=progress)
    click.echo(f"{url}: {len(graph.tables):,} tables and the description, {sent:,} triples.", err=True)


COMMANDS = (connect, push)
