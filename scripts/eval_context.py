"""Measure the context that a model is shown: does it hold every cell that an answer needs, and at how many tokens?

    python scripts/eval_context.py FOLDER --kg DIR [--split NAME] [--limit N] [--presentation NAME] [--show]

FOLDER is a benchmark folder, DIR its graph (``kgtable build FOLDER/tables --kg DIR --embedding none``). A question
needs its gold cells, else a row with its gold columns, else every cell of its gold tables. No model is asked.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import kgtable
from kgtable.answering.evidence import Evidence
from kgtable.answering.presentations import presentation
from kgtable.answering.prompting import PromptSetting, estimate_tokens, make_context, make_prompt
from kgtable.evaluation.benchmark import FIRST_LINE, CellPlace

ANY_ROW = -1
BUDGETS = (2_000, 4_000, 8_000, 12_000)
_BAR = re.compile(r"(?<!\\) \|(?: |$)")
_COLUMN = re.compile(r"c(\d+)\b")


def shown_cells(text: str) -> tuple[set[CellPlace], Mapping[str, set[int]]]:
    """The cells and the columns that a sub-table shows, by the table's short name."""
    cells, columns = set[CellPlace](), defaultdict[str, set[int]](set)
    alias, order = "", list[int]()
    for line in text.splitlines():
        first, *rest = _BAR.split(line)
        if re.match(r"T\d+: ", line):
            alias = line.partition(":")[0]
        elif first in ("row", "columns without rows"):
            found = [int(match[1]) for part in rest if (match := _COLUMN.match(part))]
            columns[alias] |= set(found)
            order = found if first == "row" else order
        elif row_number := re.match(r"r(\d+)\b", first):
            row = int(row_number[1])
            cells |= {
                (alias, place, column) for column, _ in zip(order, rest, strict=False) for place in (row, ANY_ROW)
            }
    return cells, columns


def needed_cells(item: Mapping[str, Any], kg: kgtable.KnowledgeGraph) -> set[CellPlace]:
    """The cells that the answer needs, at grid places; blank ones are left out."""
    places = {(table, row + FIRST_LINE, column) for table, row, column in item.get("cells") or ()}
    places = places or {(table, ANY_ROW, column) for table, column in item.get("columns") or ()}
    if not places:
        known = [id for id in item["tables"] if id in kg.catalogue.tables]
        bodies = {id: kg.reader.table(id).body() for id in known}
        places = {(id, row, column) for id in known for row, cells in bodies[id] for column in range(len(cells))}
    texts = {id: dict(kg.reader.table(id).body()) for id in {place[0] for place in places} & set(kg.catalogue.tables)}
    return {
        (id, row, column)
        for id, row, column in places
        if row == ANY_ROW or _text(texts.get(id, {}).get(row, ()), column)
    }


def _text(cells: Sequence[str], column: int) -> str:
    return cells[column].strip() if column < len(cells) else ""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the evaluation and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kg", type=Path, required=True)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--presentation", default="subtable")
    parser.add_argument("--show", action="store_true", help="list the questions whose cells are missing at 8,000")
    options = parser.parse_args(arguments)
    layout = presentation(options.presentation)
    lines = (options.folder / f"questions.{options.split}.jsonl").read_text(encoding="utf-8").splitlines()
    with kgtable.open(options.kg) as kg:
        asked = [(item, needed) for item in map(json.loads, lines) if (needed := needed_cells(item, kg))]
        asked = [asked[n * len(asked) // options.limit] for n in range(min(options.limit, len(asked)))]
        found = [Evidence(kg.retrieve(item["question"]), kg.reader, lambda: kg.relations) for item, _ in asked]
        retrieved = [{cell[0] for cell in needed} <= set(e.tables) for (_, needed), e in zip(asked, found, strict=True)]
        print(f"{options.folder.name} {options.split}: {len(asked)} questions, {sum(retrieved)} with all tables found")
        print("budget  held  of found  hidden columns  tables  tokens  prompt")
        for budget in BUDGETS:
            held, hidden, tables, tokens, prompts = list[bool](), 0, list[int](), list[int](), list[int]()
            for (item, needed), evidence in zip(asked, found, strict=True):
                context = make_context(evidence, layout, budget)
                cells, columns = shown_cells(context.text)
                known = {id: evidence.alias(id) for id in evidence.tables}
                held.append(all((known.get(id, ""), row, column) in cells for id, row, column in needed))
                widths = {known[unit.table]: kg.catalogue.tables[unit.table].width for unit in context.shown}
                hidden += sum(width - len(columns[alias]) for alias, width in widths.items())
                tables.append(len(widths))
                tokens.append(context.tokens)
                messages = make_prompt(item["question"], context, layout, PromptSetting.CONTEXT_FIRST_SEPARATED)
                prompts.append(sum(estimate_tokens(message["content"]) for message in messages))
                if options.show and budget == 8_000 and not held[-1] and retrieved[len(held) - 1]:
                    ranks = sorted(evidence.tables.index(id) + 1 for id in {cell[0] for cell in needed})
                    print(f"  {item['id']} {item['question'][:90]} ranks {ranks} cells {len(needed)}")
            share = sum(held) / max(len(held), 1)
            of_found = sum(h and r for h, r in zip(held, retrieved, strict=True)) / max(sum(retrieved), 1)
            print(
                f"{budget:6}  {share:.2f}  {of_found:8.2f}  {hidden:14}  {statistics.mean(tables):6.1f}"
                f"  {statistics.mean(tokens):6.0f}  {statistics.mean(prompts):6.0f}"
            )


if __name__ == "__main__":
    main()
