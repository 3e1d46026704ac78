from __future__ import annotations

from kgtable.resources import read_shipped, shipped_path


def test_shipped_folders_are_found() -> None:
    assert shipped_path("ontologies").is_dir()
    assert shipped_path("queries").is_dir()


def test_shipped_text_is_read() -> None:
    assert "kgtable" in read_shipped("ontologies/kgtable.ttl")
