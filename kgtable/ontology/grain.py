"""The grain of measures: the column whose values a measure describes, if all rows with one such value repeat it.

The total of an order is printed on each of its lines. Such a value is added once for each order. Arithmetic shows it
(other amounts of its rows add up to it), or the header begins with the name of the key ("Order", "Order total").
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final

from kgtable.tables.model import Meaning, MeasureKind, Role
from kgtable.values.lexicon import KINDS, senses, words_of

FEWEST_REPEATS: Final = 2
"""Minimum rows that repeat a value of earlier rows."""
_KEYS: Final = frozenset({Role.IDENTIFIER, Role.LABEL, Role.CATEGORY})


def find_grains(
    meanings: Mapping[int, Meaning],
    texts: Mapping[int, Sequence[str]],
    numbers: Mapping[int, Sequence[Decimal | None]],
    names: Mapping[int, str],
    language: str,
) -> dict[int, int]:
    """The columns of measures that describe the values of another column, each with that column.

    Args:
        meanings: the meaning of each column.
        texts: the texts of the member rows in it.
        numbers: the numbers of the measures, None if a row has none.
        names: the headers.
        language: their language.

    >>> order, measure = Meaning(Role.IDENTIFIER), Meaning(Role.MEASURE, MeasureKind.AMOUNT)
    >>> held = {1: [Decimal(n) for n in (9, 9, 9, 4)]}
    >>> find_grains({0: order, 1: measure}, {0: ["A", "A", "A", "B"]}, held, {0: "Order", 1: "Order total"}, "en")
    {1: 0}
    """
    found: dict[int, int] = {}
    for key in (column for column, meaning in meanings.items() if meaning.role in _KEYS):
        groups: dict[str, list[int]] = defaultdict(list)
        for at, text in enumerate(texts[key]):
            groups[text].append(at)
        repeats = len(texts[key]) - len(groups)
        if "" in groups or len(groups) < 2 or repeats < FEWEST_REPEATS:
            continue
        for column, held in numbers.items():
            if column in found or meanings[column].kind in (None, MeasureKind.RATE):
                continue
            values = [{held[at] for at in rows} for rows in groups.values()]
            if None in set().union(*values) or any(len(each) > 1 for each in values):
                continue
            if len(set().union(*values)) < 2:
                continue
            named = meanings[key].role is Role.IDENTIFIER and _names(names[column], names[key], language)
            if named or any(_adds_up(held, other, groups) for at, other in numbers.items() if at != column):
                found[column] = key
    return found


def _names(measure: str, key: str, language: str) -> bool:
    """Whether the header of a measure begins with what the key identifies, apart from the words of its kind."""
    words = words_of(measure)
    of_kind = {at for sense in senses(measure, KINDS, language) for at in range(sense.first, sense.last + 1)}
    return words[:1] == words_of(key)[:1] and 0 not in of_kind and len(words) > 1


def _adds_up(
    whole: Sequence[Decimal | None], parts: Sequence[Decimal | None], groups: Mapping[str, Sequence[int]]
) -> bool:
    """Whether the parts of every group add up to its value, in several groups of more than one row."""
    several = 0
    for rows in groups.values():
        told = [part for at in rows if (part := parts[at]) is not None]
        if len(told) < len(rows) or sum(told) != whole[rows[0]]:
            return False
        several += len(rows) > 1 and whole[rows[0]] != 0
    return several > 1
