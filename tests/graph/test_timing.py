from __future__ import annotations

import time

import pytest

from kgtable.building.pipeline import Stopwatch


def test_a_stage_within_another_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(clock)))
    watch = Stopwatch()
    with watch.stage("loading"):
        taken = list(watch.waiting("converting", "ab"))
    assert taken == ["a", "b"]
    assert watch.seconds == {"loading": 4.0, "converting": 3.0}
