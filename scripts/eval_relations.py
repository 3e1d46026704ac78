"""Joins found beside the foreign keys of a benchmark, unions beside the tables that its parts were cut from.

    python scripts/eval_relations.py FOLDER --kg DIR [--show N]

FOLDER is a benchmark folder, DIR its graph. Foreign keys are those in the sidecars of the tables (spider);
parts are known from ``source_table`` and ``split`` in the sidecars (multitable). The relations are found
anew from the graph's index, and timed.

    python scripts/eval_relations.py FOLDER --kg DIR --growth 5000 10000 20000

measures instead what finding them costs over so many tables of the graph, drawn by a seeded generator: the pairs of
columns looked at beside all that there are, processor time, and memory.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from kgtable.building.catalogue import Catalogue
from kgtable.building.contents import read_contents
from kgtable.building.generations import GraphDirectory
from kgtable.index.corpus import Corpus
from kgtable.index.embedding import Matrix
from kgtable.index.inferred.column_profiles import TableHead, TableProfiles, profiles_of
from kgtable.index.inferred.joins import KEPT_FROM, JoinFinder
from kgtable.index.inferred.relations import header_vectors
from kgtable.index.inferred.unions import UnionFinder, clusters_of

Column = tuple[str, str]


def sidecars(folder: Path) -> dict[str, dict[str, object]]:
    """What is known of each table, by its id."""
    return {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted((folder / "tables").glob("*.json"))
    }


def foreign_keys(folder: Path) -> set[tuple[Column, Column]]:
    """The foreign keys: referring column and key."""
    found = set()
    for table, about in sidecars(folder).items():
        for ours, other, theirs in about.get("foreign_keys") or []:  # type: ignore[attr-defined]
            for one, two in zip(ours, theirs, strict=True):
                key = f"{about['db']}__{other}".casefold()
                found.add(((table.casefold(), one.casefold()), (key, two.casefold())))
    return found


def open_finder(kg: Path) -> tuple[TableProfiles, JoinFinder]:
    """The profiles of a graph's columns, and what finds joins among them."""
    profiles, vectors, rows = open_profiles(kg)
    return profiles, JoinFinder(profiles, vectors, rows)


def open_profiles(kg: Path):  # type: ignore[no-untyped-def]
    """The profiles of the columns of a graph, the vectors of its headers, and the vector of each column."""
    generation = GraphDirectory(kg).lease()
    ids = list(Catalogue.load(generation.catalogue_path).tables)
    corpus = Corpus.open(generation.index_path)
    heads = [TableHead.of(content) for content in read_contents(generation, ids)]
    vectors, rows = header_vectors(corpus, generation.index_path)
    return profiles_of(corpus, heads), vectors, rows


def precision_recall(
    found: Iterable[tuple[Column, Column]], gold: set[tuple[Column, Column]]
) -> tuple[str, str, str]:
    """Recall and precision of pairs of columns, whichever refers to the other."""
    kept = {frozenset(pair) for pair in found}
    known = {frozenset(pair) for pair in gold}
    right = len(kept & known)
    return (
        f"{len(kept)} pairs",
        f"recall {right / max(len(known), 1):.3f}",
        f"precision {right / max(len(kept), 1):.3f}",
    )


def drawn_tables(profiles: TableProfiles, rows: Sequence[int], count: int) -> tuple[TableProfiles, list[int]]:
    """The profiles of so many tables, drawn by a seeded generator, and the vector of each of their columns."""
    chosen = sorted(random.Random(15).sample(range(len(profiles.heads)), min(count, len(profiles.heads))))
    columns, vector_of = [], []
    for table, number in enumerate(chosen):
        for column in profiles.of_table[number]:
            columns.append(replace(column, number=len(columns), table=table))
            vector_of.append(rows[column.number] if rows else -1)
    heads = tuple(profiles.heads[number] for number in chosen)
    return TableProfiles(heads, tuple(columns), profiles.keys), vector_of


def growth(
    profiles: TableProfiles, vectors: Matrix | None, rows: Sequence[int], sizes: Sequence[int]
) -> None:
    """Print what finding joins and unions costs over so many tables."""
    for size in sizes:
        some, vector_of = drawn_tables(profiles, rows, size)
        began = time.process_time()
        finder = UnionFinder(some, vectors, vector_of)
        pairs = list(finder.pairs())
        clusters = clusters_of(pairs, len(some.heads))
        joined = time.process_time()
        joins = JoinFinder(some, vectors, vector_of, clusters)
        kept = sum(found.score >= KEPT_FROM for found in joins.candidates())
        ended = time.process_time()
        count = len(some.columns)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{len(some.heads):,} tables, {count:,} columns: "
            f"unions {joined - began:.1f} s ({len(pairs):,} pairs kept), joins {ended - joined:.1f} s "
            f"({joins.looked_at:,} of {count * (count - 1):,} pairs looked at, {kept:,} kept), "
            f"processor time; peak memory {memory:,.0f} MiB",
            flush=True,
        )


def main() -> None:
    """Find the relations and compare them with what is known."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kg", type=Path, required=True)
    parser.add_argument("--show", type=int, default=0, help="how many wrong and missed pairs to print")
    parser.add_argument(
        "--growth", type=int, nargs="+", help="so many tables, instead of all with their gold"
    )
    options = parser.parse_args()
    from kgtable.index.inferred.relations import find_relations

    profiles, vectors, rows = open_profiles(options.kg)
    if options.growth:
        held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"profiles of {len(profiles.heads):,} tables: peak memory {held:,.0f} MiB")
        growth(profiles, vectors, rows, sorted(options.growth))
        return
    began = time.perf_counter()
    relations, _ = find_relations(profiles, vectors, rows)
    spent = time.perf_counter() - began
    print(f"{options.folder.name}: {len(profiles.heads)} tables, {len(relations.joins)} joins, "
          f"{len(relations.unions)} unions, {spent:.1f} s")  # fmt: skip
    known = foreign_keys(options.folder)
    if known:
        pairs = [
            tuple((end.table.casefold(), end.name.casefold()) for end in (join.left, join.right))
            for join in relations.joins
        ]
        print("joins:", *precision_recall(pairs, known))  # type: ignore[arg-type]
        gold, kept = ({frozenset(pair) for pair in side} for side in (known, pairs))
        for wrong in sorted(map(sorted, kept - gold))[: options.show]:
            print("  wrong", *wrong)
        for missed in sorted(map(sorted, gold - kept))[: options.show]:
            print("  missed", *missed)
    parts: dict[tuple[str, str], list[str]] = defaultdict(list)
    for table, about in sidecars(options.folder).items():
        if "source_table" in about:
            parts[str(about["source_table"]), str(about["split"])].append(table)
    truth = {
        pair for (_, split), ids in parts.items() if split == "row" for pair in combinations(sorted(ids), 2)
    }
    if truth:
        clusters = {pair for union in relations.unions for pair in combinations(sorted(union.tables), 2)}
        right = len(truth & clusters)
        recall, precision = right / len(truth), right / max(len(clusters), 1)
        print(f"unions: {len(clusters)} pairs, recall {recall:.3f}, precision {precision:.3f}, "
              f"F1 {2 * recall * precision / max(recall + precision, 1e-9):.3f}")  # fmt: skip
        for wrong in sorted(clusters - truth)[: options.show]:
            print("  wrong", *wrong)
        for missed in sorted(truth - clusters)[: options.show]:
            print("  missed", *missed)
        columns = {
            pair
            for (_, split), ids in parts.items()
            if split == "column"
            for pair in combinations(sorted(ids), 2)
        }
        joined = {tuple(sorted((join.left.table, join.right.table))) for join in relations.joins}
        print(f"column-wise parts that a join connects: {len(columns & joined) / max(len(columns), 1):.3f}")


if __name__ == "__main__":
    main()
