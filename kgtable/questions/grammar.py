"""The parts of candidate programs: condition sets, target columns, measures, directions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

from kgtable.programs.algebra import AggregateFunction, Convert, Expression, Rows, ValueKind
from kgtable.programs.dimensions import NO_UNIT, comparable
from kgtable.programs.fields import FieldColumn, FieldOrder, Fields, How
from kgtable.questions.candidates import DETERMINERS, Candidate, CandidateFeatures
from kgtable.questions.conditions import Condition, negated
from kgtable.questions.english import words_of_type
from kgtable.questions.reading import Question
from kgtable.questions.relation_index import ColumnView
from kgtable.questions.sources import ConditionSet, ProgramSource, condition_set

MOST_CONDITION_SETS = 9

MOST_TARGETS = 5

MOST_MEASURES = 3

MOST_SHOWN = 5
"""Columns that a question asks for at once."""

MOST_SIGNS = 500
"""Different numbers of a column that are looked at for their signs."""
LEAST_DERIVED = 0.45
"""From which score on a column that is named by a related word is shown next to others."""

AGGREGATES = {
    "sum": AggregateFunction.SUM,
    "mean": AggregateFunction.MEAN,
    "median": AggregateFunction.MEDIAN,
    "min": AggregateFunction.MIN,
    "max": AggregateFunction.MAX,
}


LEAST_ORDERED = 0.6
"""The share of a header's words that names a column to order by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling(Fields):
    """Fields over rows that are chosen elsewhere, such as those of a question's conditions; shares are of `whole`."""

    given: Rows
    whole: Rows

    def _rows(self) -> Rows:
        return self.given

    def _source(self) -> Rows:
        return self.whole


def _field(view: ColumnView) -> FieldColumn:
    return FieldColumn(view.ref.name, view.ref.table)


class Grammar(CandidateFeatures):
    """The parts of candidates of a source; operators are added by what derives from it."""

    def __init__(self, source: ProgramSource) -> None:
        super().__init__(source)
        self.sets = self._condition_sets()
        self._costs_below_zero: dict[int, bool] = {}
        self.sortables = self._ranked([view for view in source.columns if view.sortable])
        self.sortables = [view for view in self.sortables if self._is_ordered_by(view)] or self.sortables
        self.targets = self._target_columns()

    def _as_named(self, one: ColumnView, other: ColumnView) -> tuple[ColumnView, ColumnView]:
        """Two columns in the order in which the question names them, by the words that distinguish them."""
        first, second = self.source.link(one).mask, self.source.link(other).mask
        first, second = first & ~second, second & ~first
        return (other, one) if first and second and (second & -second) < (first & -first) else (one, other)

    def _between(self, one: ColumnView, other: ColumnView) -> bool:
        """Whether two columns of times are the ends of a span with others within: "from 2019 to 2021"."""
        masks = self.source.link(one).mask, self.source.link(other).mask
        first, last = sorted((masks[0] & ~masks[1], masks[1] & ~masks[0]))
        apart = abs(one.place - other.place) > 1
        return apart and bool(first and last and one.period and other.period and self.question.span(first, last))

    def _is_ordered_by(self, view: ColumnView) -> bool:
        """Whether the question names the column after "by" or "order of", as in "the top three by their downloads"."""
        link = self.source.link(view)
        place = (link.mask & -link.mask).bit_length() - 2
        words = [token.word for token in self.question.tokens]
        while place > 0 and words[place] in DETERMINERS:
            place -= 1
        if place < 0 or link.derived or link.score < LEAST_ORDERED:
            return False
        return words[place] == "by" or (place > 0 and words[place - 1 : place + 1] == ["order", "of"])

    @cached_property
    def ordered_by(self) -> list[ColumnView]:
        """The columns that a list may be ordered by: numbers and times, or texts where their order is asked for."""
        texts = [view for view in self.source.columns if not view.sortable and self._is_ordered_by(view)]
        if "alphabetical" in self.cues:
            return texts[:1] or [view for view in self.targets if not view.measure and not view.temporal][:1]
        named = any(map(self._is_ordered_by, self.sortables[:1]))
        return self.sortables[:2] if named else [*self.sortables[:2], *texts[:1]]

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

    def _numbers_what_is_named(self, view: ColumnView) -> bool:
        """*Which class* asks for a column "Class", and for "Class No" only where the number is asked for."""
        source, mask = self.source, self.source.link(view).mask
        if not mask or not view.key_words or view.key_words & self.question.stems:
            return False
        return any(
            source.link(other).mask == mask and not other.key_words and self.question.stems.issuperset(other.stems)
            for other in source.columns
        )

    def _shown(self, views: Sequence[ColumnView], taken: int) -> list[ColumnView]:
        """The columns that a question names in full by tokens of their own, in its order; none if too many.

        `taken` are the tokens that conditions account for.
        """
        link = self.source.link
        said = {token.stem for token in self.question.tokens}
        named = [
            view
            for view in views
            if (link(view).exact or self._is_asked_for(view))
            and link(view).mask & ~taken
            and (not view.key_words or view.key_words & said)
        ]
        named.sort(key=lambda view: (link(view).mask & -link(view).mask, view.place))
        apart: list[ColumnView] = []
        for view in named:
            mask = link(view).mask
            inside = any(mask & link(other).mask == mask != link(other).mask for other in named)
            if not inside and not any(mask == link(other).mask for other in apart):
                apart.append(view)
        return apart if len(apart) <= MOST_SHOWN else []

    def _lists(self, views: Sequence[ColumnView], conditions: ConditionSet) -> list[list[ColumnView]]:
        """What a question may want shown of each row: the columns that it names, or those that it names side by side.

        "The code and country of the airline" wants two columns, and none that is called "Airline"; "the owner and price
        of the boat Merle" asks for no name of the boat.
        """
        shown = self._shown(views, conditions.mask)
        asked = [view for view in shown if view.place not in conditions.columns]
        longest = max(self._side_by_side(shown), key=len, default=[])
        found = [each for each in ([shown] if asked == shown else [shown, asked]) if len(each) >= 2]
        return [*found, longest] if len(longest) >= 2 and longest not in found else found

    def _is_asked_for(self, view: ColumnView) -> bool:
        """Whether a related word names a column in the part of the question that says what is asked for."""
        link = self.source.link(view)
        return link.derived and link.score >= LEAST_DERIVED and bool(link.mask & self.question.focus)

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
        weak = [
            c
            for c in kept
            if any(o.mask & c.mask == c.mask and o.quality > c.quality + 0.05 for o in kept if o.kind != "several")
        ]
        negation = self.cues.get("negation", 0)
        if negation:
            weak += [negated(c, negation) for c in weak]
            opposite = [c for c in kept if not c.mask & negation and c.kind != "missing"][:6]
            kept += [negated(c, negation) for c in _next_of(opposite, negation)]
            kept += [negated(c, 0) for c in kept if c.kind == "missing"][:1]
        sets = [condition_set([condition], weak) for condition in kept]
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
                    if (c.kind in ("exact", "partial", "number", "several", "contains") or c.relation == "in")
                    and c.column >= 0
                ]
                if len(set(exact)) < len(exact):
                    continue
                sets.append(condition_set(several, weak))
        content = self.question.content

        def worth(found: ConditionSet) -> float:
            covered = (found.mask & (content | self.source.values)).bit_count()
            return found.quality / max(len(found.conditions), 1) + 0.75 * covered - 0.25 * len(found.conditions)

        sets.sort(key=lambda found: -worth(found))
        return [*sets[: MOST_CONDITION_SETS - 1], condition_set([])]

    def _unit_asked(self, units: Iterable[str | None]) -> str | None:
        """The unit that the question asks for, to which amounts in one of some units are converted."""
        unit = self.question.unit_asked[0] if self.question.unit_asked else None
        told = (known for known in units if known and known not in NO_UNIT)
        return unit if unit and any(comparable(known, unit) for known in told) else None

    def _rows_of(self, conditions: ConditionSet) -> Rows:
        return conditions.over(self.source.rows(conditions.choice))

    def filled(
        self, op: str, conditions: ConditionSet, how: How = How.LIST, measure: ColumnView | None = None, *,
        ask: Sequence[ColumnView] = (), ordered: tuple[ColumnView, bool] | None = None,
        shown: Sequence[FieldColumn] = (), target: ColumnView | None = None, rows: Rows | None = None,
        unit: str | None = None, mask: int = 0, also: Sequence[str] = (), others: Sequence[ColumnView] = (),
        features: Mapping[str, float] | None = None, **chosen: Any,
    ) -> Candidate:  # fmt: skip
        """The candidate of some fields, over `rows` or those that meet the conditions, in a unit.

        `ask` are the columns shown, or `shown` by their names; `ordered` is the column that rows are sorted by, and
        whether they descend; `target` a column of the fields that is neither. Other fields are `chosen` by their names.
        """
        if measure is not None:
            chosen["measure"] = _field(measure)
        if ordered is not None:
            chosen["order"] = FieldOrder(_field(ordered[0]), ordered[1])
        given = self._rows_of(conditions) if rows is None else rows
        asked = tuple(shown or map(_field, ask))
        filling = Filling(self.source.ids, how=how, ask=asked, given=given, whole=self.source.rows(), **chosen)
        root = filling.program().root
        if unit is not None and self.question.unit_asked is not None:
            assert isinstance(root, Expression)
            root, mask, also = Convert(root, unit), mask | self.question.unit_asked[1], ("convert",)
        return self.make(
            op + "/columns" * (len(ask) > 1), root, conditions, target=ask[0] if ask else target,
            measure=ordered[0] if ordered else None if measure is target else measure, mask=mask, also=also,
            others=ask if len(ask) > 1 else others, features=features,
        )  # fmt: skip

    def _aggregates_named(self) -> Iterator[tuple[str, int]]:
        """The aggregates that the question names, with the tokens that do."""
        for name, cue in (("mean", "average"), ("median", "median"), ("sum", "total")):
            if cue in self.cues:
                yield name, self.cues[cue]
        for down, token, _, _ in self._directions():
            yield "max" if down else "min", token

    def _directions(self) -> list[tuple[bool, int, str, Mapping[str, int]]]:
        """Descending or not, tokens, name, headers measured, for each superlative of the question."""
        compared = Question._all(threshold.mask for threshold in self.question.thresholds)
        known = [(adjective, token) for adjective, token in self.question.adjectives if not token & compared]
        chosen = [entry for entry in known if entry[0].superlative]
        # In "the shortest time in the final", of a column "Final", only the first word ranks.
        headers = Question._all(link.mask for link in self.source.column_links if link.exact)
        chosen = [entry for entry in chosen if not entry[1] & headers] or chosen
        chosen = chosen or [entry for entry in known if entry[0].comparative]
        found = [(adjective.sign > 0, token, adjective.name, adjective.headers) for adjective, token in chosen]
        cues = self.cues
        often = cues.get("most_often", 0)  # "the most common heating" has the most of what is counted
        found = [
            (down, token | often if token & often else token, name, headers) for down, token, name, headers in found
        ]
        if "most_often" in cues and not found:
            found.append((True, cues["most_often"], "most", {}))
        return found[:3]

    @cached_property
    def _spending(self) -> int:
        """The tokens that speak of spending."""
        spent = words_of_type("spending")
        return Question._all(1 << token.index for token in self.question.tokens if token.stem in spent)

    def _shows_costs_below_zero(self, view: ColumnView) -> bool:
        """Whether the question speaks of spending, and the column shows costs as amounts below zero."""
        spent = words_of_type("spending")
        if not view.measure or not self._spending:
            return False
        known = self._costs_below_zero.get(view.place)
        if known is None:
            numbers = [v.number for v in self.source.values_of(view, MOST_SIGNS) if v.number is not None]
            below = sum(number < 0 for number in numbers)
            # A refund among the amounts of a column "Cost" is none; "Profit or loss" shows losses below zero.
            only_costs = view.aspects & spent and not view.aspects & words_of_type("earning")
            known = below > 0 and (below == len(numbers) or not only_costs)
            self._costs_below_zero[view.place] = known
        return known

    def _sign(self) -> int:
        """The direction of the question's comparative."""
        for adjective, _ in self.question.adjectives:
            return adjective.sign
        return -1 if "less_than" in self.cues else 1

    def _in_order(self, one: ColumnView, other: ColumnView) -> tuple[ColumnView, ColumnView]:
        """Two columns of periods by time, or as "from … to" says; others as the question does, the second first."""
        if one.period and other.period:
            return (one, other) if one.period <= other.period else (other, one)
        if self._says_from_to(one, other):
            return one, other
        return other, one

    def _says_from_to(self, one: ColumnView, other: ColumnView) -> bool:
        """Whether one column follows *from* and the other *to*."""
        first, second = self.source.link(one).mask, self.source.link(other).mask
        first, second = first & ~second, second & ~first
        words = self.question.tokens
        starts = [1 << token.index for token in words if token.word == "from"]
        ends = [1 << token.index for token in words if token.word in ("to", "until")]
        return any(start < (first & -first) < end < (second & -second) for start in starts for end in ends)


def _next_of(conditions: Sequence[Condition], negation: int) -> list[Condition]:
    """The conditions whose values come right after a word of negation: "of Alba, not by Kim" keeps Alba."""
    behind = [
        c for c in conditions if c.kind == "exact" and c.mask > negation and not c.mask & (negation | negation - 1)
    ]
    if not behind:
        return list(conditions)
    first = min(c.mask & -c.mask for c in behind)
    return [c for c in conditions if c.kind != "exact" or c.mask & -c.mask == first]
