"""Answers over text and tables by rules: TAT-QA's questions by where their answer stands, method against method.

    kgtable build BENCH/tatqa/tables --kg KG
    python scripts/bench_documents.py BENCH/tatqa KG [--every N] [--method hybrid --method documents] [--given]

`match` is the verdict of `kgtable eval`: the same values, or the same number in another scale. Verified answers are
counted with how many of them are right. With --given, each question is asked of its own table and the text beside it.
"""

from __future__ import annotations

import argparse
import os
from collections import defaultdict
from pathlib import Path

import kgtable
from kgtable.evaluation.benchmark import Benchmark
from kgtable.evaluation.scoring import answer_scores


def main() -> None:
    """Print a table of shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("graph", type=Path)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--method", action="append")
    parser.add_argument("--given", action="store_true")
    chosen = parser.parse_args()
    os.environ["KGTABLE_MODEL"] = "none"
    questions = Benchmark(chosen.benchmark).questions(chosen.split)[chosen.first :: chosen.every]
    with kgtable.open(chosen.graph) as graph:
        for method in chosen.method or ["hybrid", "documents"]:
            met: dict[str, list[float]] = defaultdict(list)
            verified: list[float] = []
            for question in questions:
                tables = question.tables if chosen.given else None
                answer = graph.ask(question.text, method=method, k=300, model="none", tables=tables)
                match = answer_scores(question, answer.text, answer.value)["match"]
                for name in ("all", str(question.extra.get("answer_from"))):
                    met[name].append(match)
                if answer.verified:
                    verified.append(match)
            told = ", ".join(
                f"{name} {sum(hits) / len(hits):.3f} of {len(hits):,}" for name, hits in sorted(met.items())
            )
            print(f"{method}: {told}; verified {sum(verified):.0f} of {len(verified)}", flush=True)


if __name__ == "__main__":
    main()
