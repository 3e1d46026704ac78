from __future__ import annotations

import pytest

from kgtable.programs import ranker
from kgtable.programs.ranker import RankerWeights, confidence_features, confidence_of


def row(**features: float) -> dict[str, float]:
    return {"uncovered": 0.0, "table:rank": 0.0, **features}


def test_the_confidence_looks_at_the_lead_of_the_best_answer() -> None:
    rows = [row(**{"op=count/x": 1.0}), row(), row(**{"table:rank": 0.25}), row(uncovered=0.5)]
    found, best = confidence_features(rows, [1.0, 4.0, 3.0, 2.5], ["a", "b", "c", "d"], 0.0)
    assert best == 1
    assert (found["lead"], found["lead:other table"], found["lead:same table"]) == (1.0, 1.0, 1.5)
    assert found["lead:covered"] == 1.0
    assert found["near"] == pytest.approx(0.4)
    again, _ = confidence_features(rows, [1.0, 4.0, 3.0, 2.5], ["a", "b", "b", "d"], 0.0)
    assert again["share"] > found["share"]
    assert again["lead"] == 1.5


def test_features_of_the_program_and_the_quality_of_its_conditions_tell() -> None:
    mine = row(**{"op=select/columns": 1.0, "c:exact": 2.0, "c:exact:q": 1.8, "c:n=2": 1.0, "unknown": 3.0})
    found, _ = confidence_features([mine], [1.0], ["a"], 0.0)
    assert found["op=select"] == found["has exact"] == 1.0
    assert found["quality"] == pytest.approx(0.9)
    assert found["lead"] == 6.0
    assert "unknown" not in found


def test_confidence_is_a_probability() -> None:
    known = RankerWeights({}, {"lead": 1.0, "always": -2.0})
    assert confidence_of({"lead": 2.0, "always": 1.0}, known) == 0.5
    assert confidence_of({"lead": 1e9}, known) < 1.0
    assert confidence_of({"lead": -1e9}, known) > 0.0


def test_the_weights_that_are_shipped_know_every_feature_of_the_confidence() -> None:
    known = ranker.weights()
    assert known.confidence["lead:covered"] > 0
    assert known.confidence["share"] > 0
    assert known.confidence["cue:left"] < 0
