"""Information needs of a question, and the groups of joined tables that meet them (DMRAL, sections 3.2 and 4.2).

The paper takes noun, adjective and verb phrases from a constituency parse; here they are what a parse of the graph's
own words yields: quoted passages, runs of words that occur in the graph as one text, and runs of the words
between function words.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from kgtable.index.corpus import NONE
from kgtable.index.embedding import Matrix
from kgtable.index.graph_index import GraphIndex
from kgtable.index.inferred.column_profiles import KEY_WORDS, header_words
from kgtable.index.inferred.relations import TableRelations
from kgtable.index.postings import IntArray
from kgtable.index.substring import Strings, folded
from kgtable.text.words import is_empty_word, terms_asked

MOST_NEEDS = 12
LONGEST_RUN = 5
"""Words of a run that is looked up as one text."""

LONGEST_PHRASE = 2
"""Words of a need that is not a text of the graph, as in DMRAL's code."""

_TOKEN = re.compile(r"\d[\d,]*(?:\.\d+)?|[^\W\d_]+(?:['’][^\W\d_]+)?|[^\w\s]")
_QUOTED = re.compile(r"[\"“„«`]+\s?([^\"“”„«»`']{1,80}?)\s?[\"”»']+|(?<!\w)['‘]\s?([^'‘’]{1,80}?)\s?['’](?!\w)")

OF_A_KEY = 0.8
"""How well a reference answers a need for what it refers to: ``Stadium_ID`` for "stadium"."""

LEAST_COSINE = 0.45
"""The cosine of a need and a header below which they have nothing to do with each other."""

NEGATIONS = frozenset({"not", "no", "without", "never", "nor", "neither", "except"})

KINDS = BY_TITLE, BY_HEADER, BY_CELL = "title", "header", "cell"
FEATURES = (*KINDS, "best", "unmet")
BEST, UNMET = -2, -1
BY_RULES: Mapping[str, float] = MappingProxyType({"best_value": 1.0, "best_phrase": 1.0})
"""The weights of `GroupFinder.features` without training: the best match of each need."""

LEAST_MET = 0.5
"""The match below which a need is not met."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class InformationNeed:
    """A phrase of the question that some column has to answer: where it begins, its stems, how telling it is."""

    text: str
    start: int
    stems: tuple[str, ...]
    weight: float
    is_value: bool = False


@dataclass(frozen=True, slots=True)
class NeedMatch:
    """Match of a table with a need: `column` is its number in the corpus, `NONE` for the title."""

    score: float
    column: int
    kind: str


def information_needs(question: str, index: GraphIndex) -> tuple[InformationNeed, ...]:
    """The needs of a question in reading order, at most `MOST_NEEDS`."""
    found: list[InformationNeed] = []
    taken: list[tuple[int, int]] = []
    for quoted in _QUOTED.finditer(question):
        text = quoted[1] or quoted[2]
        found.append(_need(text, quoted.start(), index, is_value=True))
        taken.append(quoted.span())
    tokens = [
        token for token in _TOKEN.finditer(question) if not any(start <= token.start() < end for start, end in taken)
    ]
    place = 0
    while place < len(tokens):
        run = _known_run(tokens, place, question, index)
        if run == 0:
            run = _content_run(tokens, place, question, index)
        if run == 0:
            place += 1
            continue
        start, end = tokens[place].start(), tokens[place + run - 1].end()
        text = question[start:end]
        need = _need(text, start, index, is_value=text[:1].isdigit() or (start > 0 and text[:1].isupper()))
        if need.stems and need.text.lower() not in NEGATIONS:
            found.append(need)
        place += run
    return tuple(sorted(found, key=lambda need: need.start)[:MOST_NEEDS])


def _need(text: str, start: int, index: GraphIndex, *, is_value: bool) -> InformationNeed:
    stems = tuple(dict.fromkeys(stem for stem, asks in terms_asked(text) if not asks))
    weights = index.corpus.statistics.term_weight
    known = [number for stem in stems if (number := index.corpus.terms.find(stem)) is not None]
    telling = float(np.mean(weights[known])) if known else float(np.log(index.corpus.places.tables + 1))
    return InformationNeed(text, start, stems, max(telling, 0.1), is_value)


def _known_run(tokens: Sequence[re.Match[str]], place: int, question: str, index: GraphIndex) -> int:
    """How many words from a place on are one text of the graph; 0 for less than two."""
    for length in range(min(LONGEST_RUN, len(tokens) - place), 1, -1):
        run = tokens[place : place + length]
        if is_empty_word(run[0][0].lower()) or is_empty_word(run[-1][0].lower()):
            continue
        text = question[run[0].start() : run[-1].end()]
        if index.corpus.texts.find(folded(text)) is not None:
            return length
    return 0


def _content_run(tokens: Sequence[re.Match[str]], place: int, question: str, index: GraphIndex) -> int:
    """How many words from a place on make a phrase; a number is a phrase of its own."""
    length = 0
    for token in tokens[place : place + LONGEST_PHRASE]:
        word = token[0].lower()
        if not word[0].isalnum() or is_empty_word(word):
            break
        if length and (word[0].isdigit() or _known_run(tokens, place + length, question, index)):
            break
        length += 1
        if word[0].isdigit():
            break
    return length


class NeedMatcher:
    """Matches the needs of one question with columns, titles and cells of tables."""

    def __init__(self, needs: Sequence[InformationNeed], index: GraphIndex) -> None:
        self.needs = tuple(needs)
        self._index = index
        self._vectors = self._embedded()
        self._titles = Strings.open(index.folder / "titles")

    def _embedded(self) -> Matrix | None:
        if not self.needs or self._index.vectors is None:
            return None
        return self._index.embed([need.text.casefold() for need in self.needs])

    @cached_property
    def _header_rows(self) -> IntArray:
        """The row of each text's vector among those of the headers."""
        vectors = self._index.vectors
        rows = np.full(len(self._index.corpus.texts) + 1, NONE, dtype=np.int64)
        if vectors is not None:
            rows[vectors.texts["predicates"]] = np.arange(len(vectors.texts["predicates"]))
        return rows

    @cached_property
    def _cells_of_need(self) -> list[dict[int, tuple[float, int]]]:
        """For each need the best cell match by table: 1 for a whole cell, less for words in one."""
        corpus = self._index.corpus
        places = corpus.places
        found: list[dict[int, tuple[float, int]]] = []
        for need in self.needs:
            best: dict[int, tuple[float, int]] = {}
            for text, score in self._texts_of(need):
                cells = corpus.text_cells.of_one(text)[:2_000]
                columns = places.cell_column[cells]
                for column, table in zip(columns.tolist(), places.column_table[columns].tolist(), strict=True):
                    if score > best.get(table, (0.0, NONE))[0]:
                        best[table] = score, column
            found.append(best)
        return found

    def _texts_of(self, need: InformationNeed) -> Iterable[tuple[int, float]]:
        corpus = self._index.corpus
        whole = corpus.texts.find(folded(need.text))
        if whole is not None:
            yield whole, 1.0
        numbers = [corpus.terms.find(stem) for stem in need.stems]
        if not numbers or any(number is None for number in numbers):
            return
        having = [corpus.term_texts.of_one(number) for number in numbers if number is not None]
        common = having[0]
        for other in having[1:]:
            common = np.intersect1d(common, other, assume_unique=True)
        sizes = corpus.statistics.text_size[common]
        for text, size in zip(common[:3_000].tolist(), sizes[:3_000].tolist(), strict=True):
            yield text, 0.9 if size <= len(need.stems) else 0.6 * len(need.stems) / size

    def column_matches(self, need: int, table: int) -> list[NeedMatch]:
        """The matches of a need (by its place) in a table (by its number), the best first."""
        wanted = self.needs[need]
        stems = set(wanted.stems)
        found = [NeedMatch(self._title(stems, table), NONE, BY_TITLE)]
        corpus = self._index.corpus
        places = corpus.places
        first, last = places.table_column_start[table], places.table_column_start[table + 1]
        for column in range(int(first), int(last)):
            name = int(places.column_name[column])
            if name == NONE:
                continue
            found.append(NeedMatch(self._header(need, stems, name), column, BY_HEADER))
        cell = self._cells_of_need[need].get(table)
        if cell is not None:
            found.append(NeedMatch(cell[0] if wanted.is_value else 0.8 * cell[0], cell[1], BY_CELL))
        return sorted((match for match in found if match.score > 0), key=lambda match: -match.score)

    def _title(self, stems: set[str], table: int) -> float:
        return 0.95 * len(stems & self._named(table)) / len(stems) if stems else 0.0

    @cache  # noqa: B019 (a matcher lives for one question)
    def _named(self, table: int) -> frozenset[str]:
        """The stems of a table's id, of its title, headings and caption, and of lines of one cell above its header."""
        corpus = self._index.corpus
        places = corpus.places
        rows = np.arange(places.table_row_start[table], places.table_row_start[table + 1])
        starts = places.row_cell_start[rows]
        alone = places.row_is_header[rows] & (places.row_cell_start[rows + 1] - starts == 1)
        texts = places.cell_text[starts[alone]].tolist()
        first, last = places.table_column_start[table], places.table_column_start[table + 1]
        headers = set(places.column_name[first:last].tolist())
        titles = [self._titles[table], *(corpus.texts[text] for text in texts if text not in headers)]
        return _id_stems(corpus.table_ids[table]).union(*map(header_words, titles))

    def _header(self, need: int, stems: set[str], name: int) -> float:
        words = _header_stems(self._index.corpus.texts[name])
        both = stems & words
        lexical = 0.0
        if both:
            lexical = 0.5 * len(both) / len(stems) + 0.5 * len(both) / max(len(words - KEY_WORDS), 1)
            if words & KEY_WORDS and not stems & KEY_WORDS:
                lexical *= OF_A_KEY
        if self._vectors is None:
            return lexical
        row = int(self._header_rows[name])
        vectors = self._index.vectors
        if row == NONE or vectors is None:
            return lexical
        cosine = float(vectors.predicates[row] @ self._vectors[need])
        if words & KEY_WORDS and not stems & KEY_WORDS:
            cosine *= OF_A_KEY
        return max(min(lexical, 1.0), cosine if cosine >= LEAST_COSINE else 0.0)


def _header_stems(text: str) -> frozenset[str]:
    return frozenset(header_words(text))


def _id_stems(id: str) -> frozenset[str]:
    """The stems of a table's own name: the last part of its id."""
    return frozenset(header_words(re.split(r"__|[/#]", id)[-1]))


LARGEST_GROUP = 4
MOST_REACHED = 200
"""Tables that are looked for along the joins of one table."""

JOINED_FROM = 0.4
"""The score of a join from which it connects tables."""


class RelationGraph:
    """The tables as nodes, joins and unions as edges; tables by their numbers in the corpus.

    `within` are the ids of the tables that take part, None for all.
    """

    def __init__(
        self, relations: TableRelations, table_ids: Sequence[str], within: Sequence[str] | None = None
    ) -> None:
        wanted = set(table_ids if within is None else within)
        numbers = {id: number for number, id in enumerate(table_ids) if id in wanted}
        self._beside: dict[int, dict[int, float]] = defaultdict(dict)
        for join in relations.joins:
            one, other = numbers.get(join.left.table), numbers.get(join.right.table)
            if one is None or other is None or join.score < JOINED_FROM:
                continue
            for here, there in ((one, other), (other, one)):
                self._beside[here][there] = max(join.score, self._beside[here].get(there, 0.0))
        self._cluster: dict[int, tuple[int, ...]] = {}
        for union in relations.unions:
            members = tuple(numbers[table] for table in union.tables if table in numbers)
            self._cluster.update(dict.fromkeys(members, members))

    def joined(self, table: int) -> Mapping[int, float]:
        """The tables that a table can be joined with, and the scores of the joins."""
        return self._beside.get(table, {})

    def parts(self, table: int) -> tuple[int, ...]:
        """The tables that together make one table with this one, including itself."""
        return self._cluster.get(table, (table,))

    def connected(self, one: int, other: int) -> bool:
        """Whether two tables are joined, or parts of one."""
        return one == other or other in self.joined(one) or other in self.parts(one)

    def component(self, table: int) -> set[int]:
        """The tables that joins lead to, at most `MOST_REACHED`."""
        found, waiting = {table}, [table]
        while waiting and len(found) < MOST_REACHED:
            for other in sorted(self.joined(waiting.pop(0))):
                if other not in found:
                    found.add(other)
                    waiting.append(other)
        return found


@dataclass(frozen=True, slots=True)
class TableGroup:
    """Connected tables, the share of the question's needs that they cover together, and their score."""

    tables: tuple[int, ...]
    coverage: float
    score: float


@dataclass(frozen=True, slots=True)
class GroupWeights:
    """The weights in the score of a group; chosen on a third of spider `dev`."""

    coverage: float = 1.0
    base: float = 1.0
    size: float = 0.05
    bridge: float = 0.02


class GroupFinder:
    """Builds connected groups around the best tables and scores what they cover."""

    def __init__(
        self,
        matcher: NeedMatcher,
        graph: RelationGraph,
        base: Mapping[int, float],
        weights: GroupWeights | None = None,
        scorer: Mapping[str, float] = BY_RULES,
    ) -> None:
        """`scorer` are the weights of `features`."""
        self._matcher, self._graph, self._base = matcher, graph, base
        self._weights = weights or GroupWeights()
        self._shares = np.array([need.weight for need in matcher.needs])
        self._shares /= self._shares.sum() or 1.0
        self._values = np.array([need.is_value for need in matcher.needs], dtype=np.bool_)
        values = [[scorer.get(f"{kind}_{of}", 0.0) for of in ("phrase", "value")] for kind in FEATURES]
        self._factors = np.array(values)[:, self._values.astype(int)] * self._shares
        self._matches: dict[int, Floats] = {}

    def matches(self, table: int) -> Floats:
        """How well a table meets each need by `KINDS`, shape (kinds, needs)."""
        if table not in self._matches:
            found = np.zeros((len(KINDS), len(self._matcher.needs)))
            for need in range(len(self._matcher.needs)):
                for match in self._matcher.column_matches(need, table):
                    kind = KINDS.index(match.kind)
                    found[kind, need] = max(match.score, found[kind, need])
            self._matches[table] = found
        return self._matches[table]

    def together(self, tables: Sequence[int]) -> Floats:
        """How well tables together meet each need by `KINDS` and at best, and 1 where not, shape (kinds + 2, needs)."""
        by_kind = np.maximum.reduce([self.matches(table) for table in tables])
        best = by_kind.max(axis=0)
        return np.vstack([by_kind, best, best < LEAST_MET])

    def features(self, tables: Sequence[int]) -> dict[str, float]:
        """What a scorer weighs of tables together, in shares of the question's weight."""
        met = self.together(tables) * self._shares
        asked = {"value": self._values, "phrase": ~self._values}
        return {
            f"{kind}_{of}": float(row[needs].sum())
            for kind, row in zip(FEATURES, met, strict=True)
            for of, needs in asked.items()
        }

    def uncovered(self, tables: Sequence[int]) -> list[int]:
        """The places of the needs that none of the tables meets."""
        return np.flatnonzero(self.together(tables)[UNMET]).tolist()

    def all_needs(self) -> list[InformationNeed]:
        """The needs of the question."""
        return list(self._matcher.needs)

    def needs_at(self, places: Sequence[int]) -> list[InformationNeed]:
        """The needs at these places."""
        return [self._matcher.needs[place] for place in places]

    def group(self, tables: Sequence[int], bridges: int = 0) -> TableGroup:
        """The tables as a group; `bridges` of them only connect the others."""
        met = self.together(tables)
        covered = float(met[BEST] @ self._shares)
        weights = self._weights
        ends = [self._base.get(table, 0.0) for table in tables]
        base = sum(sorted(ends, reverse=True)[: len(tables) - bridges]) / (len(tables) - bridges)
        score = weights.coverage * float((met * self._factors).sum()) + weights.base * base
        score -= weights.size * (len(tables) - 1 - bridges) + weights.bridge * bridges
        return TableGroup(tuple(tables), covered, score)

    def groups(self, seeds: Sequence[int]) -> list[TableGroup]:
        """Groups around the seeds, the best first: single tables, joined pairs, pairs with a bridge, and more."""
        found: dict[frozenset[int], TableGroup] = {}

        def keep(group: TableGroup) -> None:
            key = frozenset(group.tables)
            if key not in found or group.score > found[key].score:
                found[key] = group

        for seed in seeds:
            keep(self.group([seed]))
            for tables, bridges in self._around(seed):
                keep(self.group(tables, bridges))
        best = sorted(found.values(), key=lambda group: (-group.score, group.tables))
        for group in best[:6]:
            self._grow(group, keep)
        return sorted(found.values(), key=lambda group: (-group.score, group.tables))

    def _around(self, seed: int) -> Iterator[tuple[list[int], int]]:
        near = self._graph.joined(seed)
        for other in near:
            yield [seed, other], 0
            for beyond in self._graph.joined(other):
                if beyond != seed and beyond not in near and beyond in self._base:
                    yield [seed, other, beyond], 1

    def _grow(self, group: TableGroup, keep: Callable[[TableGroup], None]) -> None:
        while len(group.tables) < LARGEST_GROUP:
            beside = {other for table in group.tables for other in self._graph.joined(table)} - {*group.tables}
            grown = [self.group([*group.tables, other]) for other in sorted(beside)]
            better = max(grown, key=lambda other: other.score, default=None)
            if better is None or better.score <= group.score:
                return
            keep(better)
            group = better
