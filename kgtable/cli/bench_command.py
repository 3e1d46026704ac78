"""`kgtable bench`: make benchmarks out of others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgtable.cli.common import Command, note, say
from kgtable.config import load_settings

if TYPE_CHECKING:
    from kgtable.evaluation.split_tables import BuiltCounts


@click.command(cls=Command)
@click.argument("kind", type=click.Choice(["multitable", "spiderwild"]))
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
@click.option(
    "--others",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Benchmark whose tables are added as distractors (spiderwild).",
)
@click.option(
    "--distractors", default=5_000, show_default=True, type=click.IntRange(0), help="How many (spiderwild)."
)
@click.option(
    "--masked",
    default=0.2,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="The share of headers and titles masked (spiderwild).",
)
@click.option(
    "--perturbed",
    default=0.2,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="The share of texts in keys that are spelt otherwise (spiderwild).",
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
    others: Path | None,
    distractors: int,
    masked: float,
    perturbed: float,
) -> None:
    """Make a benchmark of several tables a question.

    For multitable FOLDER is a benchmark with a table a question; its tables are split by rows or columns, its
    questions filtered, made understandable alone, and some joined in pairs, as for MultiTableQA.

    For spiderwild FOLDER is a benchmark of databases; large tables are cut into parts that join or belong under each
    other, headers and titles masked, keys spelt otherwise, and tables about other things added, as for SpiderWild.
    """
    from kgtable.evaluation.wild_tables import WildPlan, wild_benchmark

    if kind == "spiderwild":
        plan = WildPlan(seed, parts, masked, perturbed, distractors)
        _say_built(output, wild_benchmark(folder, output, others, splits, plan))
        return
    from kgtable.evaluation.split_tables import SplitPlan, split_benchmark
    from kgtable.llm import connect

    llm = None if model is None else connect(load_settings(model=model))
    _say_built(output, split_benchmark(folder, output, splits, SplitPlan(seed, parts, combined), llm))


def _say_built(output: Path, made: BuiltCounts) -> None:
    say(
        f"{output}: {made.parts:,} tables from {made.tables:,} ({made.whole:,} whole), {made.questions:,} questions"
    )
    for why, count in sorted(made.left_out.items()):
        note(f"Left out: {count:,} questions ({why}).")


COMMANDS = (bench,)
