"""`kgtable bench`: make benchmarks out of others."""

from __future__ import annotations

from pathlib import Path

import click

from kgtable.cli.common import Command, note, say
from kgtable.config import load_settings


@click.command(cls=Command)
@click.argument("kind", type=click.Choice(["multitable"]))
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The folder to write.")
@click.option("--split", "splits", multiple=True, help="Which questions; by default all, repeat for several.")
@click.option("--seed", default=7, show_default=True, help="What the random choices start from.")
@click.option(
    "--parts", default=3, show_default=True, type=click.IntRange(2), help="Parts of a table at most."
)
@click.option(
    "--combined",
    default=0.5,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="The share of questions joined in pairs.",
)
@click.option(
    "--model", help="Language model that varies titles and rewrites questions; by default templates."
)
def bench(
    kind: str,
    folder: Path,
    output: Path,
    splits: tuple[str, ...],
    seed: int,
    parts: int,
    combined: float,
    model: str | None,
) -> None:
    """Make a benchmark of several tables a question.

    FOLDER is a benchmark with a table a question; its tables are split by rows or columns, its questions
    filtered, made understandable alone, and some joined in pairs, as for MultiTableQA.
    """
    from kgtable.evaluation.split_tables import SplitPlan, split_benchmark
    from kgtable.llm import connect

    llm = None if model is None else connect(load_settings(model=model))
    made = split_benchmark(folder, output, splits, SplitPlan(seed, parts, combined), llm)
    say(
        f"{output}: {made.parts:,} tables from {made.tables:,} ({made.whole:,} whole), {made.questions:,} questions"
    )
    for why, count in sorted(made.left_out.items()):
        note(f"Left out: {count:,} questions ({why}).")


COMMANDS = (bench,)
