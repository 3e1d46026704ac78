"""Groups of tables that joins connect, and how much of a question they cover (DMRAL, section 4.2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kgtable.index.inferred.relations import TableRelations
from kgtable.systems.dmral.needs import InformationNeed, NeedMatcher

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
        """The tables of which this one is a part, itself among them."""
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
    ) -> None:
        self._matcher, self._graph, self._base = matcher, graph, base
        self._weights = weights or GroupWeights()
        self._total = sum(need.weight for need in matcher.needs) or 1.0
        self._matches: dict[int, tuple[float, ...]] = {}

    def matches(self, table: int) -> tuple[float, ...]:
        """How well a table meets each need."""
        if table not in self._matches:
            places = range(len(self._matcher.needs))
            self._matches[table] = tuple(self._matcher.match(need, table).score for need in places)
        return self._matches[table]

    def coverage(self, tables: Sequence[int]) -> float:
        """The weight of what the tables cover together, in shares of the question's."""
        best = (max(column) for column in zip(*(self.matches(table) for table in tables), strict=True))
        met = (need.weight * share for need, share in zip(self._matcher.needs, best, strict=True))
        return float(sum(met) / self._total)

    def uncovered(self, tables: Sequence[int]) -> list[int]:
        """The places of the needs that none of the tables meets."""
        return [
            place
            for place in range(len(self._matcher.needs))
            if max(self.matches(table)[place] for table in tables) < 0.5
        ]

    def needs_at(self, places: Sequence[int]) -> list[InformationNeed]:
        """The needs at these places."""
        return [self._matcher.needs[place] for place in places]

    def group(self, tables: Sequence[int], bridges: int = 0) -> TableGroup:
        """The tables as a group; `bridges` of them only connect the others."""
        covered = self.coverage(tables)
        weights = self._weights
        ends = [self._base.get(table, 0.0) for table in tables]
        base = sum(sorted(ends, reverse=True)[: len(tables) - bridges]) / (len(tables) - bridges)
        score = weights.coverage * covered + weights.base * base
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
            beside = {other for table in group.tables for other in self._graph.joined(table)} - {
                *group.tables
            }
            grown = [self.group([*group.tables, other]) for other in sorted(beside)]
            better = max(grown, key=lambda other: other.score, default=None)
            if better is None or better.score <= group.score:
                return
            keep(better)
            group = better
