from __future__ import annotations

import io
import sys

import pytest

from kgtable.cli.graph_commands import ProgressLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_one_line_is_written_over_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with ProgressLine() as progress:
        progress("converting", 1, 12_345)
        progress("indexing", 2, 3)
    text = terminal.getvalue()
    assert "\n" not in text
    assert "converting: 1 of 12,345" in text
    assert text.count("\r") == 3
    assert text.endswith("\r\x1b[K")


def test_an_error_removes_the_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    progress = ProgressLine()
    with pytest.raises(KeyError), progress:  # noqa: PT012 - the line must have been shown before
        progress("converting", 1, 2)
        raise KeyError("x")
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_nothing_is_written_where_nobody_watches_or_nothing_happened(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    with ProgressLine() as progress:
        progress("converting", 1, 2)
    assert file.getvalue() == ""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with ProgressLine():
        pass
    assert terminal.getvalue() == ""
