"""Recall of evidence over text and tables: TAT-QA's questions against a graph of its tables and paragraphs.

    kgtable build BENCH/tatqa/tables --kg KG
    python scripts/bench_evidence.py BENCH/tatqa KG [--every N]

A question counts where its table, or a passage with a paragraph that it rests on, is among the first k items of the
list of tables and passages. Strictly, it counts where what it is answered from is there: of a question from the text
the passage, of one from the table the table, of one from both, both.

Undecidable are questions of whose words (weighted by how few tables with their text have them) another table with its
text has as many: nothing that the question says tells its own from that one.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import log
from pathlib import Path
from typing import Any

import kgtable
from kgtable.index.passage_index import PassageIndex
from kgtable.text.words import is_empty_word, stem, words

DEPTHS = (1, 3, 5, 10, 30)


def words_of(text: str) -> frozenset[str]:
    """The stems of a text's words that say something."""
    return frozenset(stem(word) for word in words(text) if not is_empty_word(word))


def undecidable(folder: Path, asked: Sequence[Mapping[str, Any]]) -> dict[str, tuple[int, int]]:
    """For each kind of question how many are undecidable, and how many there are."""
    texts = {}
    for path in sorted((folder / "tables").glob("*.csv")):
        sidecar = path.with_suffix(".json")
        beside = sidecar.read_text(encoding="utf-8") if sidecar.exists() else ""
        texts[path.stem] = words_of(f"{path.read_text(encoding='utf-8')} {' '.join(_strings(beside))}")
    having = Counter(word for text in texts.values() for word in text)
    counts: dict[str, tuple[int, int]] = {}
    for question in asked:
        weights = {word: log(1 + len(texts) / (1 + having[word])) for word in words_of(question["question"])}
        said = {id: sum(weights[word] for word in weights.keys() & text) for id, text in texts.items()}
        own = said.pop(question["tables"][0])
        for name in ("all", question["answer_from"]):
            hit, total = counts.get(name, (0, 0))
            counts[name] = hit + (max(said.values()) >= own - 1e-9), total + 1
    return counts


def _strings(beside: str) -> Iterator[str]:
    for value in (json.loads(beside) if beside else {}).values():
        yield from (str(item) for item in (value if isinstance(value, list) else [value]))


def main() -> None:
    """Print recall by kind of question."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("graph", type=Path)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--every", type=int, default=1)
    chosen = parser.parse_args()
    lines = (chosen.benchmark / f"questions.{chosen.split}.jsonl").read_text(encoding="utf-8").splitlines()
    hits: dict[tuple[str, int], list[tuple[bool, bool]]] = defaultdict(list)
    with kgtable.open(chosen.graph) as graph:
        passages = PassageIndex(graph.generation.index_path).passages
        by_table: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for passage in passages:
            for table in passage.tables:
                by_table[table].append((passage.iri, passage.text))
        for line in lines[:: chosen.every]:
            asked = json.loads(line)
            table = asked["tables"][0]
            sidecar = json.loads((chosen.benchmark / "tables" / f"{table}.json").read_text(encoding="utf-8"))
            texts = dict(zip(sidecar["paragraph_orders"], sidecar["paragraphs"], strict=True))
            rests_on = [texts[at].strip()[:60] for at in asked["rel_paragraphs"] if at in texts]
            gold = {iri for iri, text in by_table[table] if any(start in text for start in rests_on)}
            found = graph.retrieve(asked["question"], 50, "documents:recall=100").trace["evidence"]
            ids = [id for _, id, _ in found]
            kind = asked["answer_from"]
            for depth in DEPTHS:
                first = set(ids[:depth])
                has_table, has_text = table in first, bool(first & gold)
                strict = {"table": has_table, "text": has_text, "table-text": has_table and has_text}[kind]
                for name in (kind, "all"):
                    hits[name, depth].append((has_table or has_text, strict))
    for name, (hit, total) in undecidable(chosen.benchmark, list(map(json.loads, lines))).items():
        print(f"undecidable, {name}: {hit:,} of {total:,} ({hit / total:.3f})")
    print("| questions | " + " | ".join(f"@{depth}" for depth in DEPTHS) + " |")
    for name in ("all", "table", "text", "table-text"):
        for strict in (False, True):
            shares = (
                sum(pair[strict] for pair in hits[name, depth]) / len(hits[name, depth]) for depth in DEPTHS
            )
            told = " | ".join(f"{share:.3f}" for share in shares)
            print(f"| {name} ({len(hits[name, 1]):,}){', strictly' if strict else ''} | {told} |")


if __name__ == "__main__":
    main()
