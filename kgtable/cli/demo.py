"""`kgtable demo`: the whole flow over the sample tables."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import click

import kgtable
from kgtable.cli.common import Command, say
from kgtable.errors import UsageError
from kgtable.resources import PACKAGE, read_shipped

SAMPLES = PACKAGE / "samples"
SHOWN_ROW = "<row/5>"
QUESTIONS = ("Which port had the highest fees in 2023?", "What was the total revenue in 2023?")


@dataclass(frozen=True, slots=True)
class DemoStep:
    """One step of the flow: what it shows, the command that does it, and what comes out."""

    title: str
    command: str
    output: str


def steps(folder: Path | str) -> Iterator[DemoStep]:
    """Run the flow in an empty or new `folder`, which then holds ``samples/`` and the graph ``graph/``.

    Raises what `kgtable.build` raises, `StorageError` where the folder cannot be written.
    """
    from kgtable.answering.answer import as_text

    home = Path(folder)
    tables, graph = home / "samples", home / "graph"
    shutil.copytree(SAMPLES, tables, dirs_exist_ok=True)
    names = sorted(path.name for path in tables.iterdir() if path.suffix != ".json")
    yield DemoStep("Six tables as people make them", "ls samples", "\n".join(names))

    with kgtable.build(tables, graph) as kg:
        assert kg.built is not None
        yield DemoStep(
            "Read, typed and stored as a graph", "kgtable build samples --kg graph", kg.built.conversion.to_text()
        )
        yield DemoStep(
            "A row and its first number as Turtle",
            "kgtable convert samples/norrvik-income-statement.csv -o - --format turtle",
            _row_of_turtle(tables / "norrvik-income-statement.csv"),
        )
        query = "queries/examples/largest-amounts.rq"
        found = kg.sparql_text(read_shipped(query))
        yield DemoStep("Queried in SPARQL", f"kgtable sparql --file {query} --kg graph", found)
        for question in QUESTIONS:
            answer = kg.ask(question, model="none")
            yield DemoStep("Asked in plain words", f"kgtable ask '{question}' --kg graph", as_text(answer))
        yield DemoStep(
            "And back: every cell as it was",
            "kgtable export --kg graph --table halden-segments --format csv -o -",
            kg.tables["halden-segments"].to_csv(),
        )


def _row_of_turtle(path: Path) -> str:
    out = BytesIO()
    kgtable.convert(path, out, format="turtle")
    blocks = out.getvalue().decode().split("\n\n")
    first = next(index for index, block in enumerate(blocks) if block.startswith(SHOWN_ROW))
    return "\n\n".join(blocks[first : first + 2])


@click.command(cls=Command)
@click.option(
    "--keep", type=click.Path(path_type=Path), help="Leave the sample tables and the graph in this new or empty folder."
)
def demo(keep: Path | None) -> None:
    """Show the whole flow over the sample tables."""
    if keep is not None and keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise UsageError(f"{keep} is not an empty folder.", hint="Name a folder that does not exist yet.")
    with _folder(keep) as folder:
        for number, step in enumerate(steps(folder), 1):
            click.secho(f"{number}. {step.title}", bold=True)
            click.secho(f"$ {step.command}", dim=True)
            say(f"{step.output.rstrip()}\n")
    go_on = "Run it with `--keep FOLDER` to go on with these tables and their graph."
    say(go_on if keep is None else f"The tables and the graph are in {keep}.")


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="kgtable-demo-") as folder:
        yield Path(folder)


COMMANDS = (demo,)
