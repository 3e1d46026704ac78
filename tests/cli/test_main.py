from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kgtable import __version__
from kgtable.cli import main as module
from kgtable.cli.common import HEADLINE, note, say
from kgtable.cli.main import MODULES, main
from kgtable.errors import UsageError
from tests.cli.test_graph_commands import run


def test_version_and_help() -> None:
    assert __version__ in run("--version").stdout
    listed = run("-h").stdout
    for name in MODULES:
        command = main.get_command(click.Context(main), name)
        assert command is not None
        assert command.name == name
        assert command.help, name
        assert f"  {name} " in listed
        assert all(option.help for option in command.params if isinstance(option, click.Option)), name
        run(name, "--help")


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"], ["--nonsense"], ["build", "--nonsense"], ["build", "<script>", "\u202e"],
        ["serve", "--timeout", "nan"], ["serve", "--timeout", "inf"], ["serve", "--timeout", "-1"],
    ],
)  # fmt: skip
def test_mistakes_end_with_two_and_a_line(arguments: list[str]) -> None:
    assert "Error" in run(*arguments, code=2).stderr


def test_errors_of_kgtable_end_with_two_others_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[Exception] = [UsageError("Wrong \udcff.", hint="Do that."), ValueError("a mistake of ours")]

    @click.command()
    def info() -> None:
        raise raised.pop(0)

    monkeypatch.setattr(module, "import_module", lambda name: type("Commands", (), {"COMMANDS": (info,)}))
    assert "Error: Wrong" in run("info", code=2).stderr
    result = CliRunner().invoke(main, ["info"])
    assert isinstance(result.exception, ValueError)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such pipes")
def test_a_reader_that_had_enough_ends_it_quietly(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n" + "x,1\n" * 20_000, encoding="utf-8")
    command = [sys.executable, "-m", "kgtable", "convert", str(tmp_path), "-o", "-", "--format", "nt"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read().decode()
    assert process.returncode == 0
    assert "Traceback" not in said


def test_nothing_that_steers_a_terminal_reaches_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for out, expected in ((Terminal(), "a\ufffd[2J\ufffdb\n\tc"), (io.StringIO(), "a\x1b[2J\u202eb\r\n\tc")):
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", error := io.StringIO())
        say("a\x1b[2J\u202eb\r\n\tc", nl=False)
        note("\x9b2J\u2066")
        assert out.getvalue() == expected
        assert error.getvalue() == "\ufffd2J\ufffd\n"


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    for no_colour, out, expected in (
        ("", Terminal(), "\x1b[1m95\x1b[0m\n  = x\n"),
        ("1", Terminal(), "95\n  = x\n"),
        ("", io.StringIO(), "95\n  = x\n"),
    ):
        monkeypatch.setenv("NO_COLOR", no_colour)
        monkeypatch.setattr(sys, "stdout", out)
        say("95\n  = x", head=HEADLINE)
        assert out.getvalue() == expected


def test_errors_and_names_of_files_are_harmless_and_pipes_get_what_is_there(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["info", "--kg", str(tmp_path / "no\x1b[31m\u202e")])
    assert result.exit_code == 2
    assert "no\ufffd[31m\ufffd" in result.stderr
    assert not set(result.stderr) & {"\x1b", "\u202e"}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends processes without asking")
def test_a_command_that_is_told_to_end_leaves_no_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "t.csv").write_text("a,b\n" + "1,2\n" * 500_000, encoding="utf-8")
    command = [sys.executable, "-m", "kgtable", "convert", "t", "-o", "out.nq", "--workers", "1"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL) as process:
        while not list(tmp_path.glob(".*.tmp")) and process.poll() is None:
            time.sleep(0.02)
        process.terminate()
    assert process.returncode == 128 + signal.SIGTERM
    assert [path.name for path in tmp_path.iterdir()] == ["t"]
