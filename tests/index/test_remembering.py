from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np

from kgtable.building.generations import Generation, GraphDirectory
from kgtable.building.pipeline import build_graph
from kgtable.graph.store import EmbeddedStore
from kgtable.index.graph_index import BuildEmbedding, GraphIndex, RememberingEmbedder, index_step, is_indexed
from tests.index.sample_graph import WordEmbedder, write_tables
from tests.index.sample_graph import build as sample_build


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

    def load(name: str) -> WordEmbedder | None:
        asked.append(name)
        return None if name == "none" else WordEmbedder()

    def build(graph: Path, name: str) -> Generation:
        model = BuildEmbedding(name, GraphDirectory(graph), load)
        return build_graph(
            [tmp_path / "tables"], graph, before=model.load, propose=model.propose,
            after=[index_step(name, load=model.load)],
            is_complete=partial(is_indexed, embedding=name, load=model.load),
        ).generation  # fmt: skip

    for name, loads in (("none", 1), ("none", 0), ("words", 1), ("words", 0)):
        asked.clear()
        made = build(tmp_path / "kg", name)
        assert asked == [name] * loads
    fresh = build(tmp_path / "fresh", "words")
    assert made.description_path.read_bytes() == fresh.description_path.read_bytes()
    assert list(EmbeddedStore(made.store_path).graph(None)) == list(EmbeddedStore(fresh.store_path).graph(None))


def test_a_build_killed_while_it_makes_another_index_is_made_up_for(tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "tables")
    before = sample_build(tables, tmp_path / "kg", "none")
    killed = (
        "import os, sys\n"
        "from tests.index import sample_graph\n"
        "from pathlib import Path\n"
        "import kgtable.building.generations as generations\n"
        "generations.sync_tree = lambda path: os._exit(9)\n"
        "sample_graph.build(Path(sys.argv[1]), Path(sys.argv[2]), 'words')\n"
    )
    command = [sys.executable, "-c", killed, str(tables), str(tmp_path / "kg")]
    assert subprocess.run(command, check=False).returncode == 9
    assert GraphDirectory(tmp_path / "kg").current().number == before.number
    made = sample_build(tables, tmp_path / "kg", "words")
    fresh = sample_build(tables, tmp_path / "fresh", "words")
    assert made.number == before.number + 1
    for name in ("texts.txt", "relations.json"):
        assert (made.index_path / name).read_bytes() == (fresh.index_path / name).read_bytes()
    assert made.description_path.read_bytes() == fresh.description_path.read_bytes()
