"""Make a benchmark from another one, from documents, or from an official distribution.

python -m scripts.benchmarks.make multitable ../shared/data/wtq -o out --split dev
python -m scripts.benchmarks.make official tatqa/ -o out --dataset tatqa
"""

from __future__ import annotations

from pathlib import Path

import click

from kgtable.config import load_settings
from kgtable.errors import UsageError
from scripts.benchmarks.split_tables import BuiltCounts


@click.command()
@click.argument("kind", type=click.Choice(["multitable", "heteqa", "growth", "official"]))
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The folder to write.")
@click.option("--split", "splits", multiple=True, help="Which questions; by default all, repeat for several.")
@click.option("--seed", type=int, help="What the random choices start from.  [default: 7, growth 17]")
@click.option("--parts", default=3, show_default=True, type=click.IntRange(2), help="Parts of a table at most.")
@click.option(
    "--combined",
    default=0.5,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="The share of questions joined in pairs.",
)
@click.option(
    "--per-table",
    default=6,
    show_default=True,
    type=click.IntRange(1),
    help="Questions of a table at most, for heteqa.",
)
@click.option("--model", help="Language model that writes or rewrites questions; by default templates.")
@click.option(
    "--size",
    "sizes",
    multiple=True,
    type=int,
    help="Rows and columns of a table; repeat for several (growth).  [default: 50, 100, 200, 500, 1000]",
)
@click.option("--dataset", help="Name of the official distribution, such as tatqa or finqa (official).")
def bench(
    kind: str,
    folder: Path | None,
    output: Path,
    splits: tuple[str, ...],
    seed: int | None,
    parts: int,
    combined: float,
    per_table: int,
    model: str | None,
    sizes: tuple[int, ...],
    dataset: str | None,
) -> None:
    """Make a benchmark from another one, or from documents.

       multitable: FOLDER is a benchmark with one table per question. Its tables are split by rows or columns; its
       questions are filtered, reworded to be understood without the table, and some joined in pairs (MultiTableQA).
       heteqa: FOLDER contains documents; questions combine a fact of a table with a sentence beside it (HeteQA).
    growth
       needs no FOLDER: a table of orders in several sizes, with the same questions about each (TableRAG).
    """
    if kind == "growth":
        return _growth(output, sizes, seed)
    if folder is None:
        raise UsageError(f"The benchmark {kind} is made out of a folder.", hint="Name the folder.")
    if kind == "official":
        from scripts.benchmarks.loaders import load_dataset

        click.echo(f"{output}: {load_dataset(dataset or folder.name, folder, output):,} questions")
        return None
    seed = 7 if seed is None else seed
    if kind == "heteqa":
        return _heteqa(folder, output, seed, per_table, model)
    from kgtable.llm import connect
    from scripts.benchmarks.split_tables import SplitPlan, split_benchmark

    llm = None if model is None else connect(load_settings(model=model))
    _say_built(output, split_benchmark(folder, output, splits, SplitPlan(seed, parts, combined), llm))


def _growth(output: Path, sizes: tuple[int, ...], seed: int | None) -> None:
    from scripts.benchmarks.grown_tables import SEED, SIZES, growth_benchmark

    questions = growth_benchmark(output, sizes or SIZES, SEED if seed is None else seed)
    click.echo(f"{output}: {len(set(sizes or SIZES)):,} tables, {questions:,} questions")


def _say_built(output: Path, made: BuiltCounts) -> None:
    click.echo(
        f"{output}: {made.parts:,} tables from {made.tables:,} ({made.whole:,} whole), {made.questions:,} questions"
    )
    for why, count in sorted(made.left_out.items()):
        click.echo(f"Left out: {_counted(count, 'question')} ({why}).")


def _heteqa(folder: Path, output: Path, seed: int, per_table: int, model: str | None) -> None:
    from kgtable.llm import connect
    from scripts.benchmarks.hetero_questions import HeteroPlan, build_hetero_benchmark

    llm = None if model is None else connect(load_settings(model=model))
    made = build_hetero_benchmark(folder, output, HeteroPlan(seed, per_table), llm)
    click.echo(
        f"{output}: {_counted(made.questions, 'question')} over {_counted(made.tables, 'table')} of "
        f"{_counted(made.documents, 'document')}, made of {_counted(made.facts, 'sentence')}"
    )
    for why, count in sorted(made.left_out.items()):
        click.echo(f"Left out: {_counted(count, 'question')} ({why}).")


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


if __name__ == "__main__":
    bench()
