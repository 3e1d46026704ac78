"""What inferred names are worth on tables in the wild: beside none, and beside the true headers and titles.

    python scripts/eval_wild.py FOLDER --kg DIR [--names none|inferred|true ...] [--method NAME ...] [--every N]

FOLDER is a folder that ``kgtable bench spiderwild`` made, DIR its graph, whose index is made anew for each choice of
names. Prints the embedding F1 of the masked headers and recall at 3 and 5 of the retrieval.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from eval_dmral import retrieval
from eval_names import embedding_f1
from eval_programs import Workplace

from kgtable.building.generations import GraphDirectory
from kgtable.index.embedding import Matrix
from kgtable.index.graph_index import GraphIndex, build_index, read_about
from kgtable.index.inferred.column_profiles import header_words
from kgtable.index.inferred.name_inference import infer_names
from kgtable.ontology.inferred_names import InferredName, InferredNames


def index_with(kg: Path, names: str, truth: Sequence[dict[str, Any]]) -> None:
    """Make the index of a graph anew with these names."""
    place = GraphDirectory(kg)
    with place.building():
        current = place.current()
        generation = place.begin_copy(current)
        given = []
        if names == "true":
            for table in truth:
                given += [
                    InferredName(table["table"], column, table["header"][column], 1.0, "user")
                    for column in table["masked"]
                ]
                if table["untitled"]:
                    given.append(InferredName(table["table"], None, table["title"], 1.0, "user"))
        InferredNames(given).save(generation.path)
        infer = infer_names if names == "inferred" else lambda profiles, units, embed: []
        build_index(generation, embedding=str(read_about(current.index_path)["asked"]), infer=infer)
        place.point_to(generation, generation.base)


def headers(place: Workplace, truth: Sequence[dict[str, Any]]) -> None:
    """Print how like the names of masked headers are to the true ones."""
    index = GraphIndex(place.kg.generation.index_path)

    def embed(texts: Sequence[str]) -> Matrix:
        vectors = index.embed(list(texts))
        assert vectors is not None
        return vectors

    found = place.kg.inferred_names
    names = [found.at(table["table"], column) for table in truth for column in table["masked"]]
    true = [table["header"][column] for table in truth for column in table["masked"]]
    numbered = [f"Column {column + 1}" for table in truth for column in table["masked"]]
    given = ["" if name is None else name.name for name in names]
    exact = np.mean(
        [
            bool(one) and header_words(one) == header_words(other)
            for one, other in zip(given, true, strict=True)
        ]
    )
    print(f"{len(true)} masked headers, {exact:.3f} in the same words, embedding F1 "
          f"{np.mean(embedding_f1(given, true, embed)):.3f}, of 'Column i' "
          f"{np.mean(embedding_f1(numbered, true, embed)):.3f}")  # fmt: skip


def main() -> None:
    """Evaluate each choice of names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kg", type=Path, required=True)
    parser.add_argument("--names", action="append", choices=("none", "inferred", "true"))
    parser.add_argument("--method", action="append")
    parser.add_argument("--every", type=int, default=1, help="take every n-th question")
    options = parser.parse_args()
    lines = (options.folder / "truth.jsonl").read_text(encoding="utf-8").splitlines()
    truth = [json.loads(line) for line in lines]
    for names in options.names or ("none", "inferred", "true"):
        index_with(options.kg, names, truth)
        place = Workplace(options.folder, options.kg)
        print(f"names: {names}, {place.kg.inferred_names}", flush=True)
        headers(place, truth)
        retrieval(place, place.questions("dev")[:: options.every], options.method or ["hybrid", "dmral"])
        place.kg.close()


if __name__ == "__main__":
    main()
