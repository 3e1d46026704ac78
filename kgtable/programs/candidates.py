"""Candidate programs for a question: a typed grammar over the links of one table, or of two joined.

Each candidate has an operator (`count`, `extreme`, `share`, …), the tokens that it accounts for, and
features for the ranker. What is possible is decided here by types; what is meant, by the ranker.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import combinations

from kgtable.programs.algebra import (
    Aggregate,
    AggregateFunction,
    And,
    Apply,
    Arithmetic,
    ColumnRef,
    Compare,
    Constant,
    Convert,
    Expression,
    Filter,
    Function,
    GroupBy,
    Join,
    KeyPair,
    Limit,
    Lookup,
    Membership,
    Named,
    Neighbours,
    Node,
    Not,
    Operator,
    Program,
    Project,
    Relator,
    RowChoice,
    Rows,
    Sort,
    SortKey,
    TableRows,
    Unpivot,
    ValueKind,
)
from kgtable.programs.dimensions import NO_UNIT, comparable
from kgtable.programs.linking import ColumnLink, ColumnView, Condition, Links, TableIndex, negated
from kgtable.programs.reading import Question, consumed_cues, stemmed
from kgtable.programs.relation import ColumnRole
from kgtable.programs.scalars import text_of

MOST_CONDITION_SETS = 9
MOST_TARGETS = 5
MOST_MEASURES = 3
MOST_CANDIDATES = 420

_NOTHING = ColumnLink(0.0, 0)
_AGGREGATES = {
    "sum": AggregateFunction.SUM,
    "mean": AggregateFunction.MEAN,
    "median": AggregateFunction.MEDIAN,
    "min": AggregateFunction.MIN,
    "max": AggregateFunction.MAX,
}


@dataclass(slots=True)
class Candidate:
    """A program that may be meant, with the tokens that it accounts for and its features."""

    program: Program
    source: Source
    op: str
    mask: int
    features: dict[str, float]
    conditions: tuple[Condition, ...]
    target: ColumnView | None
    measure: ColumnView | None
    score: float = 0.0


class Source:
    """One table, or two joined by a key, as the grammar sees it."""

    def __init__(
        self, links: Sequence[Links], score: float, rank: int, join: tuple[ColumnRef, ColumnRef] | None = None
    ) -> None:
        self.links = tuple(links)
        self.score, self.rank, self.join = score, rank, join
        self.question: Question = links[0].question
        columns: list[ColumnView] = []
        column_links: list[ColumnLink] = []
        conditions: list[Condition] = []
        for part in links:
            shift = len(columns)
            columns += [replace(view, place=view.place + shift) for view in part.index.columns]
            column_links += part.columns
            conditions += [replace(c, column=c.column + shift if c.column >= 0 else -1) for c in part.conditions] if shift else part.conditions  # fmt: skip
        self.columns, self.column_links = tuple(columns), tuple(column_links)
        conditions = [self._beside_header(condition) for condition in conditions]
        conditions.sort(key=lambda c: (-c.quality, -c.mask.bit_count()))
        self.conditions = tuple(conditions)
        self.title = 0
        self.values = 0
        for part in links:
            self.title |= part.title
            self.values |= part.values

    def _beside_header(self, condition: Condition) -> Condition:
        """The condition with the tokens of its column's header, where they stand beside it."""
        if condition.column < 0 or condition.kind not in ("exact", "partial", "several", "contains"):
            return condition
        link = self.column_links[condition.column]
        if link.score < 0.5 or link.mask & condition.mask:
            return condition
        around = condition.mask
        for _ in range(3):
            around |= around << 1 | around >> 1
        if not link.mask & around:
            return condition
        quality = min(condition.quality + 0.15 * link.score, 1.2)
        return replace(condition, mask=condition.mask | link.mask, quality=quality, relation="header")

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of its tables."""
        return tuple(table.id for part in self.links for table in part.index.relation.tables)

    def rows(self, choice: RowChoice = RowChoice.MEMBERS) -> Rows:
        """All its rows."""
        tables = [
            TableRows(tuple(table.id for table in part.index.relation.tables), choice=choice)
            for part in self.links
        ]
        if self.join is None:
            return tables[0]
        return Join(tables[0], tables[1], (KeyPair(*self.join),))

    def link(self, view: ColumnView) -> ColumnLink:
        """How the question names a column."""
        return self.column_links[view.place]

    @cached_property
    def labels(self) -> tuple[ColumnView, ...]:
        """The columns that name rows: the label column of each table."""
        return tuple(view for view in self.columns if view.label)


@dataclass(frozen=True, slots=True)
class ConditionSet:
    """Conditions that hold together."""

    conditions: tuple[Condition, ...]
    mask: int
    quality: float
    choice: RowChoice
    features: Mapping[str, float]

    def expression(self) -> Expression | None:
        """Their conjunction."""
        parts = tuple(condition.expression for condition in self.conditions)
        return None if not parts else parts[0] if len(parts) == 1 else And(parts)

    def over(self, rows: Rows) -> Rows:
        """The rows of which they hold."""
        expression = self.expression()
        return rows if expression is None else Filter(rows, expression)

    @property
    def columns(self) -> frozenset[int]:
        """The places of their columns."""
        return frozenset(condition.column for condition in self.conditions)


def condition_set(conditions: Sequence[Condition]) -> ConditionSet:
    """The conjunction of some conditions."""
    mask, choice = 0, RowChoice.MEMBERS
    features: dict[str, float] = {}
    for condition in conditions:
        mask |= condition.mask
        if condition.choice is RowChoice.ALL:
            choice = RowChoice.ALL
        key = f"c:{condition.kind}"
        features[key] = features.get(key, 0) + 1
        features[f"{key}:q"] = features.get(f"{key}:q", 0) + condition.quality
        if condition.relation:
            features[f"c:relation:{condition.relation}"] = 1.0
    features[f"c:n={min(len(conditions), 3)}"] = 1.0
    if choice is RowChoice.ALL:
        features["c:all"] = 1.0
    quality = sum(condition.quality for condition in conditions)
    return ConditionSet(tuple(conditions), mask, quality, choice, features)


def candidates_of(source: Source) -> list[Candidate]:
    """The candidate programs of a source, at most `MOST_CANDIDATES`, each program once."""
    found: dict[Node, Candidate] = {}
    for candidate in _Grammar(source).all():
        kept = found.get(candidate.program.root)
        if kept is None or candidate.mask.bit_count() > kept.mask.bit_count():
            found[candidate.program.root] = candidate
        if len(found) >= MOST_CANDIDATES:
            break
    return list(found.values())


def joins_of(sources: Sequence[Source]) -> Iterator[Source]:
    """Pairs of single-table sources that share a key, where the question speaks of both."""
    for one, other in combinations(sources[:6], 2):
        if not (_spoken(one) and _spoken(other)):
            continue
        key = shared_key(one.links[0].index, other.links[0].index)
        if key is not None:
            left, right = key
            yield Source(
                (one.links[0], other.links[0]),
                min(one.score, other.score),
                max(one.rank, other.rank),
                (left, right),
            )


def _spoken(source: Source) -> bool:
    linked = any(link.score >= 0.5 for link in source.column_links)
    return linked or any(c.quality >= 0.6 for c in source.conditions) or bool(source.title)


_KEYS: dict[tuple[str, str, int, int], tuple[ColumnRef, ColumnRef] | None] = {}


def shared_key(left: TableIndex, right: TableIndex) -> tuple[ColumnRef, ColumnRef] | None:
    """The columns by which two tables can be joined: values that one nearly contains, unique on one side."""
    kept = left.id, right.id, id(left.relation), id(right.relation)
    if kept not in _KEYS:
        if len(_KEYS) > 5000:
            _KEYS.clear()
        _KEYS[kept] = _find_key(left, right)
    return _KEYS[kept]


def _find_key(left: TableIndex, right: TableIndex) -> tuple[ColumnRef, ColumnRef] | None:
    best: tuple[float, ColumnRef, ColumnRef] | None = None
    if [view.stems for view in left.columns] == [view.stems for view in right.columns]:
        return None
    for one in left.columns:
        for other in right.columns:
            if (
                one.kind in (ValueKind.DATE, ValueKind.TRUTH, ValueKind.DURATION)
                or one.distinct < 2
                or other.distinct < 2
            ):
                continue
            same = bool(one.stems) and one.stems == other.stems
            keyed = ColumnRole.IDENTIFIER in (one.role, other.role) or {"id", "code", "key", "sku"} & {
                *one.stems,
                *other.stems,
            }
            if not same and not keyed and not (one.kind is ValueKind.TEXT and other.kind is ValueKind.TEXT):
                continue
            if not keyed and ValueKind.QUANTITY in (one.kind, other.kind):
                continue
            first, second = _texts(left, one), _texts(right, other)
            if not first or not second:
                continue
            common = len(first & second)
            share = common / min(len(first), len(second))
            unique = one.distinct >= one.filled or other.distinct >= other.filled
            if share < 0.5 or common < 2 or not unique:
                continue
            numeric = all(text.isdigit() for text in list(first)[:20])
            if numeric and not (same or keyed):
                continue
            score = share + same + 0.5 * bool(keyed) + 0.3 * (one.kind is not ValueKind.QUANTITY)
            if best is None or score > best[0]:
                best = score, one.ref, other.ref
    return None if best is None else best[1:]


def _texts(index: TableIndex, view: ColumnView) -> frozenset[str]:
    data = index.relation.data(view.place)
    return frozenset(text_of(data.values[code]).strip().casefold() for code in data.used()[:3000])


class _Grammar:
    """Generates the candidates of a source."""

    def __init__(self, source: Source) -> None:
        self.source, self.question = source, source.question
        self.cues = self.question.cues
        self.sets = self._condition_sets()
        self._op_features: dict[tuple[str, int], tuple[dict[str, float], int]] = {}
        self.measures = self._ranked([view for view in source.columns if view.measure])
        self.sortables = self._ranked([view for view in source.columns if view.sortable])
        self.targets = self._target_columns()
        self.keys = [view for view in self.targets if view.distinct < view.filled or view.label][:3]
        self.content = self.question.content | source.values
        self.superlatives = Question._all(
            token for adjective, token in self.question.adjectives if adjective.superlative
        )
        always = consumed_cues()["any"] | {
            "how_many",
            "how_much",
            "list",
            "up",
            "than",
            "between",
            "since",
            "until",
            "or",
        }
        self.telling = self.superlatives | Question._all(
            mask for cue, mask in self.cues.items() if cue not in always
        )
        self.numeric_tokens = 0
        for number in self.question.numbers:
            self.numeric_tokens |= number.mask
        for mention in self.question.times:
            self.numeric_tokens |= mention.mask

    def all(self) -> Iterator[Candidate]:
        """All candidates, the simplest operators first."""
        for conditions in self.sets:
            if self.source.join is not None and not self._both(conditions):
                continue
            yield from self._basic(conditions)
        for conditions in self.sets[:4]:
            yield from self._extremes(conditions)
            yield from self._grouped(conditions)
            yield from self._by_columns(conditions)
        yield from self._pairs()
        yield from self._shares()
        yield from self._neighbours()
        yield from self._rows_compared()
        yield from self._truths()
        if self.source.join is not None:
            yield from self._never()

    # What the parts are

    def _both(self, conditions: ConditionSet) -> bool:
        return True

    def _ranked(self, views: Sequence[ColumnView]) -> list[ColumnView]:
        hints = {
            stem: sign
            for adjective, _ in self.question.adjectives
            for stem, sign in adjective.headers.items()
        }

        def rank(view: ColumnView) -> tuple[float, int]:
            hinted = any(stem in hints for stem in view.stems)
            return -(
                self.source.link(view).score + 0.6 * hinted + 0.1 * (view.role is ColumnRole.PLAIN)
            ), view.place

        return sorted(views, key=rank)

    def _target_columns(self) -> list[ColumnView]:
        source, question = self.source, self.question
        focus = question.focus

        def rank(view: ColumnView) -> tuple[float, int]:
            link = source.link(view)
            score = link.score + (0.8 if link.mask & focus else 0) + (0.45 if view.label else 0)
            if (question.wh == "when" and view.timelike) or (question.wh == "where" and view.placelike):
                score += 0.6
            if question.wh == "who" and (view.personal or view.kind is ValueKind.TEXT):
                score += 0.5 if view.personal else 0.15
            return -score, view.place

        return sorted(source.columns, key=rank)

    def _condition_sets(self) -> list[ConditionSet]:
        """The empty set, and the likeliest conjunctions of conditions on different tokens."""
        conditions = list(self.source.conditions)
        kinds: dict[str, int] = {}
        kept: list[Condition] = []
        for condition in conditions:
            kinds[condition.kind] = kinds.get(condition.kind, 0) + 1
            if kinds[condition.kind] <= 6:
                kept.append(condition)
        kept = kept[:16]
        negation = self.cues.get("negation", 0)
        if negation:
            opposite = [negated(c, negation) for c in kept if not c.mask & negation and c.kind != "missing"][
                :6
            ]
            kept += opposite
            kept += [negated(c, 0) for c in kept if c.kind == "missing"][:1]
        sets = [condition_set([condition]) for condition in kept]
        for size in (2, 3):
            for several in combinations(kept[:9] if size == 2 else kept[:7], size):
                masks = [c.mask for c in several]
                total, clash = 0, False
                for mask in masks:
                    clash = clash or bool(total & mask)
                    total |= mask
                if clash:
                    continue
                exact = [
                    c.column
                    for c in several
                    if c.kind in ("exact", "partial", "number", "several", "contains") and c.column >= 0
                ]
                if len(set(exact)) < len(exact):
                    continue
                sets.append(condition_set(several))
        either = self.cues.get("or", 0)
        if either:
            for one, other in combinations(kept[:6], 2):
                if not one.mask & other.mask and one.column != other.column:
                    from kgtable.programs.algebra import Or

                    joined = Condition(Or((one.expression, other.expression)), one.mask | other.mask | either, -1, "either", min(one.quality, other.quality), one.choice)  # fmt: skip
                    sets.append(condition_set([joined]))
        content = self.question.content

        def worth(found: ConditionSet) -> float:
            covered = (found.mask & (content | self.source.values)).bit_count()
            return (
                found.quality / max(len(found.conditions), 1) + 0.75 * covered - 0.25 * len(found.conditions)
            )

        sets.sort(key=lambda found: -worth(found))
        return [*sets[: MOST_CONDITION_SETS - 1], condition_set([])]

    # Making a candidate

    def make(
        self, op: str, root: Node, conditions: ConditionSet, *, target: ColumnView | None = None,
        measure: ColumnView | None = None, mask: int = 0, also: Sequence[str] = (), others: Iterable[ColumnView] = (),
    ) -> Candidate:  # fmt: skip
        """The candidate with its features."""
        source, question = self.source, self.question
        op_features, op_mask = self._of_op(op, conditions.mask | mask)
        features = dict(conditions.features)
        features.update(op_features)
        covered = conditions.mask | op_mask | mask | source.title
        for view in others:
            covered |= self._by_column(view)
        if target is not None:
            link = source.link(target)
            covered |= self._by_column(target)
            features["t:link"] = link.score
            if link.exact:
                features["t:exact"] = 1.0
            if link.derived:
                features["t:derived"] = 1.0
            if link.mask & question.focus:
                features["t:focus"] = 1.0
            elif question.focus and link.score:
                features["t:unfocused"] = 1.0
            if target.label:
                features["t:label"] = 1.0
                if question.focus and question.focus & source.title & ~link.mask:
                    features["t:label:title"] = 1.0
            kind = _kind(target)
            features[f"t:{question.wh}:{kind}"] = 1.0
            if target.place == 0:
                features["t:first"] = 1.0
            features[f"{op}:t:{'linked' if link.score >= 0.5 else 'unlinked'}"] = 1.0
            if target.place in conditions.columns:
                features["t:condition"] = 1.0
        if measure is not None:
            link = source.link(measure)
            covered |= self._by_column(measure)
            features["m:link"] = link.score
            if link.derived:
                features["m:derived"] = 1.0
            hinted = 0
            for adjective, token in question.adjectives:
                if any(stem in adjective.headers for stem in measure.stems):
                    hinted |= token
            if hinted:
                features["m:hint"] = 1.0
                covered |= hinted
            if not link.score and not hinted:
                features["m:unlinked"] = 1.0
                if len(self.measures) == 1 and measure.measure:
                    features["m:only"] = 1.0
            if measure.role is ColumnRole.ORDINAL:
                features["m:ordinal"] = 1.0
            if measure.temporal:
                features["m:time"] = 1.0
            if measure.place in conditions.columns:
                features["m:condition"] = 1.0
        for name in also:
            features[name] = features.get(name, 0.0) + 1.0
        content = self.content
        unsaid = self.telling & ~covered
        features["cue:left"] = min(unsaid.bit_count(), 4) / 2
        if unsaid & self.superlatives:
            features["cue:left:superlative"] = 1.0
        if unsaid & self.cues.get("negation", 0):
            features["cue:left:negation"] = 1.0
        left = content & ~covered
        total = max(content.bit_count(), 1)
        features["uncovered"] = left.bit_count() / total
        features["uncovered:n"] = min(left.bit_count(), 5) / 5
        if not left:
            features["covered"] = 1.0
        if left & source.values:
            features["uncovered:value"] = 1.0
        if left & self.numeric_tokens:
            features["uncovered:number"] = 1.0
        if left & question.focus:
            features["uncovered:focus"] = 1.0
        if left & question.quoted:
            features["uncovered:quoted"] = 1.0
        features["title"] = (source.title & content).bit_count() / total
        if source.join is not None:
            features["join"] = 1.0
        if len(source.links[0].index.relation.tables) > 1:
            features["parts"] = 1.0
        return Candidate(Program(root), source, op, covered, features, conditions.conditions, target, measure)

    def _by_column(self, view: ColumnView) -> int:
        """The tokens that a column accounts for: by a synonym not those that are cells."""
        link = self.source.link(view)
        return link.mask & ~self.source.values if link.derived else link.mask

    def _of_op(self, op: str, taken: int) -> tuple[dict[str, float], int]:
        """Features of an operator beside the operator words that are left, and the tokens that it consumes."""
        key = op, taken
        found = self._op_features.get(key)
        if found is None:
            name = op.partition("/")[0]
            accounted = consumed_cues().get(name, consumed_cues()["any"])
            features = {f"op={op}": 1.0, f"{op}:wh={self.question.wh}": 1.0}
            mask, unused = 0, 0
            for cue, tokens in self.cues.items():
                if not tokens & ~taken:
                    continue
                features[f"{op}:{cue}"] = 1.0
                if cue in accounted:
                    mask |= tokens
                else:
                    unused += 1
            if self.question.plural:
                features[f"{op}:plural"] = 1.0
            superlatives = [token for adjective, token in self.question.adjectives if token & ~taken]
            if superlatives:
                features[f"{op}:adjective"] = 1.0
            elif not self.cues.keys() & {"first", "last"}:
                features[f"{op}:plain"] = 1.0
            found = self._op_features[key] = features, mask
        return found

    # Operators

    def _basic(self, conditions: ConditionSet) -> Iterator[Candidate]:
        """Cells, lists, counts, sums, means and other aggregates of the rows of a condition set."""
        source, question = self.source, self.question
        rows = conditions.over(source.rows(conditions.choice))
        targets = [
            view
            for view in self.targets
            if view.place not in conditions.columns or source.link(view).score > 0.5
        ]
        limit = (
            len(source.columns) if len(source.columns) <= 8 and len(conditions.conditions) else MOST_TARGETS
        )
        if conditions.conditions or question.wh in (
            "list",
            "which",
            "what_is",
            "who",
            "other",
            "where",
            "when",
        ):
            for view in targets[:limit]:
                yield self.make("select", Project(rows, (Named(view.ref),), True), conditions, target=view)
        linked = [
            view for view in targets if source.link(view).exact and source.link(view).mask & ~conditions.mask
        ]
        linked.sort(key=lambda view: source.link(view).mask & -source.link(view).mask)
        if 2 <= len(linked) <= 5:
            columns = tuple(Named(view.ref) for view in linked)
            yield self.make(
                "select/columns", Project(rows, columns), conditions, target=linked[0], others=linked
            )
        if "order" in self.cues or "first" in self.cues or "last" in self.cues:
            for by in self.sortables[:2]:
                down = "descending" in self.cues
                ordered = Sort(rows, (SortKey(by.ref, down),))
                for view in targets[:2]:
                    yield self.make(
                        "sorted", Project(ordered, (Named(view.ref),)), conditions, target=view, measure=by
                    )
        yield self.make("count", Aggregate(AggregateFunction.COUNT, None, rows), conditions)
        if question.wh in ("how_many", "other", "what_is", "list") or "how_many" in self.cues:
            for view in targets[:4]:
                if (source.link(view).score > 0.3 or view.label) and not view.measure:
                    root = Aggregate(AggregateFunction.COUNT_DISTINCT, view.ref, rows)
                    yield self.make("count_distinct", root, conditions, target=view)
        yield from self._aggregates(rows, conditions)

    def _aggregates(self, rows: Rows, conditions: ConditionSet) -> Iterator[Candidate]:
        question, cues = self.question, self.cues
        signs = {adjective.sign for adjective, _ in question.adjectives}
        wanted = []
        if cues.keys() & {"total", "how_many", "how_much", "together"}:
            wanted.append("sum")
        if "average" in cues:
            wanted.append("mean")
        if "median" in cues:
            wanted.append("median")
        if 1 in signs:
            wanted.append("max")
        if -1 in signs:
            wanted.append("min")
        for view in self.measures[:MOST_MEASURES]:
            if view.place in conditions.columns and not self.source.link(view).score:
                continue
            for name in wanted:
                root: Expression = Aggregate(_AGGREGATES[name], view.ref, rows)
                yield from self._converted(name, root, conditions, view)
        several = [
            name
            for name in ("mean", "min", "max", "sum")
            if name in wanted or (name == "mean" and "average" in cues)
        ]
        if len(several) >= 2 and "and" in cues:
            for view in self.measures[:2]:
                group = GroupBy(
                    rows, (), tuple(Named(Aggregate(_AGGREGATES[name], view.ref), name) for name in several)
                )
                adjectives = Question._all(token for _, token in question.adjectives)
                yield self.make(
                    "aggregates",
                    group,
                    conditions,
                    measure=view,
                    mask=adjectives | cues.get("average", 0) | cues.get("total", 0),
                )
        dates = [view for view in self.sortables if view.temporal][:2]
        if cues.keys() & {"difference", "how_long", "days_between"} and (
            signs >= {1, -1} or cues.keys() >= {"first", "last"}
        ):
            for view in [*self.measures[:2], *dates]:
                ends = (
                    Aggregate(AggregateFunction.MAX, view.ref, rows),
                    Aggregate(AggregateFunction.MIN, view.ref, rows),
                )
                mask = (
                    Question._all(token for _, token in question.adjectives)
                    | cues.get("first", 0)
                    | cues.get("last", 0)
                )
                yield self.make(
                    "difference/range",
                    Arithmetic(Operator.SUBTRACT, *ends),
                    conditions,
                    measure=view,
                    mask=mask,
                )
        for view in dates:
            for name, cue in (("min", "first"), ("max", "last")):
                if cue in cues:
                    root = Aggregate(_AGGREGATES[name], view.ref, rows)
                    yield self.make(f"{name}/time", root, conditions, target=view, mask=cues[cue])

    def _converted(
        self, op: str, root: Expression, conditions: ConditionSet, measure: ColumnView, **options: object
    ) -> Iterator[Candidate]:
        """The value, in the unit that the question asks for where it asks for one."""
        adjective = Question._all(
            token for adjective, token in self.question.adjectives if op.startswith(("min", "max"))
        )
        asked = self.question.unit_asked
        if asked is not None and any(u not in NO_UNIT and comparable(u, asked[0]) for u in measure.units):
            mask = asked[1] | adjective
            yield self.make(
                op, Convert(root, asked[0]), conditions, measure=measure, mask=mask, also=("convert",)
            )
            return
        yield self.make(op, root, conditions, measure=measure, mask=adjective)

    def _directions(self) -> list[tuple[bool, int, str, Mapping[str, int]]]:
        """Descending or not, tokens, name, headers measured, for each superlative of the question."""
        found = []
        for adjective, token in self.question.adjectives:
            found.append((adjective.sign > 0, token, adjective.name, adjective.headers))
        cues = self.cues
        if "most_often" in cues and not found:
            found.append((True, cues["most_often"], "most", {}))
        return found[:3]

    def _extremes(self, conditions: ConditionSet) -> Iterator[Candidate]:
        """The rows with the largest or smallest value of a column, the first and last rows."""
        source, cues = self.source, self.cues
        base = conditions.over(source.rows(conditions.choice))
        count, count_mask = self.question.limit
        ordinals = [(n, mask) for n, mask in self.question.ordinals if n > 1]
        targets = self.targets[:4]
        for down, token, name, headers in self._directions():
            for by in self.sortables[: MOST_MEASURES + 1]:
                if (
                    by.place in conditions.columns
                    and conditions.conditions
                    and conditions.conditions[0].kind != "threshold"
                ):
                    continue
                sign = next((headers[stem] for stem in by.stems if stem in headers), 0)
                descending = sign > 0 if sign else down
                if (
                    by.role is ColumnRole.ORDINAL
                    and not sign
                    and name in ("high", "low", "good", "bad", "most")
                ):
                    descending = not down
                key: Expression = by.ref
                order = Sort(base, (SortKey(key, descending),))
                mask = token | (
                    Question._all([cues.get("first", 0) | cues.get("last", 0)])
                    if name in ("early", "late")
                    else 0
                )
                for view in targets:
                    if view.place == by.place:
                        continue
                    if count > 1:
                        root = Project(Limit(order, count), (Named(view.ref),))
                        yield self.make(
                            "top", root, conditions, target=view, measure=by, mask=mask | count_mask
                        )
                    else:
                        root = Project(Limit(order, 1, ties=True), (Named(view.ref),), True)
                        yield self.make("extreme", root, conditions, target=view, measure=by, mask=mask)
                        for n, ordinal in ordinals[:1]:
                            nth = Project(Limit(order, 1, n - 1), (Named(view.ref),), True)
                            yield self.make(
                                "extreme/nth", nth, conditions, target=view, measure=by, mask=mask | ordinal
                            )
        positions = [("first", False, cues.get("first", 0)), ("last", True, cues.get("last", 0))]
        for name, last, mask in positions:
            if not mask:
                continue
            order = Sort(base, (SortKey(ColumnRef("@row"), last),)) if last else base
            for view in self.targets[:5]:
                root = Project(Limit(order, count), (Named(view.ref),))
                yield self.make(
                    f"first_last/{name}",
                    root,
                    conditions,
                    target=view,
                    mask=mask | (count_mask if count > 1 else 0),
                )
        for n, ordinal in ordinals[:1]:
            for view in targets:
                root = Project(Limit(base, 1, n - 1), (Named(view.ref),))
                yield self.make("first_last/nth", root, conditions, target=view, mask=ordinal)

    def _grouped(self, conditions: ConditionSet) -> Iterator[Candidate]:
        """RowGroups of equal values: the one with the most rows or the largest sum, all with their counts, HAVING."""
        source, cues, question = self.source, self.cues, self.question
        rows = conditions.over(source.rows(conditions.choice))
        keys = [view for view in self.targets if view.place not in conditions.columns][:3]
        directions = self._directions()
        average = "average" in cues
        numbers = [t for t in question.thresholds if not t.mask & conditions.mask and t.number.unit is None]
        for key in keys:
            if not (source.link(key).score > 0.3 or key.label or source.link(key).mask & question.focus):
                continue
            repeated = key.distinct < key.filled
            named = (Named(key.ref, "key"),)
            measures: list[tuple[str, Expression, ColumnView | None]] = []
            if repeated:
                measures.append(("count", Aggregate(AggregateFunction.COUNT), None))
                for view in self.measures[:2]:
                    if view.place != key.place:
                        function = AggregateFunction.MEAN if average else AggregateFunction.SUM
                        measures.append(("mean" if average else "sum", Aggregate(function, view.ref), view))
                for view in self.targets[:4]:
                    if (
                        view.place != key.place
                        and source.link(view).score >= 0.5
                        and not view.measure
                        and repeated
                    ):
                        measures.append(
                            ("distinct", Aggregate(AggregateFunction.COUNT_DISTINCT, view.ref), view)
                        )
            for name, aggregate, view in measures:
                grouped = GroupBy(rows, named, (Named(aggregate, "value"),))
                for down, token, adjective, _ in directions[:2]:
                    order = Sort(grouped, (SortKey(ColumnRef("value"), down),))
                    root = Project(Limit(order, 1, ties=True), (Named(ColumnRef("key")),))
                    mask = token | (cues.get("average", 0) if name == "mean" else 0)
                    yield self.make(
                        f"group_extreme/{name}", root, conditions, target=key, measure=view, mask=mask
                    )
                    if name == "count":
                        value = Project(Limit(order, 1), (Named(ColumnRef("value")),))
                        yield self.make("group_extreme/value", value, conditions, target=key, mask=mask)
                if "each" in cues:
                    yield self.make(f"group/{name}", grouped, conditions, target=key, measure=view)
                    swapped = Project(grouped, (Named(ColumnRef("value")), Named(ColumnRef("key"))))
                    yield self.make(f"group/{name}/swapped", swapped, conditions, target=key, measure=view)
                for threshold in numbers[:1]:
                    limit = Constant(threshold.number.value, ValueKind.QUANTITY)
                    having = Filter(grouped, Compare(threshold.relator, ColumnRef("value"), limit))
                    root = Project(having, (Named(ColumnRef("key")),))
                    yield self.make(
                        f"having/{name}", root, conditions, target=key, measure=view, mask=threshold.mask
                    )
                    counted = Aggregate(AggregateFunction.COUNT, None, having)
                    yield self.make(
                        f"having/{name}/count",
                        counted,
                        conditions,
                        target=key,
                        measure=view,
                        mask=threshold.mask,
                    )
                if name == "count" and "most_often" in cues and not numbers:
                    having = Filter(
                        grouped,
                        Compare(
                            Relator.GREATER, ColumnRef("value"), Constant(Decimal(1), ValueKind.QUANTITY)
                        ),
                    )
                    root = Project(having, (Named(ColumnRef("key")),))
                    yield self.make("having/repeated", root, conditions, target=key, mask=cues["most_often"])

    def _periods(self, conditions: ConditionSet) -> list[ColumnView]:
        """Columns of periods or of one measure side by side: those that the question names, else all."""
        source = self.source
        columns = [
            view
            for view in source.columns
            if view.period
            and (view.numeric or view.kind is ValueKind.TEXT)
            and view.place not in conditions.columns
        ]
        return columns

    def _by_columns(self, conditions: ConditionSet) -> Iterator[Candidate]:
        """Calculations across the columns of one row: years side by side, two measures."""
        source, cues, question = self.source, self.cues, self.question
        if source.join is not None:
            return
        periods = self._periods(conditions)
        linked = [
            view
            for view in source.columns
            if source.link(view).exact and view.numeric and view.place not in conditions.columns
        ]
        linked.sort(key=lambda view: source.link(view).mask & -source.link(view).mask)
        asked = [view for view in periods if view in linked]
        pairs = [
            (one, other)
            for one, other in combinations(linked[:4], 2)
            if source.link(one).mask != source.link(other).mask
        ]
        if not pairs and len(periods) == 2 and len(question.times) == 0:
            pairs = [(periods[0], periods[1])]
        rows = conditions.over(source.rows(conditions.choice))
        single = bool(conditions.conditions)
        totals = (
            source.rows(RowChoice.TOTALS)
            if any(part.index.has_totals for part in source.links) and "total" in cues
            else None
        )
        bases = [(rows, "", 0)] if single else []
        if totals is not None and not conditions.conditions:
            bases.append((totals, "/total", cues["total"]))
        for base, suffix, base_mask in bases:
            for one, other in pairs[:3]:
                early, late = self._in_order(one, other)
                first, last = Lookup(base, early.ref), Lookup(base, late.ref)
                yield from self._calculated(first, last, conditions, early, late, suffix, base_mask)
            if len(asked) >= 2:
                columns = tuple(
                    ColumnRef(view.ref.name, view.ref.table) for view in self._spanned(asked, periods)
                )
                wide = Unpivot(base, columns)
                for name in ("mean", "sum", "max", "min"):
                    if (name == "mean" and "average" in cues) or (name == "sum" and "total" in cues):
                        root = Aggregate(_AGGREGATES[name], ColumnRef("value"), wide)
                        yield self.make(
                            f"columns/{name}{suffix}",
                            root,
                            conditions,
                            measure=asked[0],
                            mask=base_mask,
                            others=asked,
                        )
                        low, high = min(view.place for view in asked), max(view.place for view in asked)
                        span = tuple(view.ref for view in periods if low <= view.place <= high)
                        if cues.keys() & {"between", "since", "until"} and len(span) > len(columns):
                            root = Aggregate(_AGGREGATES[name], ColumnRef("value"), Unpivot(base, span))
                            yield self.make(
                                f"columns/{name}/span{suffix}",
                                root,
                                conditions,
                                measure=asked[0],
                                mask=base_mask,
                                others=asked,
                            )
        if len(periods) >= 2 and single:
            columns = tuple(
                view.ref for view in (self._spanned(asked, periods) if len(asked) >= 2 else periods)
            )
            wide = Unpivot(rows, columns)
            masks = asked if len(asked) >= 2 else []
            for down, token, _, _ in self._directions()[:1]:
                root = Project(
                    Limit(Sort(wide, (SortKey(ColumnRef("value"), down),)), 1, ties=True),
                    (Named(ColumnRef("column")),),
                )
                yield self.make("column_extreme", root, conditions, mask=token, others=masks)
            for threshold in question.thresholds[:1]:
                limit = Constant(threshold.number.value, ValueKind.QUANTITY, None, threshold.number.scale)
                root = Project(
                    Filter(wide, Compare(threshold.relator, ColumnRef("value"), limit)),
                    (Named(ColumnRef("column")),),
                )
                yield self.make(
                    "column_extreme/threshold", root, conditions, mask=threshold.mask, others=masks
                )
            if "average" in cues and len(asked) < 2:
                yield self.make(
                    "columns/mean", Aggregate(AggregateFunction.MEAN, ColumnRef("value"), wide), conditions
                )
            if "total" in cues and len(asked) < 2:
                yield self.make(
                    "columns/sum", Aggregate(AggregateFunction.SUM, ColumnRef("value"), wide), conditions
                )

    def _spanned(self, asked: Sequence[ColumnView], periods: Sequence[ColumnView]) -> Sequence[ColumnView]:
        """The columns from the first to the last that are named, where the question names a span."""
        cues = self.cues
        if len(asked) == 2 and cues.keys() & {"between", "until", "since"} and "and" not in cues:
            low, high = sorted(view.place for view in asked)
            return [view for view in periods if low <= view.place <= high]
        return asked

    def _in_order(self, one: ColumnView, other: ColumnView) -> tuple[ColumnView, ColumnView]:
        """Two columns of periods by time, others in the order of the question, the second first."""
        if one.period and other.period:
            return (one, other) if one.period <= other.period else (other, one)
        return other, one

    def _calculated(
        self, first: Expression, last: Expression, conditions: ConditionSet, early: ColumnView, late: ColumnView,
        suffix: str, mask: int,
    ) -> Iterator[Candidate]:  # fmt: skip
        """Arithmetic of two values: `last` is the later or the first named, `first` the other."""
        cues, others = self.cues, (early, late)
        options = {"target": None, "measure": late, "mask": mask, "others": others}
        time = "/time" if early.period and late.period else ""
        changing = cues.keys() & {
            "difference",
            "change",
            "down",
            "up",
            "more_than",
            "less_than",
            "how_much",
            "how_many",
        }
        if changing:
            root: Expression = Arithmetic(Operator.SUBTRACT, last, first)
            for name, node in (
                (f"difference/columns{time}{suffix}", root),
                (f"difference/columns{time}/reverse{suffix}", Arithmetic(Operator.SUBTRACT, first, last)),
            ):
                yield from self._maybe_converted(name, node, conditions, late, mask, others)
        if cues.keys() & {"percent", "rate", "change"}:
            yield self.make(
                f"percent_change/columns{time}{suffix}",
                Arithmetic(Operator.PERCENT_CHANGE, first, last),
                conditions,
                **options,
            )  # type: ignore[arg-type]
            if "down" in cues:
                yield self.make(
                    f"percent_change/columns{time}/fall{suffix}",
                    Apply(Function.NEGATE, Arithmetic(Operator.PERCENT_CHANGE, first, last)),
                    conditions,
                    **options,
                )  # type: ignore[arg-type]
        if cues.keys() & {"ratio", "share", "percent"}:
            yield self.make(
                f"ratio/columns{suffix}", Arithmetic(Operator.RATIO, last, first), conditions, **options
            )  # type: ignore[arg-type]
            yield self.make(
                f"share/columns{suffix}", Arithmetic(Operator.SHARE, last, first), conditions, **options
            )  # type: ignore[arg-type]
        if "average" in cues:
            half = Arithmetic(
                Operator.DIVIDE,
                Arithmetic(Operator.ADD, first, last),
                Constant(Decimal(2), ValueKind.QUANTITY),
            )
            yield self.make(f"columns/mean{suffix}", half, conditions, **options)  # type: ignore[arg-type]
        if cues.keys() & {"total", "together"}:
            yield self.make(
                f"columns/sum{suffix}", Arithmetic(Operator.ADD, first, last), conditions, **options
            )  # type: ignore[arg-type]
        if self.question.wh == "yes_no":
            relator = Relator.LESS if self._sign() < 0 else Relator.GREATER
            yield self.make(
                f"compare_yes/columns{suffix}", Compare(relator, last, first), conditions, **options
            )  # type: ignore[arg-type]

    def _maybe_converted(
        self,
        op: str,
        node: Expression,
        conditions: ConditionSet,
        measure: ColumnView,
        mask: int,
        others: Iterable[ColumnView] = (),
    ) -> Iterator[Candidate]:
        asked = self.question.unit_asked
        adjective = Question._all(token for a, token in self.question.adjectives if any(s in a.headers for s in measure.stems) or a.name in ("large", "small", "most"))  # fmt: skip
        if asked is not None and any(u not in NO_UNIT and comparable(u, asked[0]) for u in measure.units):
            yield self.make(
                op,
                Convert(node, asked[0]),
                conditions,
                measure=measure,
                mask=mask | asked[1] | adjective,
                also=("convert",),
                others=others,
            )
        else:
            yield self.make(op, node, conditions, measure=measure, mask=mask | adjective, others=others)

    def _sign(self) -> int:
        """The direction of the question's comparative."""
        for adjective, _ in self.question.adjectives:
            return adjective.sign
        return -1 if "less_than" in self.cues else 1

    def _pairs(self) -> Iterator[Candidate]:
        """Two entities of one column: their difference, ratio, and which of them has more."""
        source, cues, question = self.source, self.cues, self.question
        if not cues.keys() & {
            "difference",
            "change",
            "ratio",
            "share",
            "percent",
            "than",
            "or",
            "more_than",
            "less_than",
            "both",
            "total",
            "average",
            "and",
            "days_between",
            "between",
            "first",
            "last",
            "how_long",
            "next",
            "previous",
        }:
            return
        named = [
            c
            for c in source.conditions
            if c.kind in ("exact", "partial", "contains", "number", "time")
            and (c.relation in ("", "in", "month"))
        ][:9]
        done = 0
        for one, other in combinations(named, 2):
            if one.column != other.column or one.mask & other.mask or one.column < 0:
                continue
            if (one.mask & -one.mask) > (other.mask & -other.mask):
                one, other = other, one
            rest = [
                c
                for c in source.conditions
                if not c.mask & (one.mask | other.mask) and c.column != one.column and c.quality >= 0.6
            ][:1]
            for extra in ([], rest) if rest else ([],):
                done += 1
                if done > 5:
                    return
                yield from self._pair(one, other, extra)

    def _pair(self, one: Condition, other: Condition, extra: Sequence[Condition]) -> Iterator[Candidate]:
        source, cues, question = self.source, self.cues, self.question
        both = condition_set([one, other, *extra])
        first_set, second_set = condition_set([one, *extra]), condition_set([other, *extra])
        choice = both.choice
        rows_one, rows_other = first_set.over(source.rows(choice)), second_set.over(source.rows(choice))
        column = source.columns[one.column]
        timed = one.kind == "time"
        measures = [view for view in self.sortables if view.place != one.column][: MOST_MEASURES + 1]
        either = And(()) if False else None
        from kgtable.programs.algebra import Or

        either = Or((one.expression, other.expression))
        union = Filter(
            source.rows(choice), either if not extra else And((either, *(c.expression for c in extra)))
        )
        adjectives = Question._all(token for _, token in question.adjectives)
        for view in measures:
            left, right = Lookup(rows_one, view.ref), Lookup(rows_other, view.ref)
            late, early = (right, left) if timed else (left, right)
            if (
                cues.keys()
                & {
                    "difference",
                    "change",
                    "more_than",
                    "less_than",
                    "days_between",
                    "how_long",
                    "up",
                    "down",
                    "how_many",
                    "how_much",
                }
                and view.role is not ColumnRole.ORDINAL
            ):
                for name, node in (
                    ("difference/rows", Arithmetic(Operator.SUBTRACT, late, early)),
                    ("difference/rows/reverse", Arithmetic(Operator.SUBTRACT, early, late)),
                ):
                    if view.measure or view.temporal:
                        yield from self._maybe_converted(
                            name + ("/time" if timed else "/date" if view.temporal else ""),
                            node,
                            both,
                            view,
                            0,
                        )
            if view.measure:
                if cues.keys() & {"percent", "rate", "change"} and timed:
                    yield self.make(
                        "percent_change/rows",
                        Arithmetic(Operator.PERCENT_CHANGE, early, late),
                        both,
                        measure=view,
                    )
                if cues.keys() & {"ratio", "share", "percent"}:
                    yield self.make("ratio/rows", Arithmetic(Operator.RATIO, left, right), both, measure=view)
                    yield self.make("share/rows", Arithmetic(Operator.SHARE, left, right), both, measure=view)
                if cues.keys() & {"total", "and", "both"}:
                    yield self.make(
                        "sum/rows", Aggregate(AggregateFunction.SUM, view.ref, union), both, measure=view
                    )
                if "average" in cues:
                    yield self.make(
                        "mean/rows", Aggregate(AggregateFunction.MEAN, view.ref, union), both, measure=view
                    )
            signs = self._pair_signs(view)
            for down, token in signs:
                if "or" in cues or question.wh in ("which", "who", "other"):
                    order = Sort(union, (SortKey(view.ref, down),))
                    root = Project(Limit(order, 1), (Named(column.ref),))
                    yield self.make(
                        "compare", root, both, measure=view, mask=token | cues.get("or", 0) | adjectives
                    )
                if question.wh == "yes_no" and (view.measure or view.temporal):
                    relator = Relator.GREATER if down else Relator.LESS
                    yield self.make(
                        "compare_yes",
                        Compare(relator, left, right),
                        both,
                        measure=view,
                        mask=token | adjectives,
                    )
        counts = [Aggregate(AggregateFunction.COUNT, None, rows) for rows in (rows_one, rows_other)]
        for down, token in self._pair_signs(None):
            if "or" in cues:
                key = GroupBy(
                    union, (Named(column.ref, "key"),), (Named(Aggregate(AggregateFunction.COUNT), "value"),)
                )
                root = Project(
                    Limit(Sort(key, (SortKey(ColumnRef("value"), down),)), 1), (Named(ColumnRef("key")),)
                )
                yield self.make("compare/count", root, both, mask=token | cues.get("or", 0) | adjectives)
                ordered = Project(
                    Limit(Sort(union, (SortKey(ColumnRef("@row"), down),)), 1), (Named(column.ref),)
                )
                yield self.make(
                    f"compare/position/{'last' if down else 'first'}",
                    ordered,
                    both,
                    mask=token | cues.get("or", 0) | adjectives,
                )
        if "difference" in cues:
            yield self.make("difference/count", Arithmetic(Operator.SUBTRACT, *counts), both)
        if "between" in cues and "how_many" in cues and not timed:
            position = [Lookup(rows, ColumnRef("@row")) for rows in (rows_one, rows_other)]
            apart = Arithmetic(
                Operator.SUBTRACT,
                Apply(Function.ABSOLUTE, Arithmetic(Operator.SUBTRACT, *position)),
                Constant(Decimal(1), ValueKind.QUANTITY),
            )
            yield self.make("difference/position", apart, both, mask=cues["between"])

    def _pair_signs(self, view: ColumnView | None) -> list[tuple[bool, int]]:
        """Whether the larger wins, by the question's comparative and what the column measures."""
        found: list[tuple[bool, int]] = []
        for adjective, token in self.question.adjectives:
            sign = (
                next((adjective.headers[s] for s in view.stems if s in adjective.headers), 0) if view else 0
            )
            if view is not None and not sign and view.role is ColumnRole.ORDINAL:
                sign = -adjective.sign
            found.append(((sign or adjective.sign) > 0, token))
        for cue, down in (
            ("first", False),
            ("previous", False),
            ("last", True),
            ("next", True),
            ("more_than", True),
            ("less_than", False),
        ):
            if (
                not found
                and cue in self.cues
                and (cue in ("more_than", "less_than") or view is None or view.temporal)
            ):
                found.append((down, self.cues[cue]))
        return list(dict.fromkeys(found))[:2] or [(True, 0)]

    def _shares(self) -> Iterator[Candidate]:
        """The share of a row in its total, and of some rows in all."""
        source, cues = self.source, self.cues
        if not cues.keys() & {"share", "percent", "ratio"}:
            return
        totals = any(part.index.has_totals for part in source.links)
        for conditions in self.sets[:3]:
            if not conditions.conditions:
                continue
            rows = conditions.over(source.rows(conditions.choice))
            everything = source.rows()
            for view in [
                view
                for view in self._ranked(
                    [v for v in source.columns if v.measure and v.place not in conditions.columns]
                )
            ][:3]:
                part = Aggregate(AggregateFunction.SUM, view.ref, rows)
                yield self.make(
                    "share/sum",
                    Arithmetic(Operator.SHARE, part, Aggregate(AggregateFunction.SUM, view.ref, everything)),
                    conditions,
                    measure=view,
                )
                if totals:
                    whole = Lookup(Limit(source.rows(RowChoice.TOTALS), 1), view.ref)
                    yield self.make(
                        "share/total", Arithmetic(Operator.SHARE, part, whole), conditions, measure=view
                    )
            counted = Aggregate(AggregateFunction.COUNT, None, rows)
            yield self.make(
                "share/count",
                Arithmetic(Operator.SHARE, counted, Aggregate(AggregateFunction.COUNT, None, everything)),
                conditions,
            )

    def _neighbours(self) -> Iterator[Candidate]:
        """The rows before and after the rows of a condition."""
        source, cues = self.source, self.cues
        for conditions in self.sets[:3]:
            expression = conditions.expression()
            if expression is None:
                continue
            for cue, offset in (("next", 1), ("previous", -1)):
                if not cues.get(cue, 0) & ~conditions.mask:
                    continue
                around = Neighbours(source.rows(conditions.choice), expression, offset)
                views = self.targets[:4]
                if conditions.conditions[0].column >= 0:
                    views = list(dict.fromkeys([source.columns[conditions.conditions[0].column], *views]))
                for view in views:
                    root = Project(around, (Named(view.ref),))
                    yield self.make(f"neighbour/{cue}", root, conditions, target=view, mask=cues[cue])
            if "same" in cues or "other" in cues:
                for view in self.targets[:3]:
                    if view.place in conditions.columns:
                        continue
                    known = Lookup(Filter(source.rows(conditions.choice), expression), view.ref)
                    rows = Filter(
                        source.rows(), And((Compare(Relator.EQUAL, view.ref, known), Not(expression)))
                    )
                    column = (
                        source.columns[conditions.conditions[0].column]
                        if conditions.conditions[0].column >= 0
                        else source.labels[0]
                    )
                    yield self.make(
                        "same_as",
                        Project(rows, (Named(column.ref),), True),
                        conditions,
                        target=column,
                        measure=view,
                        mask=cues.get("same", 0) | cues.get("other", 0),
                    )
                    yield self.make(
                        "same_as/count",
                        Aggregate(AggregateFunction.COUNT, None, rows),
                        conditions,
                        measure=view,
                        mask=cues.get("same", 0) | cues.get("other", 0),
                    )

    def _rows_compared(self) -> Iterator[Candidate]:
        """Rows of which one column is more than another, or than the mean; the row that changed most."""
        source, cues, question = self.source, self.cues, self.question
        if source.join is not None or not source.labels:
            return
        nothing = condition_set([])
        label = source.labels[0]
        focus = [view for view in self.targets[:2] if not view.measure] or [label]
        linked = [view for view in source.columns if source.link(view).exact and view.numeric]
        linked.sort(key=lambda view: source.link(view).mask & -source.link(view).mask)
        moved = cues.keys() & {"change", "up", "down", "more_than", "less_than"}
        if moved:
            for one, other in combinations(linked[:3], 2):
                if source.link(one).mask == source.link(other).mask:
                    continue
                early, late = self._in_order(one, other)
                timed = bool(early.period and late.period)
                if "than" in cues:
                    relator = Relator.LESS if self._sign() < 0 else Relator.GREATER
                    holds: Expression = Compare(relator, one.ref, other.ref)
                else:
                    relator = Relator.LESS if "down" in cues else Relator.GREATER
                    holds = Compare(relator, late.ref, early.ref)
                negation = cues.get("negation", 0)
                if negation:
                    holds = Not(holds)
                rows = Filter(source.rows(), holds)
                moves = Question._all(cues.get(cue, 0) for cue in moved) | negation
                for view in focus:
                    yield self.make(
                        "change_rows",
                        Project(rows, (Named(view.ref),)),
                        nothing,
                        target=view,
                        mask=moves,
                        others=(one, other),
                        also=("timed",) if timed else (),
                    )
                yield self.make(
                    "change_rows/count",
                    Aggregate(AggregateFunction.COUNT, None, rows),
                    nothing,
                    mask=moves,
                    others=(one, other),
                )
                for down, token, _, _ in self._directions()[:1]:
                    gain: Expression = Arithmetic(Operator.SUBTRACT, late.ref, early.ref)
                    falling = "down" in cues and "less_than" not in cues
                    order = Sort(source.rows(), (SortKey(gain, down != falling),))
                    for view in focus:
                        yield self.make(
                            "change_extreme",
                            Project(Limit(order, 1, ties=True), (Named(view.ref),)),
                            nothing,
                            target=view,
                            mask=token | moves,
                            others=(one, other),
                        )
        for cue, relator in (("above_average", Relator.GREATER), ("below_average", Relator.LESS)):
            if cue in cues:
                for by in self.measures[:2]:
                    mean = Aggregate(AggregateFunction.MEAN, by.ref, source.rows())
                    rows = Filter(source.rows(), Compare(relator, by.ref, mean))
                    for view in self.targets[:3]:
                        yield self.make(
                            "select/average",
                            Project(rows, (Named(view.ref),)),
                            nothing,
                            target=view,
                            measure=by,
                            mask=cues[cue],
                        )
                    yield self.make(
                        "count/average",
                        Aggregate(AggregateFunction.COUNT, None, rows),
                        nothing,
                        measure=by,
                        mask=cues[cue],
                    )
        if cues.keys() & {"difference", "change", "how_long", "days_between"}:
            for conditions in self.sets[:2]:
                if not conditions.conditions:
                    continue
                rows = conditions.over(source.rows(conditions.choice))
                for one, other in combinations([v for v in self.sortables if v.temporal][:3], 2):
                    root: Expression = Arithmetic(
                        Operator.SUBTRACT, Lookup(rows, other.ref), Lookup(rows, one.ref)
                    )
                    yield self.make("difference/dates", root, conditions, measure=other, others=(one,))
                paired = self._opposed()
                for one, other, mask in paired:
                    root = Arithmetic(Operator.SUBTRACT, Lookup(rows, one.ref), Lookup(rows, other.ref))
                    yield self.make(
                        "difference/opposed", root, conditions, measure=one, others=(other,), mask=mask
                    )

    def _opposed(self) -> list[tuple[ColumnView, ColumnView, int]]:
        """Pairs of measures that share a word of the question and differ in another: *goals for*, *goals against*."""
        source = self.source
        found = []
        for one, other in combinations([view for view in source.columns if view.measure], 2):
            shared = set(one.stems) & set(other.stems)
            if shared and len(one.stems) == len(other.stems) == 2:
                mask = Question._all(1 << t.index for t in self.question.tokens if t.stem in shared)
                if mask:
                    found.append((one, other, mask))
        return found[:2]

    def _truths(self) -> Iterator[Condition | Candidate]:  # type: ignore[override]
        """Whether there is a row of which the conditions hold."""
        if self.question.wh != "yes_no":
            return
        for conditions in self.sets[:4]:
            if conditions.conditions:
                rows = conditions.over(self.source.rows(conditions.choice))
                counted = Aggregate(AggregateFunction.COUNT, None, rows)
                yield self.make(
                    "yes_no",
                    Compare(Relator.GREATER, counted, Constant(Decimal(0), ValueKind.QUANTITY)),
                    conditions,
                )

    def _never(self) -> Iterator[Candidate]:
        """Rows of one table that no row of the other refers to."""
        source, cues = self.source, self.cues
        if "negation" not in cues or source.join is None:
            return
        nothing = condition_set([])
        keys = source.join
        for place in (0, 1):
            own, other = source.links[place], source.links[1 - place]
            own_id, other_id = own.index.id, other.index.id
            referred = Project(TableRows((other_id,)), (Named(keys[1 - place]),))
            rows = Filter(TableRows((own_id,)), Not(Membership(keys[place], referred)))
            views = [view for view in self.targets if view.ref.table == own_id][:3]
            spoken = (
                Question._all(source.link(v).mask for v in source.columns if v.ref.table == other_id)
                | other.title
            )
            for view in views:
                yield self.make(
                    "never",
                    Project(rows, (Named(view.ref),), True),
                    nothing,
                    target=view,
                    mask=cues["negation"] | spoken,
                )
            yield self.make(
                "never/count",
                Aggregate(AggregateFunction.COUNT, None, rows),
                nothing,
                mask=cues["negation"] | spoken,
            )


def _kind(view: ColumnView) -> str:
    if view.personal:
        return "person"
    if view.placelike:
        return "place"
    if view.timelike:
        return "time"
    if view.role is not ColumnRole.PLAIN:
        return str(view.role)
    return "number" if view.numeric else str(view.kind)


__all__ = ["Candidate", "Source", "candidates_of", "joins_of", "stemmed"]
