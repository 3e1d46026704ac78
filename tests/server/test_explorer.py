from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kgtable.errors import (
    GraphNotFoundError,
    KgtableError,
    LLMAuthError,
    QueryError,
    StorageError,
    UsageError,
)
from kgtable.server import explorer
from kgtable.server.explorer import OPERATIONS, Explorer, kind_of
from tests.server.refusals import refused


@pytest.fixture
def asked(graph_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An explorer that has opened the sample graph: operation and job to answer."""
    monkeypatch.setattr(explorer, "OPENING_PAUSES", (0.0,))
    found = Explorer()
    found.answer({"op": "info", "open": {"directory": str(graph_folder)}}, b"", lambda head, body: None)

    def ask(op: str, **job: Any) -> Any:
        head, body = found.answer({"op": op, **job}, b"", lambda head, body: None)
        assert head == {"status": 200}
        return body

    return ask


def test_answers_are_json_and_csv_is_bytes(asked: Any) -> None:
    assert json.loads(asked("info"))["tables"] == 6
    assert asked("csv", id="planets").startswith(b"Planet,")
    assert asked("info") == asked("info")


@pytest.mark.parametrize(
    ("op", "job", "kind"),
    [
        ("csv", {"id": "nowhere"}, "not-found"),
        ("cell", {"id": "planets", "row": 9_999, "column": 0}, "not-found"),
        ("resource", {"iri": "no iri"}, "bad-request"),
    ],
)
def test_errors_are_problems(op: str, job: dict[str, Any], kind: str, asked: Any) -> None:
    with refused(kind):
        asked(op, **job)
    assert json.loads(asked("info"))["tables"] == 6


def test_a_mistake_of_ours_is_no_problem_of_the_client(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setitem(OPERATIONS, "info", broken)
    with pytest.raises(ZeroDivisionError):
        asked("info")


def test_files_that_moved_under_a_reader_are_looked_for_again(
    asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails = [OSError("gone"), RuntimeError("moved")]

    def moving(graph: object, job: object, tell: object) -> str:
        if fails:
            raise fails.pop()
        return "found"

    monkeypatch.setitem(OPERATIONS, "info", moving)
    monkeypatch.setattr(explorer, "OPENING_PAUSES", (0.0, 0.0))
    assert json.loads(asked("info")) == "found"


def test_events_come_ahead_of_the_answer(graph_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def telling(graph: object, job: object, tell: Any) -> str:
        tell("text", 'a"\ud800')
        return "done"

    monkeypatch.setitem(OPERATIONS, "info", telling)
    events: list[tuple[Any, bytes]] = []
    job = {"op": "info", "open": {"directory": str(graph_folder)}}
    Explorer().answer(job, b"", lambda head, body: events.append((head, body)))
    assert events[0][0] == {"name": "text"}
    assert json.loads(events[0][1])


def test_a_directory_without_a_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explorer, "OPENING_PAUSES", ())
    with refused("not-found"):
        Explorer().answer({"op": "info", "open": {"directory": str(tmp_path)}}, b"", lambda head, body: None)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (GraphNotFoundError("x"), "not-found"),
        (UsageError("x"), "bad-request"),
        (QueryError("x"), "bad-request"),
        (LLMAuthError("x"), "unavailable"),
        (StorageError("x"), "unavailable"),
    ],
)
def test_kinds_of_errors(error: KgtableError, kind: str) -> None:
    assert kind_of(error) == kind
