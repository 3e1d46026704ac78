from __future__ import annotations

import json
from pathlib import Path

import pytest

from kgtable.building.generations import LOCK, GraphDirectory
from kgtable.errors import GraphLockedError, GraphNotFoundError, GraphVersionError, StorageError
from kgtable.graph.remote.dialects import StoreEndpoint
from kgtable.storage import POINTER, exclusive_lock

BASE = "https://data.example/ü#"


def complete(place: GraphDirectory, base: str = BASE) -> int:
    """A build that makes one empty generation."""
    with place.building() as current:
        generation = place.begin(current, base)
        place.point_to(generation, base)
    return generation.number


def test_the_first_generation_and_the_next(tmp_path: Path) -> None:
    place = GraphDirectory(tmp_path / "a" / "kg")
    with place.building() as current:
        assert current is None
        first = place.begin(current, BASE)
        with pytest.raises(GraphNotFoundError, match="never completed"):
            place.current()
        place.point_to(first, BASE)
    assert (place.current().number, place.current().base) == (1, BASE)
    assert complete(place) == 2
    assert place.current().path == place.generations_path / "2"


def test_what_an_unfinished_build_left_and_earlier_generations_are_removed(tmp_path: Path) -> None:
    place = GraphDirectory(tmp_path)
    for _ in range(3):
        complete(place)
    (place.generations_path / "4").mkdir()
    (place.generations_path / "4" / "half").write_bytes(b"x")
    (place.generations_path / ".2.removed").mkdir()
    (tmp_path / f".{POINTER}.1.tmp").write_bytes(b"{")
    (tmp_path / "ontology.csv").write_bytes(b"mine")
    assert place.current().number == 3
    with place.building() as current:
        assert current is not None
        assert sorted(entry.name for entry in place.generations_path.iterdir()) == ["3"]
        assert not list(tmp_path.glob("*.tmp"))
        assert place.begin(current, BASE).previous == current
    assert (tmp_path / "ontology.csv").read_bytes() == b"mine"


def test_one_build_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgtable.building.generations.LOCK_WAIT", 0)
    place = GraphDirectory(tmp_path)
    complete(place)
    with exclusive_lock(tmp_path / LOCK), pytest.raises(GraphLockedError), place.building():
        raise AssertionError
    assert complete(place) == 2


@pytest.mark.parametrize(
    "content",
    [
        "", "null", "[]", "{", '{"format": "x"}', "\ufeff{}", '"kgtable graph"',
        '{"format": "kgtable graph", "version": 2, "generation": 1}',
        '{"format": "kgtable graph", "version": 1, "generation": 7}',
        '{"format": "kgtable graph", "version": 1, "endpoint": {"query": 5}}',
    ],
)  # fmt: skip
def test_a_pointer_that_cannot_be_used(content: str, tmp_path: Path) -> None:
    (tmp_path / POINTER).write_text(content, encoding="utf-8")
    place = GraphDirectory(tmp_path)
    with pytest.raises(GraphVersionError), place.building():
        raise AssertionError
    with pytest.raises(GraphVersionError):
        place.endpoint() or place.current()
    with pytest.raises(GraphVersionError):
        place.point_to_endpoint(StoreEndpoint("http://e/"))
    assert (tmp_path / POINTER).read_text(encoding="utf-8") == content


def test_a_pointer_of_bytes_and_one_that_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / POINTER).write_bytes(b"\xff\xfe{}")
    with pytest.raises(GraphVersionError, match="not JSON"):
        GraphDirectory(tmp_path).current()
    (tmp_path / POINTER).unlink()
    (tmp_path / POINTER).mkdir()
    with pytest.raises(GraphNotFoundError, match="cannot be read"):
        GraphDirectory(tmp_path).current()
    with pytest.raises(GraphNotFoundError, match="kgtable build"):
        GraphDirectory(tmp_path / "nowhere").current()


def test_foreign_folders_are_not_touched_hidden_files_do_not_count(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert complete(GraphDirectory(tmp_path)) == 1
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.doc").write_bytes(b"")
    with pytest.raises(GraphVersionError, match="no kgtable graph"):
        complete(GraphDirectory(tmp_path / "other"))
    assert [entry.name for entry in (tmp_path / "other").iterdir()] == ["thesis.doc"]
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError):
        complete(GraphDirectory(tmp_path / "file"))


def test_a_directory_for_an_endpoint(tmp_path: Path) -> None:
    place = GraphDirectory(tmp_path / "kg")
    endpoint = StoreEndpoint("https://e/sparql", "virtuoso", BASE, "https://e/store")
    place.point_to_endpoint(endpoint)
    assert place.endpoint() == endpoint
    plain = StoreEndpoint("https://other/sparql")
    place.point_to_endpoint(plain)
    assert place.endpoint() == plain
    with pytest.raises(GraphVersionError, match="kgtable push"):
        complete(place)
    built = GraphDirectory(tmp_path / "built")
    complete(built)
    assert built.endpoint() is None
    with pytest.raises(GraphVersionError, match="not empty"):
        built.point_to_endpoint(endpoint)
    assert json.loads((tmp_path / "built" / POINTER).read_text(encoding="utf-8"))["generation"] == 1
