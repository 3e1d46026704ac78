"""The public API as people meet it: names, arguments, closing, representations."""

from __future__ import annotations

import gc
import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import kgtable
from kgtable import errors
from kgtable.errors import ConfigError, GraphClosedError, QueryError, UsageError
from kgtable.llm.scripted import ScriptedLLM

QUESTION = "What is the radius of Saturn?"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("face")
    (folder / "planets.csv").write_text(
        'Planet,Radius (km),Found\nMercury,"2,440",2019-05-01\nSaturn,"58,232.5",2020-06-02\n', encoding="utf-8"
    )
    (folder / "moons.csv").write_text("Moon,Planet\nTitan,Saturn\n", encoding="utf-8")
    return kgtable.build(folder, folder / "kg", embedding="none").path


@pytest.fixture
def kg(unconfigured: None, place: Path) -> kgtable.KnowledgeGraph:
    return kgtable.open(place)


def test_every_public_name_is_listed_and_there() -> None:
    tree = {name for name, found in vars(errors).items() if inspect.isclass(found) and issubclass(found, Exception)}
    assert tree & set(kgtable.__all__) == {"KgtableError"}
    assert all(issubclass(getattr(errors, name), kgtable.KgtableError) for name in tree)
    names = {"build", "open", "connect", "convert", "validate", "serve", "KnowledgeGraph", "Answer"}
    assert names | {"Retrieval", "Citation"} <= set(dir(kgtable))
    for name in dir(kgtable):
        assert getattr(kgtable, name) is not None
    with pytest.raises(AttributeError, match="'nonsense'"):
        kgtable.nonsense  # noqa: B018


def test_importing_the_package_imports_nothing_slow() -> None:
    code = "import kgtable, sys; dir(kgtable); print(sorted(m for m in sys.modules if m.startswith('kgtable')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['kgtable', 'kgtable.errors', 'kgtable.resources']"


@pytest.mark.parametrize(
    "call",
    [
        lambda kg, to: kg.retrieve("q", k=-1), lambda kg, to: kg.retrieve("\udcff"), lambda kg, to: kg.ask("q", kk=3),
        lambda kg, to: kg.ask("q", k=-1), lambda kg, to: kgtable.build([3], to / "kg"),
        lambda kg, to: kgtable.convert([3], to / "o.ttl"), lambda kg, to: kgtable.serve(to, default_graph="all"),
    ],
)  # fmt: skip
def test_values_that_make_no_sense_are_refused(
    kg: kgtable.KnowledgeGraph, call: Callable[[Any, Path], object], tmp_path: Path
) -> None:
    with pytest.raises((UsageError, ConfigError)):
        call(kg, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_numbers_of_numpy_are_numbers(kg: kgtable.KnowledgeGraph) -> None:
    frame = pd.DataFrame({"k": [3]})
    assert len(kg.retrieve(QUESTION, frame["k"].iloc[0]).triples) == 3


def test_a_presentation_or_prompt_that_is_not_there_is_refused_without_a_model_too(kg: kgtable.KnowledgeGraph) -> None:
    for option in ({"presentation": "poem"}, {"prompt": "politely"}):
        for model in ({"model": "none"}, {"llm": ScriptedLLM([])}):
            with pytest.raises(ConfigError, match=r"poem|politely"):
                kg.ask(QUESTION, **option, **model)  # type: ignore[arg-type]


def test_a_model_without_endpoint_or_key_is_an_error(
    kg: kgtable.KnowledgeGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="'gpt-9' is named, but no endpoint"):
        kg.ask(QUESTION, model="gpt-9")
    monkeypatch.setenv("KGTABLE_MODEL", "from-outside")
    with pytest.raises(ConfigError, match="from-outside"):
        kg.ask(QUESTION)
    assert kg.ask(QUESTION, model="none").found


def test_a_closed_graph_is_released_and_says_so(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with kgtable.open(place) as kg:
        tables, store = kg.tables, kg.store
        assert kg.ask(QUESTION, model="none").found
        assert kg.sparql("ASK { ?s ?p ?o }") is True
        assert not kg.closed
    assert kg.closed
    kg.close()
    assert repr(kg) == f"KnowledgeGraph({str(place)!r}, closed)"
    for use in (
        lambda: kg.sparql("ASK {}"), lambda: kg.retrieve("q"), lambda: kg.ask("q", model="none"), lambda: kg.tables,
        lambda: kg.ontology, lambda: kg.info(), lambda: kg.export("x.ttl"), lambda: kg.validate(),
        lambda: kg.push("http://127.0.0.1:9/"), lambda: kg.to_rdflib(), lambda: kg.__enter__(),
        lambda: tables["planets"], lambda: store.query("ASK {}"),
    ):  # fmt: skip
        with pytest.raises(GraphClosedError, match="closed"):
            use()
    with kgtable.open(place) as again:
        assert again.ask(QUESTION, model="none").found


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="there is no list of open files")
def test_no_file_of_a_closed_graph_stays_open(place: Path) -> None:
    with kgtable.open(place) as kg:
        kg.ask(QUESTION, model="none")
        assert open_files(place) != []
    gc.collect()
    assert open_files(place) == []


def open_files(place: Path) -> list[str]:
    """The open and the mapped files below a folder."""
    links = (os.readlink(link) for link in Path("/proc/self/fd").iterdir() if link.is_symlink())
    mapped = (line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines())
    return [path for path in (*links, *mapped) if path.startswith(str(place))]


def test_an_error_in_the_block_closes_the_graph_and_is_raised(place: Path) -> None:
    with pytest.raises(QueryError), kgtable.open(place) as kg:
        kg.sparql("SELEKT")
    assert kg.closed


def test_select_star_keeps_the_order_of_the_query(kg: kgtable.KnowledgeGraph) -> None:
    frame = kg.sparql("SELECT * { ?row rdfs:label ?name ; ex:hasFound ?day . ?row a ?kind }")
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["row", "name", "day", "kind"]
    inner = "SELECT DISTINCT * # of * all\n { { SELECT ?z ?name { ?z rdfs:label ?name } } FILTER(?name != '*') }"
    assert list(kg.sparql(inner, bindings={"name": "Saturn"}).columns) == ["z", "name"]  # type: ignore[union-attr]
    assert kg.sparql_text("SELECT * { VALUES (?b ?a) { (1 2) } }", "csv") == "b,a\r\n1,2\r\n"


@pytest.mark.parametrize("form", ["SELECT *", "ASK", "CONSTRUCT { ?s ?p ?o }"])
def test_a_service_that_refuses_is_a_query_error(kg: kgtable.KnowledgeGraph, form: str) -> None:
    query = f"{form} {{ SERVICE <http://127.0.0.1:1/sparql> {{ ?s ?p ?o }} }}"
    for ask in (kg.sparql, kg.sparql_text):
        with pytest.raises(QueryError, match="cannot be evaluated") as raised:
            ask(query)
        assert len(str(raised.value).splitlines()) == 1


def test_an_explanation_has_every_step_with_its_time(kg: kgtable.KnowledgeGraph) -> None:
    found = kg.retrieve(QUESTION, 4)
    explained = found.explain()
    told = explained.to_json()
    steps = {step["step"]: step for step in told["steps"]}
    assert list(steps)[:5] == ["labels", "embedding", "expansion", "candidates", "scores"]
    assert "saturn" in steps["labels"]["labels"]
    assert steps["candidates"]["candidates"] >= 1
    assert all(step["ms"] >= 0 for step in told["steps"])
    assert told["total_ms"] == round(found.timings_ms["total"], 3)
    assert told["tables"][0] == {"table": "planets", "score": found.tables[0].score}
    assert len(told["triples"]) == 4
    text = str(explained)
    assert "saturn" in text
    assert "best tables" in text
    whole = kg.retrieve(QUESTION, 4, method="bm25").explain()
    assert [step.name for step in whole.steps] == ["rank", "triples"]
    assert "pieces" in whole.steps[0].found
