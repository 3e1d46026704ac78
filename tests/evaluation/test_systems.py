from __future__ import annotations

import pytest

from kgtable.errors import UsageError
from kgtable.evaluation.evaluated_systems import System, systems


def test_choices_go_only_where_they_make_sense() -> None:
    found = systems(
        ("hybrid", "bm25", "dense", "zero-shot"),
        formats=("csv", "markdown"),
        embeddings=("minilm",),
        presentations=("subtable",),
        assists=("rules", "labels"),
        models=("m",),
    )
    by_method: dict[str, list[System]] = {}
    for system in found:
        by_method.setdefault(system.method, []).append(system)
    assert [system.assist for system in by_method["hybrid"]] == ["rules", "labels"]
    assert [system.format for system in by_method["bm25"]] == ["csv", "markdown"]
    assert {system.embedding for system in by_method["dense"]} == {"minilm"}
    (zero_shot,) = by_method["zero-shot"]
    assert (zero_shot.presentation, zero_shot.model) == (None, "m")
    assert not zero_shot.retrieves
    assert by_method["bm25"][0].retrieves


def test_each_combination_comes_once_and_in_one_order() -> None:
    found = systems(("bm25", "bm25"), formats=("csv", "csv"))
    assert found == (System("bm25", "csv"),)
    assert systems(("dense", "bm25")) == (System("dense"), System("bm25"))


def test_names_are_the_choices() -> None:
    system = System("bm25", "markdown", None, "subtable", None, "gpt")
    assert system.name == "bm25/markdown/subtable/gpt"
    assert system.to_json()["name"] == system.name
    assert System(**{key: value for key, value in system.to_json().items() if key != "name"}) == system
    found = systems(("hybrid", "bm25", "dense"), formats=("csv", "html"), models=("a", "b"))
    assert len({one.name for one in found}) == len(found)


@pytest.mark.parametrize(
    "choice",
    [
        {"methods": ("nonsense",)},
        {"formats": ("pdf",)},
        {"presentations": ("<b>",)},
        {"prompts": ("",)},
        {"assists": ("all",)},
    ],
)
def test_unknown_names_list_the_known(choice: dict[str, tuple[str, ...]]) -> None:
    methods = choice.pop("methods", ("hybrid",))
    with pytest.raises(UsageError, match="There are: "):
        systems(methods, **choice)


def test_nothing_to_evaluate() -> None:
    with pytest.raises(UsageError, match="nothing to evaluate"):
        systems(())
