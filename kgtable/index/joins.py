"""Column pairs by which tables can be joined, from values, uniqueness, names and their meaning.

A pair goes from a column that refers to one whose values are (nearly) unique, as a foreign key to its key.
Pairs are looked at only where a blocking finds something in common: rare values, a header, a heading or the
beginning of a table's id; so the work grows with what is alike, not with the square of the columns. DMRAL
(section 2.3) asks for containment of 0.98, names and meaning alike; here they are the features of a logistic score
whose weights ``scripts/train_joins.py`` learns, and a spelling that differs is matched by rapidfuzz.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from rapidfuzz import fuzz, process

from kgtable.index.column_profiles import ColumnProfile, TableProfiles, ValueForm
from kgtable.index.embedding import Matrix
from kgtable.resources import PACKAGE

UNIQUE = 0.95
"""The share of distinct values from which a column can be the key of a join."""

LEAST_SHARE = 0.5
"""The share of the referring column's values that the key has to have, by fuzzy matches as well."""

COMMON_VALUE = 100
"""Columns that have a value, beyond which it is too common to bring pairs of columns together."""

LARGEST_BLOCK = 60
"""Tables of one heading, or columns of one header, beyond which these bring no pairs together."""

FUZZY_FROM = 85.0
"""The similarity of two spellings (rapidfuzz's ratio of sorted words) from which they match."""

MOST_FUZZY = 400
"""Values that are compared by similarity on either side."""

MOST_ROWS_ALIKE = 0.9
"""The share of values on either side from which columns of one header and title are those of one table."""

BESIDE = 0.9
"""The score of such a pair."""

KEPT_FROM = 0.4
"""The score from which a pair is kept."""


@dataclass(frozen=True, slots=True)
class JoinCandidate:
    """Two columns of different tables, what speaks for joining them, and for how many values."""

    left: ColumnProfile
    right: ColumnProfile
    features: Mapping[str, float]
    common: int
    fuzzy: int
    score: float = 0.0


@cache
def join_weights() -> Mapping[str, float]:
    """The learned weights by feature."""
    weights: dict[str, float] = json.loads(
        (PACKAGE / "index" / "join_weights.json").read_text(encoding="utf-8")
    )["weights"]
    return weights


def join_score(features: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The probability that two columns with these features are meant to be joined."""
    total = weights.get("bias", 0.0) + sum(weights.get(name, 0.0) * value for name, value in features.items())
    return round(1 / (1 + math.exp(-total)), 3)


class JoinFinder:
    """Finds the joins between tables.

    `vectors` are those of the distinct headers (`vector_of` gives the row of a column's header, -1 for
    none); without them meaning is judged by words alone.
    """

    def __init__(
        self,
        profiles: TableProfiles,
        vectors: Matrix | None = None,
        vector_of: Sequence[int] = (),
        unions: Collection[tuple[int, int]] = (),
    ) -> None:
        self._profiles = profiles
        self._vectors, self._vector_of = vectors, vector_of
        self._unions = frozenset(unions)
        counts = Counter(name for kin in profiles.kin for name in kin)
        self._has_kin = [any(counts[name] > 1 for name in kin) for kin in profiles.kin]
        self._keys = [
            column
            for column in profiles.columns
            if column.uniqueness >= UNIQUE and len(column.keys) >= 2 and column.form is not ValueForm.DATE
        ]

        self._key_numbers = frozenset(column.number for column in self._keys)

    def candidates(self) -> Iterator[JoinCandidate]:
        """Every pair that some blocking brings together and that shares enough values, in order."""
        columns = self._profiles.columns
        pairs = {
            pair
            for pair in (*self._by_values(), *self._by_names(), *self._by_kin())
            if columns[pair[0]].table != columns[pair[1]].table
            and (columns[pair[0]].table, columns[pair[1]].table) not in self._unions
        }
        for left, right in sorted(pairs):
            found = self._compared(columns[left], columns[right])
            if found is not None:
                yield found

    def _by_values(self) -> Iterator[tuple[int, int]]:
        """Referring column and key that share a good part of the rarer values of the first."""
        columns = self._profiles.columns
        numbers = [(key, column.number) for column in columns for key in column.keys if _refers(column)]
        if not numbers:
            return
        pairs = np.array(sorted(numbers), dtype=np.int64)
        starts = np.flatnonzero(np.r_[True, pairs[1:, 0] != pairs[:-1, 0]])
        ends = np.r_[starts[1:], len(pairs)]
        is_key = np.zeros(len(columns), dtype=np.bool_)
        is_key[[column.number for column in self._keys]] = True
        shared: dict[int, int] = defaultdict(int)
        rare = np.zeros(len(columns), dtype=np.int64)
        size = len(columns)
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            if end - start > COMMON_VALUE:
                continue
            having = pairs[start:end, 1]
            rare[having] += 1
            if end - start < 2:
                continue
            for key in having[is_key[having]].tolist():
                for other in having.tolist():
                    if other != key:
                        shared[other * size + key] += 1
        for pair, count in shared.items():
            left, right = divmod(pair, size)
            if count >= 2 and count >= 0.2 * min(rare[left], len(columns[right].keys)):
                yield left, right

    def _by_names(self) -> Iterator[tuple[int, int]]:
        """Columns of one header, unless many have it."""
        blocks: dict[tuple[str, ...], list[ColumnProfile]] = defaultdict(list)
        for column in self._profiles.columns:
            if column.about and _refers(column):
                blocks[tuple(sorted(column.about))].append(column)
        yield from self._within(blocks.values())

    def _by_kin(self) -> Iterator[tuple[int, int]]:
        """Columns of tables under one heading, or whose ids begin alike."""
        tables: dict[str, list[int]] = defaultdict(list)
        for table, kin in enumerate(self._profiles.kin):
            for name in kin:
                tables[name].append(table)
        for members in tables.values():
            if len(members) <= LARGEST_BLOCK:
                yield from self._within(
                    [[c for table in members for c in self._profiles.of_table[table] if _refers(c)]],
                    largest=len(self._profiles.columns),
                )

    def _within(
        self, blocks: Iterable[Sequence[ColumnProfile]], largest: int = LARGEST_BLOCK
    ) -> Iterator[tuple[int, int]]:
        keys = self._key_numbers
        for block in blocks:
            if len(block) > largest:
                continue
            for right in block:
                if right.number in keys:
                    for left in block:
                        if left.table != right.table and _comparable(left, right):
                            yield left.number, right.number

    def _compared(self, left: ColumnProfile, right: ColumnProfile) -> JoinCandidate | None:
        if not _comparable(left, right):
            return None
        common = len(left.keys & right.keys)
        smaller = min(len(left.keys), len(right.keys))
        fuzzy = 0
        if common < smaller and left.form is ValueForm.TEXT and right.form is ValueForm.TEXT:
            named = not left.about.isdisjoint(right.about)
            if named or common >= 0.2 * smaller:
                fuzzy = len(self.fuzzy_matches(left, right))
        share = (common + fuzzy) / smaller
        if share < LEAST_SHARE or common + fuzzy < 2:
            return None
        features = self._features(left, right, common, fuzzy, share)
        score = join_score(features, join_weights())
        if self._stand_beside(left, right) and min(share, features["cover"]) >= MOST_ROWS_ALIKE:
            score = max(score, BESIDE)
        return JoinCandidate(left, right, features, common, fuzzy, score)

    def _stand_beside(self, left: ColumnProfile, right: ColumnProfile) -> bool:
        """Whether the columns are one by their header, in tables of one title: parts of a wider table."""
        one, other = (self._profiles.heads[column.table] for column in (left, right))
        titled = bool(one.title) and (one.title, one.heading) == (other.title, other.heading)
        return titled and left.words == right.words and left.name == right.name

    def fuzzy_matches(self, left: ColumnProfile, right: ColumnProfile) -> list[tuple[int, int, float]]:
        """Values of the left column that the right one spells otherwise, with their similarity (0 to 100)."""
        keys = self._profiles.keys
        ours, theirs = (sorted(one - other)[:MOST_FUZZY] for one, other in ((left.keys, right.keys), (right.keys, left.keys)))  # noqa: E501  # fmt: skip
        return fuzzy_pairs([(n, keys[n]) for n in ours], [(n, keys[n]) for n in theirs])

    def _features(
        self, left: ColumnProfile, right: ColumnProfile, common: int, fuzzy: int, share: float
    ) -> dict[str, float]:
        heads, kin = self._profiles.heads, self._profiles.kin
        ours, theirs = left.about, right.about
        of_left, of_right = heads[left.table].words, heads[right.table].words
        matched = common + fuzzy
        cover = matched / len(right.keys)
        telling = _telling(right, matched)
        table = max(_part(ours, of_right), float(bool(ours) and _last(left) in of_right))
        header = _part(ours, theirs)
        own = max(float(not theirs and right.is_keyed), _part(theirs, of_right))
        related = not kin[left.table].isdisjoint(kin[right.table])
        kept_apart = not related and self._has_kin[left.table] and self._has_kin[right.table]
        return {
            "share": share,
            "fuzzy": fuzzy / max(matched, 1),
            "cover": cover,
            "equal": float(share > 0.99 and cover > 0.99 and matched > 20),
            "telling": telling,
            "same": float(bool(ours) and ours == theirs),
            "table": table,
            "header": header,
            "named": max(table, header),
            "meaning": self._meaning(left, right),
            "own": own,
            "own left": float(left.uniqueness >= UNIQUE)
            * max(float(not ours and left.is_keyed), _part(ours, of_left)),
            "keyed left": float(left.is_keyed),
            "keyed right": float(right.is_keyed),
            "first": float(right.index == 0),
            "repeated": float(left.uniqueness < UNIQUE),
            "kin": float(related),
            "apart": float(kept_apart),
            "number": float(right.form in (ValueForm.WHOLE, ValueForm.NUMBER)),
            "telling own": telling * max(own, 0.5 * (right.index == 0)) * share,
            "named own": max(table, header) * max(own, 0.5 * (right.index == 0)),
            "telling named": telling * max(table, header),
            "telling kin": telling * own * share * related,
        }

    def _meaning(self, left: ColumnProfile, right: ColumnProfile) -> float:
        if self._vectors is not None and self._vector_of:
            one, other = self._vector_of[left.number], self._vector_of[right.number]
            if one >= 0 and other >= 0:
                return round(max(float(self._vectors[one] @ self._vectors[other]), 0.0), 2)
        ours, theirs = set(left.words), set(right.words)
        return round(len(ours & theirs) / max(len(ours | theirs), 1), 2)


def fuzzy_pairs(
    left: Sequence[tuple[int, str]], right: Sequence[tuple[int, str]]
) -> list[tuple[int, int, float]]:
    """Pairs of texts that are spelt alike, each text at most once, the most alike first."""
    if not left or not right:
        return []
    texts = [text for _, text in left], [text for _, text in right]
    scores = process.cdist(*texts, scorer=fuzz.token_sort_ratio, score_cutoff=FUZZY_FROM, dtype=np.uint8)
    rows, columns = np.nonzero(scores)
    order = sorted(zip(rows.tolist(), columns.tolist(), strict=True), key=lambda at: (-int(scores[at]), at))
    found, used_left, used_right = [], set(), set()
    for row, column in order:
        if row in used_left or column in used_right or _differ_in_figures(texts[0][row], texts[1][column]):
            continue
        used_left.add(row)
        used_right.add(column)
        found.append((left[row][0], right[column][0], float(scores[row, column])))
    return found


def _differ_in_figures(one: str, other: str) -> bool:
    """Whether the texts have different digits, as ``Area 1`` and ``Area 2``: not a matter of spelling."""
    figures = [[sign for sign in text if sign.isdigit()] for text in (one, other)]
    return sorted(figures[0]) != sorted(figures[1])


def _refers(column: ColumnProfile) -> bool:
    return len(column.keys) >= 2 and column.form not in (ValueForm.DATE, ValueForm.EMPTY)


def _comparable(left: ColumnProfile, right: ColumnProfile) -> bool:
    numbers = (ValueForm.WHOLE, ValueForm.NUMBER)
    return (left.form in numbers) == (right.form in numbers)


def _part(words: frozenset[str], others: frozenset[str]) -> float:
    """The share of words that the others have, or that one of the others is a part of (``sourceairport``)."""
    if not words:
        return 0.0
    found = sum(word in others or any(len(o) > 3 and o in word for o in others) for word in words)
    return found / len(words)


def _last(column: ColumnProfile) -> str:
    """The last word of the header that says what it is about, as ``ship`` of ``caused_by_ship_id``."""
    return next((word for word in reversed(column.words) if word in column.about), "")


def _telling(right: ColumnProfile, matched: int) -> float:
    """How unlikely it is that the values are shared by chance.

    Whole numbers from a range that the key fills (1 to 20) are found in it whatever they mean.
    """
    if right.form in (ValueForm.WHOLE, ValueForm.NUMBER):
        return 1 - max(right.density, 0.01 if right.form is ValueForm.NUMBER else 0.0) ** min(matched, 20)
    return 1 - 0.6 ** min(matched, 20)
