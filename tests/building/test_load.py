from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox
import pytest

from kgtable.building.load import carry_over, change_store, describe_store, fill_store
from kgtable.errors import StorageError
from tests.graph.support import NAMES


def files(folder: Path, *texts: str) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / str(number) for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8", newline="")
    return paths


def table(id: str, value: int) -> str:
    return f'<http://e/x> <http://e/amount> "{value}\\n" <{NAMES.table_iri(id)}> .\n'


def quads(path: Path) -> set[str]:
    return set(map(str, ox.Store.read_only(str(path))))


def parsed(*texts: str) -> set[str]:
    return {str(quad) for quad in ox.parse("".join(texts), format=ox.RdfFormat.N_QUADS)}


def test_a_store_loaded_in_parts_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgtable.building.load.LOADED_AT_ONCE", 100)
    monkeypatch.setattr("kgtable.building.load._PIECE", 64)
    texts = [table("a", number) for number in range(20)]
    fill_store(tmp_path / "store", files(tmp_path / "texts", *texts))
    assert quads(tmp_path / "store") == parsed(*texts)


def test_a_store_holds_the_statements_of_the_files(tmp_path: Path) -> None:
    texts = [table("a", 1), "", table("b", 2)]
    fill_store(tmp_path / "store", files(tmp_path / "texts", *texts))
    assert quads(tmp_path / "store") == parsed(*texts)
    assert not list((tmp_path / "texts").iterdir())
    fill_store(tmp_path / "empty", [])
    assert quads(tmp_path / "empty") == set()


@pytest.mark.parametrize("is_known", [True, False])
def test_some_tables_change_and_the_store_before_does_not(tmp_path: Path, is_known: bool) -> None:
    described = ['<http://e/s> <http://e/p> "before" .\n', '<http://e/s> <http://e/p> "always" .\n']
    before = [table("a", 1), table("b", 2), table("c", 3), *described]
    fill_store(tmp_path / "1", files(tmp_path / "texts", *before))
    after = [table("b", 22), described[0].replace("before", "after"), described[1]]
    gone = [NAMES.table_iri(id) for id in "ab"]
    change_store(tmp_path / "1", tmp_path / "2", gone, files(tmp_path / "texts", after[0]))
    (tmp_path / "before").write_text("".join(described))
    (tmp_path / "after").write_text("".join(after[1:]))
    describe_store(tmp_path / "2", tmp_path / "after", tmp_path / "before" if is_known else None)
    assert quads(tmp_path / "2") == parsed(before[2], *after)
    assert quads(tmp_path / "1") == parsed(*before)


def test_graphs_that_people_wrote_are_carried_over(tmp_path: Path) -> None:
    mine = '<http://e/s> <http://e/p> "x" <http://e/mine> .\n'
    fill_store(tmp_path / "1", files(tmp_path / "texts", table("a", 1), mine))
    store = ox.Store(str(tmp_path / "1"))
    store.add_graph(ox.NamedNode("http://e/empty"))
    store.flush()
    del store
    fill_store(tmp_path / "2", files(tmp_path / "texts", table("b", 1)))
    carry_over(tmp_path / "1", tmp_path / "2", {NAMES.table_iri("a")})
    assert quads(tmp_path / "2") == parsed(table("b", 1), mine)
    assert ox.Store.read_only(str(tmp_path / "2")).contains_named_graph(ox.NamedNode("http://e/empty"))
    carry_over(tmp_path / "2", tmp_path / "1", {NAMES.table_iri("b"), "http://e/mine", "http://e/empty"})
    assert quads(tmp_path / "1") == parsed(table("a", 1), mine)


def test_damaged_stores_are_named(tmp_path: Path) -> None:
    fill_store(tmp_path / "1", files(tmp_path / "texts", table("a", 1)))
    (tmp_path / "1" / "CURRENT").write_bytes(b"\xff")
    with pytest.raises(StorageError, match=r"1 is damaged.*Build the graph again"):
        change_store(tmp_path / "1", tmp_path / "2", [], [])
    with pytest.raises(StorageError, match="1 is damaged"):
        carry_over(tmp_path / "1", tmp_path / "3", ())


def test_a_text_that_the_parser_does_not_hold_is_one_line(tmp_path: Path) -> None:
    long = f'<http://e/a> <http://e/b> "{"a" * (17 << 20)}" .\n'
    with pytest.raises(StorageError, match="does not take what is loaded") as caught:
        fill_store(tmp_path / "store", files(tmp_path / "texts", long))
    assert "16 MiB" in caught.value.hint
