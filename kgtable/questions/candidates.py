"""A candidate program, the tokens of the question that it accounts for, and its features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from kgtable.programs.algebra import Arithmetic, Node, Program, ValueKind
from kgtable.programs.relation import NAMING
from kgtable.questions.conditions import Condition
from kgtable.questions.english import consumed_cues, fold, words_of_type
from kgtable.questions.reading import Question
from kgtable.questions.relation_index import ColumnView, name_stems
from kgtable.questions.sources import KEY_WORDS, ConditionSet, ProgramSource
from kgtable.tables.model import Role
from kgtable.text.words import stem as stemmed

_PER = stemmed("per")

DETERMINERS = frozenset({"the", "their", "its", "his", "her", "each"})
_BESIDE = DETERMINERS | {"and", "a", "an", "also", "corresponding", "respective", "own", "all"}
"""Words that may occur between listed columns."""

_OF_JOINED_ROWS = frozenset(("select", "count", "count_distinct", "group", "group_extreme", "having"))
"""Operators for which it matters that a row has one in the other table, though no other column of that is read."""


@dataclass(slots=True)
class Candidate:
    """A possible program, with the tokens that it accounts for and its features."""

    program: Program
    source: ProgramSource
    op: str
    mask: int
    features: dict[str, float]
    conditions: tuple[Condition, ...]
    target: ColumnView | None
    measure: ColumnView | None
    others: tuple[ColumnView, ...] = ()
    """The columns that are shown or measured next to these."""
    score: float = 0.0

    @property
    def is_needless(self) -> bool:
        """Whether it says nothing, or a simpler or a fuller candidate says the same.

        It compares an amount with itself; it answers with keys of rows that another table names; it counts where
        numbers of rows are asked for, or adds up money where things are counted; or it joins two tables, uses the
        columns of one, and the question does not speak of the other.
        """
        source = self.source
        root = self.program.root
        if isinstance(root, Arithmetic) and root.left == root.right:
            return True
        if "t:reference" in self.features and not self.op.startswith("count"):
            return True
        if self.op == "sum" and self._counts_money:
            return True
        if self.op.startswith("count") and source.question.cues.keys() - source.cues.keys():
            return True
        if source.join is None or self.op.startswith(("never", "ever")):
            return False
        read = {c.column for c in self.conditions if c.column >= 0}
        read |= {view.place for view in (self.target, self.measure, *self.others) if view is not None}
        # A column of the key is the same in both tables.
        used = {source.part_of(place) for place in read if source.columns[place].ref not in source.keys}
        used = used or {0}
        if self.op.partition("/")[0] in _OF_JOINED_ROWS:
            used |= source.ends_spoken_of
        return not used >= {0, 1}

    @property
    def _counts_money(self) -> bool:
        """Whether it adds up money that "how many" does not ask for: fees are counted, and euros are added up."""
        measure, how_many = self.measure, self.source.cues.get("how_many", 0)
        if measure is None or not how_many or not measure.is_money:
            return False
        link = self.source.link(measure)
        return not link.exact and not link.mask & how_many << 1 and "m:hint" not in self.features


class CandidateFeatures:
    """What one question and the tables of one source say about a program over these tables."""

    def __init__(self, source: ProgramSource) -> None:
        self.source, self.question = source, source.question
        self.cues = source.cues
        self._op_features: dict[tuple[str, int], tuple[dict[str, float], int]] = {}
        self.measures = self._ranked([view for view in source.columns if view.measure])
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
            not v.measure and source.link(v).score >= 0.7 and source.link(v).mask & focus and v.distinct < v.filled
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
        self.telling = self.superlatives | Question._all(mask for cue, mask in self.cues.items() if cue not in always)
        self.numeric_tokens = 0
        for number in self.question.numbers:
            self.numeric_tokens |= number.mask
        for mention in self.question.times:
            self.numeric_tokens |= mention.mask

    def _best(self, views: Sequence[ColumnView]) -> frozenset[int]:
        """The places of the columns that the question names best; empty if it names none."""
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
            return -(self.source.link(view).score + 0.6 * hinted + 0.1 * (view.role not in NAMING)), view.place

        return sorted(views, key=rank)

    def _told_by(self, view: ColumnView) -> frozenset[str]:
        """What an adjective may mean of a column: its words, and what its values measure where no words are meant.

        The oldest has the highest "Age", even with dates next to it. A column that the question names is meant.
        """
        by_words = self._adjective_names_a_column and not self.source.link(view).exact
        return frozenset(before_per(view)) if by_words else view.aspects

    @cached_property
    def _adjective_names_a_column(self) -> bool:
        headers = {stem for adjective, _ in self.question.adjectives for stem in adjective.headers}
        return any(headers & set(before_per(view)) for view in self.source.columns if view.sortable)

    def _repeats(self, view: ColumnView) -> bool:
        """Whether several rows may hold one value of a column: of a join also where the other table repeats its key."""
        join = self.source.join
        if view.distinct < view.filled or join is None:
            return view.distinct < view.filled
        other = (join.right, join.left)[self.source.part_of(view.place)]
        return any(key.ref == other and key.distinct < key.filled for key in self.source.columns)

    def make(
        self, op: str, root: Node, conditions: ConditionSet, *, target: ColumnView | None = None,
        measure: ColumnView | None = None, mask: int = 0, also: Sequence[str] = (), others: Iterable[ColumnView] = (),
        features: Mapping[str, float] | None = None,
    ) -> Candidate:  # fmt: skip
        """The candidate with its features, and with others that the operator has."""
        source, question = self.source, self.question
        others = tuple(others)
        op_features, op_mask = self._of_op(op, conditions.mask | mask)
        features = {**conditions.features, **(features or {})}
        features.update(op_features)
        covered = conditions.mask | op_mask | mask | source.satisfied_by_title
        for view in others:
            covered |= self._by_column(view)
        if target is not None:
            covered |= self._by_column(target)
            features.update(self._of_target(op, target, conditions))
        if measure is not None:
            measured, said = self._of_measure(measure, conditions)
            features.update(measured)
            covered |= said
        read = measure or target
        if question.wh == "how_much" and read is not None and read.measure and not source.link(read).mask:
            features[f"how_much:{'price' if 'price' in read.aspects else 'no price'}"] = 1.0
        limited = [source.columns[c.column] for c in conditions.conditions if c.column >= 0]
        covered |= self._said_beside(
            covered, [view for view in (target, measure, *others, *limited) if view is not None]
        )
        kind = op.partition("/")[0]
        if target is not None and self._repeats(target) and self._asks_for_most:
            features[f"{op}:most of several"] = 1.0
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
        rest, covered = self._of_rest(covered)
        features.update(rest)
        features["rare:covered"] = source.rarity.share(covered)
        if op.endswith("/columns"):
            shown = dict.fromkeys([*([] if target is None else [target]), *others])
            features["shown:side by side"] = float(len(self._side_by_side(list(shown))) == 1)
        if source.join is not None:
            features["join"] = 1.0
            features.update(source.join.features)
        return Candidate(Program(root), source, op, covered, features, conditions.conditions, target, measure, others)

    def _side_by_side(self, views: Sequence[ColumnView]) -> list[list[ColumnView]]:
        """The columns in the order in which the question names them, each list of those that are adjacent in it.

        Columns that are named by a part of what names another one are left out.
        """
        masks = [(self.source.link(view).mask, view) for view in views]
        runs = [(mask & ~(mask + (mask & -mask)), view) for mask, view in masks if mask]
        apart = [(run, view) for run, view in runs if not any(run & other == run != other for other, _ in runs)]
        found: list[list[ColumnView]] = []
        end = 0
        for run, view in sorted(apart, key=lambda entry: (entry[0] & -entry[0], entry[1].place)):
            if found and self._joins(end, (run & -run).bit_length() - 1):
                found[-1].append(view)
            else:
                found.append([view])
            end = run.bit_length()
        return found

    def _joins(self, end: int, start: int) -> bool:
        """Whether only "and", a comma and words such as "their" are between two places of the question."""
        tokens = self.question.tokens
        if start < end:
            return False
        between = [token.word for token in tokens[end:start]]
        comma = "," in self.question.text[tokens[end - 1].end : tokens[start].start]
        return (comma or "and" in between) and all(word in _BESIDE for word in between)

    def _of_target(self, op: str, target: ColumnView, conditions: ConditionSet) -> dict[str, float]:
        """Features of the column that is shown or counted."""
        source, question = self.source, self.question
        features: dict[str, float] = {}
        link = source.link(target)
        features["t:link"] = link.score
        if target.role is Role.IDENTIFIER:
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
            if target.role is Role.IDENTIFIER:
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
        return features

    def _of_measure(self, measure: ColumnView, conditions: ConditionSet) -> tuple[dict[str, float], int]:
        """Features of the column that is measured, and the tokens that it accounts for."""
        source, question = self.source, self.question
        features: dict[str, float] = {}
        covered = self._by_column(measure)
        link = source.link(measure)
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
            dated = measure.temporal and adjective.name in ("long", "short")  # no year is longer than another
            if not dated and any(stem in adjective.headers for stem in self._told_by(measure)):
                hinted |= token
        if hinted:
            features["m:hint"] = 1.0
            covered |= hinted
        if not link.score and not hinted:
            features["m:unlinked"] = 1.0
            if "price" in measure.aspects:
                features["m:unlinked:money"] = 1.0
            if len(self.measures) == 1 and measure.measure:
                features["m:only"] = 1.0
        if link.mask & self._behind_superlatives:
            features[f"m:behind superlative:{_role_feature(measure.role)}"] = 1.0
        elif self._measure_behind_superlative:
            features["m:another behind superlative"] = 1.0
        if measure.role is Role.ORDINAL:
            features["m:ordinal"] = 1.0
        if measure.temporal:
            features["m:time"] = 1.0
        if measure.place in conditions.columns:
            features["m:condition"] = 1.0
        return features, covered

    def _of_rest(self, covered: int) -> tuple[dict[str, float], int]:
        """Features of the words that are not accounted for, and the tokens that are, with those that only describe."""
        source, question = self.source, self.question
        features: dict[str, float] = {}
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
        for name, tokens in (
            ("value", source.values),
            ("number", self.numeric_tokens),
            ("focus", question.focus),
            ("quoted", question.quoted),
            ("name", question.names),
            ("thing", question.things),
        ):
            if left & tokens:
                features[f"uncovered:{name}"] = 1.0
        features["title"] = (source.title & content).bit_count() / total
        if question.focus & source.title:
            features["title:focus"] = 1.0
        return features, covered

    @cached_property
    def _behind_superlatives(self) -> int:
        """The tokens right after superlatives: *winning time* of "the longest winning time of any stage"."""
        found = Question._all(
            token << 1 | token << 2 for adjective, token in self.question.adjectives if adjective.superlative
        )
        for word in self.question.tokens:  # nothing comes after "the highest of the ..."
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
    def _asks_for_most(self) -> bool:
        return any(adjective.name == "most" and adjective.superlative for adjective, _ in self.question.adjectives)

    def _said_beside(self, covered: int, views: Sequence[ColumnView]) -> int:
        """Tokens that say nothing of their own in addition to what is accounted for.

        A word for a number next to what is measured (*nitrate value*), and *per* before what a header, the title or the
        rows are of (*points per club*).
        """
        link, found = self.source.link, 0
        for view in views:
            if view.numeric and link(view).exact:
                found |= (link(view).mask << 1 | link(view).mask >> 2) & self._reading_words
        per = self.cues.get("per", 0)
        if per & ~covered:
            after = per << 1 | per << 2
            named = any(_PER in name_stems(view.name) and link(view).mask & after for view in views)
            titled = any(_PER in part.index.title_stems for part in self.source.links) and self.source.title & after
            titled = titled and not any(view.aspects & words_of_type("money") for view in views)
            rows = Question._all(link(view).mask for view in self.source.labels) & after
            if named or titled or rows:
                found |= per
        return found

    @cached_property
    def _reading_words(self) -> int:
        return Question._all(1 << t.index for t in self.question.tokens if t.stem in words_of_type("reading"))

    def _by_column(self, view: ColumnView) -> int:
        """The tokens that a column accounts for: by a synonym not those that are cells."""
        link = self.source.link(view)
        return link.mask & ~self.source.values if link.derived else link.mask

    def _of_op(self, op: str, taken: int) -> tuple[dict[str, float], int]:
        """Features of an operator next to the operator words that are left, and the tokens that it consumes."""
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
                token for adjective, token in self.question.adjectives if token & ~taken and adjective.superlative
            ]
            if superlatives:
                features[f"{op}:adjective"] = 1.0
            elif not self.cues.keys() & {"first", "last"}:
                features[f"{op}:plain"] = 1.0
            found = self._op_features[key] = features, mask
        return found


def before_per(view: ColumnView) -> tuple[str, ...]:
    """The words of a header before *per*: dues per year are not years."""
    return view.stems[: view.stems.index(_PER)] if _PER in view.stems[1:] else view.stems


def _role_feature(role: Role) -> str:
    """The name that the ranker's weights know a role by."""
    return role.value.lower() if role in NAMING else "plain"


def _kind(view: ColumnView) -> str:
    if view.personal:
        return "person"
    if view.placelike:
        return "place"
    if view.timelike:
        return "time"
    if view.role in NAMING:
        return _role_feature(view.role)
    return "number" if view.numeric else str(view.kind)
