"""What all commands have in common, and how each is the twin of a call in Python."""

from __future__ import annotations

import gzip
import inspect
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

import kgtable
from kgtable.cli.common import OUTPUTS
from kgtable.cli.main import MODULES, main
from kgtable.config import AskOptions
from kgtable.integrations import mcp_server
from tests.cli.test_graph_commands import run
from tests.llm.scripted_server import ScriptedServer

PLANETS = 'Planet,Radius (km)\nMercury,"2,440"\nSaturn,"58,232"\n'
QUESTION = "What is the radius of Saturn?"

Graph = kgtable.KnowledgeGraph
TWINS: dict[str, tuple[tuple[Callable[..., Any], ...], dict[str, str]]] = {
    "ask": ((Graph.ask, kgtable.build), {"folder": "paths"}),
    "build": ((kgtable.build,), {}),
    "chat": ((Graph.chat, kgtable.build), {"folder": "paths"}),
    "connect": ((kgtable.connect,), {}),
    "convert": ((kgtable.convert,), {"output": "out"}),
    "export": ((Graph.export, Graph.rdf), {"output": "out"}),
    "info": ((Graph.info, Graph.preview), {}),
    "decide": ((kgtable.decide, Graph.preview), {"is_applied": "directory"}),  # `decide` applies, `preview` shows
    "push": ((Graph.push,), {}),
    "retrieve": ((Graph.retrieve,), {"model": "llm", "base_url": "llm"}),
    "run": ((Graph.run,), {}),
    "doctor": ((kgtable.doctor,), {}),
    "hypergraph": ((kgtable.write_hypergraph,), {}),
    "names": ((kgtable.annotate,), {}),  # without a model: the property `inferred_names`
    "mcp": ((mcp_server.serve_stdio, mcp_server.serve_http), {}),
    "serve": ((kgtable.serve, kgtable.build), {}),
    "sparql": ((Graph.sparql, Graph.sparql_text), {}),
    "sql": ((Graph.sql, Graph.sql_schema), {"format": "query", "schema": "table"}),
    "validate": ((kgtable.validate, Graph.validate), {}),
}
"""The calls each command is the twin of, and the parameters that are called otherwise there."""

SHELL_ONLY = {
    "kg", "help", "verbose", "quiet", "report", "as_json", "show", "explain", "questions", "file", "http", "plot",
    "cells", "program",
}  # fmt: skip
"""Options on how to print or read, whose twins are the results' own methods."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("commands")
    (folder / "planets.csv").write_text(PLANETS, encoding="utf-8")
    (folder / "moons.csv").write_text("Moon,Planet\nTitan,Saturn\n", encoding="utf-8")
    return kgtable.build(folder, folder / "kg", embedding="none").path


pytestmark = pytest.mark.usefixtures("unconfigured")


def commands() -> dict[str, click.Command]:
    found = {name: main.get_command(click.Context(main), name) for name in MODULES}
    return {name: command for name, command in found.items() if command is not None}


@pytest.mark.parametrize("name", sorted(TWINS))
def test_every_option_has_its_twin_in_python(name: str) -> None:
    calls, renamed = TWINS[name]
    known = {parameter for call in calls for parameter in inspect.signature(call).parameters}
    known |= set(AskOptions.__annotations__) if name in ("ask", "chat") else set()
    options = {str(option.name) for option in commands()[name].params} - SHELL_ONLY
    options -= {"output"} if name in ("retrieve", "chat") else set()  # what these write, their user puts somewhere
    assert {option for option in options if renamed.get(option, option) not in known} == set()


def test_every_command_has_a_twin() -> None:
    assert set(MODULES) - set(TWINS) == {
        "completion",
        "demo",
        "eval",
    }  # for a shell; of kgtable.evaluation and kgtable.cli.demo


@pytest.mark.parametrize("arguments", [["--help"], ["build", "--help"], ["eval", "--help"], ["serve", "-h"]])
def test_help_imports_nothing_slow(arguments: list[str]) -> None:
    code = (
        "import sys; from kgtable.cli.main import main\n"
        f"main({arguments!r}, standalone_mode=False)\n"
        "print([m for m in ('numpy', 'pandas', 'rdflib', 'lxml', 'uvicorn', 'openai', 'kgtable.api',"
        " 'kgtable.server.running', 'kgtable.evaluation.run') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["biuld"], "There is no command 'biuld'. Did you mean build?"),
        (["xyzzy"], "There is no command 'xyzzy'. See kgtable --help."),
        (
            ["sparql", "ASK { ?s foo:bar ?o }"],
            ', at "foo:bar ?o }": the prefix foo: is not declared. Declare it: PREFIX',
        ),
        (["sparql", "ASK {\n ?s kgtt:role ?o }"], 'line 2, column 5, at "kgtt:role ?o }": the prefix kgtt: is not d'),
        (["sparql", "ASK { ?s kgtt:role ?o }"], "Did you mean kgt:?"),
        (
            ["sparql", "PREFIX a: <b:>\nSELEC * { ?s ?p ?o }"],
            'line 2, column 1, at "SELEC * { ?s ?p ?o }": expected SELECT,',
        ),
        (["sparql", "ASK { ?s ?p "], "line 1, column 13, at the end of the line: "),
        (["sql", "SELEC 1"], 'line 1, column 1, at "SELEC 1": syntax error'),
        (
            ["sql", "SELECT *\nFROM planet"],
            'line 2, column 6, at "planet": Table with name planet does not exist. Did you',
        ),
    ],
)
def test_a_mistake_is_told_in_one_line_with_its_place(arguments: list[str], says: str, place: Path) -> None:
    graph = ["--kg", str(place)] if len(arguments) > 1 else []
    (line,) = [line for line in run(*arguments, *graph, code=2).stderr.splitlines() if line.startswith("Error: ")]
    assert says in line


@pytest.mark.parametrize("command", [("sparql", "ASK {}"), ("sql", "SELECT 1 AS one")])
def test_json_is_short_for_the_format(command: tuple[str, ...], place: Path) -> None:
    found = run(*command, "--kg", str(place), "--json").stdout
    assert json.loads(found) is not None
    assert found == run(*command, "--kg", str(place), "-f", "json").stdout


def test_a_build_tells_what_changed_as_json(tmp_path: Path) -> None:
    (tmp_path / "moons.csv").write_text("Moon,Planet\nTitan,Saturn\n", encoding="utf-8")
    made = ("build", str(tmp_path / "moons.csv"), "--kg", str(tmp_path / "kg"), "--embedding", "none", "--json")
    first, again = json.loads(run(*made).stdout), json.loads(run(*made).stdout)
    assert (first["added"], first["report"]["tables"][0]["cells"]) == (["moons"], 2)
    assert (again["added"], again["unchanged"], again["seconds"]) == ([], 1, {})


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_completion(shell: str) -> None:
    assert f"_KGTABLE_COMPLETE={shell}_complete" in run("completion", shell).stdout


def test_the_graph_may_be_named_by_the_environment(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Missing option '--kg'" in run("info", code=2).stderr
    monkeypatch.setenv("KGTABLE_KG", str(place))
    assert "tables: 2" in run("info").stdout
    assert "58,232" in run("ask", QUESTION).stdout
    assert run("sparql", "ASK {}").stdout == "true\n"
    assert "There is no graph in nowhere" in run("info", "--kg", "nowhere", code=2).stderr
    assert "Valid:" in run("validate").stdout
    # a path that is given wins over a graph that is only in the environment
    assert run("validate", place.parent / "moons.csv").stdout != run("validate").stdout


def test_quiet_prints_results_and_errors_only(place: Path, tmp_path: Path) -> None:
    assert run("build", place.parent / "moons.csv", "--kg", "g", "--embedding", "none", "-q").stderr == ""
    assert "1 unchanged" in run("build", place.parent / "moons.csv", "--kg", "g", "--embedding", "none").stderr
    assert run("-q", "build", place.parent / "moons.csv", "--kg", "g", "--embedding", "none").stderr == ""
    assert run("retrieve", "xyzzy plugh", "--kg", place, "-q", code=1).stderr == ""
    assert run("info", "--kg", "nowhere", "-q", code=2).stderr.startswith("Error: ")


def test_very_verbose_shows_the_traceback_of_an_error() -> None:
    from click.testing import CliRunner

    shown = CliRunner().invoke(main, ["info", "--kg", "nowhere", "-vv"])
    assert shown.exit_code == 2
    assert "Traceback" in shown.stderr
    assert shown.stderr.splitlines()[-1].startswith("Error: There is no graph in nowhere.")
    assert "exclude each other" in run("info", "-q", "-v", code=2).stderr


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_an_interrupt_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object, **options: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        while True:  # the signal may reach another thread first
            time.sleep(0.01)

    monkeypatch.setattr(kgtable, "convert", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job may ignore it
    try:
        assert run("convert", ".", "-o", "x.ttl", code=130).stderr == "Interrupted.\n"
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("words", "position", "found"),
    [
        ("kgtable retr", 1, "plain,retrieve"), ("kgtable retrieve -f js", 3, "plain,json\nplain,jsonl"),
        ("kgtable export --kg {kg} --table mo", 5, "plain,moons"), ("kgtable sparql --file q", 3, "file,q"),
    ],
)  # fmt: skip
def test_the_shell_completes_words(words: str, position: int, found: str, place: Path) -> None:
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(sys.path), "_KGTABLE_COMPLETE": "bash_complete",
        "COMP_WORDS": words.format(kg=place), "COMP_CWORD": str(position),
    }  # fmt: skip
    command = [sys.executable, "-m", "kgtable"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == found


HTML = "<table><tr><th>Planet</th><th>Radius (km)</th></tr><tr><td>Saturn</td><td>58,232</td></tr></table>"


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (PLANETS.encode(), []), (PLANETS.encode("utf-16"), []), (gzip.compress(PLANETS.encode(), mtime=0), []),
        (PLANETS.encode(), ["--format-in", "csv"]),
        (PLANETS.replace(",", "\t").replace('"2\t440"', "2440").replace('"58\t232"', "58232").encode(), []),
        (HTML.encode(), []), (HTML.encode(), ["--format-in", "text/html"]),
        (b'[{"Planet": "Saturn", "Radius (km)": 58232}]', []),
        (b'{"Planet": "Mercury"}\n{"Planet": "Saturn", "Radius (km)": 58232}\n', []),
        (b"| Planet | Radius (km) |\n|---|---|\n| Saturn | 58,232 |\n", []),
    ],
    ids=["csv", "utf-16", "gzip", "named-csv", "tsv", "html", "named-html", "json", "jsonl", "markdown"],
)  # fmt: skip
def test_a_table_may_come_from_standard_input(content: bytes, options: list[str]) -> None:
    from click.testing import CliRunner

    command = ["convert", "-", "-o", "-", "--format", "nt", "--workers", "1", *options]
    done = CliRunner().invoke(main, command, input=content)
    assert done.exit_code == 0, done.output
    assert 'numericValue> "58232"' in done.stdout or 'numericValue> "58232.0"' in done.stdout
    assert "/table/stdin/row/" in done.stdout


@pytest.mark.parametrize("name", ["harbour-cargo.xlsx", "lighthouses.html", "planets.csv"])
def test_a_file_from_standard_input_is_the_table_it_is_on_disk(name: str, tmp_path: Path) -> None:
    from click.testing import CliRunner

    from kgtable.resources import PACKAGE

    content = (PACKAGE / "samples" / name).read_bytes()
    (tmp_path / f"stdin{Path(name).suffix}").write_bytes(content)
    kgtable.convert(tmp_path / f"stdin{Path(name).suffix}", tmp_path / "by-file.nt")
    done = CliRunner().invoke(main, ["convert", "-", "-o", "by-stream.nt", "--workers", "1"], input=content)
    assert done.exit_code == 0, done.output
    assert Path("by-stream.nt").read_bytes() == Path("by-file.nt").read_bytes()


def test_what_cannot_be_read_from_standard_input_is_said() -> None:
    assert "stream is empty" in run("convert", "-", "-o", "x.ttl", text="", code=2).stderr
    told = run("convert", "-", "-o", "x.ttl", "--format-in", "gif", text="a,b\n", code=2).stderr
    assert "Unknown table format 'gif'" in told
    told = run("convert", ".", "-o", "x.ttl", "--format-in", "csv", code=2).stderr
    assert "format_in is for a stream" in told
    assert "Only one stream" in run("convert", "-", "-", "-o", "x.ttl", text="a,b\n", code=2).stderr
    assert "not from standard input" in run("build", "-", "--kg", "g", text="a,b\n", code=2).stderr
    assert list(Path().iterdir()) == []


def test_explain_shows_each_step(place: Path) -> None:
    shown = run("retrieve", QUESTION, "--kg", place, "-k", "3", "--explain").stdout
    for word in ("labels", "expansion", "candidates", "scores", "total", "best tables", "saturn", " ms"):
        assert word in shown
    assert "planets B3  Saturn | hasRadius | 58,232" in shown
    told = json.loads(run("retrieve", QUESTION, "--kg", place, "--explain", "-f", "json").stdout)
    assert told["explanation"]["steps"][0]["step"] == "labels"
    assert "explanation" not in json.loads(run("retrieve", QUESTION, "--kg", place, "-f", "json").stdout)
    lines = run("retrieve", "--questions", "-", "--kg", place, "--explain", text='{"question": "Saturn"}\n')
    assert json.loads(lines.stdout)["explanation"]["method"] == "hybrid"
    both = run("retrieve", QUESTION, "--kg", place, "--explain", "-f", "csv")
    assert both.stdout.startswith("table,row")
    assert "candidates" in both.stderr


@pytest.mark.parametrize("command", ["ask", "retrieve"])
def test_a_model_without_endpoint_or_key_is_one_line(command: str, place: Path) -> None:
    (line,) = run(command, QUESTION, "--kg", place, "--model", "gpt-9", code=2).stderr.splitlines()
    assert line.startswith("Error: The model 'gpt-9' is named, but no endpoint and no key for it. Set ")
    with ScriptedServer([]) as server:
        run(command, QUESTION, "--kg", place, "--base-url", server.base_url, "--model", "none")


def test_several_tables_as_one_csv_file_are_refused_with_a_next_step(place: Path) -> None:
    told = run("export", "--kg", place, "-o", "all.csv", code=2).stderr
    assert "Error: all.csv cannot hold 2 tables: a CSV file holds one." in told
    assert told.endswith("Name one with --table, or a folder for all: all/\n")
    assert not Path("all.csv").exists()
    run("export", "--kg", place, "-o", "all.csv", "--table", "moons")
    assert Path("all.csv").read_text(encoding="utf-8") == "Moon,Planet\nTitan,Saturn\n"
    assert "takes one table" in run("export", "--kg", place, "-o", "-", "-f", "csv", code=2).stderr


def _commands() -> dict[str, click.Command]:
    context = click.Context(main)
    return {name: command for name in MODULES if (command := main.get_command(context, name))}


_READ = {"folder", "kg", "paths", "path", "mapping", "benchmark", "graph", "compared", "keep"}


@pytest.mark.parametrize("name", MODULES)
def test_no_command_writes_into_the_directory_of_a_graph(name: str, place: Path) -> None:
    command, pointer = _commands()[name], place / "kgtable.json"
    before = pointer.read_bytes()
    named = {option.name for option in command.params if isinstance(option.type, click.Path)}
    assert named <= OUTPUTS | _READ
    for option in OUTPUTS & {option.name for option in command.params}:
        for output in (pointer, pointer.parent / "other.csv", place.parent / ("a" * 300)):
            context = click.Context(command)
            context.params = {option: output}
            with pytest.raises(kgtable.KgtableError, match=r"directory of a graph|too long"):
                command.invoke(context)
    assert pointer.read_bytes() == before


def test_no_call_writes_into_the_directory_of_a_graph(place: Path) -> None:
    pointer = place / "kgtable.json"
    before = pointer.read_bytes()
    with kgtable.open(place) as graph:
        for form in ("csv", "xlsx", "turtle"):
            with pytest.raises(kgtable.KgtableError, match="directory of a graph"):
                graph.export(pointer, table=next(iter(graph.tables)), format=form)
            with pytest.raises(kgtable.KgtableError, match="too long"):
                graph.export(place.parent / ("a" * 300), format=form)
    with pytest.raises(kgtable.KgtableError, match="too long"):
        kgtable.build(place.parent / "planets.csv", place.parent / ("a" * 300))
    assert pointer.read_bytes() == before
