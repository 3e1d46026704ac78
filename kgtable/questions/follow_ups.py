"""A follow-up read as a change of the fields of the program before: "by month", "and in 2023?", "the average"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kgtable.errors import ProgramSyntaxError
from kgtable.programs.algebra import Compare, Constant, Expression, Membership
from kgtable.programs.fields import VALUE, FieldColumn, FieldCondition, FieldOrder, Fields, How, bucket_of
from kgtable.programs.relation import Relation
from kgtable.questions.conditions import Condition
from kgtable.questions.english import consumed_cues, following_words
from kgtable.questions.groupings import Groupings, GroupKey
from kgtable.questions.linking import Links
from kgtable.questions.reading import Question
from kgtable.questions.relation_index import ColumnView, index_of
from kgtable.questions.sources import ProgramSource

_HOWS = {
    "average": How.MEAN, "median": How.MEDIAN, "total": How.SUM, "how_many": How.COUNT, "percent": How.SHARE,
    "share": How.SHARE,
}  # fmt: skip
"""What the cues of a follow-up make of the measure."""
_OF_WORDS = ("and", "or", "list", "between", "since", "first", "per", "each", "only", "until")


def changed(asked: Fields, said: str, relations: Mapping[str, Relation]) -> Fields | None:
    """Return the fields updated by what a follow-up says.

    Args:
        asked: the fields of the program before.
        said: the follow-up, in English.
        relations: the tables by id.

    Returns:
        The fields with another key, year, place, measure, aggregate or number of groups; None if a word of the
        follow-up says none of these, or nothing changes.
    """
    question = Question.read(said)
    if not question.tokens or asked.join is not None or len(asked.tables) > 1:
        return None
    source = ProgramSource((Links(question, index_of(relations[asked.tables[0]])),), 1.0, 0)
    change = _Change(asked, source)
    found = change.fields()
    left = question.content & ~change.mask & ~source.title
    return None if left or found == asked else found


class _Change:
    """The parts of a follow-up along with the previous fields; `mask` are the tokens that it accounts for."""

    def __init__(self, asked: Fields, source: ProgramSource) -> None:
        self.asked, self.source, self.question = asked, source, source.question
        self.mask = 0
        for cue in {*consumed_cues()["any"], *_OF_WORDS}:
            self.mask |= self.question.cues.get(cue, 0)
        for token in self.question.tokens:
            self.mask |= (token.word in following_words()) << token.index

    def fields(self) -> Fields | None:
        try:
            return self._ordered(self._measured(self._limited(self._grouped(self.asked))))
        except ProgramSyntaxError:  # such as the median of nothing
            return None

    def _column(self, view: ColumnView) -> FieldColumn:
        return FieldColumn(view.ref.name)

    def _grouped(self, fields: Fields) -> Fields:
        keys: tuple[GroupKey, ...] = next(iter(Groupings(self.source).said_keys), ())
        if not keys:
            return fields
        self.mask |= Question._all(key.mask for key in keys)
        by = tuple(FieldColumn(key.view.ref.name, bucket=bucket_of(key.span)) for key in keys)
        where = tuple(one for one in fields.where if all(one.column.name != key.name for key in by if not key.bucket))
        fields = replace(fields, by=by, where=where, order=None, first=None, skip=0, ties=False, ask=(), having=None)
        if fields.how in (How.VALUE, How.LIST):
            how = How.SUM if fields.measure is not None else How.COUNT
            fields = replace(fields, how=how, ask=())
        timed = [column for column, key in zip(by, keys, strict=True) if key.view.temporal]
        return replace(fields, order=FieldOrder(timed[0]) if timed else None)

    def _limited(self, fields: Fields) -> Fields:
        where = list(fields.where)
        _, number = self.question.limit
        for condition in sorted(self.source.conditions, key=lambda c: (-c.mask.bit_count(), -c.quality)):
            limit = _field_condition(condition, self.source)
            if limit is None or condition.mask & (self.mask | number):
                continue
            self.mask |= condition.mask
            where = [one for one in where if one.column.name != limit.column.name]
            where.append(limit)
        return replace(fields, where=tuple(where))

    def _measured(self, fields: Fields) -> Fields:
        for cue, how in _HOWS.items():
            if said := self.question.cues.get(cue, 0) & ~self.mask:
                self.mask |= said
                fields = replace(fields, how=how, measure=None if how is How.COUNT else fields.measure)
        if fields.how in (How.SUM, How.MEAN, How.MEDIAN, How.VALUE) and not fields.by:
            for adjective, token in self.question.adjectives:
                if adjective.superlative and token & ~self.mask:
                    self.mask |= token
                    fields = replace(fields, how=How.MAX if adjective.sign > 0 else How.MIN)
        old = self._view_of(fields.measure)
        views = [view for view in self.source.columns if view.measure and self.source.link(view).mask & ~self.mask]
        if not views:
            return fields
        kept = frozenset(old.stems) if old else frozenset()
        best = max(views, key=lambda view: (self.source.link(view).score, len(kept & set(view.stems)), -view.place))
        self.mask |= self.source.link(best).mask
        how = How.SUM if fields.how in (How.COUNT, How.LIST, How.DISTINCT) else fields.how
        return replace(fields, measure=self._column(best), how=how, ask=())

    def _ordered(self, fields: Fields) -> Fields:
        count, mask = self.question.limit
        if mask and fields.by:
            words = mask | mask >> 1
            down = not any(adjective.sign < 0 for adjective, _ in self.question.adjectives)
            self.mask |= words | Question._all(token for _, token in self.question.adjectives)
            return replace(fields, first=count, order=FieldOrder(VALUE, down))
        return fields

    def _view_of(self, column: FieldColumn | None) -> ColumnView | None:
        return next((view for view in self.source.columns if column and view.ref.name == column.name), None)


def _field_condition(condition: Condition, source: ProgramSource) -> FieldCondition | None:
    """A condition on one column as fields have it; None for others."""
    expression: Expression = condition.expression
    if condition.column < 0 or condition.kind not in ("exact", "time", "several", "number"):
        return None
    column = FieldColumn(source.columns[condition.column].ref.name)
    match expression:
        case Compare(relator, left, Constant() as value) if left == source.columns[condition.column].ref:
            return FieldCondition(column, (value,), relator)
        case Membership(left, tuple() as values) if left == source.columns[condition.column].ref:
            constants = tuple(value for value in values if isinstance(value, Constant))
            return FieldCondition(column, constants) if len(constants) == len(values) else None
    return None
