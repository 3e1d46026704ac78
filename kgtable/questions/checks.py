"""Checks of an answer by rules: what its program leaves out of the question, and what else fits.

Each check looks at the best program and says in a sentence what speaks against it; an empty text is not an objection.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import numpy as np

from kgtable.programs.display import display
from kgtable.programs.relation import NAMING
from kgtable.programs.scalars import text_of
from kgtable.questions.coverage import TELLING, Coverage
from kgtable.questions.english import consumed_cues
from kgtable.questions.groupings import spellings
from kgtable.questions.ranker_weights import SAID_GROUPS, SURE_FROM
from kgtable.questions.rivals import Interpretation
from kgtable.questions.unit_groups import APART
from kgtable.tables.model import Role
from kgtable.values.lexicon import ANY, ends_with, is_called


def objections(found: Interpretation) -> list[str]:
    """Return what speaks against the best program's answer; empty if nothing does."""
    said = [objection for check in _CHECKS if (objection := check(found))]
    if not said and found.confidence < SURE_FROM:
        return ["Low confidence in this reading of the question."]
    return said


def missing_words(found: Interpretation) -> str:
    """Name the words of the question that neither the program nor the title of its table accounts for."""
    question, candidate = found.question, found.best.candidate
    left = (question.content | found.source.values) & ~candidate.mask
    if left:
        whole = [links.index.relation for links in found.source.links]
        relations = {table.id: relation for relation in whole for table in relation.tables}
        left &= ~Coverage(question, candidate.program, relations).consumed
    return f"Not found in the table: {question.words_of(left)}." if left else ""


def _cut_off(found: Interpretation) -> str:
    question = found.question
    rest = question.text[question.tokens[-1].end :] if question.tokens else ""
    return "The end of the question was not read: it is too long." if any(map(str.isalnum, rest)) else ""


def _unused_operators(found: Interpretation) -> str:
    question, mask = found.question, found.best.candidate.mask
    accounted = consumed_cues().get(found.op, consumed_cues()["any"])
    unused = [
        question.words_of(tokens & ~mask)
        for cue, tokens in question.cues.items()
        if cue in TELLING and cue not in accounted and tokens & ~mask
    ]
    return f"Not accounted for: {', '.join(dict.fromkeys(unused))}." if unused else ""


def _counted_by_likeness(found: Interpretation) -> str:
    """Things counted by a column that the question names only by its stem: applications are not applicants."""
    best, target = found.best.candidate, found.target
    if best.op != "count_distinct" or target is None or target.distinct == target.filled:
        return ""
    said = {token.word for token in found.question.tokens if found.source.link(target).mask >> token.index & 1}
    return f"Counted by {target.name}, each once." if said.isdisjoint(spellings(target)) else ""


def _lists_amounts(found: Interpretation) -> str:
    """Several amounts where one is asked for: their sum may be meant."""
    best, target = found.best, found.target
    several = best.candidate.op == "select" and target is not None and target.adds_up and best.denotation.size > 1
    return "One amount is asked for, and several rows have one." if several and not found.question.plural else ""


def _adds_averages(found: Interpretation) -> str:
    """A mean or median of a column that is called so, where a sum is asked for."""
    measure, question = found.best.candidate.measure, found.question
    if found.op not in ("mean", "median") or measure is None or "total" not in question.cues:
        return ""
    link = found.source.link(measure)
    within = link.exact and not question.cues.get(_CUES[found.op], 0) & ~link.mask
    return f"{measure.name} is not added up." if within else ""


_CUES = {"mean": "average", "median": "median"}


def _adds_levels(found: Interpretation) -> str:
    """A sum of what is there at several times, as of stocks at the ends of months."""
    candidate = found.best.candidate
    measure, source = candidate.measure, found.source
    if candidate.op not in ("sum", "group/sum") or measure is None or measure.adds_up:
        return ""
    fixed = {c.column for c in candidate.conditions} | ({candidate.target.place} if candidate.target else set())
    fixed |= {view.place for view in candidate.others}
    times = [view for view in source.columns if view.timelike and view.distinct > 1]
    times = [view for view in times if view.label or view.distinct < view.filled]
    over = next((view for view in times if view.place not in fixed), None)
    return f"{measure.name} is added up over different values of {over.name}." if over else ""


def _adds_again(found: Interpretation) -> str:
    """A value of a whole that is printed on each row of its parts, as the total of an order on its lines."""
    measure = found.best.candidate.measure
    if found.op not in ("sum", "mean") or measure is None or len(found.source.links) > 1:
        return ""
    relation = found.source.links[0].index.relation
    if relation.columns[measure.place].meaning.grain is not None:
        return ""  # each is added once
    values = relation.data(measure.place).codes
    for key in found.source.columns:
        if not (key.label or key.role in NAMING) or not 1 < key.distinct < key.filled or key.place == measure.place:
            continue
        keys = relation.data(key.place).codes
        pairs = np.unique(np.stack([keys, values])[:, keys >= 0], axis=1).shape[1]
        if pairs == key.distinct and measure.distinct > 1:
            return f"{measure.name} is the same on all rows of one {key.name}."
    return ""


def _adds_results(found: Interpretation) -> str:
    """A sum of rows one of which is the remainder of others: revenue, costs and the profit."""
    candidate, source = found.best.candidate, found.source
    if candidate.op not in ("sum", "mean"):
        return ""
    fixed = {condition.column for condition in candidate.conditions}
    for view in source.columns:
        if view.label and view.role is Role.LABEL and view.place not in fixed and view.distinct <= MOST_RESULTS:
            texts = [text_of(value) for value in source.values_of(view, MOST_RESULTS)]
            named = next((text for text in texts if ends_with(text, "result", ANY)), None)
            if named is not None:
                return f"{named} is what is left of other rows."
    return ""


MOST_RESULTS = 200
"""Labels of a statement of income and costs, at most."""


def _adds_both_ways(found: Interpretation) -> str:
    """A sum of incoming and outgoing amounts, which another column distinguishes and no sign does."""
    candidate, source = found.best.candidate, found.source
    measure = candidate.measure
    if candidate.op not in ("sum", "mean", "group/sum") or measure is None:
        return ""
    if any((value.number or 0) < 0 for value in source.values_of(measure, MOST_SIGNS)):
        return ""
    fixed = {c.column for c in candidate.conditions} | {v.place for v in (candidate.target, *candidate.others) if v}
    for view in source.columns:
        if view.measure or not 1 < view.distinct <= MOST_DIRECTIONS or view.place in fixed:
            continue
        texts = [text_of(value) for value in source.values_of(view, MOST_DIRECTIONS)]
        ways = [[text for text in texts if is_called(text, frozenset((way,)), ANY)] for way in ("inward", "outward")]
        if all(ways):
            return f"{ways[0][0]} and {ways[1][0]} are added together."
    return ""


MOST_SIGNS, MOST_DIRECTIONS = 2_000, 4


def _apart_by_unit(found: Interpretation) -> str:
    """Amounts in several currencies, added up for each where one number is asked for."""
    candidate = found.best.candidate
    if APART not in candidate.features or candidate.measure is None:
        return ""
    return f"{candidate.measure.name} has several units; each {candidate.others[-1].name} is shown separately."


def _means_of_spans(found: Interpretation) -> str:
    """An average per month, which is one of all rows of each month, or one of the months' sums."""
    features = found.best.features
    both = found.best.candidate.op == "group/mean" and features.get(f"{SAID_GROUPS}:span")
    return "The average of the sums may be meant." if both and features.get(f"{SAID_GROUPS}:word per") else ""


def _other_reading(found: Interpretation) -> str:
    if not found.rivals:
        return ""
    rival = found.rivals[0]
    values = (value for row in rival.denotation.rows for value in row if value is not None)
    said = "; ".join(islice(dict.fromkeys(map(display, values)), 3))
    where = ", ".join(rival.candidate.source.ids)
    return f"Also possible: {said} ({where})."


_CHECKS: tuple[Callable[[Interpretation], str], ...] = (
    missing_words,
    _cut_off,
    _unused_operators,
    _counted_by_likeness,
    _lists_amounts,
    _adds_averages,
    _adds_levels,
    _adds_again,
    _adds_results,
    _adds_both_ways,
    _apart_by_unit,
    _means_of_spans,
    _other_reading,
)
