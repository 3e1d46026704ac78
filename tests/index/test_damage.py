"""A damaged index: told in one line when it matters, and built again by the next build."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import pytest

import kgtable
from kgtable.errors import KgtableError
from kgtable.index.graph_index import damaged_files
from kgtable.resources import PACKAGE


@pytest.mark.parametrize("damage", ["flipped", "half", "empty", "gone"])
def test_a_damaged_index_is_told_and_built_again(damage: str, samples_path: Path, tmp_path: Path) -> None:
    shutil.copytree(samples_path, tmp_path / "kg")
    question = "What is the diameter of Saturn?"
    with kgtable.open(tmp_path / "kg") as graph:
        sound = graph.retrieve(question, 20).triples
        folder = graph.generation.index_path
    names = sorted(path.name for path in folder.iterdir() if path.name != "index.json")
    for number, name in enumerate(names[["flipped", "half", "empty", "gone"].index(damage) :: 6]):
        content = (folder / name).read_bytes()
        turned = bytearray(content)
        for place in range(number % 7, len(turned), 97):
            turned[place] ^= 1 << (place % 8)
        if damage == "gone":
            (folder / name).unlink()
        else:
            kept = {"flipped": bytes(turned), "half": content[: len(content) // 2], "empty": b""}[damage]
            (folder / name).write_bytes(kept)
        with kgtable.open(tmp_path / "kg") as graph, suppress(KgtableError):
            list(graph.retrieve(question, 20).triples)
        if (folder / name).exists() and (folder / name).read_bytes() == content:
            continue
        assert damaged_files(folder) == [name]
        if number == 1:
            with kgtable.build(PACKAGE / "samples", tmp_path / "kg", embedding="none") as graph:
                assert graph.retrieve(question, 20).triples == sound
                assert damaged_files(graph.generation.index_path) == []
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with kgtable.open(tmp_path / "kg") as graph:
            folder = graph.generation.index_path
        (folder / name).write_bytes(content)
