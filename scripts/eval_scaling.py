"""Measure how what TableRAG and its baselines show of a table grows with the table (TableRAG paper, section 4.6).

    python scripts/eval_scaling.py OUT                        sizes 50 to 1000
    python scripts/eval_scaling.py OUT --sizes 50 100

It does in one go what `kgtable bench growth`, `kgtable build` and `kgtable eval --scaling` do one by one, over all
methods that show tables, with `hybrid` and `bm25` beside them, and draws the charts of the report as one SVG
document: OUT/report.html, OUT/result.json, OUT/scaling.svg. Models and databases are made anew. Times are those of
the machine as it is.
"""

from __future__ import annotations

import argparse
import re
from html import escape
from pathlib import Path

import kgtable
from kgtable.cli.common import say
from kgtable.config import Settings
from kgtable.evaluation.benchmark import Benchmark
from kgtable.evaluation.benchmarks.grown_tables import SIZES, growth_benchmark
from kgtable.evaluation.report import COLOURS, growth_chart, write_report
from kgtable.evaluation.run import Run
from kgtable.evaluation.run_plan import make_plan, systems
from kgtable.evaluation.session import evaluate, write_result
from kgtable.evaluation.summary import growth, growth_lines

METHODS = (
    "tablerag",
    "tablerag:cells=both",
    "read-table",
    "read-schema",
    "rand-row-sampling",
    "row-col-retrieval",
    "hybrid",
    "bm25",
)
STYLE = """text{font:12px sans-serif;fill:#222}.axis{stroke:#bbb}
:root{--s0:#1b5fc1;--s1:#c2571a;--s2:#17703f;--s3:#8a3ab9;--s4:#a8831a;--s5:#0e7c86;--s6:#b0305c;--s7:#5d6778}"""
WIDTH, HEIGHT = 480, 290


def drawing(run: Run) -> str:
    """The charts of the report's section on scaling as one SVG document."""
    figures = growth(run)
    parts = []
    for place, figure in enumerate(figures):
        x, y = WIDTH * (place % 2), HEIGHT * (place // 2)
        found = re.search("<svg.*?</svg>", growth_chart(figure), re.DOTALL)
        assert found is not None
        inner = found[0].replace("<svg ", f'<svg x="{x}" y="{y + 26}" width="{WIDTH}" height="260" ', 1)
        parts.append(
            f'<text x="{x + 16}" y="{y + 18}" font-weight="600">{escape(figure.label)}</text>{inner}'
        )
    bottom = HEIGHT * ((len(figures) + 1) // 2) + 20
    for place, system in enumerate(run.plan.systems):
        x, y = 16 + 240 * (place % 4), bottom + 20 * (place // 4)
        parts.append(
            f'<circle cx="{x}" cy="{y - 4}" r="4" fill="var(--s{place % COLOURS})"/>'
            f'<text x="{x + 10}" y="{y}">{escape(system.name)}</text>'
        )
    height = bottom + 20 * ((len(run.plan.systems) + 3) // 4)
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH} {height}" role="img">',
            "<title>What TableRAG and its baselines show of a table, by its size</title>",
            f'<style>{STYLE}</style><rect width="{2 * WIDTH}" height="{height}" fill="#fff"/>',
            *parts,
            "</svg>\n",
        )
    )


def main() -> None:
    """Grow, build, measure, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, help="folder of the benchmark, its graph and the report")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    given = parser.parse_args()
    growth_benchmark(given.out / "grown", given.sizes)
    with kgtable.build(given.out / "grown" / "tables", given.out / "graph") as graph:
        plan = make_plan(
            graph, Benchmark(given.out / "grown"), systems(tuple(given.methods)), scaling=True, answers=True
        )
        run = evaluate(graph, plan, Settings(model="none"))
    assert isinstance(run, Run)
    write_report(run, given.out / "report.html")
    write_result(run, given.out / "result.json")
    (given.out / "scaling.svg").write_text(drawing(run), encoding="utf-8")
    for line in growth_lines(run):
        say(line)


if __name__ == "__main__":
    main()
