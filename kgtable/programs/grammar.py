"""The parts of candidate programs: condition sets, target columns, measures; and the features of a candidate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from kgtable.programs.algebra import (
    AggregateFunction,
    Convert,
    Expression,
    Node,
    Or,
    Program,
    ValueKind,
)
from kgtable.programs.dimensions import NO_UNIT, comparable
from kgtable.programs.english import consumed_cues, fold, words_of_type
from kgtable.programs.linking import Condition, negated
from kgtable.programs.reading import Question
from kgtable.programs.relation import ColumnRole
from kgtable.programs.relation_index import ColumnView, name_stems
from kgtable.programs.scalars import text_of
from kgtable.programs.sources import KEY_WORDS, ConditionSet, ProgramSource, condition_set
from kgtable.text.words import stem as stemmed

_PER = stemmed("per")

MOST_CONDITION_SETS = 9

MOST_TARGETS = 5

MOST_MEASURES = 3

MOST_SHOWN = 5
"""Columns that a question asks for at once."""

MOST_SIGNS = 500
"""Different numbers of a column that are looked at for their signs."""
LEAST_DERIVED = 0.45
"""From which score on a column that is named by a related word is shown beside others."""

AGGREGATES = {
    "sum": AggregateFunction.SUM,
    "mean": AggregateFunction.MEAN,
    "median": AggregateFunction.MEDIAN,
    "min": AggregateFunction.MIN,
    "max": AggregateFunction.MAX,
}


_OF_JOINED_ROWS = frozenset(("select", "count", "count_distinct", "group", "group_extreme", "having"))
"""Operators for which it matters that a row has one in the other table, though no other column of that is read."""


@dataclass(slots=True)
class Candidate:
    """A program that may be meant, with the tokens that it accounts for and its features."""

    program: Program
    source: ProgramSource
    op: str
    mask: int
    features: dict[str, float]
    conditions: tuple[Condition, ...]
    target: ColumnView | None
    measure: ColumnView | None
    score: float = 0.0

    @property
    def is_needless(self) -> bool:
        """Whether a simpler or a fuller candidate says the same.

        It answers with keys of rows that another table names; or it joins two tables, uses the columns of one, and
        the question does not speak of the other.
        """
        source = self.source
        if "t:reference" in self.features and not self.op.startswith("count"):
            return True
        if source.join is None or self.op.startswith(("never", "ever")):
            return False
        read = {c.column for c in self.conditions if c.column >= 0}
        read |= {view.place for view in (self.target, self.measure) if view is not None}
        # A column of the key is the same in both tables.
        keys = (source.join.left, source.join.right)
        used = {source.part_of(place) for place in read if source.columns[place].ref not in keys}
        if len(used) > 1:
            return False
        by_rows = self.op.partition("/")[0] in _OF_JOINED_ROWS
        return not by_rows or source.joined_for_nothing[min(used, default=0)]


class Grammar:
    """The parts of candidates of a source, and their features; operators are added by what derives from it."""

    def __init__(self, source: ProgramSource) -> None:
        self.source, self.question = source, source.question
        self.cues = self.question.cues
        self.sets = self._condition_sets()
        self._op_features: dict[tuple[str, int], tuple[dict[str, float], int]] = {}
        self._costs_below_zero: dict[int, bool] = {}
        self.measures = self._ranked([view for view in source.columns if view.measure])
        self.sortables = self._ranked([view for view in source.columns if view.sortable])
        self.sortables = [view for view in self.sortables if self._is_said_after_by(view)] or self.sortables
        self.targets = self._target_columns()
        self.keys = [view for view in self.targets if view.distinct < view.filled or view.label][:3]
        self.best_targets = self._best([view for view in source.columns if not view.measure])
        self.best_measures = self._best(self.measures)
        self.content = self.question.content | source.values
        focus = self.question.focus
        self.described = (
            Question._all(
                source.link(v).mask
                for v in source.columns
                if source.link(v).exact and v.kind in (ValueKind.TEXT, ValueKind.ENTITY) and not v.measure
            )
            & ~focus
            & ~source.values
        )
        self.focus_measure = any(
            v.measure and source.link(v).score >= 0.5 and source.link(v).mask & focus for v in source.columns
        )
        self.focus_entity = any(
            not v.measure
            and source.link(v).score >= 0.7
            and source.link(v).mask & focus
            and v.distinct < v.filled
            for v in source.columns
        )
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

    def _best(self, views: Sequence[ColumnView]) -> frozenset[int]:
        """The places of the columns that the question names best; empty where it names none."""
        best = max((self.source.link(view).score for view in views), default=0.0)
        return frozenset(view.place for view in views if best and self.source.link(view).score == best)

    def _ranked(self, views: Sequence[ColumnView]) -> list[ColumnView]:
        hints = {
            stem: sign
            for adjective, _ in (*self.question.adjectives, *self.question.achievements)
            for stem, sign in adjective.headers.items()
        }

        def rank(view: ColumnView) -> tuple[float, int]:
            hinted = any(stem in hints for stem in self._told_by(view))
            return -(
                self.source.link(view).score + 0.6 * hinted + 0.1 * (view.role is ColumnRole.PLAIN)
            ), view.place

        return sorted(views, key=rank)

    def _told_by(self, view: ColumnView) -> frozenset[str]:
        """What an adjective may mean of a column: its words, and what its values measure where no words are meant.

        The oldest has the highest "Age", whatever dates stand beside it. A column that the question names is meant.
        """
        by_words = self._adjective_names_a_column and not self.source.link(view).exact
        return frozenset(view.stems) if by_words else view.aspects

    @cached_property
    def _adjective_names_a_column(self) -> bool:
        headers = {stem for adjective, _ in self.question.adjectives for stem in adjective.headers}
        return any(headers & set(view.stems) for view in self.source.columns if view.sortable)

    def _as_named(self, one: ColumnView, other: ColumnView) -> tuple[ColumnView, ColumnView]:
        """Two columns in the order in which the question names them, by the words that tell them apart."""
        first, second = self.source.link(one).mask, self.source.link(other).mask
        first, second = first & ~second, second & ~first
        return (other, one) if first and second and (second & -second) < (first & -first) else (one, other)

    def _is_said_after_by(self, view: ColumnView) -> bool:
        """Whether the question names the column right after "by", as in "the top three by downloads"."""
        link = self.source.link(view)
        before = (link.mask & -link.mask).bit_length() - 2
        return link.exact and before >= 0 and self.question.tokens[before].word == "by"

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

    def _shown(self, views: Sequence[ColumnView], taken: int) -> list[ColumnView]:
        """The columns that a question names in full by tokens of their own, in its order; none where too many.

        `taken` are the tokens that conditions account for.
        """
        link = self.source.link
        said = {token.stem for token in self.question.tokens}
        named = [
            view
            for view in views
            if (link(view).exact or self._is_asked_for(view) or self._is_named_in_part(view))
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

    def _is_asked_for(self, view: ColumnView) -> bool:
        """Whether a related word names a column in the part of the question that says what is asked for."""
        link = self.source.link(view)
        return link.derived and link.score >= LEAST_DERIVED and bool(link.mask & self.question.focus)

    def _is_named_in_part(self, view: ColumnView) -> bool:
        """Whether a word beside "and" names one column alone, in part: "names and areas" of a column "Surface area"."""
        link, listed = self.source.link(view), self.cues.get("and", 0)
        if link.score < 0.5 or link.derived or not link.mask & (listed << 1 | listed >> 1):
            return False
        return not any(
            other is not view and self.source.link(other).mask & link.mask for other in self.source.columns
        )

    def _repeats(self, view: ColumnView) -> bool:
        """Whether several rows may hold one value of a column: of a join also where the other table repeats its key."""
        join = self.source.join
        if view.distinct < view.filled or join is None:
            return view.distinct < view.filled
        other = (join.right, join.left)[self.source.part_of(view.place)]
        return any(key.ref == other and key.distinct < key.filled for key in self.source.columns)

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
            if any(
                o.mask & c.mask == c.mask and o.quality > c.quality + 0.05
                for o in kept
                if o.kind != "several"
            )
        ]
        negation = self.cues.get("negation", 0)
        if negation:
            weak += [negated(c, negation) for c in weak]
            opposite = [negated(c, negation) for c in kept if not c.mask & negation and c.kind != "missing"][
                :6
            ]
            kept += opposite
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
                    if c.kind in ("exact", "partial", "number", "several", "contains") and c.column >= 0
                ]
                if len(set(exact)) < len(exact):
                    continue
                sets.append(condition_set(several, weak))
        either = self.cues.get("or", 0)
        if either:
            for one, other in combinations(kept[:6], 2):
                if not one.mask & other.mask and one.column != other.column:
                    joined = Condition(Or((one.expression, other.expression)), one.mask | other.mask | either, -1, "either", min(one.quality, other.quality), one.choice)  # fmt: skip  # noqa: E501
                    sets.append(condition_set([joined]))
        content = self.question.content

        def worth(found: ConditionSet) -> float:
            covered = (found.mask & (content | self.source.values)).bit_count()
            return (
                found.quality / max(len(found.conditions), 1) + 0.75 * covered - 0.25 * len(found.conditions)
            )

        sets.sort(key=lambda found: -worth(found))
        return [*sets[: MOST_CONDITION_SETS - 1], condition_set([])]

    def make(
        self, op: str, root: Node, conditions: ConditionSet, *, target: ColumnView | None = None,
        measure: ColumnView | None = None, mask: int = 0, also: Sequence[str] = (), others: Iterable[ColumnView] = (),
    ) -> Candidate:  # fmt: skip
        """The candidate with its features."""
        source, question = self.source, self.question
        if op.partition("/")[0] in ("sorted", "top"):
            mask |= Question._all(tokens for _, tokens in question.listed_first)
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
            if link.key:
                features["t:said key"] = 1.0
            if target.role is ColumnRole.IDENTIFIER:
                features["t:id"] = 1.0
                features[f"{op}:t:id"] = 1.0
            said_key = link.key or (link.exact and not KEY_WORDS.isdisjoint(target.stems))
            if target.ref in source.references and not said_key:
                features["t:reference"] = 1.0
            if target.place in source.overshadowed:
                features["t:overshadowed"] = 1.0
            if link.exact:
                features["t:exact"] = 1.0
            if link.score and target.place in self.best_targets:
                features["t:best"] = 1.0
            if link.derived:
                features["t:derived"] = 1.0
            if link.mask & question.focus:
                features["t:focus"] = 1.0
                if target.role is ColumnRole.IDENTIFIER:
                    features["t:focus:id"] = 1.0
            elif question.focus and link.score:
                features["t:unfocused"] = 1.0
            if link.mask & question.head:
                features["t:head"] = 1.0
            elif question.head and link.score:
                features["t:no head"] = 1.0
            if target.label:
                features["t:label"] = 1.0
                if question.head & source.title & ~link.mask:
                    features["t:label:head in title"] = 1.0
                if question.focus and question.focus & source.title & ~link.mask:
                    features["t:label:title"] = 1.0
            kind = _kind(target)
            features[f"t:{question.wh}:{kind}"] = 1.0
            if target.place == 0:
                features["t:first"] = 1.0
            features[f"{op}:t:{'linked' if link.score >= 0.5 else 'unlinked'}"] = 1.0
            if target.place in conditions.columns:
                features["t:condition"] = 1.0
            elif any(c.column == target.place and c.mask & conditions.mask for c in source.headed):
                features["t:heads the value"] = 1.0
        if measure is not None:
            link = source.link(measure)
            covered |= self._by_column(measure)
            features["m:link"] = link.score
            if link.exact:
                features["m:exact"] = 1.0
            if link.score and measure.place in self.best_measures:
                features["m:best"] = 1.0
            if measure.place in source.overshadowed:
                features["m:overshadowed"] = 1.0
            if link.derived:
                features["m:derived"] = 1.0
            if link.exact:
                # "Who won the most medals": the column of medals says what was won.
                covered |= Question._all(token for _, token in question.achievements)
            hinted = 0
            for adjective, token in question.adjectives:
                dated = measure.temporal and adjective.name in (
                    "long",
                    "short",
                )  # no year is longer than another
                if not dated and any(stem in adjective.headers for stem in self._told_by(measure)):
                    hinted |= token
            if hinted:
                features["m:hint"] = 1.0
                covered |= hinted
            if not link.score and not hinted:
                features["m:unlinked"] = 1.0
                if len(self.measures) == 1 and measure.measure:
                    features["m:only"] = 1.0
            if link.mask & self._behind_superlatives:
                features[f"m:behind superlative:{measure.role}"] = 1.0
            elif self._measure_behind_superlative:
                features["m:another behind superlative"] = 1.0
            if measure.role is ColumnRole.ORDINAL:
                features["m:ordinal"] = 1.0
            if measure.temporal:
                features["m:time"] = 1.0
            if measure.place in conditions.columns:
                features["m:condition"] = 1.0
        read = measure or target
        if question.wh == "how_much" and read is not None and read.measure and not source.link(read).mask:
            features[f"how_much:{'price' if 'price' in read.aspects else 'no price'}"] = 1.0
        if op == "count_distinct" and target is not None and source.is_of_other_table(target):
            features["count_distinct:of the other table"] = 1.0
        limited = [source.columns[c.column] for c in conditions.conditions if c.column >= 0]
        covered |= self._said_beside(
            covered, [view for view in (target, measure, *others, *limited) if view is not None]
        )
        kind = op.partition("/")[0]
        if kind == "share" and self._names_shares:
            features["share:named column"] = 1.0
        if target is not None and self._repeats(target) and self._asks_for_most:
            features[f"{op}:most of several"] = 1.0
        if kind == "extreme" and target is not None and self._repeats(target):
            named = 0 if measure is None else source.link(measure).mask
            features["extreme:total of several"] = float(bool(self.cues.get("total", 0) & ~named))
        if kind == "count" and any(c.kind == "exact" and c.size == 1 for c in conditions.conditions):
            features["count:one row"] = 1.0
        if kind in ("count", "count_distinct"):
            covered |= self._of_every_row
        if self.focus_measure and kind in ("count", "count_distinct", "sum", "select"):
            features[f"{kind}:focus measure"] = 1.0
        if self.focus_entity and kind in ("count", "count_distinct"):
            features[f"{kind}:focus entity"] = 1.0
        if (
            measure is not None
            and kind == "sum"
            and measure.quantity
            and any(c.mask & question.focus for c in conditions.conditions)
        ):
            features["sum:quantity"] = 1.0
        if measure is not None and source.link(measure).mask & question.focus:
            features["m:focus"] = 1.0
            if source.link(measure).mask & question.head:
                features["m:head"] = 1.0
                features[f"{kind}:m:head"] = 1.0
            features[f"{kind}:m:focus"] = 1.0
            if "how_many" in self.cues and any(condition.size > 1 for condition in conditions.conditions):
                features[f"{kind}:how many of several"] = 1.0
        if any(condition in source.beside for condition in conditions.conditions):
            features["c:beside"] = 1.0
        for name in also:
            features[name] = features.get(name, 0.0) + 1.0
        content = self.content
        unsaid = self.telling & ~covered
        features["cue:left"] = min(unsaid.bit_count(), 4) / 2
        if unsaid & self.superlatives:
            features["cue:left:superlative"] = 1.0
        if unsaid & self.cues.get("negation", 0):
            features["cue:left:negation"] = 1.0
        told = self.described & content & ~covered
        if told:
            features["described"] = float(min(told.bit_count(), 3))
            covered |= told
        left = content & ~covered
        total = max(content.bit_count(), 1)
        features["uncovered"] = left.bit_count() / total
        features["uncovered:n"] = float(min(left.bit_count(), 6))
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
        if left & question.names:
            features["uncovered:name"] = 1.0
        if left & question.things:
            features["uncovered:thing"] = 1.0
        features["title"] = (source.title & content).bit_count() / total
        if question.focus & source.title:
            features["title:focus"] = 1.0
        features["rare:covered"] = source.rarity.share(covered)
        if source.join is not None:
            features["join"] = 1.0
            features.update(source.join.features)
        if len(source.links[0].index.relation.tables) > 1:
            features["parts"] = 1.0
        return Candidate(Program(root), source, op, covered, features, conditions.conditions, target, measure)

    @cached_property
    def _behind_superlatives(self) -> int:
        """The tokens right behind superlatives: *winning time* of "the longest winning time of any stage"."""
        found = Question._all(
            token << 1 | token << 2 for adjective, token in self.question.adjectives if adjective.superlative
        )
        for word in self.question.tokens:  # nothing is behind "the highest of the ..."
            if word.empty and found >> word.index & 1:
                found &= ~(3 << word.index)
        return found

    @cached_property
    def _measure_behind_superlative(self) -> bool:
        link = self.source.link
        return any(link(view).exact and link(view).mask & self._behind_superlatives for view in self.measures)

    @cached_property
    def _of_every_row(self) -> int:
        """The tokens of verbs that a column dates for every row: all items of a list were *found* at some time."""
        link, tokens = self.source.link, self.question.tokens
        dated = [v for v in self.source.columns if v.temporal and link(v).exact and not v.missing]
        every = Question._all(
            1 << token.index
            for view in dated
            for token in tokens
            if link(view).mask >> token.index & 1 and token.word in fold(view.name).split()
        )
        return every & ~self.question.focus & ~self.question.things

    @cached_property
    def _names_shares(self) -> bool:
        """Whether a column of shares is named, so that none has to be computed."""
        link = self.source.link
        return any(
            "PERCENT" in view.units and link(view).exact and not view.period for view in self.source.columns
        )

    @cached_property
    def _asks_for_most(self) -> bool:
        return any(
            adjective.name == "most" and adjective.superlative for adjective, _ in self.question.adjectives
        )

    def _said_beside(self, covered: int, views: Sequence[ColumnView]) -> int:
        """Tokens that say nothing of their own beside what is accounted for.

        A word for a time beside a time (*the 2023 season*), a word for a number beside what is measured (*nitrate
        value*), and *per* before what a header, the title or the rows are of (*points per club*).
        """
        question, link = self.question, self.source.link
        found = 0
        for mention in question.times:
            if mention.mask & covered:
                found |= (mention.mask << 1 | mention.mask << 2 | mention.mask >> 1) & self._time_words
        for view in views:
            if view.numeric and link(view).exact:
                found |= (link(view).mask << 1 | link(view).mask >> 2) & self._reading_words
        per = self.cues.get("per", 0)
        if per & ~covered:
            after = per << 1 | per << 2
            named = any(_PER in name_stems(view.name) and link(view).mask & after for view in views)
            titled = (
                any(_PER in part.index.title_stems for part in self.source.links)
                and self.source.title & after
            )
            titled = titled and not any(view.aspects & words_of_type("money") for view in views)
            rows = Question._all(link(view).mask for view in self.source.labels) & after
            if named or titled or rows:
                found |= per
        return found

    @cached_property
    def _time_words(self) -> int:
        return Question._all(1 << t.index for t in self.question.tokens if t.stem in words_of_type("time"))

    @cached_property
    def _reading_words(self) -> int:
        return Question._all(1 << t.index for t in self.question.tokens if t.stem in words_of_type("reading"))

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
            superlatives = [
                token
                for adjective, token in self.question.adjectives
                if token & ~taken and adjective.superlative
            ]
            if superlatives:
                features[f"{op}:adjective"] = 1.0
            elif not self.cues.keys() & {"first", "last"}:
                features[f"{op}:plain"] = 1.0
            found = self._op_features[key] = features, mask
        return found

    def _converted(
        self, op: str, root: Expression, conditions: ConditionSet, measure: ColumnView, **options: object
    ) -> Iterator[Candidate]:
        """The value, in the unit that the question asks for where it asks for one."""
        adjective = Question._all(
            token for adjective, token in self.question.adjectives if op.startswith(("min", "max"))
        )
        asked = self.question.unit_asked
        units = ("SEC",) if self._is_worded(measure) else measure.units
        if asked is not None and any(u not in NO_UNIT and comparable(u, asked[0]) for u in units):
            mask = asked[1] | adjective
            yield self.make(
                op, Convert(root, asked[0]), conditions, measure=measure, mask=mask, also=("convert",)
            )
            return
        yield self.make(op, root, conditions, measure=measure, mask=adjective)

    def _is_worded(self, view: ColumnView) -> bool:
        """Whether it holds spans of time in words, as ``3 d``: those in figures, as ``7:30``, are added up as such."""
        told = self.source.values_of(view, 20) if view.kind is ValueKind.DURATION else ()
        return bool(told) and not any(":" in text_of(value) for value in told)

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
        adjective = Question._all(token for a, token in self.question.adjectives if any(s in a.headers for s in measure.aspects) or a.name in ("large", "small", "most"))  # fmt: skip  # noqa: E501
        timed = measure.clock or measure.kind is ValueKind.DURATION
        units = ["SEC"] if timed else [unit for unit in measure.units if unit and unit not in NO_UNIT]
        if measure.kind is ValueKind.DATE and not timed and "/date" in op:
            units = ["DAY"]
        if asked is not None and any(comparable(unit, asked[0]) for unit in units):
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
        compared |= Question._all(mask for _, mask in self.question.listed_first)
        known = [(adjective, token) for adjective, token in self.question.adjectives if not token & compared]
        chosen = [entry for entry in known if entry[0].superlative]
        # In "the shortest time in the final", of a column "Final", only the first word ranks.
        headers = Question._all(link.mask for link in self.source.column_links if link.exact)
        chosen = [entry for entry in chosen if not entry[1] & headers] or chosen
        chosen = chosen or [entry for entry in known if entry[0].comparative]
        found = [
            (adjective.sign > 0, token, adjective.name, adjective.headers) for adjective, token in chosen
        ]
        cues = self.cues
        often = cues.get("most_often", 0)  # "the most common heating" has the most of what is counted
        found = [
            (down, token | often if token & often else token, name, headers)
            for down, token, name, headers in found
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
            # A refund among the amounts of a column "Cost" is none.
            known = below > 0 and (below == len(numbers) or not view.aspects & spent)
            self._costs_below_zero[view.place] = known
        return known

    def _sign(self) -> int:
        """The direction of the question's comparative."""
        for adjective, _ in self.question.adjectives:
            return adjective.sign
        return -1 if "less_than" in self.cues else 1

    def _in_order(self, one: ColumnView, other: ColumnView) -> tuple[ColumnView, ColumnView]:
        """Two columns of periods by time, others in the order of the question, the second first."""
        if one.period and other.period:
            return (one, other) if one.period <= other.period else (other, one)
        return other, one


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
