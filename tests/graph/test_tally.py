from __future__ import annotations

import json
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kgtable.graph.tally import Tally, counted
from kgtable.graph.terms import RDF_TYPE, Block, BlockForm, FilledBlock

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


def test_the_most_frequent_come_first_then_by_name() -> None:
    tally = Tally(
        kinds=Counter(text=2, date=2, number=5), units=Counter({("M", "cell"): 1, ("KG", "row"): 3})
    )
    assert list(tally.to_json()["kinds"].items()) == [("number", 5), ("date", 2), ("text", 2)]
    assert list(tally.to_json()["units"]) == ["KG", "M"]
    assert Tally().to_json()["kinds"] == {}


def test_blocks_pass_through_and_are_counted_but_forms_are_not() -> None:
    blocks: list[list[Block]] = [
        [("<s>", [(RDF_TYPE, "<A>"), (RDF_TYPE, "<B>"), ("<p>", '"1"')]), ("<t>", [("<p>", '"2"')])],
        [],
        [("<u>", FilledBlock(BlockForm([(RDF_TYPE, "<A>"), ("<p>", 0)]), ('"3"',)))],
    ]
    tally = Tally()
    assert list(counted(blocks, tally)) == blocks
    assert tally.predicates == {RDF_TYPE[1:-1]: 2, "p": 2}
    assert tally.classes == {"A": 1, "B": 1}
