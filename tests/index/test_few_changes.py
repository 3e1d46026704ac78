"""Graphs of which few tables change: what is inferred between the others stays, and the changed ones are related."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path

import pytest

import kgtable.index.graph_index
from kgtable.building.generations import Generation
from kgtable.graph.terms import Namespaces
from kgtable.index.graph_index import read_about
from kgtable.index.inferred.column_profiles import TableProfiles
from kgtable.index.inferred.relations import TableRelations, stated_relations
from kgtable.ontology.inferred_names import InferredNames
from tests.index.sample_graph import build
from tests.index.test_relations import store_of

TOWNS = ("Bath", "York", "Hull", "Ely", "Ayr", "Rye", "Wick", "Deal", "Looe", "Leek", "Ware", "Bude")


def write(folder: Path, number: int, kind: int, seed: int = 0) -> None:
    """A table of one of four kinds that refer to each other, some of them parts of one."""
    chosen = random.Random(1000 * kind + 10 * number + seed)
    people = [f"Person {chosen.choice('ABCDEFGH')}{n}" for n in range(chosen.randint(3, 9))]
    lines = {
        0: ["Member,Name,Town", *(f"m{number}{n:02},{p},{chosen.choice(TOWNS)}" for n, p in enumerate(people))],
        1: ["Loan,Member,Days", *(f"{n},m{number}{n % 7:02},{chosen.randint(1, 90)}" for n in range(9))],
        2: ["Town,Inhabitants", *(f"{town},{chosen.randint(900, 90_000)}" for town in chosen.sample(TOWNS, 9))],
        3: ["Place,,Visitors", *(f"{town},{chosen.randint(900, 90_000)},{n}" for n, town in enumerate(TOWNS[:7]))],
    }[kind]
    name = f"{('members', 'loans', 'towns', 'visits')[kind]}-{number}"
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    title = f"Libraries of {2000 + number % 3}" if kind < 2 else f"Towns of {number}"
    about = {"title": title, "heading": [f"Region {number % 4}"]}
    (folder / f"{name}.json").write_text(json.dumps(about), encoding="utf-8")


def ends(relations: TableRelations) -> Iterable[object]:
    joins = sorted((str(join.left), str(join.right), join.score, join.matched) for join in relations.joins)
    return joins, [(union.tables, union.columns) for union in relations.unions]


def names_of(generation: Generation) -> set[tuple[str, int | None, str]]:
    return {(n.table, n.column, n.name) for n in InferredNames.open(generation.index_path)}


@pytest.mark.parametrize("embedding", ["none", "words"])
def test_changed_tables_are_related_as_in_a_fresh_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedding: str
) -> None:
    tables = tmp_path / "tables"
    tables.mkdir()
    for number in range(18):
        for kind in range(4):
            write(tables, number, kind)
    for number in range(24):
        rows = "".join(f"Word {number}-{row},{7 * number + row}\n" for row in range(5))
        text = f"Term {chr(97 + number) * 3},Signs {chr(97 + number) * 4}\n{rows}"
        (tables / f"{chr(97 + number) * 5}.csv").write_text(text, encoding="utf-8")
    before = names_of(build(tables, tmp_path / "kg", embedding))
    monkeypatch.setattr("kgtable.index.corpus_update.LEAST_TABLES", 1)
    monkeypatch.setattr("kgtable.index.corpus_update.MOST_DRIFT", 0.2)
    looked_at: list[int] = []
    plain = kgtable.index.graph_index.find_relations

    def noted(profiles: TableProfiles, *rest: object, **given: object) -> object:
        looked_at.append(len(profiles.heads))
        return plain(profiles, *rest, **given)  # type: ignore[arg-type]

    monkeypatch.setattr("kgtable.index.graph_index.find_relations", noted)

    def rows() -> None:
        write(tables, 3, 0, seed=1)

    def new() -> None:
        (tables / "staff.csv").write_text("Staff,Town\nHal,Bath\nIda,York\nJon,Hull\nKit,Ely\n", encoding="utf-8")

    def gone() -> None:
        for name in ("members-5", "towns-0"):
            (tables / f"{name}.csv").unlink()
            (tables / f"{name}.json").unlink()

    for step, change in enumerate((rows, new, gone), 1):
        change()
        looked_at.clear()
        updated = build(tables, tmp_path / "kg", embedding)
        assert read_about(updated.index_path)["drift"] >= step
        assert looked_at[0] < 80
        fresh = build(tables, tmp_path / f"fresh-{step}", embedding)
        assert "drift" not in read_about(fresh.index_path)
        relations = TableRelations.open(updated.index_path)
        assert len(relations.joins) > 20
        assert ends(relations) == ends(TableRelations.open(fresh.index_path)), change.__name__
        stated = stated_relations(store_of(updated), Namespaces(updated.base))
        assert len(stated) == len(relations)
        assert before == {name for name in names_of(updated) if name[0] != "staff"}
    monkeypatch.setattr("kgtable.index.corpus_update.MOST_DRIFT", 0.05)
    write(tables, 3, 0, seed=2)
    assert "drift" not in read_about(build(tables, tmp_path / "kg", embedding).index_path)


def test_a_changed_table_gets_names_and_others_keep_theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgtable.index.corpus_update.LEAST_TABLES", 1)
    monkeypatch.setattr("kgtable.index.corpus_update.MOST_DRIFT", 0.2)
    tables = tmp_path / "tables"
    tables.mkdir()
    for number in range(12):
        for kind in (0, 2, 3):
            write(tables, number, kind)
    before = names_of(build(tables, tmp_path / "kg", "none"))
    assert {name for name in before if name[0] == "visits-3"}
    text = (tables / "towns-4.csv").read_text(encoding="utf-8")
    (tables / "towns-4.csv").write_text(text.replace("Town,Inhabitants", ",Inhabitants"), encoding="utf-8")
    updated = build(tables, tmp_path / "kg", "none")
    assert read_about(updated.index_path)["drift"] == 2
    assert names_of(updated) - before == {("towns-4", 0, "Town")}
    assert before <= names_of(updated)
