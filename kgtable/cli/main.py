"""The command line: thin twins of the Python calls in `kgtable.api`."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import click

from kgtable.errors import KgtableError
from kgtable.version import __version__

MODULES = {
    "ask": "ask_commands",
    "build": "graph_commands",
    "connect": "graph_commands",
    "convert": "graph_commands",
    "demo": "demo",
    "eval": "eval_command",
    "export": "graph_commands",
    "info": "graph_commands",
    "push": "graph_commands",
    "retrieve": "ask_commands",
    "serve": "serve_command",
    "sparql": "graph_commands",
    "validate": "graph_commands",
}
"""The module of `kgtable.cli` that each command is in: only the one that is called is imported."""


class _Commands(click.Group):
    """Prints kgtable's errors as ``Error: …`` and ends with 2; a closed pipe ends quietly."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in MODULES:
            return None
        module = import_module(f"kgtable.cli.{MODULES[cmd_name]}")
        command: click.Command = next(found for found in module.COMMANDS if found.name == cmd_name)
        return command

    def main(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().main(*args, **kwargs)
        except KgtableError as error:
            click.echo(f"Error: {error}", err=True)
            sys.exit(2)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:  # here, since click would end with 1
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)
        return result


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="kgtable")
def main() -> None:
    """Turn folders of tables into a QUDT knowledge graph and ask it questions."""
