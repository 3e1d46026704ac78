"""`kgtable eval`: evaluation on questions with known answers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import kgtable
from kgtable.cli.common import Command, ProgressLine, complete_methods, say
from kgtable.config import load_settings
from kgtable.errors import UsageError

if TYPE_CHECKING:
    from kgtable.evaluation.benchmark import Benchmark
    from kgtable.evaluation.run_plan import RunPlan
    from kgtable.knowledge_graph import KnowledgeGraph


FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("eval", cls=Command)
@click.argument("benchmark", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--kg",
    "graph",
    required=True,
    type=click.Path(path_type=Path),
    envvar="KGTABLE_KG",
    show_envvar=True,
    help="The graph of its tables.",
)
@click.option(
    "--method",
    "methods",
    multiple=True,
    default=("hybrid",),
    show_default=True,
    shell_complete=complete_methods,
    help="A retrieval method, or zero-shot. Repeatable.",
)
@click.option(
    "--table-format", "--format", "formats", multiple=True, help="Text form of whole tables, for bm25 and dense."
)
@click.option("--embedding", "embeddings", multiple=True, help="Embedding model, for dense, thesis and tablerag.")
@click.option("--presentation", "presentations", multiple=True, help="How context is laid out in a prompt.")
@click.option("--prompt", "prompts", multiple=True, help="Prompt setting.")
@click.option("--model", "models", multiple=True, help="Language model that answers.")
@click.option(
    "--assist", "assists", multiple=True, help="What the model does for hybrid: rules (nothing), labels, labels+rerank."
)
@click.option("--split", help="Which questions; the default is the only split, or dev.")
@click.option("--limit", type=click.IntRange(1), help="Number of questions, from the first.")
@click.option("-k", "--k", "k", type=click.IntRange(1), help="Triples retrieved.  [default: 1000]")
@click.option("--answers", is_flag=True, help="Answer the questions too, with the language model.")
@click.option("--oracle-tables", is_flag=True, help="Answer from the gold tables of each question alone.")
@click.option("--scaling", is_flag=True, help="Measure prompts, encoded texts and time by the size of the gold tables.")
@click.option("--judge", is_flag=True, help="Let the language model judge the answers too.")
@click.option("--temperature", type=float, help="For answers.  [default: 0.3, zero-shot 0.9]")
@click.option("--json", "json_file", type=FILE, help="Write the result here; equal runs give equal files.")
@click.option(
    "--report",
    type=FILE,
    help="Write a report with every question as one HTML page, or the summary if the file ends in .md.",
)
@click.option("--resume", is_flag=True, help="Continue an interrupted run that writes the --json file.")
@click.option("--dry-run", is_flag=True, help="Estimate the cost, and ask no model.")
@click.option("--check", is_flag=True, help="List the faults of the benchmark folder, and do nothing else.")
def evaluate_command(benchmark: Path, graph: Path, **options: Any) -> None:
    """Evaluate retrieval and answers on a BENCHMARK folder.

    A benchmark is a folder with tables/ and questions.<split>.jsonl. Build the graph from its tables
    first. Failures count as wrong and are listed by cause. The exit status is 1 where --check finds a fault.
    """
    from kgtable.evaluation.benchmark import Benchmark

    with kgtable.open(graph) as kg:
        folder = Benchmark(benchmark)
        if options["check"]:
            _check(folder, kg)
        else:
            _evaluate(folder, kg, options)


def _evaluate(folder: Benchmark, kg: KnowledgeGraph, options: dict[str, Any]) -> None:
    from kgtable.evaluation.report import write_report
    from kgtable.evaluation.session import estimate, evaluate, write_result
    from kgtable.evaluation.summary import as_markdown, used_lines

    settings = load_settings()
    plan = _plan(kg, folder, options)
    if options["dry_run"]:
        say(used_lines(estimate(kg, plan, settings)) or "No model is asked: it costs nothing.")
        return
    result: Path | None = options["json_file"]
    if options["resume"] and result is None:
        raise UsageError("--resume continues the run of a --json file.", hint="Name the file.")
    keep = result.with_name(f"{result.name}.partial.jsonl") if result else None
    with _Shown() as progress:
        run = evaluate(kg, plan, settings, keep=keep, resume=options["resume"], progress=progress)
    if result is not None:
        write_result(run, result)
    if options["report"] is not None:
        write_report(run, options["report"])
    say(as_markdown(run).rstrip("\n"))
    again = sum(record.to_be_tried_again for record in run.records)
    if keep is not None and again:
        say(
            f"\nThe model could not be reached for {again:,} questions, which count as wrong here. The same "
            f"command with --resume asks them again; {keep} keeps the other records until then."
        )
    elif keep is not None:
        keep.unlink(missing_ok=True)


def _plan(kg: KnowledgeGraph, folder: Benchmark, options: dict[str, Any]) -> RunPlan:
    from kgtable.evaluation.run_plan import make_plan, systems

    chosen = {name: options[name] for name in ("split", "limit", "k", "temperature") if options[name] is not None}
    chosen |= {name: True for name in ("answers", "judge", "oracle_tables", "scaling") if options[name]}
    lists = {name: options[name] for name in ("formats", "embeddings", "presentations", "prompts", "models", "assists")}
    return make_plan(kg, folder, systems(options["methods"], **lists), **chosen)


def _check(folder: Benchmark, kg: KnowledgeGraph) -> None:
    from kgtable.evaluation.benchmark import check_benchmark
    from kgtable.evaluation.run_plan import shapes

    faults = check_benchmark(folder, shapes(kg))
    for fault in faults:
        say(str(fault))
    if faults:
        sys.exit(1)
    say(f"{folder.folder}: no fault in {', '.join(folder.splits())}.")


class _Shown(ProgressLine):
    """The progress line with the dollars spent so far."""

    def __call__(self, stage: str, done: int, total: int, dollars: float | None = 0.0) -> None:
        money = "" if dollars == 0.0 else " (cost unknown)" if dollars is None else f" (${dollars:.2f})"
        super().__call__(f"{stage}{money}", done, total)


COMMANDS = (evaluate_command,)
