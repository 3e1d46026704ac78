from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kgtable.server.worker import Reader
from tests.server.refusals import refused
from tests.server.serving import store_with


def asked(reader: Reader, opening: Path | None = None) -> bytes:
    job: dict[str, Any] = {
        "op": "query",
        "query": "SELECT ?o { ?s ?p ?o }",
        "union": True,
        "accept": "text/csv",
        "result_limit": 999,
    }
    if opening is not None:
        job["open"] = {"path": str(opening), "prefixes": {}}
    return reader.answer(job, b"", lambda head, body: None)[1]


def test_a_store_stays_open_until_another_is_named(tmp_path: Path) -> None:
    for name in ("one", "two"):
        store_with(tmp_path / name, f"<http://e/s> <http://e/p> '{name}' .")
    reader = Reader()
    with pytest.raises(ValueError, match="must open a store"):
        asked(reader)
    assert asked(reader, tmp_path / "one") == asked(reader) == b"o\r\none\r\n"
    assert asked(reader, tmp_path / "two") == asked(reader) == b"o\r\ntwo\r\n"


def test_a_store_that_cannot_be_opened_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgtable.server.execution.OPENING_PAUSES", ())
    store_with(tmp_path / "one")
    reader = Reader()
    asked(reader, tmp_path / "one")
    with refused("unavailable"):
        asked(reader, tmp_path / "none")
    with pytest.raises(ValueError, match="must open a store"):
        asked(reader)
