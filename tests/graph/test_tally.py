from __future__ import annotations

import json
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kgtable.graph.tally import Tally

names = st.text(max_size=5)
plain = st.dictionaries(names, st.integers(1, 2**60), max_size=4).map(Counter)
nested = st.dictionaries(st.tuples(names, names), st.integers(1, 99), max_size=4).map(Counter)
tallies = st.builds(Tally, plain, nested, nested, plain, plain, st.integers(0, 99))


@given(tallies)
def test_a_tally_comes_back_from_json(tally: Tally) -> None:
    text = json.dumps(tally.to_json())
    assert Tally.from_json(json.loads(text)) == tally
    assert json.dumps(Tally.from_json(json.loads(text)).to_json()) == text


@given(tallies, tallies)
def test_adding_is_commutative_and_loses_nothing(one: Tally, other: Tally) -> None:
    sums = []
    for first, second in ((one, other), (other, one)):
        total = Tally()
        total.add(first)
        total.add(second)
        sums.append(total)
    assert json.dumps(sums[0].to_json()) == json.dumps(sums[1].to_json())
    assert sums[0].cells == one.cells + other.cells
    assert sums[0].units.total() == one.units.total() + other.units.total()
    assert sums[0].untyped == one.untyped + other.untyped
