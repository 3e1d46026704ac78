from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from kgtable.building.generations import GraphDirectory
from kgtable.building.pipeline import build_graph, refresh_mapping
from kgtable.index.graph_index import (
    BuildEmbedding,
    GraphIndex,
    RememberingEmbedder,
    ensure_index,
    index_step,
)
from tests.index.sample_graph import WordEmbedder


def test_a_text_is_embedded_once() -> None:
    words = WordEmbedder()
    embedder = RememberingEmbedder(words)
    first = embedder.embed(["a cat", "a dog", "a cat"])
    np.testing.assert_array_equal(embedder.embed(["a dog", "a cat"]), first[[1, 0]])
    assert words.asked == ["a cat", "a dog"]
    assert embedder.embed([]).shape == (0, 64)


def test_the_vectors_of_another_embedding_are_not_taken_over(index: GraphIndex, tmp_path: Path) -> None:
    words = WordEmbedder()
    words.name = "other"
    embedder = RememberingEmbedder(words)
    embedder.know_names_of(index.folder)
    embedder.know_names_of(tmp_path / "absent")
    embedder.embed_names(["Gold"])
    assert words.asked == ["gold"]


def test_a_build_with_nothing_to_do_loads_no_model_and_reads_no_vectors(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "a.csv").write_text("Name,Share\nx,1\ny,2\n", encoding="utf-8")
    script = (
        "import sys, kgtable\n"
        "graph = kgtable.build(sys.argv[1], sys.argv[2], embedding=sys.argv[3])\n"
        "print(graph.generation.number, graph.built.changes.unchanged,"
        " *({'faiss', 'onnxruntime', 'owlready2', 'pandas'} & sys.modules.keys()))\n"
    )

    def build_anew(embedding: str) -> list[str]:
        command = [sys.executable, "-c", script, str(tmp_path / "tables"), str(tmp_path / "kg"), embedding]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()

    assert "owlready2" in build_anew("none")
    assert build_anew("none") == ["1", "1"]
    # The mapping is written again where it is not what the last build wrote.
    (tmp_path / "kg" / "ontology.csv").unlink()
    assert build_anew("none")[:2] == ["1", "1"]
    assert (tmp_path / "kg" / "ontology.csv").exists()


def test_another_embedding_proposes_anew(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    for name, column in (("a", "Share of votes"), ("b", "Votes, share of")):
        (tmp_path / "tables" / f"{name}.csv").write_text(f"Name,{column}\nx,1\ny,2\n", encoding="utf-8")
    asked: list[str] = []
    place = GraphDirectory(tmp_path / "kg")

    def load(name: str) -> WordEmbedder | None:
        asked.append(name)
        return None if name == "none" else WordEmbedder()

    for name, loads in (("none", 1), ("none", 0), ("words", 1), ("words", 0)):
        asked.clear()
        model = BuildEmbedding(name, place, load)
        build_graph(
            [tmp_path / "tables"], place.path, before=model.load, propose=model.propose,
            after=[index_step(name, load=model.load)],
        )  # fmt: skip
        if ensure_index(place, embedding=name, load=model.load):
            refresh_mapping(place.path, model.propose)
        assert asked == [name] * loads
