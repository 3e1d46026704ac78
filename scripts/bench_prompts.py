"""Count the tokens of each presentation in each prompt setting, and check each from prompt to answer.

    python scripts/bench_prompts.py QUESTION --kg DIR [-k N] [--context-tokens N]

For every setting and presentation the question is answered by a scripted model, which cites the best cell; the answer
must be verified each time. Prints a table of estimated tokens of the prompts, and below it those of the context.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import kgtable
from kgtable.answering.ask import Generator
from kgtable.answering.evidence import Evidence
from kgtable.answering.presentations import PRESENTATIONS
from kgtable.answering.prompting import PromptSetting, estimate_tokens
from kgtable.graph.table_source import TableReader
from kgtable.llm.scripted import ScriptedLLM


def best_cell(evidence: Evidence) -> tuple[str, str]:
    """Id and text of the best cell."""
    best = evidence.retrieval.triples[0]
    return evidence.cell_id(best.table, best.row, best.column), best.object


def reply(evidence: Evidence, setting: PromptSetting) -> str | Mapping[str, Any]:
    """The reply of a model that answers with the best cell under this setting."""
    cell, text = best_cell(evidence)
    if not setting.asks_for_json:
        return f"{text} [{cell}]"
    return {
        "reasoning": "The best cell.",
        "citations": [cell],
        "program": None,
        "found": True,
        "answer": text,
        "alternatives": [],
    }


def main() -> None:
    """Run all combinations and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("question")
    parser.add_argument("--kg", type=Path, required=True)
    parser.add_argument("-k", type=int, default=300)
    parser.add_argument("--context-tokens", type=int, default=12_000)
    arguments = parser.parse_args()
    kg = kgtable.open(arguments.kg)
    evidence = Evidence(kg.retrieve(arguments.question, arguments.k), TableReader(kg.store, kg.names))
    print(f"{len(evidence.retrieval.triples)} triples of {len(evidence.tables)} tables\n")
    print("| setting |" + "".join(f" {name} |" for name in PRESENTATIONS))
    print("|---|" + "---|" * len(PRESENTATIONS))
    contexts: dict[str, str] = {}
    good = 0
    for setting in PromptSetting:
        said = reply(evidence, setting)
        line = f"| `{setting}` |"
        for name, layout in PRESENTATIONS.items():
            ways = {"layout": layout, "setting": setting, "context_tokens": arguments.context_tokens}
            answer = Generator(ScriptedLLM([said]), **ways).answer(evidence)
            good += answer.verified
            report = answer.context
            contexts[name] = f"{report['tokens']:,} ({report['shown_tables']} tables)"
            line += f" {estimate_tokens(answer.prompt):,} |"
        print(line)
    print("| the context alone |" + "".join(f" {found} |" for found in contexts.values()))
    print(f"\nverified: {good} of {len(PromptSetting) * len(PRESENTATIONS)} answers")


if __name__ == "__main__":
    main()
