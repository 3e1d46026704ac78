from __future__ import annotations

import pytest

from kgtable.graph.terms import WHOLE, BlockForm, FilledBlock, Share


def test_a_filled_form_is_the_sequence_of_its_pairs() -> None:
    form = BlockForm([("<a>", "<type>"), ("<value>", 1), ("<text>", 0), ("<again>", 1)])
    filled = FilledBlock(form, ('"seven"', '"7"'))
    assert list(filled) == [("<a>", "<type>"), ("<value>", '"7"'), ("<text>", '"seven"'), ("<again>", '"7"')]
    assert len(filled) == 4
    assert filled[-1] == ("<again>", '"7"')
    assert filled[1:3] == (("<value>", '"7"'), ("<text>", '"seven"'))
    assert ("<text>", '"seven"') in filled


def test_forms_without_slots_and_without_pairs() -> None:
    assert list(FilledBlock(BlockForm([("<a>", "<b>")]), ())) == [("<a>", "<b>")]
    assert list(FilledBlock(BlockForm([]), ())) == []


def test_two_fillings_of_one_form_stay_apart() -> None:
    form = BlockForm([("<value>", 0)])
    one, other = FilledBlock(form, ('"1"',)), FilledBlock(form, ('"2"',))
    assert [one[0], other[0]] == [("<value>", '"1"'), ("<value>", '"2"')]


def test_a_slot_that_was_not_filled_is_an_error() -> None:
    with pytest.raises(IndexError):
        list(FilledBlock(BlockForm([("<value>", 1)]), ('"1"',)))


def test_first_and_last_share() -> None:
    shares = [Share(part, 3) for part in range(3)]
    assert [share.is_first for share in shares] == [True, False, False]
    assert [share.is_last for share in shares] == [False, False, True]
    assert WHOLE.is_first
    assert WHOLE.is_last
