"""Column pairs by which tables can be joined, from values, uniqueness, names and their meaning.

A pair goes from a column that refers to one whose values are (nearly) unique, as a foreign key to its key.
Pairs are looked at only where a blocking finds something in common: rare values, a header, a heading or the
beginning of a table's id; so the work grows with what is alike, not with the square of the columns. DMRAL
(section 2.3) asks for containment of 0.98, names and meaning alike; here they are the features of a logistic score
whose weights ``scripts/train_joins.py`` learns, and a spelling that differs is matched by rapidfuzz.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from rapidfuzz import fuzz, process

from kgtable.index.corpus import NONE, Places
from kgtable.index.embedding import Matrix
from kgtable.index.inferred.column_profiles import ColumnProfile, TableProfiles, ValueForm
from kgtable.index.postings import BoolArray, IntArray, Postings, mapped, ranges
from kgtable.ontology.inferred_names import is_missing_header, is_missing_title
from kgtable.resources import read_packaged_json

UNIQUE = 0.95
"""The share of distinct values from which a column can be the key of a join."""

LEAST_FUZZY = 0.2
"""The share of equal values from which columns whose headers have no word in common are compared by spelling."""

LEAST_SHARE = 0.5
"""The share of the referring column's values that the key has to have, by fuzzy matches as well."""

PAIRS_COMPARED, VALUES_AT_ONCE = 1 << 20, 1 << 22
"""Pairs of columns, and values in them, that are gone through at a time: they bound the memory."""

COMMON_VALUE = 100
"""Columns that have a value, beyond which it is too common to bring pairs of columns together."""

LARGEST_BLOCK = 60
"""Tables of one heading, or columns of one header, beyond which these bring no pairs together."""

MOST_KIN_PAIRS = 4_000_000
"""Pairs of columns and keys that a heading, the beginning of an id or a small folder may bring together. Where there
would be more, the widest of these tables are left to what their values and headers have in common."""

FUZZY_FROM = 85.0
"""The similarity of two spellings (rapidfuzz's ratio of sorted words) from which they match."""

MOST_FUZZY = 400
"""Values that are compared by similarity on either side."""

MOST_ROWS_ALIKE = 0.9
"""The share of values on either side from which columns of one header and title are those of one table."""

BESIDE = 0.9
"""The score of such a pair."""

CERTAIN = 0.95
"""How telling values have to be, and the share of them that the key has, so that they say alone what they refer to."""

REFERRED = 0.8
"""The score of a column that is called a key, and holds such values of another table's own key."""

KEPT_FROM = 0.4
"""The score from which a pair is kept."""


@dataclass(frozen=True, slots=True)
class JoinCandidate:
    """Two columns of different tables, the features of their join, and the number of matching values."""

    left: ColumnProfile
    right: ColumnProfile
    features: Mapping[str, float]
    common: int
    fuzzy: int
    score: float = 0.0


def join_weights() -> Mapping[str, float]:
    """The learned weights by feature."""
    weights: dict[str, float] = read_packaged_json("index/inferred/join_weights.json")["weights"]
    return weights


def join_score(features: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The probability that two columns with these features are meant to be joined."""
    total = weights.get("bias", 0.0) + sum(weights.get(name, 0.0) * value for name, value in features.items())
    return round(1 / (1 + math.exp(-total)), 3)


class JoinFinder:
    """Finds the joins between tables.

    `vectors` are those of the distinct headers (`vector_of` has the row of a column's header, -1 for
    none); without them meaning is judged by words alone. `clusters` are tables that are parts of one, which are
    not joined with each other. Pairs that `known` rejects are not compared again, unless one of their tables has come
    to be related with others, or no longer is. With `fresh` only pairs with a column of one of these tables are
    looked at; `related` are tables that have a heading or the beginning of an id in common with others, which need not
    be among those of the profiles.
    """

    def __init__(
        self,
        profiles: TableProfiles,
        vectors: Matrix | None = None,
        vector_of: Sequence[int] = (),
        clusters: Sequence[Sequence[int]] = (),
        known: ComparedColumns | None = None,
        *,
        fresh: BoolArray | None = None,
        related: BoolArray | None = None,
    ) -> None:
        self.looked_at = 0
        """Pairs of columns that the last call of `candidates` looked at."""
        self._profiles = profiles
        self._known = known or ComparedColumns(len(profiles.columns))
        self._looked_at: list[IntArray] = []
        self._vectors, self._vector_of = vectors, vector_of
        self._cluster = np.arange(-1, -1 - len(profiles.heads), -1)
        for number, cluster in enumerate(clusters):
            self._cluster[list(cluster)] = number
        counts = Counter(name for kin in profiles.kin for name in kin)
        self._has_kin = [any(counts[name] > 1 for name in kin) for kin in profiles.kin]
        if related is not None:
            self._has_kin = (related | np.array(self._has_kin, dtype=np.bool_)).tolist()
        self._fresh = fresh
        self._keys = [
            column
            for column in profiles.columns
            if column.uniqueness >= UNIQUE and len(column.values) >= 2 and column.form is not ValueForm.DATE
        ]
        self._key_numbers = frozenset(column.number for column in self._keys)
        columns = profiles.columns
        self._sizes = np.fromiter((len(column.values) for column in columns), np.int64, len(columns))
        starts = np.concatenate([[0], np.cumsum(self._sizes)])
        values = [column.values for column in columns]
        self._values = Postings(starts, np.concatenate(values) if values else np.zeros(0, dtype=np.int32))

    def candidates(self) -> Iterator[JoinCandidate]:
        """Every pair that a blocking key brings together and that shares enough values, in order."""
        columns = self._profiles.columns
        count = max(len(columns), 1)
        brought = [*self._by_values()]
        for pairs in (self._by_names(), self._by_kin()):
            codes = array("q", (left * count + right for left, right in pairs))
            brought.append(np.unique(np.frombuffer(codes, dtype=np.int64)))
        found = np.unique(np.concatenate(brought))
        if self._fresh is not None:
            is_fresh = self._fresh[self._kinds[0]]
            found = found[is_fresh[found // count] | is_fresh[found % count]]
        self.looked_at = len(found)
        for start in range(0, len(found), PAIRS_COMPARED):
            left, right = np.divmod(found[start : start + PAIRS_COMPARED], count)
            left, right, common_values = self._likely(left, right)
            self._looked_at.append(left * count + right)
            new = ~self._is_rejected(left, right)
            waiting = left[new], right[new], common_values[new]
            for one, other, common in zip(*map(np.ndarray.tolist, waiting), strict=True):
                if (candidate := self._compared(columns[one], columns[other], common)) is not None:
                    yield candidate

    def _is_rejected(self, left: IntArray, right: IntArray) -> BoolArray:
        """Which pairs are known to be no join."""
        known, table = self._known, self._kinds[0]
        if not len(known.rejected):
            return np.zeros(len(left), dtype=np.bool_)
        same = known.related == np.array(self._has_kin, dtype=np.bool_)
        codes = left * len(self._profiles.columns) + right
        place = np.minimum(np.searchsorted(known.rejected, codes), len(known.rejected) - 1)
        return np.asarray((known.rejected[place] == codes) & same[table[left]] & same[table[right]])

    def compared(self, joins: Iterable[JoinCandidate]) -> ComparedColumns:
        """The pairs compared over all candidates, except these joins."""
        count = len(self._profiles.columns)
        kept = np.array([join.left.number * count + join.right.number for join in joins], dtype=np.int64)
        looked_at = np.concatenate([np.zeros(0, dtype=np.int64), *self._looked_at])
        rejected = np.setdiff1d(looked_at, kept, assume_unique=True)
        return ComparedColumns(count, np.sort(rejected), np.array(self._has_kin, dtype=np.bool_))

    def _likely(self, left: IntArray, right: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """The pairs of columns that may share enough values, with the number of equal ones.

        The few that may are compared one by one.
        """
        table, is_number, is_text = self._kinds
        cluster = self._cluster[table]
        apart = (table[left] != table[right]) & (cluster[left] != cluster[right])
        apart &= is_number[left] == is_number[right]
        left, right = left[apart], right[apart]
        common = self._common(left, right)
        smaller = np.minimum(self._sizes[left], self._sizes[right])
        likely = (common >= 2) & (common >= LEAST_SHARE * smaller)
        spelt = np.flatnonzero(is_text[left] & is_text[right] & (common < smaller) & ~likely)
        alike = (common[spelt] >= LEAST_FUZZY * smaller[spelt]) | self._share_words(left[spelt], right[spelt])
        likely[spelt[alike]] = True
        return left[likely], right[likely], common[likely]

    def _share_words(self, left: IntArray, right: IntArray) -> BoolArray:
        """Whether the headers of each pair have a word in common; looked at once for equal headers."""
        numbers, abouts = self._headers
        pairs, place = np.unique(numbers[left] * len(abouts) + numbers[right], return_inverse=True)
        shared = (not abouts[one].isdisjoint(abouts[other]) for one, other in (divmod(p, len(abouts)) for p in pairs.tolist()))  # noqa: E501  # fmt: skip
        return np.fromiter(shared, np.bool_, len(pairs))[place]

    @cached_property
    def _headers(self) -> tuple[IntArray, list[frozenset[str]]]:
        """For each column the number of its header's words, and the words."""
        known: dict[frozenset[str], int] = {}
        columns = self._profiles.columns
        numbers = (known.setdefault(column.about, len(known)) for column in columns)
        return np.fromiter(numbers, np.int64, len(columns)), list(known)

    @cached_property
    def _kinds(self) -> tuple[IntArray, BoolArray, BoolArray]:
        """For each column the table, whether it holds numbers, and whether it holds texts."""
        columns = self._profiles.columns
        table = np.fromiter((column.table for column in columns), np.int64, len(columns))
        is_number = np.fromiter((column.form in _NUMBERS for column in columns), np.bool_, len(columns))
        is_text = np.fromiter((column.form is ValueForm.TEXT for column in columns), np.bool_, len(columns))
        return table, is_number, is_text

    def _common(self, left: IntArray, right: IntArray) -> IntArray:
        """How many values the columns of each pair have in common."""
        found = np.zeros(len(left), dtype=np.int64)
        starts, span = self._values.starts, len(self._profiles.keys)
        of_column = self._of_column
        few = np.where(self._sizes[left] <= self._sizes[right], left, right)
        many = left + right - few
        ends = np.cumsum(self._sizes[few])
        first = 0
        while first < len(left):
            before = int(ends[first - 1]) if first else 0
            last = max(int(np.searchsorted(ends, before + VALUES_AT_ONCE, "right")), first + 1)
            one, other = few[first:last], many[first:last]
            pair = np.repeat(np.arange(last - first), self._sizes[one])
            wanted = other[pair] * span + self._values.items[ranges(starts[one], starts[one + 1])]
            place = np.minimum(np.searchsorted(of_column, wanted), len(of_column) - 1)
            hit = of_column[place] == wanted
            found[first:last] = np.bincount(pair[hit], minlength=last - first)
            first = last
        return found

    @cached_property
    def _of_column(self) -> IntArray:
        """Every column with each of its values as one number, rising."""
        column = np.repeat(np.arange(len(self._sizes)), self._sizes)
        return np.asarray(column * len(self._profiles.keys) + self._values.items)

    def _by_values(self) -> Iterator[IntArray]:
        """Referring column and key that share a good part of the rarer values of the first, as one number.

        The columns that have a value are gone through for some keys at a time, so that what is counted fits
        into memory however many columns there are.
        """
        columns = self._profiles.columns
        count = len(columns)
        refers = np.fromiter(map(_refers, columns), np.bool_, count)
        column = np.repeat(np.arange(count), np.where(refers, self._sizes, 0))
        value = self._values.items[np.repeat(refers, self._sizes)]
        order = np.argsort(value, kind="stable")
        column, value = column[order], value[order]
        starts = np.flatnonzero(np.r_[True, value[1:] != value[:-1]]) if len(value) else np.zeros(0, np.int64)
        lengths = np.diff(np.r_[starts, len(value)])
        telling = np.repeat(lengths <= COMMON_VALUE, lengths)
        rare = np.bincount(column[telling], minlength=count)
        is_key = np.zeros(count, dtype=np.bool_)
        is_key[list(self._key_numbers)] = True
        run = np.repeat(np.arange(len(starts)), lengths)
        of_keys = np.flatnonzero(telling & is_key[column] & (lengths[run] > 1))
        of_keys = of_keys[np.argsort(column[of_keys], kind="stable")]
        key_column = column[of_keys]
        met = np.cumsum(lengths[run[of_keys]])
        first = 0
        while first < len(of_keys):
            before = int(met[first - 1]) if first else 0
            last = max(int(np.searchsorted(met, before + VALUES_AT_ONCE, "right")), first + 1)
            # a key is counted with all its values at once
            last = int(np.searchsorted(key_column, key_column[last - 1], "right"))
            some = run[of_keys[first:last]]
            right = np.repeat(key_column[first:last], lengths[some])
            left = column[ranges(starts[some], starts[some] + lengths[some])]
            pairs, shared = np.unique(left[left != right] * count + right[left != right], return_counts=True)
            left, right = np.divmod(pairs, count)
            enough = (shared >= 2) & (shared >= 0.2 * np.minimum(rare[left], self._sizes[right]))
            yield pairs[enough]
            first = last

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
                yield from self._within([self._columns_of(members)], largest=len(self._profiles.columns))

    def _columns_of(self, tables: Sequence[int]) -> list[ColumnProfile]:
        """The columns that may refer, of the narrowest tables whose columns and keys make at most `MOST_KIN_PAIRS`."""
        of_table = self._profiles.of_table
        found: list[ColumnProfile] = []
        keys = 0
        for table in sorted(tables, key=lambda table: (len(of_table[table]), table)):
            own = [column for column in of_table[table] if _refers(column)]
            keys += sum(column.number in self._key_numbers for column in own)
            if (len(found) + len(own)) * keys > MOST_KIN_PAIRS:
                break
            found += own
        return found

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

    def _compared(self, left: ColumnProfile, right: ColumnProfile, common: int) -> JoinCandidate | None:
        smaller = min(len(left.values), len(right.values))
        fuzzy = 0
        if common < smaller and left.form is ValueForm.TEXT and right.form is ValueForm.TEXT:
            named = not left.about.isdisjoint(right.about)
            if named or common >= LEAST_FUZZY * smaller:
                fuzzy = len(self.fuzzy_matches(left, right))
        share = (common + fuzzy) / smaller
        if share < LEAST_SHARE or common + fuzzy < 2:
            return None
        features = self._features(left, right, common, fuzzy, share)
        score = join_score(features, join_weights())
        if self._stand_beside(left, right, features) and min(share, features["cover"]) >= MOST_ROWS_ALIKE:
            score = max(score, BESIDE)
        if is_reference(features):
            score = max(score, REFERRED)
        return JoinCandidate(left, right, features, common, fuzzy, score)

    def _stand_beside(self, left: ColumnProfile, right: ColumnProfile, features: Mapping[str, float]) -> bool:
        """Whether the columns are one by their header, in tables of one title: parts of a wider table.

        Values that are not shared by chance, or all values of both under one title, make up for a header that is
        missing; the former for a missing title as well, but not for both.
        """
        one, other = (self._profiles.heads[column.table] for column in (left, right))
        titled = bool(one.title) and (one.title, one.heading) == (other.title, other.heading)
        named = left.words == right.words and left.name == right.name and not is_missing_header(left.name)
        if titled and named:
            return True
        untitled = any(is_missing_title(head.title, head.id) for head in (one, other))
        unnamed = is_missing_header(left.name) or is_missing_header(right.name)
        certain = features["telling"] >= CERTAIN
        equal = min(features["share"], features["cover"]) >= 1
        return (titled and unnamed and (certain or equal)) or (untitled and named and certain)

    def fuzzy_matches(self, left: ColumnProfile, right: ColumnProfile) -> list[tuple[int, int, float]]:
        """Values of the left column that the right one spells differently, with their similarity (0 to 100)."""
        keys = self._profiles.keys
        mine, others = left.keys, right.keys
        # by their texts: the numbers of keys depend on other tables
        ours = sorted(mine - others, key=keys.__getitem__)[:MOST_FUZZY]
        theirs = sorted(others - mine, key=keys.__getitem__)[:MOST_FUZZY]
        return fuzzy_pairs([(n, keys[n]) for n in ours], [(n, keys[n]) for n in theirs])

    def _features(
        self, left: ColumnProfile, right: ColumnProfile, common: int, fuzzy: int, share: float
    ) -> dict[str, float]:
        heads, kin = self._profiles.heads, self._profiles.kin
        ours, theirs = left.about, right.about
        of_left, of_right = heads[left.table].words, heads[right.table].words
        matched = common + fuzzy
        cover = matched / len(right.values)
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
            "own left": float(left.uniqueness >= UNIQUE) * max(float(not ours and left.is_keyed), _part(ours, of_left)),
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


def is_reference(features: Mapping[str, float]) -> bool:
    """Whether values that are not shared by chance refer to the own key of a related table, under any name:
    ``winner_id`` to ``player_id`` of the players."""
    certain = min(features["share"], features["telling"]) >= CERTAIN and features["own"] >= 1
    return certain and bool(features["kin"] and features["keyed left"] and not features["own left"])


def fuzzy_pairs(left: Sequence[tuple[int, str]], right: Sequence[tuple[int, str]]) -> list[tuple[int, int, float]]:
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


_NUMBERS = (ValueForm.WHOLE, ValueForm.NUMBER)


def _refers(column: ColumnProfile) -> bool:
    return len(column.values) >= 2 and column.form not in (ValueForm.DATE, ValueForm.EMPTY)


def _comparable(left: ColumnProfile, right: ColumnProfile) -> bool:
    return (left.form in _NUMBERS) == (right.form in _NUMBERS)


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

    Whole numbers from a range that the key fills (1 to 20) are found in it regardless of what they mean.
    """
    if right.form in (ValueForm.WHOLE, ValueForm.NUMBER):
        return 1 - max(right.density, 0.01 if right.form is ValueForm.NUMBER else 0.0) ** min(matched, 20)
    return 1 - 0.6 ** min(matched, 20)


_PAIRS, _RELATED = "joins.rejected.npy", "joins.related.npy"


@dataclass(frozen=True)
class ComparedColumns:
    """The rejected pairs of a search for joins, kept so that the next build need not compare them.

    `rejected` are the pairs of columns that were compared and do not join, each as one number (the referring column
    times the number of columns, plus the other), rising. `related` says of each table whether another one has a
    heading, or the beginning of its id, in common with it; this bears on how a pair is judged.
    """

    columns: int
    rejected: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    related: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    def save(self, folder: Path) -> None:
        """Write them into an index folder."""
        pairs = np.stack(np.divmod(self.rejected, max(self.columns, 1)), axis=1).astype(np.int32)
        np.save(folder / _PAIRS, pairs, allow_pickle=False)
        np.save(folder / _RELATED, self.related, allow_pickle=False)

    @classmethod
    def open(cls, folder: Path, columns: int) -> ComparedColumns:
        """The saved data of so many columns; nothing if it is missing or damaged."""
        try:
            pairs = mapped(folder / _PAIRS).astype(np.int64)
            return cls(columns, pairs[:, 0] * columns + pairs[:, 1], mapped(folder / _RELATED))
        except (OSError, ValueError, IndexError):
            return cls(columns)

    def moved(self, tables: Mapping[int, int], before: Places, now: Places) -> ComparedColumns:
        """The same for another index with some of the tables unchanged, by their old and new numbers."""
        columns = len(now.column_table)
        if not len(self.related) or not tables:
            return ComparedColumns(columns)
        old, new = (np.fromiter(of, np.int64, len(tables)) for of in (tables.keys(), tables.values()))
        related = np.zeros(now.tables, dtype=np.bool_)
        related[new] = self.related[old]
        place = np.full(len(before.column_table), NONE, dtype=np.int64)
        of_old, of_new = (
            ranges(places.table_column_start[some], places.table_column_start[some + 1])
            for places, some in ((before, old), (now, new))
        )
        place[of_old] = of_new
        left, right = np.divmod(self.rejected, max(self.columns, 1))
        left, right = place[left], place[right]
        kept = (left != NONE) & (right != NONE)
        return ComparedColumns(columns, np.sort(left[kept] * columns + right[kept]), related)

    def with_some(self, others: ComparedColumns, columns: IntArray, tables: IntArray) -> ComparedColumns:
        """These with the findings for some tables, whose places and columns here are given.

        For a table that is in neither, `related` says nothing.
        """
        left, right = np.divmod(others.rejected, max(others.columns, 1))
        more = columns[left].astype(np.int64) * self.columns + columns[right]
        related = self.related.copy()
        related[tables] = others.related
        return ComparedColumns(self.columns, np.union1d(self.rejected, more), related)


def unchanged_places(before: Sequence[str], now: Sequence[str], unchanged: Collection[str]) -> dict[int, int]:
    """The number of each unchanged table before and now."""
    place = {id: at for at, id in enumerate(now)}
    return {at: place[id] for at, id in enumerate(before) if id in unchanged and id in place}
