"""The learned weights of the ranker: a log-linear model with one hidden layer, and the model of its confidence.

The score of a candidate is the weighted sum of its features plus what a layer of rectified units adds to it:
a feature may be informative along with one other feature and not alone. All weights lie in ``ranker.json``, made by
``scripts/train_ranker.py``.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from kgtable.resources import read_packaged_json

DIGITS = 9
"""Decimals of a score: the order of equal candidates must not hang on the last bits of a sum."""


@dataclass(frozen=True)
class HiddenLayer:
    """Rectified units over the features of a candidate.

    Attributes:
        places: the row of each feature in `inputs`.
        inputs: weights of the features, one column for each unit, as whole numbers from -127 to 127.
        bias: what is added to the sum of each unit.
        output: the weight of each unit in the score.
    """

    places: Mapping[str, int]
    inputs: npt.NDArray[np.int8]
    bias: npt.NDArray[np.float64]
    output: npt.NDArray[np.float64]

    def scores(self, rows: Sequence[Mapping[str, float]]) -> npt.NDArray[np.float64]:
        """What the layer adds to the score of each row of features."""
        places: list[int] = []
        values: list[float] = []
        ends = [0]
        known = self.places
        for row in rows:
            for name, value in row.items():
                if value and name in known:
                    places.append(known[name])
                    values.append(value)
            ends.append(len(places))
        weighted = self.inputs[places] * np.array(values)[:, None]
        sums = np.zeros((len(rows), len(self.bias)))
        owners = np.repeat(np.arange(len(rows)), np.diff(ends))
        np.add.at(sums, owners, weighted)
        return np.maximum(sums + self.bias, 0.0) @ self.output

    def to_json(self) -> dict[str, Any]:
        """The layer as it is in ``ranker.json``: the weights of a feature are the base64 of signed bytes."""
        return {
            "bias": [round(float(value), 5) for value in self.bias],
            "output": [round(float(value), 7) for value in self.output],
            "inputs": {
                name: base64.b64encode(self.inputs[place].tobytes()).decode()
                for name, place in sorted(self.places.items())
            },
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> HiddenLayer:
        """The layer of ``ranker.json``."""
        rows = data["inputs"]
        bias = np.array(data["bias"], dtype=np.float64)
        weights = b"".join(map(base64.b64decode, rows.values()))
        inputs = np.frombuffer(weights, dtype=np.int8).reshape(len(rows), len(bias))
        places = {name: place for place, name in enumerate(rows)}
        return cls(places, inputs, bias, np.array(data["output"], dtype=np.float64))


SURE_FROM = 0.9
"""The calibrated confidence from which an answer by rules counts as sure."""

SAID_GROUPS = "group:said"
"""The feature of groups that a question asks for by a word of grouping. Of the candidates that are ranked all have it,
or none."""

SAID = 0.5
"""The value of a feature that a word of the question is said next to an operator."""


def word_features(words: Iterable[str], op: str) -> dict[str, float]:
    """Features that tie words of a question to an operator: *besides* to a list without the one named.

    >>> word_features(["besid"], "select/columns")
    {'word:besid:select': 0.5}
    """
    operator = op.partition("/")[0]
    return {f"word:{word}:{operator}": SAID for word in words}


@dataclass(frozen=True)
class RankerWeights:
    """The learned weights by feature: of the ranker, and of the confidence in the answer that it puts first.

    `words` are the stems that `word_features` are made of. Groups that a question asks for by a word of grouping
    have weights of their own, made by ``scripts/train_groups.py``.
    """

    features: Mapping[str, float]
    confidence: Mapping[str, float]
    hidden: HiddenLayer | None = None
    words: frozenset[str] = frozenset()
    groups: Mapping[str, float] = field(default_factory=dict)
    groups_gate: Mapping[str, float] = field(default_factory=dict)
    groups_confidence: Mapping[str, float] = field(default_factory=dict)

    def linear_score(self, features: Mapping[str, float]) -> float:
        """The weighted sum of features, by which candidates are chosen before they are executed."""
        known = self.groups if SAID_GROUPS in features else self.features
        return sum(known[name] * value for name, value in features.items() if name in known)

    def scores(self, rows: Sequence[Mapping[str, float]]) -> list[float]:
        """The score of each row of features, with what the hidden layer adds."""
        linear = np.array([self.linear_score(row) for row in rows])
        if self.hidden is not None and rows and SAID_GROUPS not in rows[0]:
            linear = linear + self.hidden.scores(rows)
        return [round(float(score), DIGITS) for score in linear]


def read_weights(data: Mapping[str, Any]) -> RankerWeights:
    """The weights of a file that ``scripts/train_ranker.py`` wrote."""
    hidden = HiddenLayer.from_json(data["hidden"]) if "hidden" in data else None
    groups = data.get("groups", {})
    return RankerWeights(
        data["weights"], data["confidence"], hidden, frozenset(data.get("words", ())),
        groups.get("weights", {}), groups.get("gate", {}), groups.get("confidence", {}),
    )  # fmt: skip


@cache
def ranker_weights() -> RankerWeights:
    """The weights that kgtable ships."""
    return read_weights(read_packaged_json("questions/ranker.json"))
