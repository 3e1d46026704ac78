from __future__ import annotations

import pytest

from kgtable.tables.limits import ReadLimits


@pytest.mark.parametrize(
    ("packed", "unpacked", "too_far"),
    [(10, 1_000, False), (10, 10_001, True), (1_000, 9_000, False), (10, 5_000, True), (10, 100, False)],
)
def test_bounds_of_unpacking(packed: int, unpacked: int, too_far: bool) -> None:
    limits = ReadLimits(max_unpacked=10_000, max_ratio=100, ratio_from=1_000)
    assert limits.unpacks_too_far(packed, unpacked) is too_far
