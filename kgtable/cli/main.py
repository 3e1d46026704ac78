"""The command line: each command calls one function of the Python API."""

from __future__ import annotations

import difflib
import os
import sys
import traceback
from importlib import import_module
from typing import Any

import click
from click.shell_completion import get_completion_class

from kgtable.cli.common import DEBUG, FAULT, say, verbosity, verbosity_options
from kgtable.errors import KgtableError
from kgtable.resources import __version__

_COMMANDS_BY_MODULE = {
    "ask_commands": ("ask", "chat", "retrieve", "run", "sql"),
    "demo": ("demo",),
    "eval_commands": ("eval",),
    "graph_commands": ("build", "connect", "convert", "decide", "doctor", "export", "hypergraph", "info", "names",
                       "push", "sparql", "validate"),
    "main": ("completion",),
    "serve_commands": ("mcp", "serve"),
}  # fmt: skip
MODULES = {command: module for module, commands in _COMMANDS_BY_MODULE.items() for command in commands}
"""The module of `kgtable.cli` that each command is in. They import what they run when they run it."""

FAILED = 2
INTERRUPTED = 130


class _Commands(click.Group):
    """Prints kgtable's errors as ``Error: …`` and ends with 2; a closed pipe ends quietly."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in MODULES:
            near = difflib.get_close_matches(cmd_name, MODULES, 2)
            told = f" Did you mean {' or '.join(near)}?" if near else " See kgtable --help."
            raise click.UsageError(f"There is no command '{cmd_name}'.{told}", ctx)
        module = import_module(f"kgtable.cli.{MODULES[cmd_name]}")
        command: click.Command = next(found for found in module.COMMANDS if found.name == cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except KgtableError as error:
            if verbosity() >= DEBUG:
                traceback.print_exception(error)
            say(f"Error: {error}", err=True, head=FAULT)
            ctx.exit(FAILED)
        except KeyboardInterrupt:  # here, since click would end with 1, which means something else
            say("Interrupted.", err=True)
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:  # here, since click would end with 1
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)
        return result


@click.group(
    cls=_Commands,
    params=list(verbosity_options()),
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Each command has --help of its own. KGTABLE_KG names the graph for all of them.",
)
@click.version_option(__version__, prog_name="kgtable")
def main() -> None:
    """Turn folders of tables into a QUDT knowledge graph and ask it questions."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that completes kgtable's commands in a shell.

    Completed by the Tab key are commands, options, formats, methods and the ids of tables.
    """
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(main, {}, "kgtable", "_KGTABLE_COMPLETE").source())


COMMANDS = (completion,)
