"""Collects the results of the conformance tests and writes them to ``CONFORMANCE.md``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

HEAD = """# Conformance

W3C's SPARQL 1.1 tests, run against a running `kgtable serve` over HTTP. Written by the test suite
(`python -m pytest tests/conformance`) whenever all of its tests have run.

Queries are asked in every result format, and each answer must be the one that the engine,
[Oxigraph](https://github.com/oxigraph/oxigraph), gives by itself; where that is not the answer that the
suite expects, it is said below. Of suites with more than a hundred tests only those are listed.
"""
LONG = 100
"""Suites with more tests are listed in short."""


PASSED, FAILED = "passed", "**failed**"


class Record:
    """What passed and what did not, by suite."""

    def __init__(self) -> None:
        self._results: dict[str, dict[str, tuple[str, str]]] = {}

    @contextmanager
    def result(self, suite: str, name: str, title: str) -> Iterator[Callable[[str], None]]:
        """Notes whether the block ends without an error, or what else it says of the test."""
        results = self._results.setdefault(suite, {})
        results[name] = (title, FAILED)

        def note(words: str) -> None:
            results[name] = (title, words)

        yield note
        if results[name][1] == FAILED:
            note(PASSED)

    def counts(self) -> dict[str, tuple[int, int]]:
        """Passed and run, by suite."""
        return {
            suite: (sum(outcome == PASSED for _, outcome in results.values()), len(results))
            for suite, results in self._results.items()
        }

    def text(self) -> str:
        """The report: the same for the same results."""
        lines = [HEAD, "| suite | passed | of |", "|---|---|---|"]
        for suite, (passed, run) in sorted(self.counts().items()):
            lines.append(f"| {suite} | {passed} | {run} |")
        for suite, results in sorted(self._results.items()):
            shown = {name: result for name, result in results.items() if len(results) <= LONG or result[1] != PASSED}
            lines += ["", f"## {suite}", ""]
            lines += ["| test | | what it is about |", "|---|---|---|"] if shown else ["All passed."]
            for name, (title, outcome) in shown.items():
                lines.append(f"| {name} | {outcome} | {' '.join(title.split())} |")
        return "\n".join(lines) + "\n"

    def write(self, path: Path) -> None:
        """Writes the report, if it says anything new."""
        text = self.text()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
