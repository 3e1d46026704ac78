"""`kgtable mcp`: a Model Context Protocol server over a graph, on standard input and output or over HTTP."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import click

from kgtable.cli.common import Command, allow_hosts_option, kg_option


@click.command(cls=Command)
@kg_option
@click.option("--http", is_flag=True, help="Serve streamable HTTP at /mcp instead of one client on stdio.")
@click.option("--host", default="127.0.0.1", show_default=True, help="With --http, the address to listen on.")
@click.option(
    "--port", default=7879, show_default=True, type=click.IntRange(0, 65_535), help="With --http; 0 for any."
)
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
def mcp(
    kg: Path,
    http: bool,
    host: str,
    port: int,
    token: str | None,
    allow_hosts: tuple[str, ...],
    timeout: float,
) -> None:
    """Serve a graph to assistants by the Model Context Protocol.

    The tools are ask, retrieve, sparql, run_program, tables, table and cell; cited cells are resources. An
    assistant starts the command itself and talks to it on standard input and output.
    """
    from kgtable.integrations.mcp_server import serve_http, serve_stdio

    if not http:
        asyncio.run(serve_stdio(kg, timeout=timeout))
        return
    say = partial(click.echo, err=True)
    asyncio.run(
        serve_http(kg, host=host, port=port, token=token, allow_hosts=allow_hosts, timeout=timeout, say=say)
    )


COMMANDS = (mcp,)
