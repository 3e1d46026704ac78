from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kgtable import api
from kgtable.building.pipeline import start_empty
from kgtable.cli.graph_commands import ProgressLine
from kgtable.cli.main import main
from kgtable.server.options import ServerSettings
from kgtable.server.state import GraphFolder
from tests.server.serving import TOKEN, running

PLANETS = 'Planet,Radius (km),Rings\nMercury,"2,440",no\nSaturn,"58,232",yes\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / "planets.csv").write_text(PLANETS, encoding="utf-8")
    return tables


@pytest.fixture
def kg(folder: Path, tmp_path: Path) -> str:
    api.build(folder, tmp_path / "kg", embedding="none")
    return str(tmp_path / "kg")


def run(*arguments: str | Path, code: int = 0, text: str | None = None) -> Result:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments], input=text)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def test_convert_takes_the_format_from_the_suffix(folder: Path, tmp_path: Path) -> None:
    run("convert", folder, "-o", tmp_path / "out.ttl", "--workers", "1")
    assert (tmp_path / "out.ttl").read_text(encoding="utf-8").startswith("@prefix csvw:")


def test_convert_to_standard_output_needs_a_format(folder: Path) -> None:
    assert "Error: Standard output has no suffix. Say --format" in run("convert", folder, "-o", "-", code=2).stderr
    printed = run("convert", folder, "-o", "-", "--format", "nt", "--workers", "1").stdout
    assert "<http://example.org/data/table/planets/row/1>" in printed


@pytest.mark.parametrize("name", ["report.json", "report.txt"])
def test_the_report_says_what_was_found(name: str, folder: Path, tmp_path: Path) -> None:
    (folder / "broken.csv").write_bytes(b"\x00\x01\x02\xff\xfe\x00" * 99)
    result = run("convert", folder, "-o", tmp_path / "o.nq", "--report", tmp_path / name, "--workers", "1", code=1)
    assert "Warning: broken.csv" in result.stderr
    report = (tmp_path / name).read_text(encoding="utf-8")
    assert "broken.csv" in report
    if name.endswith(".json"):
        assert json.loads(report)["cells"]["number"] == 2


def test_no_name_of_a_file_steers_the_terminal_of_who_reads_the_report(folder: Path, tmp_path: Path) -> None:
    (folder / "b\x1b[31m\u202e.csv").write_bytes(b"")
    given = ("convert", folder, "-o", tmp_path / "o.nq", "--workers", "1")
    run(*given, "--report", tmp_path / "report.txt", code=1)
    report = (tmp_path / "report.txt").read_text(encoding="utf-8")
    assert "b\ufffd[31m\ufffd.csv" in report
    assert "\x1b" not in report


def test_what_was_passed_over_in_a_file_is_told(folder: Path, tmp_path: Path) -> None:
    for number in range(12):
        (folder / f"r{number:02}.jsonl").write_text('{"a": 1}\nnot json\n{"a": 2}\n', encoding="utf-8")
    told = run("build", folder, "--kg", tmp_path / "g", "--embedding", "none", "--workers", "1").stderr
    assert "Note: r00.jsonl: 1 line holds no JSON record and was passed over: line 2." in told
    assert told.count("Note: r") == 10
    assert "Note: 2 more; --report FILE has them all." in told
    assert run("info", "--kg", tmp_path / "g").stdout.count("note: r") == 12


def test_build_sparql_info_and_export(folder: Path, tmp_path: Path) -> None:
    kg = tmp_path / "kg"
    told = run("build", folder, "--kg", kg, "--embedding", "none").stderr
    assert "1 table added" in told
    assert re.search(r"^1 table from 1 file, \d+ cells, \d+\.\d s\.$", told, re.MULTILINE)
    assert re.search(r"^loading: \d+\.\d s$", run("build", folder, "--kg", f"{kg}-v", "-v").stderr, re.MULTILINE)
    query = "SELECT ?n ?radius { ?row rdfs:label ?n ; ex:hasRadius/qudt:numericValue ?radius } ORDER BY ?n"
    assert run("sparql", query, "--kg", kg, "--format", "csv").stdout == "n,radius\nMercury,2440\nSaturn,58232\n"
    assert "(2 rows)" in run("sparql", query, "--kg", kg).stdout
    facts = json.loads(run("info", "--kg", kg, "--json").stdout)
    assert (facts["tables"], facts["cells"]) == (1, 6)
    assert "tables: 1" in run("info", "--kg", kg).stdout
    run("export", "--kg", kg, "-o", tmp_path / "back", "--as", "csv")
    with (tmp_path / "back" / "planets.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == list(csv.reader(PLANETS.splitlines()))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sparql", "SELEKT", "--kg", "KG"], "Error: The query cannot be parsed"),
        (["sparql", "--kg", "KG"], "Error: Give a query"),
        (["sparql", "ASK {}", "--kg", "nowhere"], "Error: There is no graph in nowhere. Make one with: kgtable build"),
        (["sparql", "ASK {}", "--kg", "KG", "--format", "pdf"], "Error: Unknown result format 'pdf'"),
        (["validate"], "Error: Give a file or folder, or a graph."),
        (["validate", "nowhere"], "Error: nowhere"),
        (["info", "--kg", "nowhere"], "Error: There is no graph"),
        (["convert", "nowhere", "-o", "x.ttl"], "Error: nowhere"),
        (["convert", "TABLES", "-o", "x.pdf"], "names no RDF format"),
        (["convert", "TABLES", "-o", "x.ttl", "--base", "no iri"], "is not an absolute IRI"),
        (["convert", "TABLES", "-o", "/proc/x/y.ttl"], "Error: /proc/x/y.ttl cannot be written"),
        (["build", "TABLES", "--kg", "KG", "--mapping", "nowhere.csv"], "Error: There is no mapping nowhere.csv"),
    ],
)
def test_errors_say_what_is_wrong(arguments: list[str], message: str, kg: str, folder: Path) -> None:
    named = {"KG": kg, "TABLES": str(folder)}
    assert message in run(*(named.get(argument, argument) for argument in arguments), code=2).stderr


def test_validate_tells_by_its_exit_code(kg: str, folder: Path, tmp_path: Path) -> None:
    assert "Valid:" in run("validate", "--kg", kg).stdout
    assert json.loads(run("validate", folder, "--json").stdout)["conforms"] is True
    run("convert", folder, "-o", tmp_path / "good.ttl", "--workers", "1")
    text = (tmp_path / "good.ttl").read_text(encoding="utf-8")
    (tmp_path / "bad.ttl").write_text(text.replace("unit:KiloM", "unit:Furlongs", 1), encoding="utf-8")
    run("validate", tmp_path / "good.ttl")
    found = run("validate", tmp_path / "bad.ttl", code=1).stdout
    assert "planets.csv, table planets, B2: " in found
    assert "unit/Furlongs" in found


def test_a_closed_pipe_ends_quietly(kg: str) -> None:
    query = "SELECT * { ?a ?b ?c . ?d ?e ?f }"
    command = [sys.executable, "-m", "kgtable", "sparql", query, "--kg", kg, "--format", "csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


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


def test_the_line_tells_pace_and_time_left_ten_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    times = iter([0.0, 0.05, 2.0])
    with ProgressLine(lambda: next(times)) as progress:
        for done in (0, 500, 40_000):
            progress("converting rows of orders.csv", done, 100_000)
    shown = terminal.getvalue().replace("\x1b[K", "").split("\r")[1:-1]
    assert shown == [
        "converting rows of orders.csv: 0 of 100,000",
        "converting rows of orders.csv: 40,000 of 100,000, 20,000 a second, 3 s left",
    ]


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


def test_push_connect_and_ask_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "planets.csv").write_text("Planet,Rings\nMercury,no\nSaturn,yes\n", encoding="utf-8")
    api.build(tmp_path / "planets.csv", tmp_path / "kg", embedding="none")
    start_empty(tmp_path / "other")
    settings = ServerSettings(port=0, writable=True, token=TOKEN)
    with running(settings, GraphFolder(tmp_path / "other")) as server:
        refused = run("push", f"{server.url}store", "--kg", tmp_path / "kg", code=2)
        assert "refused access" in refused.stderr
        monkeypatch.setenv("KGTABLE_SPARQL_TOKEN", TOKEN)
        pushed = run("push", f"{server.url}store", "--kg", tmp_path / "kg", "--dialect", "kgtable")
        assert "1 tables and the description" in pushed.stderr
        far = tmp_path / "far"
        assert "1 tables at" in run("connect", server.sparql, "--kg", far).stderr
        assert "true" in run("sparql", "ASK { ?row rdfs:label 'Saturn' }", "--kg", far).stdout
        assert "Saturn,yes" in run("export", "--kg", far, "--table", "planets", "--as", "csv", "-o", "-").stdout
        assert f"endpoint: {server.sparql}" in run("info", "--kg", far).stdout
    gone = run("sparql", "ASK {}", "--kg", far, code=2)
    assert "Error:" in gone.stderr
    assert "cannot be reached" in gone.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
@pytest.mark.parametrize("command", ["convert", "report", "export", "export-csv", "retrieve"])
def test_outputs_go_through_pipes_links_and_devices(command: str, folder: Path, kg: str, tmp_path: Path) -> None:
    commands = {
        "convert": ("convert", folder, "-f", "turtle", "--workers", "1", "-o"),
        "report": ("build", folder, "--kg", kg, "--embedding", "none", "--workers", "1", "--report"),
        "export": ("export", "--kg", kg, "-f", "trig", "-o"),
        "export-csv": ("export", "--kg", kg, "--table", "planets", "-f", "csv", "-o"),
        "retrieve": ("retrieve", "Saturn", "--kg", kg, "-f", "csv", "-o"),
    }
    file, link = tmp_path / "out.csv", tmp_path / "link.csv"
    run(*commands[command], file)
    expected = file.read_bytes()
    file.write_bytes(b"before")
    file.chmod(0o600)
    link.symlink_to(file)
    run(*commands[command], link)
    assert link.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_bytes() == expected
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_bytes)
        run(*commands[command], pipe)
        assert read.result() == expected
    assert pipe.is_fifo()
    run(*commands[command], os.devnull)
    assert not Path(os.devnull).is_file()


def test_formulas_are_exported_as_they_are_or_defused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('a,b\n=1+1,-5\n@x,"+1 (2)"\n', encoding="utf-8")
    api.build(tmp_path / "t.csv", tmp_path / "kg", embedding="none")
    exported = ("export", "--kg", tmp_path / "kg", "--table", "t", "-f", "csv", "-o")
    assert run(*exported, "-").stdout == "a,b\n=1+1,-5\n@x,+1 (2)\n"
    defused = "a,b\n'=1+1,-5\n'@x,'+1 (2)\n"
    assert run(*exported, "-", "--defuse").stdout == defused
    run(*exported, tmp_path / "o.csv", "--defuse")
    assert (tmp_path / "o.csv").read_text(encoding="utf-8") == defused
    run("export", "--kg", tmp_path / "kg", "-f", "csv", "-o", tmp_path / "folder", "--defuse")
    assert (tmp_path / "folder" / "t.csv").read_text(encoding="utf-8") == defused
    query = 'SELECT (GROUP_CONCAT(?l) AS ?x) ("-1" AS ?y) { ?r rdfs:label ?l FILTER(?l = "=1+1") }'
    assert run("sparql", query, "--kg", tmp_path / "kg", "-f", "csv").stdout.splitlines()[1] == "=1+1,-1"
    found = run("sparql", query, "--kg", tmp_path / "kg", "-f", "csv", "--defuse").stdout
    assert found.splitlines()[1] == "'=1+1,-1"


def test_columns_are_told_with_what_was_decided_of_them_and_why(kg: str) -> None:
    lines = run("info", "--kg", kg, "--columns").stdout.splitlines()
    assert lines[0] == "planets:"
    assert lines[1].startswith("  A Planet: Label (")
    assert re.fullmatch(r"  B Radius \(km\): Measure, \w+ \[KiloM\] \([a-z, ]+ 0\.\d\d\)", lines[2])
    listed = json.loads(run("info", "--kg", kg, "--columns", "--json").stdout)["table_list"][0]["column_list"]
    assert [column["role"] for column in listed] == ["Label", "Measure", "Flag"]
    assert listed[1]["units"] == ["KiloM"]
    assert "column_list" not in run("info", "--kg", kg, "--json").stdout


def test_reasons_of_a_table_and_decisions_are_listed(kg: str, tmp_path: Path) -> None:
    lines = run("info", "planets", "--kg", kg, "--columns").stdout.splitlines()
    assert lines[0] == "planets:"
    place = next(at for at, line in enumerate(lines) if line.startswith("  B Radius (km): Measure"))
    assert lines[place + 1].startswith("    kilometres: from the column, ")
    (tmp_path / "t.csv").write_text("Port,Fee\nHalden,300\nSula,410\n", encoding="utf-8")
    own = tmp_path / "own"
    run("build", tmp_path / "t.csv", "--kg", own, "--embedding", "none")
    assert run("decide", "--kg", own).stdout == ""
    run("decide", "t", "unit=EUR", "measure kind=Rate", "--column", "Fee", "--kg", own, "--apply")
    listed = run("decide", "t", "--kg", own).stdout
    assert {*shlex.split(listed)[2:]} == {"t", "unit=CCY_EUR", "measure kind=Rate", "--column", "Fee"}
    assert run("decide", "other", "--kg", own).stdout == ""
    assert "a person's decision" in run("info", "t", "--kg", own, "--columns").stdout


def test_a_hostile_file_name_is_on_one_line_and_no_formula(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "\n=1.csv").write_text("\n =A,b\n1,2\n", encoding="utf-8")
    kg = str(tmp_path / "kg")
    CliRunner().invoke(main, ["build", str(tmp_path / "tables"), "--kg", kg, "--embedding", "none"])
    shown = CliRunner().invoke(main, ["info", "--kg", kg]).stdout
    assert "\ntable =1: " in shown
    assert not any(line.startswith("=") for line in shown.splitlines())
    for path in (tmp_path / "kg").glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not [cell for cell in cells if cell.strip().startswith("=")]
