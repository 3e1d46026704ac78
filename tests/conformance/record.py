"""Collects the results of the conformance tests and writes them to ``CONFORMANCE.md``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HEAD = """# Conformance

W3C's SPARQL 1.1 test manifests, run against a running `kgtable serve` over HTTP. Written by the test
suite (`python -m pytest tests/conformance`) whenever all of its tests have run.
"""


class Record:
    """What passed and what did not, by suite."""

    def __init__(self) -> None:
        self._results: dict[str, dict[str, tuple[str, bool]]] = {}

    @contextmanager
    def result(self, suite: str, name: str, title: str) -> Iterator[None]:
        """Notes whether the block ends without an error."""
        results = self._results.setdefault(suite, {})
        results[name] = (title, False)
        yield
        results[name] = (title, True)

    def counts(self) -> dict[str, tuple[int, int]]:
        """Passed and run, by suite."""
        return {
            suite: (sum(passed for _, passed in results.values()), len(results))
            for suite, results in self._results.items()
        }

    def text(self) -> str:
        """The report: the same for the same results."""
        lines = [HEAD, "| suite | passed | of |", "|---|---|---|"]
        for suite, (passed, run) in sorted(self.counts().items()):
            lines.append(f"| {suite} | {passed} | {run} |")
        for suite, results in sorted(self._results.items()):
            lines += ["", f"## {suite}", "", "| test | | what it is about |", "|---|---|---|"]
            for name, (title, passed) in results.items():
                lines.append(f"| {name} | {'passed' if passed else '**failed**'} | {title} |")
        return "\n".join(lines) + "\n"

    def write(self, path: Path) -> None:
        """Writes the report, if it says anything new."""
        text = self.text()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
