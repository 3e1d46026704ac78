"""Doubts about columns: another one than the question asks for is shown, counted or measured.

Each check says, as those of `kgtable.answering.doubts`, in a sentence what speaks against the best program.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from kgtable.answering.rivals import Interpretation
from kgtable.programs.algebra import Compare, Constant, ValueKind
from kgtable.programs.batch_execution import texts
from kgtable.programs.relation import ColumnRole
from kgtable.programs.scalars import text_of
from kgtable.semantic_parsing.column_links import ColumnLink
from kgtable.semantic_parsing.english import (
    is_verb_form,
    linking_verbs,
    number_words,
    synonyms,
    words_of_type,
)
from kgtable.semantic_parsing.reading import Question
from kgtable.semantic_parsing.relation_index import ColumnView, stems_of

_WHAT_DOES = re.compile(r"\W*(?:what|how much) (?:does|do|did)\b")
_NUMBER_OF = re.compile(r"(?:\W*\w+){0,4}?\W*the (?:total )?number of\b")
_WHAT_DAY = re.compile(r"\W*(?:on |in |by )?(?:what|which) (?:day|date|month|year|time)\b")
_PRONOUNS = frozenset(("he", "him", "his", "she", "her"))
_AGGREGATED = ("sum", "mean", "min", "max", "extreme", "top", "columns")
_NAMES = frozenset(("name", "surnam"))
_ADDING = frozenset(("total", "together", "both", "list", "each"))
NAMING = (ValueKind.TEXT, ValueKind.ENTITY)
"""Kinds of values that name things."""


def starts_with_a_number(text: str) -> bool:
    """Whether a text begins with a number, in figures or in words."""
    return text[:1].isdigit() or text.partition(" ")[0].casefold() in number_words()


def _key_for_a_name(found: Interpretation) -> str:
    target = found.target
    key = target is not None and target.ref in found.source.references and not found.source.link(target).key
    return (
        "The answer is the key of a row in another table, where the question asks for its name."
        if key
        else ""
    )


def _named_before_of(found: Interpretation, target: ColumnView) -> str:
    """The column that is asked for of what is shown, or first, and not shown: *record companies of orchestras*."""
    tokens, link = found.question.tokens, found.source.link
    listed = found.best.candidate.op.endswith("/columns")
    for view in found.source.columns:
        if view is target or (listed and view.ref in found.read) or not link(view).exact:
            continue
        behind = tokens[link(view).mask.bit_length() :][:3]
        opens = (
            found.target is not None
            and found.question.content & ((link(view).mask & -link(view).mask) - 1) == 0
        )
        if opens and behind and behind[0].word == "of" and not link(target).mask & link(view).mask:
            return view.name
        words = [token.word for token in behind]
        if words[:1] == ["of"] and any(link(target).mask >> token.index & 1 for token in behind[1:]):
            return view.name
    return ""


def _another_column_named(found: Interpretation) -> str:
    """What is asked for names a column in full that the program does not read; it shows one that is not named so."""
    source, focus = found.source, found.question.focus
    target = found.target or found.best.candidate.measure
    if target is None:
        return ""
    if of := _named_before_of(found, target):
        return f"The question asks for {of}."
    if source.link(target).exact and source.link(target).mask & focus:
        return ""
    unread = [
        view.name
        for view in source.columns
        if view.ref not in found.read and source.link(view).exact and source.link(view).mask & focus
    ]
    if unread and not _said_of_the_head(found.question, source.link(target)):
        return f"The question asks for {unread[0]}."
    chosen = found.question._all(c.mask for c in found.best.candidate.conditions)
    head, link = found.question.head & ~chosen, source.link(target)
    measured = link.exact and (target.period or target.measure)
    titled = head & source.title and not target.label and not measured and link.mask and not link.mask & head
    guessed = (
        found.question.wh == "which" and found.op == "select" and head and not target.label
        and link.mask and not link.exact and not link.mask & head
    )  # fmt: skip
    return f"The question asks for {found.question.words_of(head)}." if titled or guessed else ""


def _said_of_the_head(question: Question, link: ColumnLink) -> bool:
    """Whether a column is a participle behind what is asked for: *how many calls were answered*, of "Answered"."""
    place = (link.mask & -link.mask).bit_length() - 1
    words = [token.word for token in question.tokens]
    passive = place > 1 and words[place - 1] in linking_verbs()
    named = passive and question.focus >> place - 2 & 1
    return bool(link.exact and named and is_verb_form(words[place]))


def _another_measure_named(found: Interpretation) -> str:
    """*The highest density* is of the column Density, also where its cells are texts that cannot be compared."""
    source, measure = found.source, found.best.candidate.measure
    if measure is None or source.link(measure).exact:
        return ""
    guessed = source.link(measure).mask == 0  # then a column of texts may be what is measured
    named = [
        view.name
        for view in source.columns
        if view.ref not in found.read and (view.measure or guessed) and source.link(view).exact
        and source.link(view).mask & ~found.question.head & ~_in_title(found, view)
    ]  # fmt: skip
    return f"The question names {named[0]}, which was not read." if named else ""


def _part_of_a_title(found: Interpretation) -> str:
    """*How much of what the car park took* names the table "Car park", and not its column "Cars"."""
    view = found.target or found.best.candidate.measure
    question, titled = found.question, found.source.title
    if view is None or found.op.startswith("count"):
        return ""
    mask = found.source.link(view).mask
    if not mask or mask & ~titled or mask & question.head:
        return ""
    compound = (mask | titled & question.content) >> 1
    return "" if mask & ~compound else f"The question does not ask for {view.name}."


def _one_word_for_two(found: Interpretation) -> str:
    """*Less entry than planned* names "Entry planned" alone, and not "Bus planned" beside it."""
    if not found.op.startswith("change"):
        return ""
    source = found.source
    shared = [v.name for v in source.columns if v.ref in found.read and v.place in source.overshadowed]
    return f"The question does not name {shared[0]}." if shared else ""


def _in_title(found: Interpretation, view: ColumnView) -> int:
    """The tokens that the title says, and the header only in another form: *escape rooms* and "Escaped"."""
    words = view.name.lower().split()
    return Question._all(
        1 << token.index
        for token in found.question.tokens
        if found.source.title >> token.index & 1 and token.word not in words
    )


def _verb_of_the_measure(found: Interpretation) -> str:
    """*What does the largest … cost* asks for the price by which the answer was found, not for what has it."""
    question, measure = found.question, found.best.candidate.measure
    if found.op not in ("extreme", "top") or measure is None:
        return ""
    link, target = found.source.link, found.target
    asked = question.wh == "what_is" and link(measure).exact and link(measure).mask & question.head
    if asked and target is not None and not link(target).mask:  # "the winning time"
        return f"The question asks for {measure.name}, not for what has it."
    if not _WHAT_DOES.match(question.lower):
        return ""
    meant = synonyms().get(question.tokens[-1].stem, frozenset()) & measure.aspects
    return f"The question asks for {measure.name}, not for what has it." if meant else ""


def _time_of_something_else(found: Interpretation) -> str:
    """*On what day was it paid* asks when that happened: no row's date does where *paid* is a cell beside it."""
    question, target = found.question, found.target
    if target is None or not target.temporal or found.source.link(target).exact:
        return ""
    dated = question.wh == "when" or _WHAT_DAY.match(question.lower)
    last = next((t for t in reversed(question.tokens) if t.word.isalpha()), None)
    if not dated or last is None or not is_verb_form(last.word):
        return ""
    said = any(c.mask >> last.index & 1 for c in found.best.candidate.conditions)
    return f"The question asks when it was {last.word}, and {target.name} does not say so." if said else ""


def _text_for_a_number(found: Interpretation) -> str:
    """*The number of concerts in the largest hall* is a number, and not the name of the hall."""
    asked = (found.question.wh == "how_many" or _NUMBER_OF.match(found.question.lower)) and found.said
    wrong = asked and all(value.kind in NAMING and value.number is None for value in found.said)
    return "The question asks for a number, and the answer is none." if wrong else ""


def _listed_with_another(found: Interpretation) -> str:
    """*The teachers and the courses they teach* asks for two things, where one column is shown."""
    question, target = found.question, found.target
    if found.op not in ("select", "sorted", "extreme", "top") or target is None:
        return ""
    if found.best.candidate.op.endswith("/columns"):
        return ""
    read = question._all(found.source.link(v).mask for v in found.source.columns if v.ref in found.read)
    said = read | question._all(c.mask for c in found.best.candidate.conditions)
    for place in range(len(question.tokens) - 1):
        if not question.cues.get("and", 0) >> place & 1:
            continue
        rest = [t for t in question.tokens[place + 1 : place + 3] if not t.empty]
        if rest and not said >> rest[0].index & 1 and found.source.title >> rest[0].index & 1:
            return f"The question asks for {rest[0].text} as well."
    return ""


def _not_by_letters(found: Interpretation) -> str:
    """*The last alphabetically* is not the one with the largest number."""
    by = found.best.candidate.measure
    wrong = "alphabetical" in found.question.lower and by is not None and by.kind not in NAMING
    return "The question asks for the order of the alphabet." if wrong else ""


def _lists_something_else(found: Interpretation) -> str:
    """*List his claims by date* asks for the claims, and not for another column that the question does not name."""
    target, source = found.target, found.source
    if found.op != "sorted" or target is None or source.link(target).mask:
        return ""
    unread = [v.name for v in source.columns if v.ref not in found.read and source.link(v).exact]
    return f"The question names {unread[0]}, which was not read." if unread else ""


def _number_not_asked(found: Interpretation) -> str:
    """*What did Moreau order* asks for goods, and *the names of players* for names, and not for a number."""
    target, question = found.target, found.question
    if target is None or target.role is not ColumnRole.IDENTIFIER or found.op.startswith("count"):
        return ""
    link = found.source.link(target)
    does = _WHAT_DOES.match(question.lower)  # what follows is a verb
    named = any(token.word in ("name", "names") for token in question.tokens)
    asked = link.key or (not does and not named and (target.label or link.mask & question.head))
    return "" if asked else f"The question does not ask for {target.name}."


def _unlike_the_others(found: Interpretation) -> str:
    """Of flats 1 to 8 and a laundry, the laundry is no flat."""
    target = found.target
    if found.op not in ("extreme", "top") or target is None or target.kind not in NAMING:
        return ""
    every = list(map(text_of, found.source.values_of(target, 50)))
    numbered = sum(map(starts_with_a_number, every))
    words = not any(map(starts_with_a_number, texts(found.best.denotation)))
    unlike = words and 4 * numbered >= 3 * len(every) and len(every) > 2
    return f"The answer is unlike most cells of {target.name}." if unlike else ""


def _statistic_not_asked(found: Interpretation) -> str:
    """A row or column named "… (average)" answers no question for the amount itself."""
    asked = {token.stem for token in found.question.tokens}
    conditions = [c.expression for c in found.best.candidate.conditions if c.kind in ("exact", "partial")]
    named = [
        str(condition.right.value)
        for condition in conditions
        if isinstance(condition, Compare) and isinstance(condition.right, Constant)
    ]
    unasked = [text for text in named if (set(stems_of(text)) - asked) & words_of_type("statistic")]
    return f"The question does not ask for “{unasked[0]}”." if unasked else ""


def _several_rows_of_a_name(found: Interpretation) -> str:
    """*When is the book due* asks for one date, and the book stands in several rows with several dates."""
    question, conditions = found.question, found.best.candidate.conditions
    if found.op == "sum" and not question.cues.keys() & _ADDING and len(conditions) == 1:
        # "How much does Pike earn" adds up no two of that name.
        place = conditions[0].column
        column = found.source.columns[place] if place >= 0 else None
        label = column is not None and (column.label or column.personal or _NAMES & set(column.stems))
        namesakes = label and conditions[0].kind == "exact" and conditions[0].size > 1
        return "Several rows have that name." if namesakes else ""
    if found.op != "select" or question.wh not in ("when", "what_is") or question.plural:
        return ""
    named = len(conditions) == 1 and conditions[0].kind in ("exact", "partial", "contains")
    several = named and found.target is not None and len(set(texts(found.best.denotation))) > 1
    return "Several rows fit, and the question asks for one." if several else ""


def _number_of_things(found: Interpretation) -> str:
    """*Which three artists* asks for three, and *three* is not a cell."""
    question = found.question
    times = [time.mask for time in question.times]
    asked = [
        number.value
        for number in question.numbers
        if number.mask << 1 & question.head and not any(number.mask & mask for mask in times)
    ]
    said = len(set(texts(found.best.denotation)))
    wrong = "how_many" not in question.cues and any(value > 1 and value != said for value in asked)
    return "The question asks for another number of things." if wrong else ""


def _one_column_twice(found: Interpretation) -> str:
    """A row's time cannot be two, as for *on 3 May and 7 May*; it can lie after one and before the other."""
    conditions = found.best.candidate.conditions
    times = [c.column for c in conditions if c.kind == "time" and c.relation == "in"]
    return "Two times cannot both be that of a row." if len(times) > len(set(times)) else ""


def _names_no_column(found: Interpretation) -> str:
    """The name of a column answers who asks for one: *in which year*, not *what was the highest*."""
    question, op = found.question, found.best.candidate.op
    if op == "column_extreme/count":
        return "" if "how_many" in question.cues else "The question does not ask for a number of columns."
    times = {t.stem for t in question.tokens if question.focus >> t.index & 1} & words_of_type("time")
    named = times or question.wh in ("when", "which", "who", "where")
    return (
        "The question asks for a value, not for its column." if op == "column_extreme" and not named else ""
    )


def _counted_in_part(found: Interpretation) -> str:
    """*How many different series and contents* asks for two numbers."""
    target, source = found.target or found.best.candidate.target, found.source
    if found.op != "count_distinct" or target is None:
        return ""
    here = source.link(target).mask
    listed = found.question.cues.get("and", 0) & (here << 1 | here >> 1)
    beside = (listed << 1 | listed >> 1) & ~here
    left = [
        v.name
        for v in source.columns
        if v is not target and source.link(v).exact and source.link(v).mask & beside
    ]
    return f"The question asks for {left[0]} as well." if left else ""


def _shown_in_part(found: Interpretation) -> str:
    """Columns are listed, and one that the question names as well is left out."""
    op, source = found.best.candidate.op, found.source
    if not op.endswith("/columns") or found.op in _AGGREGATED:
        return ""
    shown = found.question._all(source.link(view).mask for view in source.columns if view.ref in found.read)
    left = [
        view.name
        for view in source.columns
        if view.ref not in found.read
        and (source.link(view).exact or source.link(view).derived)
        and source.link(view).mask
        & ~shown
        & ~found.question._all(c.mask for c in found.best.candidate.conditions)
    ]
    return f"The question asks for {left[0]} as well." if left else ""


def _one_of_several_persons(found: Interpretation) -> str:
    """*Who* is one column or another, and the question names none of them."""
    question, target, source = found.question, found.target, found.source
    if question.wh != "who" or found.op != "select" or target is None or target.label:
        return ""
    asking = question._all(
        1 << token.index for token in question.tokens if token.word in ("who", "whom", "whose")
    )
    taken = {condition.column for condition in found.best.candidate.conditions}
    others = [
        view.name
        for view in source.columns
        if view.kind in NAMING
        and view.place not in taken
        and view.ref != target.ref
        and not view.label
        and (view.personal or 2 * view.distinct > view.filled)
        and not source.link(view).mask & ~asking
    ]
    unnamed = not source.link(target).mask & ~asking
    return f"The question may ask for {others[0]} as well." if unnamed and others else ""


def _other_words(found: Interpretation) -> str:
    conditions, source = found.best.candidate.conditions, found.source
    for condition in conditions:
        if condition.kind == "contains" and condition.column >= 0:
            view = source.columns[condition.column]
            if not source.link(view).mask:
                return f"{view.name} only contains a word of the question."
    partial = any(c.kind == "partial" and c.quality < 0.6 for c in conditions)
    return "A name of the question stands in the table in other words." if partial else ""


def _nobody_named(found: Interpretation) -> str:
    """*How many games did he play* speaks of somebody whom the question does not name."""
    question = found.question
    said = {token.word for token in question.tokens} & _PRONOUNS
    named = any(c.kind in ("exact", "partial", "contains") for c in found.best.candidate.conditions)
    wrong = said and not named and question.wh not in ("who", "which")
    return f"The question does not say who “{min(said)}” is." if wrong else ""


COLUMN_CHECKS: tuple[Callable[[Interpretation], str], ...] = (
    _key_for_a_name,
    _another_column_named,
    _another_measure_named,
    _part_of_a_title,
    _one_word_for_two,
    _verb_of_the_measure,
    _time_of_something_else,
    _text_for_a_number,
    _listed_with_another,
    _not_by_letters,
    _lists_something_else,
    _number_not_asked,
    _unlike_the_others,
    _statistic_not_asked,
    _several_rows_of_a_name,
    _number_of_things,
    _one_column_twice,
    _names_no_column,
    _shown_in_part,
    _counted_in_part,
    _one_of_several_persons,
    _other_words,
    _nobody_named,
)
"""The checks of columns, in the order in which their reasons are told."""
