"""Methods by name: their options, their solvers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from types import ModuleType

import pytest

import kgtable
from kgtable.answering.answer import Answer
from kgtable.answering.evidence import Evidence
from kgtable.answering.program_answers import answer_by_rules
from kgtable.errors import RetrievalError
from kgtable.retrieval.registry import METHODS, Choice, Method, Retrievers, read_method
from kgtable.retrieval.result import Retriever
from kgtable.systems import methods


class Kind(StrEnum):
    PLAIN = "plain"
    FULL = "full"


@dataclass(frozen=True)
class EchoOptions:
    depth: int = 3
    share: float = 0.5
    loud: bool = False
    kind: Kind = Kind.PLAIN


KNOWN: Mapping[str, Method] = {**METHODS, "echo": Method(lambda made, choice: made.get("bm25"), EchoOptions)}


def test_options_are_read_by_their_types() -> None:
    assert read_method("echo", KNOWN) == ("echo", EchoOptions())
    options = EchoOptions(depth=7, share=0.25, loud=True, kind=Kind.FULL)
    assert read_method("echo:depth=7, share=0.25,loud=yes,kind=full", KNOWN) == ("echo", options)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("ehco", "no method 'ehco'.*hybrid, bm25, dense, echo"), ("bm25:k=1", "bm25 has no options"),
        ("echo:size=1", "no option 'size'.*depth, share, loud, kind"),
        ("echo:depth=deep", "echo:depth takes a whole number, not 'deep'"),
        ("echo:loud=perhaps", "echo:loud takes yes or no"), ("echo:kind=empty", "echo:kind takes one of plain, full"),
    ],
)  # fmt: skip
def test_what_is_no_method_or_option_is_refused(method: str, message: str) -> None:
    with pytest.raises(RetrievalError, match=f"(?s){message}"):
        read_method(method, KNOWN)


class EchoSolver:
    """Answers by rules and says how deep it was told to look."""

    def __init__(self, options: EchoOptions) -> None:
        self.options = options

    def solve(self, evidence: Evidence, llm: object, *, on_text: object = None) -> Answer:
        return replace(answer_by_rules(evidence), reasoning=f"depth {self.options.depth}")


def test_a_system_retrieves_and_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []

    def make(retrievers: Retrievers, choice: Choice) -> Retriever:
        made.append(choice.options)
        return retrievers.get("bm25")

    system = ModuleType("echo_system")
    system.METHODS = {"echo": Method(make, EchoOptions)}  # type: ignore[attr-defined]
    system.SOLVERS = {"echo": lambda made, source, options, settings: EchoSolver(options)}  # type: ignore[attr-defined]
    monkeypatch.setattr(methods, "SYSTEMS", {**methods.SYSTEMS, "echo": lambda: system})
    (tmp_path / "moons.csv").write_text("Moon,Planet\nTitan,Saturn\nEuropa,Jupiter\n", encoding="utf-8")
    (tmp_path / "rivers.csv").write_text("River,Country\nGlomma,Norway\n", encoding="utf-8")
    (tmp_path / "prizes.csv").write_text("Prize,Year\nPhysics,1903\n", encoding="utf-8")
    with kgtable.build(tmp_path, tmp_path / "graph", embedding="none") as graph:
        answer = graph.ask("Which planet has the moon Titan?", method="echo:depth=9")
        assert (answer.text, answer.reasoning) == ("Saturn", "depth 9")
        assert graph.ask("Which planet has the moon Titan?", method="bm25").reasoning != "depth 9"
    assert made == [EchoOptions(depth=9)]


def test_a_question_to_one_system_does_not_load_the_others_or_pandas(tmp_path: Path) -> None:
    (tmp_path / "moons.csv").write_text("Moon,Planet\nTitan,Saturn\nEuropa,Jupiter\n", encoding="utf-8")
    kgtable.build(tmp_path, tmp_path / "graph", embedding="none").close()
    code = (
        f"import sys, kgtable; kg = kgtable.open({str(tmp_path / 'graph')!r})\n"
        "print(kg.ask('How many moons are there for each planet?', model='none').text)\n"
        "print([name for name in sys.modules if name == 'pandas' or name.startswith('kgtable.systems.t')])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.splitlines()[-1] == "[]"


def test_every_system_has_the_methods_that_are_registered() -> None:
    for name, load in methods.SYSTEMS.items():
        assert name in load().METHODS


def test_every_method_looks_at_the_named_tables_alone(tmp_path: Path) -> None:
    (tmp_path / "moons.csv").write_text("Moon,Planet\nTitan,Saturn\nEuropa,Jupiter\n", encoding="utf-8")
    (tmp_path / "planets.csv").write_text("Planet,Rings\nSaturn,yes\nJupiter,no\n", encoding="utf-8")
    (tmp_path / "rivers.csv").write_text("River,Country\nGlomma,Norway\n", encoding="utf-8")
    question = "Which planet has the moon Titan?"
    with kgtable.build(tmp_path, tmp_path / "graph", embedding="none") as graph:
        for method in methods.METHODS:
            found = graph.retrieve(question, 20, method, tables=["rivers", "planets"])
            assert {table.table for table in found.tables} <= {"rivers", "planets"}, method
            assert {triple.table for triple in found.triples} <= {"rivers", "planets"}, method
            assert graph.ask(question, method=method, tables=["moons"]).text == "Saturn", method
            elsewhere = graph.ask(question, method=method, tables=["rivers"])
            assert not elsewhere.text, method
            assert {cell.table for cell in elsewhere.citations} <= {"rivers"}, method
