from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kgtable import __version__
from kgtable.cli import main as module
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
    "arguments", [["nonsense"], ["--nonsense"], ["build", "--nonsense"], ["build", "<script>", "\u202e"]]
)
def test_mistakes_end_with_two_and_a_line(arguments: list[str]) -> None:
    assert "Error" in run(*arguments, code=2).stderr


def test_commands_import_only_their_own_module() -> None:
    code = (
        "import sys; from kgtable.cli.main import main; main(['info', '--help'], standalone_mode=False);"
        "print([name for name in ('pandas', 'rdflib', 'pyshacl', 'kgtable.cli.serve_command',"
        " 'kgtable.cli.ask_commands')"
        " if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


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
    command = [
        sys.executable,
        "-m",
        "kgtable",
        "convert",
        str(tmp_path),
        "-o",
        "-",
        "--format",
        "nt",
    ]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read().decode()
    assert process.returncode == 0
    assert "Traceback" not in said
