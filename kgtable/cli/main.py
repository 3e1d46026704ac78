"""The command line: thin twins of the Python calls in `kgtable.api`."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from kgtable.cli import ask, demo, evaluate, graph, remote, retrieve, serve
from kgtable.errors import KgtableError
from kgtable.version import __version__


class _Commands(click.Group):
    """Prints kgtable's errors as ``Error: …`` and ends with 2; a closed pipe ends quietly."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().main(*args, **kwargs)
        except KgtableError as error:
            click.echo(f"Error: {error}", err=True)
            sys.exit(2)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="kgtable")
def main() -> None:
    """Turn folders of tables into a QUDT knowledge graph and ask it questions."""


COMMANDS = (
    *graph.COMMANDS,
    retrieve.retrieve,
    ask.ask,
    *serve.COMMANDS,
    *remote.COMMANDS,
    *evaluate.COMMANDS,
    demo.demo,
)

for command in COMMANDS:
    main.add_command(command)
