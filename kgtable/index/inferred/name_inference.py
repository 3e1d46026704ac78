"""Inference of names for columns without a header and tables without a title (DMRAL, section 2.3).

The names come from the columns of the same graph that have one: the most alike by values, words in them, form and
unit, place in the table and the headers next to them; and, by their vectors, from all headers that mean what the
values are. A list of common headers helps where the graph knows no like column. No model is asked.
"""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from kgtable.graph.store import TripleStore, select
from kgtable.graph.terms import KGT, XSD, Block, Namespaces, text_literal, typed
from kgtable.index.embedding import Matrix
from kgtable.index.inferred.column_profiles import (
    KEY_WORDS,
    ColumnProfile,
    TableHead,
    TableProfiles,
    ValueForm,
    header_words,
)
from kgtable.index.postings import Postings
from kgtable.index.substring import folded
from kgtable.ontology.column_stats import Embed
from kgtable.ontology.inferred_names import USED_FROM, InferredName, InferredNames, is_missing_header, is_missing_title
from kgtable.resources import PACKAGE, read_shipped

InferNames: TypeAlias = "Callable[[TableProfiles, Sequence[str], Embed | None], list[InferredName]]"
"""`infer_names`, or a substitute."""

HEADERS_BESIDE = 40
"""Columns on each side whose headers say something about a column."""

VALUES = 40
"""Distinct values of a column that are looked at, spread over all of them."""

SHOWN = 8
"""Values that stand for a column in a text that is embedded."""

CANDIDATES = 24
"""Headers that are weighed for a column, the best by like columns, and as many by meaning."""

NEIGHBOURS = 3
"""Like columns of one header that speak for it, each half as loud as the one before."""

WEIGHTS: Mapping[str, float] = {"values": 2.0, "words": 0.8, "shape": 0.65, "place": 0.3, "beside": 1.6}
"""What each block of features counts for in the likeness of two columns."""

MEANING, COMMON, FORM = 1.5, 0.01, 0.35
"""What the meaning of a header next to the values counts for, how often it occurs, and that its columns are of the
same form."""

SURE = (-2.9, 1.18)
"""From the score to the probability that the name is right in the same words, a logistic curve."""

TITLE_FROM = 0.35
"""The likeness of two tables from which the title of one is proposed for the other."""

HEADERS_IN_TITLE, FROM_KEY, FROM_HEADERS = 3, 0.45, 0.15
"""Headers that make a title where no table is alike, and how sure it is: of a key's header, which says what the rows
are (``Shop_ID``), and of several, whose words the search has already."""

_LETTERS, _DIGITS = re.compile(r"[^\W\d_]+"), re.compile(r"\d+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")

Doubles: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class NameGuess:
    """A header proposed for a column, with its score."""

    name: str
    score: float
    basis: str


@cache
def common_headers() -> Mapping[str, frozenset[str]]:
    """Headers that people give columns, and the forms of their values."""
    found: dict[str, set[str]] = defaultdict(set)
    for line in (PACKAGE / "index" / "inferred" / "common_headers.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, form = line.rpartition(" ")
            found[name].add(form)
    return {name: frozenset(forms) for name, forms in found.items()}


def infer_names(profiles: TableProfiles, units: Sequence[str], embed: Embed | None = None) -> list[InferredName]:
    """Names for the columns without a header, and titles for the tables without one.

    Args:
        profiles: of the columns of all tables.
        units: of each column the QUDT unit of most of its quantities, or an empty text.
        embed: texts to vectors, asked for the headers first and then for the values; without it only like columns
            count.

    Returns:
        One name at most for a column or table, in their order; within a table no name twice.
    """
    missing = [column for column in profiles.columns if is_missing_header(column.name) and len(column.values)]
    untitled = [table for table, head in enumerate(profiles.heads) if is_missing_title(head.title, head.id)]
    if not missing and not untitled:
        return []
    finder = NameFinder(profiles, units, embed)
    found = list(finder.headers(missing))
    found += finder.titles(untitled, found)
    return sorted(found, key=lambda name: (name.table, -1 if name.column is None else name.column))


class NameFinder:
    """Weighs the headers of a graph for columns that have none; see `infer_names`."""

    def __init__(self, profiles: TableProfiles, units: Sequence[str], embed: Embed | None = None) -> None:
        self._profiles, self._units, self._embed = profiles, units, embed
        self._samples: dict[int, list[str]] = {}
        self._known = [column for column in profiles.columns if not is_missing_header(column.name)]
        numbers: dict[tuple[str, ...], int] = {}
        self._group_of = np.array(
            [numbers.setdefault(column.words or (column.name,), len(numbers)) for column in self._known], dtype=np.int64
        )
        spellings: list[Counter[str]] = [Counter() for _ in numbers]
        forms: list[Counter[str]] = [Counter() for _ in numbers]
        for column, group in zip(self._known, self._group_of.tolist(), strict=True):
            spellings[group][column.name] += 1
            forms[group][column.form.value] += 1
        for name, own in common_headers().items():
            group = numbers.setdefault(header_words(name), len(numbers))
            if group == len(spellings):
                spellings.append(Counter([name]))
                forms.append(Counter(dict.fromkeys(own, 1)))
        self._words = list(numbers)
        self._names = [min(counts, key=lambda name: (-counts[name], name)) for counts in spellings]
        self._counts = [counts.total() for counts in spellings]
        self._forms = forms
        self._blocks = {name: _Block(map(features, self._known)) for name, features in self._features.items()}

    @cached_property
    def _features(self) -> Mapping[str, Callable[[ColumnProfile], Sequence[str]]]:
        return {
            "values": self._sample,
            "words": self._value_words,
            "shape": self._shape,
            "place": self._place,
            "beside": self._beside,
        }

    def _sample(self, column: ColumnProfile) -> list[str]:
        """Some of its values, evenly over all of them."""
        found = self._samples.get(column.number)
        if found is None:
            keys, size = self._profiles.keys, len(column.values)
            step = max(size / VALUES, 1.0)
            places = [int(place * step) for place in range(min(size, VALUES))]
            found = self._samples[column.number] = [keys[key] for key in column.values[places].tolist()]
        return found

    def _value_words(self, column: ColumnProfile) -> list[str]:
        found = (word for text in self._sample(column) for word in _LETTERS.findall(text) if len(word) > 1)
        return list(dict.fromkeys(found))

    def _shape(self, column: ColumnProfile) -> list[str]:
        """What the values look like: form, unit, length, magnitude, pattern of letters and digits."""
        sample = self._sample(column)
        found = [f"form {column.form}", f"unit {self._units[column.number]}"]
        unique = column.uniqueness
        found.append("key" if unique >= 1 else "repeats" if unique < 0.5 else "mostly distinct")
        if column.form in (ValueForm.WHOLE, ValueForm.NUMBER):
            numbers = [float(text.replace(",", "")) for text in sample if _is_number(text)]
            if numbers:
                low, high = min(numbers), max(numbers)
                found += [f"from {_size(low)}", f"to {_size(high)}", f"from {_size(low)} to {_size(high)}"]
                found.append(f"dense {round(column.density, 1)}")
                if high >= 1000 and high <= 2100 and low >= 1500:
                    found.append("years")
        else:
            lengths = sorted(map(len, sample)) or [0]
            found.append(f"length {_size(lengths[len(lengths) // 2])}")
            words = sorted(len(text.split()) for text in sample) or [0]
            found.append(f"words {min(words[len(words) // 2], 6)}")
            patterns = Counter(_pattern(text) for text in sample)
            found += [f"pattern {pattern}" for pattern, _ in patterns.most_common(2)]
        return found

    def _place(self, column: ColumnProfile) -> list[str]:
        width = len(self._profiles.of_table[column.table])
        return [f"at {column.index}", f"before the end {width - column.index}", f"of {min(width, 12)}"]

    def _beside(self, column: ColumnProfile) -> list[str]:
        """The words over the table and of the other headers near it; those of the next ones again."""
        head = self._profiles.heads[column.table]
        found = [f"title {word}" for word in head.words]
        found += [f"title {word}" for text in head.heading for word in header_words(text)]
        columns = self._profiles.of_table[column.table]
        place = bisect_left(columns, column.number, key=lambda one: one.number)
        for other in columns[max(place - HEADERS_BESIDE, 0) : place + HEADERS_BESIDE + 1]:
            if other.number == column.number or is_missing_header(other.name):
                continue
            found += [f"header {word}" for word in other.words]
            if abs(other.index - column.index) == 1:
                side = "left" if other.index < column.index else "right"
                found.append(f"{side} {' '.join(other.words)}")
        return list(dict.fromkeys(found))

    @cached_property
    def _header_vectors(self) -> Matrix | None:
        return None if self._embed is None else self._embed([folded(name) for name in self._names])

    def headers(self, missing: Sequence[ColumnProfile]) -> Iterator[InferredName]:
        """The best name for each column, no name twice within a table: the surest column takes it."""
        vectors = self._value_vectors(missing)
        by_table: dict[int, list[ColumnProfile]] = defaultdict(list)
        for column in missing:
            by_table[column.table].append(column)
        for table, columns in by_table.items():
            taken = {words for c in self._profiles.of_table[table] if (words := c.words) and not is_missing_header(c.name)}  # noqa: E501  # fmt: skip
            guesses = {column.number: self.guesses(column, vectors.get(column.number)) for column in columns}
            waiting = list(columns)
            while waiting:
                best = {
                    c.number: next((g for g in guesses[c.number] if header_words(g.name) not in taken), None)
                    for c in waiting
                }
                column = max(waiting, key=lambda c: (_score(best[c.number]), -c.number))
                waiting.remove(column)
                guess = best[column.number]
                if guess is not None:
                    taken.add(header_words(guess.name))
                    id = self._profiles.heads[table].id
                    yield InferredName(id, column.index, guess.name, confidence(guess.score), guess.basis)

    def _value_vectors(self, columns: Sequence[ColumnProfile]) -> dict[int, npt.NDArray[np.float32]]:
        if not columns or self._embed is None or self._header_vectors is None:
            return {}
        vectors = self._embed([", ".join(self._sample(column)[:SHOWN]) or "nothing" for column in columns])
        return {column.number: vector for column, vector in zip(columns, vectors, strict=True)}

    def guesses(self, column: ColumnProfile, vector: npt.NDArray[np.float32] | None = None) -> list[NameGuess]:
        """The headers that a column may have, the best first; `vector` represents its values."""
        likeness = np.zeros(len(self._known))
        for name, features in self._features.items():
            likeness += WEIGHTS[name] * self._blocks[name].likeness(features(column))
        for at, other in self._known_of_table.get(column.table, ()):
            likeness[at] = 0.0 if other.number == column.number else likeness[at]
        alike = self._by_group(likeness)
        score = alike.copy()
        meaning = np.zeros(len(self._names))
        if vector is not None and self._header_vectors is not None:
            meaning = np.maximum(self._header_vectors @ vector, 0.0).astype(np.float64)
            score += MEANING * meaning
        score += COMMON * self._commonness
        score += FORM * self._of_form[column.form]
        order = np.argsort(-score, kind="stable")[:CANDIDATES]
        return [
            NameGuess(self._names[group], float(score[group]), "columns" if alike[group] > meaning[group] else "values")
            for group in order.tolist()
        ]  # fmt: skip

    @cached_property
    def _known_of_table(self) -> Mapping[int, list[tuple[int, ColumnProfile]]]:
        found: dict[int, list[tuple[int, ColumnProfile]]] = defaultdict(list)
        for at, column in enumerate(self._known):
            found[column.table].append((at, column))
        return found

    def _by_group(self, likeness: Doubles) -> Doubles:
        """How much the most alike columns of each header speak for it."""
        order, starts = self._by_header
        groups = self._group_of[order[starts]]
        left, share, total = likeness[order], 1.0, 0.0
        found = np.zeros(len(self._names))
        sizes = np.diff(np.append(starts, len(order)))
        for _ in range(NEIGHBOURS):
            best = np.maximum.reduceat(left, starts) if len(starts) else np.zeros(0)
            found[groups] += share * best
            total += share
            at_best = np.flatnonzero(left == np.repeat(best, sizes))
            left[at_best[np.searchsorted(at_best, starts)]] = 0.0  # the first of each header
            share /= 2
        return found / total

    @cached_property
    def _by_header(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The places of the columns by header, and where each header's begin."""
        order = np.argsort(self._group_of, kind="stable")
        grouped = self._group_of[order]
        new = np.r_[True, grouped[1:] != grouped[:-1]] if len(grouped) else np.zeros(0, dtype=np.bool_)
        return order, np.flatnonzero(new)

    @cached_property
    def _commonness(self) -> Doubles:
        return np.asarray(np.log1p(np.array(self._counts, dtype=np.float64)))

    @cached_property
    def _of_form(self) -> Mapping[ValueForm, Doubles]:
        """For each form the share of each header's columns that have it."""
        return {form: np.array([_share_of_form(forms, form) for forms in self._forms]) for form in ValueForm}

    def titles(self, untitled: Sequence[int], headers: Iterable[InferredName]) -> Iterator[InferredName]:
        """A title for each table: that of a table like it, or what its first headers say."""
        heads = self._profiles.heads
        named = {(name.table, name.column): name.name for name in headers if name.confidence >= USED_FROM}
        titled = [table for table, head in enumerate(heads) if not is_missing_title(head.title, head.id)]
        block = _Block(self._about(table, named) for table in titled) if untitled else None
        for table in untitled:
            assert block is not None
            head = heads[table]
            likeness = block.likeness(self._about(table, named)) if titled else np.zeros(1)
            best = int(np.argmax(likeness))
            if likeness[best] >= TITLE_FROM:
                like = heads[titled[best]]
                title = like.title or re.split(r"[/#]", like.id)[-1].replace("_", " ")
                sure = round(float(min(likeness[best], 0.95)), 2)
                yield InferredName(head.id, None, title, sure, "tables")
                continue
            names = [
                named.get((head.id, column.index)) or ("" if is_missing_header(column.name) else column.name)
                for column in self._profiles.of_table[table]
            ]
            keys = (_thing(column.name) for column in self._profiles.of_table[table][:1] if column.is_keyed)
            if thing := next(filter(None, keys), ""):
                yield InferredName(head.id, None, thing, FROM_KEY, "headers")
            elif said := list(filter(None, names))[:HEADERS_IN_TITLE]:
                yield InferredName(head.id, None, ", ".join(said), FROM_HEADERS, "headers")

    def _about(self, table: int, named: Mapping[tuple[str, int | None], str]) -> list[str]:
        """The headers of a table, given and inferred, and the values of its columns of texts."""
        head: TableHead = self._profiles.heads[table]
        found: dict[str, None] = {}
        for column in self._profiles.of_table[table]:
            name = named.get((head.id, column.index), "") if is_missing_header(column.name) else column.name
            if name:
                found[f"header {' '.join(header_words(name))}"] = None
            if column.form is ValueForm.TEXT:
                found.update(dict.fromkeys(self._sample(column)[:20]))
        return list(found)


class _Block:
    """Lists of features as vectors of length one, weighted by rarity, to be compared with others."""

    def __init__(self, lists: Iterable[Sequence[str]]) -> None:
        numbers: dict[str, int] = {}
        keys, sizes = array("q"), array("q")
        for features in lists:
            own = [numbers.setdefault(feature, len(numbers)) for feature in dict.fromkeys(features)]
            keys.extend(own)
            sizes.append(len(own))
        self._numbers, self._count = numbers, len(sizes)
        count = self._count
        items = np.repeat(np.arange(count), np.array(sizes, dtype=np.int64))
        self._postings = Postings.build(np.array(keys, dtype=np.int64), items, len(numbers))
        frequency = np.diff(self._postings.starts)
        self._weight = np.log((count + 1) / (frequency + 0.5)) + 0.1
        owners = np.repeat(np.arange(len(self._numbers)), frequency)
        squares = np.bincount(self._postings.items, weights=self._weight[owners] ** 2, minlength=count)
        self._length = np.sqrt(np.maximum(squares, 1e-9))

    def likeness(self, features: Sequence[str]) -> Doubles:
        """The cosine of these features with each list."""
        found = np.zeros(self._count)
        total = 0.0
        for feature in dict.fromkeys(features):
            number = self._numbers.get(feature)
            weight = math.log((self._count + 1) / 0.5) if number is None else float(self._weight[number])
            total += weight**2
            if number is not None:
                first, last = self._postings.starts[number], self._postings.starts[number + 1]
                found[self._postings.items[first:last]] += weight**2
        return found / self._length / max(math.sqrt(total), 1e-9)


_NUMBERS = (ValueForm.WHOLE, ValueForm.NUMBER)


def _share_of_form(forms: Counter[str], form: ValueForm) -> float:
    near = 0.5 * (forms[ValueForm.WHOLE] + forms[ValueForm.NUMBER]) if form in _NUMBERS else 0.0
    return min((forms[form] + forms["any"] + near * (form not in forms)) / max(forms.total(), 1), 1.0)


def confidence(score: float) -> float:
    """The probability that a name of this score is right.

    >>> confidence(1.0) < confidence(2.0) < 1
    True
    """
    return round(1 / (1 + math.exp(-(SURE[0] + SURE[1] * score))), 2)


def _thing(header: str) -> str:
    """The subject that a key identifies, by its header.

    >>> _thing("Shop_ID"), _thing("orderItemNo"), _thing("id")
    ('Shop', 'order Item', '')
    """
    words = _LETTERS.findall(_CAMEL.sub(" ", header))
    return " ".join(word for word in words if word.casefold() not in KEY_WORDS)


def _score(guess: NameGuess | None) -> float:
    return -1.0 if guess is None else guess.score


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?\d[\d,]*(?:\.\d+)?", text) is not None and len(text) < 30


def _size(number: float) -> str:
    """The sign and the number of digits, and within three digits half of them."""
    if not number:
        return "0"
    digits = math.log10(abs(number))
    step = math.floor(digits * 2) / 2 if abs(number) < 1000 else math.floor(digits)
    return f"{'-' if number < 0 else ''}{step}"


def _pattern(text: str) -> str:
    return _LETTERS.sub("a", _DIGITS.sub("9", text))[:24]


LABEL, CONFIDENCE, BASIS = f"{KGT}inferredLabel", f"{KGT}inferredConfidence", f"{KGT}inferredFrom"


def name_blocks(inferred: InferredNames, names: Namespaces) -> Iterator[Block]:
    """The statements about each column and table with an inferred name."""
    for name in inferred:
        at = names.table_iri(name.table) if name.column is None else names.column_iri(name.table, name.column)
        sure = typed(f"{name.confidence:.2f}", f"{XSD}decimal")
        pairs = [(LABEL, text_literal(name.name)), (CONFIDENCE, sure), (BASIS, text_literal(name.basis))]
        yield f"<{at}>", [(f"<{predicate}>", value) for predicate, value in pairs]


def stated_names(store: TripleStore, names: Namespaces) -> InferredNames:
    """The inferred names that a graph states. Raises `QueryError`, `RemoteStoreError`."""
    return InferredNames(
        InferredName(
            names.parse_table_iri(row["table"].value) or "",
            None if row["column"] is None else int(row["column"].value),
            row["label"].value,
            float(row["confidence"].value),
            row["basis"].value,
        )
        for row in select(store, read_shipped("queries/inferred-names.rq"))
    )
