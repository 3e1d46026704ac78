"""Make one Markdown table from results of `kgtable eval --json`: a row per benchmark, split and system.

    python scripts/eval_table.py RESULT.json... [--metric recall@1 --metric cells@1000]

Brackets are 95 % bootstrap intervals; “of n” is added if a metric does not apply to all questions.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kgtable.evaluation.summary import metric_name

METRICS = ("recall@1", "recall@5", "recall@30", "no_table", "cells@1000")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("results", nargs="+", type=Path)
    parser.add_argument("--metric", action="append", dest="metrics")
    options = parser.parse_args()
    metrics = options.metrics or list(METRICS)
    print("| questions | method | " + " | ".join(map(metric_name, metrics)) + " |")
    print("|---|---|" + "---|" * len(metrics))
    results = [json.loads(path.read_text(encoding="utf-8")) for path in options.results]
    for row in rows(results, metrics):
        print("| " + " | ".join(row) + " |")


def rows(results: Sequence[Mapping[str, Any]], metrics: Sequence[str]) -> Iterator[list[str]]:
    """The cells of each row; results of the same split are adjacent, in the order of their files."""
    splits = dict.fromkeys((result["benchmark"], result["split"], result["questions"]) for result in results)
    for split in splits:
        name = f"{split[0]} {split[1]}, {split[2]:,}"
        for result in results:
            if (result["benchmark"], result["split"], result["questions"]) == split:
                for system in result["systems"]:
                    yield [name, system["name"], *(cell(system, metric, split[2]) for metric in metrics)]
                    name = ""


def cell(system: Mapping[str, Any], metric: str, asked: int) -> str:
    """A mean with its interval."""
    score = system["scores"].get(metric)
    if score is None:
        return "–"
    share = "" if score["n"] == asked else f" of {score['n']:,}"
    return f"{score['mean']:.3f} [{score['low']:.3f}, {score['high']:.3f}]{share}"


if __name__ == "__main__":
    main()
