"""Inferred headers beside the true ones: headers of a graph's columns are masked and inferred again.

    python scripts/eval_names.py --kg DIR [--under PREFIX] [--masked 0.2] [--seed 7] [--show N] [--without-vectors]

DIR is a graph whose tables have headers; those of tables whose id begins with PREFIX are masked. Prints the share of
names whose words are the true ones, and the embedding F1 (as BERTScore: each word with the most alike one of the
other side, by MiniLM) beside that of "Column i" and of no name. ``--curve`` prints how often names are right by score.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from eval_relations import open_profiles

from kgtable.building.catalogue import Catalogue
from kgtable.building.generations import GraphDirectory
from kgtable.index.embedding import Matrix
from kgtable.index.graph_index import GraphIndex
from kgtable.index.inferred.column_profiles import TableProfiles, header_words
from kgtable.index.inferred.name_inference import infer_names
from kgtable.ontology.inferred_names import is_missing_header
from kgtable.text.words import words as words_of


def units_of(kg: Path, profiles: TableProfiles) -> list[str]:
    """The unit of each column."""
    facts = {
        (fact.table, fact.index): next(iter(fact.units), "")
        for fact in Catalogue.load(GraphDirectory(kg).lease().catalogue_path).facts()
    }
    return [facts.get((profiles.heads[c.table].id, c.index), "") for c in profiles.columns]


def masked(profiles: TableProfiles, share: float, seed: int, under: str) -> TableProfiles:
    """The profiles without the headers of some columns."""
    chance = random.Random(seed)
    columns, names = [], {head.id: list(head.names) for head in profiles.heads}
    for column in profiles.columns:
        id = profiles.heads[column.table].id
        if id.startswith(under) and not is_missing_header(column.name) and chance.random() < share:
            column = replace(column, name="", words=())
            names[id][column.index] = ""
        columns.append(column)
    heads = tuple(replace(head, names=tuple(names[head.id])) for head in profiles.heads)
    return TableProfiles(heads, tuple(columns), profiles.keys)


def embedding_f1(
    given: Sequence[str], true: Sequence[str], embed: Callable[[Sequence[str]], Matrix]
) -> list[float]:
    """The F1 of each name: every word with the most alike one of the other side."""
    split = [(words_of(one), words_of(other)) for one, other in zip(given, true, strict=True)]
    distinct = sorted({word for pair in split for side in pair for word in side})
    place = {word: at for at, word in enumerate(distinct)}
    vectors = embed(distinct)
    found = []
    for ours, theirs in split:
        if not ours or not theirs:
            found.append(float(ours == theirs))
            continue
        alike = vectors[[place[w] for w in ours]] @ vectors[[place[w] for w in theirs]].T
        precision, recall = float(alike.max(axis=1).mean()), float(alike.max(axis=0).mean())
        found.append(2 * precision * recall / max(precision + recall, 1e-9))
    return found


def main() -> None:
    """Mask, infer and compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kg", type=Path, required=True)
    parser.add_argument("--under", default="")
    parser.add_argument("--masked", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--curve", action="store_true")
    parser.add_argument("--without-vectors", action="store_true")
    options = parser.parse_args()
    profiles, *_ = open_profiles(options.kg)
    index = GraphIndex(GraphDirectory(options.kg).lease().index_path)

    def embed(texts: Sequence[str]) -> Matrix:
        vectors = index.embed(list(texts))
        assert vectors is not None
        return vectors

    hidden = masked(profiles, options.masked, options.seed, options.under)
    places = [
        (profiles.heads[before.table].id, before.index, before.name)
        for before, after in zip(profiles.columns, hidden.columns, strict=True)
        if before.name != after.name
    ]
    found = infer_names(hidden, units_of(options.kg, profiles), None if options.without_vectors else embed)
    names = {(name.table, name.column): name for name in found}
    given = [names.get((table, column)) for table, column, _ in places]
    true = [name for _, _, name in places]
    texts = ["" if name is None else name.name for name in given]
    exact = [
        bool(text) and header_words(text) == header_words(name)
        for text, name in zip(texts, true, strict=True)
    ]
    print(
        f"{len(places)} headers masked, {sum(map(bool, texts))} inferred, {np.mean(exact):.3f} in the same words"
    )
    for title, shown in (
        ("inferred", texts),
        ("Column i", [f"Column {column + 1}" for _, column, _ in places]),
        ("none", [""] * len(places)),
    ):
        print(f"  {title:10} embedding F1 {np.mean(embedding_f1(shown, true, embed)):.3f}")
    if options.curve:
        binned: dict[int, list[bool]] = defaultdict(list)
        for name, right in zip(given, exact, strict=True):
            binned[int((name.confidence if name else 0) * 10)].append(right)
        for step, rights in sorted(binned.items()):
            print(f"  confidence {step / 10:.1f}: {len(rights):5} names, {np.mean(rights):.2f} right")
    for (table, _, name), guess in list(zip(places, given, strict=True))[
        :: max(len(places) // max(options.show, 1), 1)
    ]:
        if options.show:
            print(f"  {table:40} {name!r:28} {guess and (guess.name, guess.confidence, guess.basis)}")


if __name__ == "__main__":
    main()
