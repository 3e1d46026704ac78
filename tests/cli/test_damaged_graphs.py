"""Commands on damaged graphs: one line of error, or a graph made anew."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pyoxigraph as ox
import pytest
from click.testing import CliRunner

import kgtable
from kgtable.building.generations import GraphDirectory
from kgtable.cli.main import main
from kgtable.errors import StorageError
from kgtable.graph.store import WorkingStore, newest
from kgtable.index.graph_index import GraphIndex

PLANETS = "Planet,Radius (km)\nSaturn,58232\nEarth,6371\n"
QUESTION = "What is the radius of Saturn?"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    (folder / "tables").mkdir()
    (folder / "tables" / "planets.csv").write_text(PLANETS, encoding="utf-8")
    kgtable.build(folder / "tables", folder / "kg", embedding="none").close()
    return folder


@pytest.fixture
def tables(whole: Path) -> Path:
    return whole / "tables"


@pytest.fixture
def own_tables(whole: Path, tmp_path: Path) -> Path:
    """A copy of its tables."""
    return Path(shutil.copytree(whole / "tables", tmp_path / "tables"))


@pytest.fixture
def kg(whole: Path, tmp_path: Path) -> Path:
    """A copy of its graph."""
    return Path(shutil.copytree(whole / "kg", tmp_path / "kg"))


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def zeros(data: bytes) -> bytes:
    return bytes(len(data))


@pytest.mark.parametrize("damage", [half, zeros])
@pytest.mark.parametrize("name", ["kgtable.json", "catalogue.sqlite", "index.json", "tables.json", "cell_text.npy"])
def test_a_damaged_file_is_told_in_one_line_or_made_anew(
    kg: Path, tables: Path, name: str, damage: Callable[[bytes], bytes]
) -> None:
    (path,) = kg.rglob(name)
    path.write_bytes(damage(path.read_bytes()))
    for command in (
        ["info"], ["ask", QUESTION], ["sparql", "ASK { ?s ?p ?o }"], ["build", str(tables), "-q"],
        ["ask", QUESTION],
    ):  # fmt: skip
        found = CliRunner().invoke(main, [*command, "--kg", str(kg)])
        assert isinstance(found.exception, SystemExit | None), (command, found.exception)
        assert found.exit_code in (0, 1, 2)
        assert found.exit_code != 2 or len(found.stderr.strip().splitlines()) == 1, found.stderr


@pytest.mark.parametrize("damage", [half, zeros, None])
def test_a_store_without_its_manifest_is_one_line(
    kg: Path, tmp_path: Path, damage: Callable[[bytes], bytes] | None
) -> None:
    for path in (*kg.rglob("MANIFEST-*"), *kg.rglob("OPTIONS-*")):
        data = path.read_bytes()
        path.unlink()
        if damage is not None:
            path.write_bytes(damage(data))
    for command in (["sparql", COUNT], ["ask", QUESTION], ["export", "-o", str(tmp_path / "x.nq")], ["validate"]):
        found = CliRunner().invoke(main, [*command, "--kg", str(kg)])
        assert isinstance(found.exception, SystemExit), (command, found.exception)
        assert "is damaged" in found.stderr
        assert "Build the graph again" in found.stderr
        assert len(found.stderr.strip().splitlines()) == 1


def test_an_index_cannot_name_a_folder_as_its_embedding(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GraphIndex, "embedding", property(lambda _: f"st:{tmp_path}"))
    found = CliRunner().invoke(main, ["retrieve", QUESTION, "--kg", str(whole / "kg")])
    assert found.exit_code == 2
    assert "cannot name a folder" in found.stderr
    command = ["build", str(whole / "tables"), "--kg", str(tmp_path / "new"), "--embedding", f"st:{tmp_path}"]
    assert "cannot name a folder" in CliRunner().invoke(main, command).stderr


COUNT = "SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } }"


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a graph, but for the locks."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_damaged_block_is_told_before_it_is_counted_without_end(kg: Path, tables: Path, tmp_path: Path) -> None:
    path = max(kg.rglob("*.sst"), key=lambda path: path.stat().st_size)
    data = bytearray(path.read_bytes())
    data[100:300] = bytes(200)
    path.unlink()  # the copy may be a link
    path.write_bytes(data)
    build = ["build", str(tables), "--embedding", "none"]
    for command in (
        ["sparql", COUNT], ["ask", QUESTION], ["export", "-o", str(tmp_path / "x.nq")], ["validate"], build,
    ):  # fmt: skip
        found = CliRunner().invoke(main, [*command, "--kg", str(kg)])
        assert found.exit_code == 2
        assert "is damaged" in found.stderr
        assert path.name in found.stderr
        assert len(found.stderr.strip().splitlines()) == 1


def test_a_query_that_ends_its_process_is_an_error_of_one_line(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kgtable.KnowledgeGraph, "sparql_text", lambda *_, **__: os.kill(os.getpid(), 9))
    found = CliRunner().invoke(main, ["sparql", COUNT, "--kg", str(whole / "kg")])
    assert found.exit_code == 2
    assert found.stderr.startswith("Error: The query took more memory than there is")


def test_a_damaged_record_of_checksums_hides_nothing_else(kg: Path) -> None:
    (record,) = kg.rglob(".checksums")
    for content in (b"", b"[]", b'{"../../x.sst": 1, "000009.sst": "a"}', b"\xff"):
        record.write_bytes(content)
        assert CliRunner().invoke(main, ["sparql", COUNT, "--kg", str(kg)]).exit_code == 0


@pytest.mark.parametrize("name", ["row_table.npy", "text_terms.starts.npy", "heads.txt", "column_predicate.npy"])
def test_nothing_is_taken_over_from_a_damaged_index(kg: Path, tables: Path, name: str) -> None:
    (path,) = kg.rglob(name)
    data = bytearray(path.read_bytes())
    data[-8:] = b"\x7f" * 8
    path.write_bytes(data)
    tables = ["build", str(tables), "--embedding", "none"]
    for command in (["ask", QUESTION], ["retrieve", QUESTION], tables, ["ask", QUESTION], ["retrieve", QUESTION]):
        found = CliRunner().invoke(main, [*command, "--kg", str(kg)])
        assert isinstance(found.exception, SystemExit | None), (command, found.exception)
    assert found.exit_code == 0


@pytest.mark.parametrize("command", ["ask", "retrieve"])
def test_a_question_that_is_no_unicode_is_refused_in_one_line(whole: Path, command: str) -> None:
    found = CliRunner().invoke(main, [command, "\udcff radius", "--kg", str(whole / "kg")])
    assert found.exit_code == 2
    assert "lone surrogates" in found.stderr


def test_sql_that_is_no_unicode_is_refused_in_one_line(whole: Path) -> None:
    status, _, said = invoke(whole / "kg", "sql", "SELECT '\udc80'")
    assert status == 2
    assert said == "Error: The query holds lone surrogates: it is not valid Unicode text.\n"


ROWS = "SELECT ?s ?p ?o { GRAPH ?g { ?s ?p ?o } } ORDER BY ?s ?p ?o"


def invoke(kg: Path, *command: str) -> tuple[int, str, str]:
    """Exit status, output and messages of a command on a graph."""
    found = CliRunner().invoke(main, [*command, "--kg", str(kg)])
    assert isinstance(found.exception, SystemExit | None), (command, found.exception)
    return found.exit_code, found.stdout, found.stderr


def build(kg: Path, tables: Path) -> tuple[int, str, str]:
    return invoke(kg, "build", str(tables), "--embedding", "none")


def refusal(kg: Path, *command: str) -> str:
    """The one line of error of a command on a graph."""
    status, _, said = invoke(kg, *command)
    assert status == 2
    assert len(said.strip().splitlines()) == 1
    return said


def one_of(kg: Path, pattern: str) -> Path:
    """The largest file of a name."""
    return max(kg.rglob(pattern), key=lambda path: path.stat().st_size)


@pytest.mark.parametrize("pattern", ["MANIFEST-*", "CURRENT", "*.log", "*.sst"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "gone"])
def test_a_build_with_nothing_to_do_tells_or_repairs_a_store_that_cannot_be_asked(
    kg: Path, tables: Path, pattern: str, damage: str
) -> None:
    right = invoke(kg, "sparql", ROWS)
    path = one_of(kg, pattern)
    data = path.read_bytes()
    path.unlink()
    if damage == "cut":
        path.write_bytes(data[: len(data) * 2 // 3])
    elif damage == "flipped":
        path.write_bytes(data[:3] + bytes([data[3] ^ 1]) + data[4:])
    refusal(kg, "sparql", ROWS)
    status, _, said = build(kg, tables)
    if status:
        assert "damaged" in said
        assert said.strip().endswith("in an empty directory.")
        assert len(said.strip().splitlines()) == 1
    else:
        assert invoke(kg, "sparql", ROWS) == right


@pytest.mark.parametrize("content", [None, b"", b"\x00" * 100])
@pytest.mark.parametrize(
    "pattern", ["MANIFEST-*", "CURRENT", "*.log", "*.sst", "catalogue.sqlite", "report.json", "kgtable.json"]
)
def test_a_build_tells_what_is_damaged_and_deletes_nothing(
    kg: Path, tables: Path, pattern: str, content: bytes | None
) -> None:
    path = one_of(kg, pattern)
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    before = contents(kg)
    said = refusal(kg, "build", str(tables), "--embedding", "none")
    assert path.name in said or pattern == "kgtable.json"
    assert "empty directory" in said
    assert contents(kg) == before


def write_note(kg: Path) -> None:
    working = WorkingStore(GraphDirectory(kg).current().first_store_path)
    name = ox.NamedNode("http://example.com/notes")
    working.store.add(ox.Quad(name, name, ox.Literal("mine"), name))
    working.publish()
    working.close()


@pytest.mark.parametrize("pattern", ["MANIFEST-*", "CURRENT", "*.log", "catalogue.sqlite"])
@pytest.mark.parametrize("builds", [0, 1])
def test_what_updates_have_written_is_there_once_the_file_is_restored(
    kg: Path, own_tables: Path, pattern: str, builds: int
) -> None:
    write_note(kg)
    if builds:  # takes the note over to the store of a generation of its own
        (own_tables / "moons.csv").write_text("Moon,Radius (km)\nTitan,2575\n", encoding="utf-8")
        assert build(kg, own_tables)[0] == 0
        assert "mine" in invoke(kg, "sparql", ROWS)[1]
    path = one_of(GraphDirectory(kg).current().path, pattern)
    data = path.read_bytes()
    path.unlink()
    said = refusal(kg, "build", str(own_tables), "--embedding", "none")
    assert said.strip().endswith("Build the graph again in an empty directory.")
    path.write_bytes(data)
    assert build(kg, own_tables)[0] == 0
    assert "mine" in invoke(kg, "sparql", ROWS)[1]


def test_a_store_that_another_program_wrote_to_is_not_made_again(kg: Path, tables: Path) -> None:
    path = GraphDirectory(kg).current().first_store_path
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as elsewhere:
        elsewhere.submit(write_there, path).result()
    (path / "CURRENT").write_bytes(b"?")
    said = refusal(kg, "build", str(tables), "--embedding", "none")
    assert "is damaged" in said


def write_there(path: Path) -> None:
    store = ox.Store(str(path))
    name = ox.NamedNode("http://example.com/notes")
    store.add(ox.Quad(name, name, name, name))
    store.flush()


def test_a_build_does_not_find_nothing_to_do_where_there_is_no_store(kg: Path, tables: Path) -> None:
    shutil.rmtree(GraphDirectory(kg).current().first_store_path)
    for command in (["ask", QUESTION], ["build", str(tables), "--embedding", "none"]):
        said = refusal(kg, *command)
        assert "uild the graph again" in said


def test_a_lost_pointer_is_not_guessed(kg: Path, own_tables: Path) -> None:
    lease = GraphDirectory(kg).lease()  # keeps the generation beside the next one
    (own_tables / "moons.csv").write_text("Moon,Radius (km)\nTitan,2575\n", encoding="utf-8")
    assert build(kg, own_tables)[0] == 0
    lease.release()
    (kg / "kgtable.json").write_bytes(b"")
    said = refusal(kg, "build", str(own_tables), "--embedding", "none")
    assert said.strip().endswith("in an empty directory.")


def test_a_graph_does_not_pass_off_another_base_as_its_own(kg: Path, tables: Path) -> None:
    pointer = kg / "kgtable.json"
    text = pointer.read_text(encoding="utf-8")
    pointer.write_text(text.replace('"base": "http:', '"base": "htup:'), encoding="utf-8")
    assert pointer.read_text(encoding="utf-8") != text
    for command in (["info"], ["export", "-o", "-"], ["build", str(tables)]):
        said = refusal(kg, *command)
        assert "is damaged" in said


def test_a_pointer_without_a_checksum_is_read_as_before(kg: Path, tables: Path) -> None:
    content = json.loads((kg / "kgtable.json").read_bytes())
    assert content.pop("checksum")
    (kg / "kgtable.json").write_text(json.dumps(content), encoding="utf-8")
    for mark in (".parts", ".checksums"):
        one_of(kg, mark).unlink()
    assert invoke(kg, "ask", QUESTION)[0] == 0
    assert build(kg, tables)[0] == 0


@pytest.mark.parametrize("part", ["catalogue.sqlite", "ontology.ttl", "report.json"])
def test_another_word_in_a_part_of_a_graph_does_not_reach_the_next_build(kg: Path, own_tables: Path, part: str) -> None:
    path = one_of(kg, part)
    data = path.read_bytes()
    assert b"Radius" in data or b"planets" in data
    path.write_bytes(data.replace(b"Radius", b"Sadius").replace(b"planets", b"plbnets"))
    (own_tables / "moons.csv").write_text("Moon,Radius (km)\nTitan,2575\n", encoding="utf-8")
    said = refusal(kg, "build", str(own_tables), "--embedding", "none")
    assert f"is damaged: {part} is not what was written" in said


def test_a_write_to_a_damaged_store_is_refused(kg: Path) -> None:
    base = GraphDirectory(kg).current().first_store_path
    path = one_of(base, "*.sst")
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data[:10] + b"?" + data[11:])
    with pytest.raises(StorageError, match="is damaged"):
        WorkingStore(base)
    assert newest(base) == base


def test_an_index_with_other_words_is_not_asked(kg: Path, tables: Path) -> None:
    path = one_of(kg, "printed_cells.txt")
    path.write_bytes(path.read_bytes().replace(b"58232", b"58233"))
    status, _, said = invoke(kg, "retrieve", QUESTION)
    assert status == 2
    assert "damaged" in said
    assert build(kg, tables)[0] == 0
    assert "58232" in invoke(kg, "retrieve", QUESTION)[1]
