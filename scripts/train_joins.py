"""Learn the weights of `kgtable.index.inferred.joins` from the foreign keys of a benchmark's databases.

    python scripts/train_joins.py FOLDER --kg DIR [-o kgtable/index/inferred/join_weights.json]

FOLDER is a benchmark folder whose tables have ``foreign_keys`` in their sidecars (spider), DIR its graph.
Prints recall and precision of the pairs kept, in ten folds over databases and with all of them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from kgtable.building.generations import GraphDirectory
from kgtable.index.corpus import Corpus, CorpusParts
from kgtable.index.inferred.column_profiles import TableHead, TableProfiles, profiles_of
from kgtable.index.inferred.joins import KEPT_FROM, REFERRED, JoinFinder, is_reference
from kgtable.index.inferred.relations import header_vectors

Column = tuple[str, str]

POSITIVE = 10.0
"""The weight of a foreign key beside that of any other pair: there are a hundred times as many of these."""


def main() -> None:
    """Train and write the weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kg", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, default=Path("kgtable/index/inferred/join_weights.json"))
    options = parser.parse_args()
    gold = foreign_keys(options.folder)
    profiles, finder = open_finder(options.kg)
    found = list(finder.candidates())
    names = sorted(found[0].features)
    named = [
        tuple((profiles.heads[c.table].id.casefold(), c.name.casefold()) for c in (pair.left, pair.right))
        for pair in found
    ]
    x = np.array([[pair.features[name] for name in names] for pair in found])
    y = np.array([pair in gold for pair in named])
    databases = np.array([pair[1][0].split("__")[0] for pair in named])
    held_out = np.zeros(len(y))
    floors = np.array([REFERRED if is_reference(pair.features) else 0.0 for pair in found])
    for train, test in GroupKFold(10).split(x, y, databases):
        held_out[test] = _model(x[train], y[train]).predict_proba(x[test])[:, 1]
    model = _model(x, y)
    for title, scores in (("held out", held_out), ("all", model.predict_proba(x)[:, 1])):
        sure = np.maximum(scores, floors)
        kept = [pair for pair, score in zip(named, sure, strict=True) if score >= KEPT_FROM]
        print(title, *precision_recall(kept, gold))
    weights = {name: round(float(value), 3) for name, value in zip(names, model.coef_[0], strict=True)}
    weights["bias"] = round(float(model.intercept_[0]), 3)
    about = f"Made by scripts/train_joins.py from {len(gold)} foreign keys."
    options.output.write_text(json.dumps({"about": about, "weights": weights}, indent=1) + "\n", encoding="utf-8")


def foreign_keys(folder: Path) -> set[tuple[Column, Column]]:
    """The foreign keys: referring column and key."""
    found = set()
    for path in sorted((folder / "tables").glob("*.json")):
        table, about = path.stem, json.loads(path.read_text(encoding="utf-8"))
        for ours, other, theirs in about.get("foreign_keys") or []:
            for one, two in zip(ours, theirs, strict=True):
                key = f"{about['db']}__{other}".casefold()
                found.add(((table.casefold(), one.casefold()), (key, two.casefold())))
    return found


def open_finder(kg: Path) -> tuple[TableProfiles, JoinFinder]:
    """The profiles of a graph's columns, and what finds joins among them."""
    generation = GraphDirectory(kg).lease()
    corpus = Corpus.open(generation.index_path)
    heads = [TableHead.from_list(json.loads(head)) for head in CorpusParts.open(generation.index_path).heads]
    vectors, rows = header_vectors(corpus, generation.index_path)
    profiles = profiles_of(corpus, heads)
    return profiles, JoinFinder(profiles, vectors, rows)


def precision_recall(found: Iterable[tuple[Column, Column]], gold: set[tuple[Column, Column]]) -> tuple[str, str, str]:
    """Recall and precision of pairs of columns, whichever refers to the other."""
    kept = {frozenset(pair) for pair in found}
    known = {frozenset(pair) for pair in gold}
    right = len(kept & known)
    return (
        f"{len(kept)} pairs",
        f"recall {right / max(len(known), 1):.3f}",
        f"precision {right / max(len(kept), 1):.3f}",
    )


def _model(x: np.ndarray, y: np.ndarray) -> LogisticRegression:
    weights = np.where(y, POSITIVE, 1.0)
    return LogisticRegression(C=1.0, max_iter=8000).fit(x, y, sample_weight=weights)


if __name__ == "__main__":
    main()
