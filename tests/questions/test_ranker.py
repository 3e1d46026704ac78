from __future__ import annotations

import numpy as np
import pytest

from kgtable.questions.ranker import confidence_features, confidence_of
from kgtable.questions.ranker_weights import HiddenLayer, RankerWeights, ranker_weights, word_features


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
    known = ranker_weights()
    assert known.confidence["lead:covered"] > 0
    assert known.confidence["share"] > 0
    assert known.confidence["cue:left"] < 0


def test_a_hidden_layer_sees_two_features_together() -> None:
    places = {"a": 0, "b": 1}
    layer = HiddenLayer(places, np.array([[2], [2]], dtype=np.int8), np.array([-3.0]), np.array([0.5]))
    known = RankerWeights({"a": 1.0, "b": 1.0}, {}, layer)
    alone, together = {"a": 1.0, "unknown": 7.0}, {"a": 1.0, "b": 1.0}
    assert known.linear_score(together) == 2.0
    assert known.scores([alone, {}, together]) == [1.0, 0.0, 2.5]
    assert known.scores([]) == []
    again = HiddenLayer.from_json(layer.to_json())
    assert RankerWeights(known.features, {}, again).scores([alone, together]) == [1.0, 2.5]


def test_words_that_many_questions_have_are_learned_with_operators() -> None:
    known = ranker_weights()
    features = word_features(sorted(known.words), "count/rows")
    assert set(features) == {f"word:{word}:count" for word in known.words}
    assert known.hidden is not None
    assert features.keys() & known.hidden.places.keys()


def test_the_hidden_layer_that_is_shipped_knows_features_of_the_ranker() -> None:
    known = ranker_weights()
    assert known.hidden is not None
    assert {"uncovered", "table:first", "d:echo"} <= set(known.hidden.places)
    assert np.abs(known.hidden.output).max() > 0
