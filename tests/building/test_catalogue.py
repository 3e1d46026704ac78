from __future__ import annotations

import dataclasses
import json
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtable.building.catalogue import Catalogue, Changes, FileRecord, TableRecord
from kgtable.errors import GraphVersionError
from kgtable.ontology.column_stats import ColumnFact
from kgtable.tables.model import Meaning, MeasureKind, Notice, Role

any_text = st.text(alphabet=st.characters(exclude_categories=()), max_size=20)
counts = st.dictionaries(any_text, st.integers(1, 2**60), max_size=3)
facts = st.builds(
    ColumnFact,
    table=st.just("t"),
    index=st.integers(0, 9),
    name=any_text,
    predicate=any_text,
    ranges=counts,
    units=counts,
    scales=st.dictionaries(st.integers(-2, 12), st.integers(1, 99), max_size=3),
    generated=any_text,
)
maybe_place = st.none() | st.integers(0, 2**40)
notices = st.builds(Notice, any_text, any_text, any_text, st.none() | any_text, maybe_place, maybe_place)


def table(id: str = "t", path: str = "t.csv") -> TableRecord:
    return TableRecord(id, path, None, 0, "text/csv", "", "", 2, 1, 2, 9)


def file(id: str, digest: str = "1", *tables: TableRecord) -> FileRecord:
    return FileRecord(f"{id}.csv", id, digest, "s", f"/x/{id}.csv", tables or (table(id, f"{id}.csv"),))


def saved_and_loaded(catalogue: Catalogue) -> Catalogue:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a ü#?%41.sqlite")
        catalogue.save(path)
        return Catalogue.load(path)


@settings(max_examples=40)
@given(any_text, any_text, any_text, st.none() | any_text, st.lists(facts, max_size=2), st.lists(notices))
def test_whatever_was_recorded_comes_back(
    path: str, title: str, location: str, sheet: str | None, facts: list[ColumnFact], notices: list[Notice]
) -> None:
    record = dataclasses.replace(table("t", path), title=title, sheet=sheet, facts=tuple(facts), notices=tuple(notices))
    files = (FileRecord(path, "t", "d", "s", location, (record,)), FileRecord("z", "z", "", "", "", (), title))
    assert list(saved_and_loaded(Catalogue(files)).files.values()) == list(Catalogue(files).files.values())


def test_changes_between_two_catalogues() -> None:
    before = Catalogue([file("same"), file("edited"), file("gone")])
    after = Catalogue([file("new"), file("edited", "2"), file("same")])
    changes = after.changes_since(before)
    assert changes == Changes(added=("new",), changed=("edited",), removed=("gone",), unchanged=1)
    assert changes
    assert not before.changes_since(before)
    assert before.changes_since(Catalogue()).added == ("edited", "gone", "same")


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\x00" + b"\x00" * 99, None])
def test_a_missing_or_damaged_catalogue_is_named(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "catalogue.sqlite"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(GraphVersionError, match=r"catalogue\.sqlite is missing or damaged.*again"):
        Catalogue.load(path)


def test_a_catalogue_of_a_build_that_knew_no_grain_is_read(tmp_path: Path) -> None:
    meaning = Meaning(Role.MEASURE, MeasureKind.AMOUNT, evidence=("words",), confidence=0.8)
    fact = ColumnFact("t", 0, "Sales", "hasSales", {}, {}, {}, "hasSales", meaning)
    record = dataclasses.replace(table(), facts=(fact,))
    path = tmp_path / "catalogue.sqlite"
    Catalogue((file("t", "1", record),)).save(path)
    with closing(sqlite3.connect(path)) as base, base:
        (facts,) = base.execute("SELECT facts FROM tables").fetchone()
        older = [[*values[:-1], values[-1][:-1]] for values in json.loads(facts)]
        base.execute("UPDATE tables SET facts = ?", (json.dumps(older),))
    assert Catalogue.load(path).tables["t"].facts == (fact,)
