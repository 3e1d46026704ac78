"""The command that shows everything in one go: demo."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from kgtable.demo import Step, steps
from kgtable.errors import UsageError


@click.command()
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    help="Leave the sample tables and the graph in this new or empty folder.",
)
def demo(keep: Path | None) -> None:
    """Turn the sample tables into a graph and look into it: the whole flow in one go."""
    if keep is not None and keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise UsageError(f"{keep} is not an empty folder.", hint="Name a folder that is not there yet.")
    with _folder(keep) as folder:
        for number, step in enumerate(steps(folder), 1):
            _show(number, step)
    if keep is not None:
        click.echo(f"The tables and the graph are in {keep}.")
    else:
        click.echo("Run it with `--keep FOLDER` to go on with these tables and their graph.")


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="kgtable-demo-") as folder:
        yield Path(folder)


def _show(number: int, step: Step) -> None:
    click.secho(f"{number}. {step.title}", bold=True)
    click.secho(f"$ {step.command}", dim=True)
    click.echo(f"{step.output.rstrip()}\n")


COMMANDS = (demo,)
