"""Doubts about an answer by rules: one check for each way to misread a question. An answer in doubt is not verified.

Each check looks at the best program for a question and says, in a sentence, what it does not account for; it says
nothing where there is nothing to doubt. `doubts_of` runs them all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice, pairwise

from kgtable.answering.column_doubts import COLUMN_CHECKS, NAMING, starts_with_a_number
from kgtable.answering.coverage import TELLING, Coverage
from kgtable.answering.grounding import spoken_value
from kgtable.answering.number_doubts import NUMBER_CHECKS
from kgtable.answering.rivals import Interpretation
from kgtable.answering.unit_doubts import UNIT_CHECKS
from kgtable.programs.algebra import IsMissing, Not, ValueKind
from kgtable.programs.batch_execution import texts
from kgtable.programs.relation import ColumnRole
from kgtable.programs.scalars import text_of
from kgtable.semantic_parsing.english import consumed_cues, having_words, light_words, words_of_type
from kgtable.semantic_parsing.reading import Question

VERIFIED_FROM = 0.75
"""The calibrated confidence from which an answer may be called verified."""

_YEAR = re.compile(r"(?:19|20)\d\d")
_AND_NAMES = re.compile(
    r"\b(?:\w+s? and (?:the |their )?(?:first |last |full )?names?|names? and (?:the |their )?\w+s?)\b"
)
_CODE = re.compile(r"[A-Za-z]{0,3}[-_. ]?\d+")
_SINCE_WHICH = re.compile(r"\bsince (?:which|what|when)\b|\bfrom (?:which|what) \w+ on(?:wards?)?\b")
_NUMERIC_DATE = re.compile(r"(\d{1,2})[/-](\d{1,2})[/-]\d{2,4}")
_VERBS_OF_TIME = frozenset(
    ("start", "starts", "begin", "began", "begins", "beginning", "end", "ends", "ended", "ending")
)
_SHARES = frozenset(("percent", "share", "points", "rate", "ratio"))
_SUPPOSING = re.compile(
    r"\b(?:suppose|supposing|assuming|if(?! (?:we|you|one|i) (?:only )?(?:take|look|count|consider|add|go|leave)\b|"
    r" (?:all|everything)(?: [\w-]+){0,6} (?:is|are) (?:added|counted|taken)\b))\b"
)
"""What opens a supposition, not *if we take only those of 2018*, which chooses rows."""
_PARTICLES = frozenset(("up", "out", "off", "away", "back", "down"))


def doubts_of(found: Interpretation) -> list[str]:
    """Why the best program's answer is not verified; empty where nothing speaks against it."""
    doubts = [doubt for check in _CHECKS if (doubt := check(found))]
    return doubts or [doubt for doubt in (_unsure(found),) if doubt]


def missing_words(found: Interpretation) -> str:
    """Words of the question that neither the program nor the title of its table accounts for."""
    question, candidate = found.question, found.best.candidate
    left = (question.content | found.source.values) & ~candidate.mask
    if left:
        relations = {links.index.id: links.index.relation for links in found.source.links}
        left &= ~Coverage(question, candidate.program, relations).consumed
    return f"Not found in the table: {question.words_of(left)}." if left else ""


def _unused_operators(found: Interpretation) -> str:
    question, mask = found.question, found.best.candidate.mask
    accounted = consumed_cues().get(found.op, consumed_cues()["any"])
    unused = [
        question.words_of(tokens & ~mask)
        for cue, tokens in question.cues.items()
        if cue in TELLING and cue not in accounted and tokens & ~mask
    ]
    return f"Not accounted for: {', '.join(dict.fromkeys(unused))}." if unused else ""


def _cut_off(found: Interpretation) -> str:
    question = found.question
    rest = question.text[question.tokens[-1].end :] if question.tokens else ""
    return "The end of the question was not read: it is too long." if any(map(str.isalnum, rest)) else ""


def _other_reading(found: Interpretation) -> str:
    if not found.rivals:
        return ""
    rival = found.rivals[0]
    values = (value for row in rival.denotation.rows for value in row if value is not None)
    said = "; ".join(islice(dict.fromkeys(map(spoken_value, values)), 3))
    where = ", ".join(rival.candidate.source.ids)
    return f"Another reading fits about as well and gives {said} ({where})."


def _chosen_by_the_answer(found: Interpretation) -> str:
    target = found.target
    chosen = target is not None and any(
        condition.column == target.place and "not" not in condition.kind
        for condition in found.best.candidate.conditions
    )
    return "The answer stands in a cell by which it was chosen." if chosen else ""


def _name_in_the_answer(found: Interpretation) -> str:
    """A cell of the answered column is what the answer was chosen by: it may be meant the other way round."""
    target = found.target
    if target is None:
        return ""
    headed = found.source.headed
    exact = [
        c
        for c in found.best.candidate.conditions
        if c.kind == "exact" and c.column != target.place and c not in headed
    ]
    other = [c for c in found.source.conditions if c.kind == "exact" and c.column == target.place]
    both = any(c.mask & o.mask for c in exact for o in other)
    return "The name in the question stands in the column of the answer, too." if both else ""


def _alike(found: Interpretation) -> str:
    """Another table has every word of the question that the answer's tables have."""
    own, all_of = found.source, found.question._all
    headers = all_of(
        own.link(view).mask for view in own.columns if view.ref in found.read and own.link(view).exact
    )
    words = own.touched & (found.question.content | own.values | headers)
    # What chose the rows as a cell has to be a cell of the other table, too.
    cells = (
        own.values & all_of(c.mask for c in found.best.candidate.conditions if c.kind == "exact") & ~headers
    )
    alike = (
        source.ids[0]
        for source in found.sources
        if len(source.ids) == 1
        and not set(source.ids) & set(own.ids)
        and not words & ~source.touched
        and not cells & ~source.values
    )
    table = next(alike, "")
    return f"The words of the question fit another table as well ({table})." if table else ""


def _other_periods(found: Interpretation) -> str:
    """Columns of years that the program reads and the question does not name, where it names years."""
    question = found.question
    years = set(_YEAR.findall(question.text))
    spanned = "between" in question.cues and len(years) > 1
    if not years or spanned or question.cues.keys() & {"since", "until"} or question.says_span:
        return ""
    unnamed = [
        view.name
        for view in found.source.columns
        if view.ref in found.read
        and (own := set(_YEAR.findall(f"{view.period} {view.name}")))
        and not own & years
    ]
    return f"The question does not name {', '.join(unnamed)}." if unnamed else ""


def _kind_of_answer(found: Interpretation) -> str:
    """The answer is a date, a truth value or a number, where the question asks for something else."""
    question = found.question
    kinds = {value.kind for value in found.said}
    if "how_long" in question.cues and kinds & {ValueKind.DATE, ValueKind.PERIOD}:
        return "The answer is a date, where the question asks for a length."
    moment = found.target is not None and not words_of_type("moment").isdisjoint(found.target.stems)
    if "how_long" in question.cues and found.op == "select" and moment:
        return "The answer is a time of the day, where the question asks for a length."
    read = found.target or found.best.candidate.measure
    if read is not None and read.clock and found.op in ("select", "sum") and question.unit_asked is not None:
        return "The answer is a time of the day, where the question asks for a length."
    money = any((value.unit or "").startswith("CCY_") for value in found.said)
    if money and question.unit_asked is not None and not question.unit_asked[0].startswith("CCY_"):
        return "The answer is an amount of money, where the question asks for another unit."
    asked = question.cues.keys() & {"how_long", "how_many", "how_much"}
    words = (
        kinds and kinds <= set(NAMING) and not any(map(starts_with_a_number, texts(found.best.denotation)))
    )
    if asked and words and found.op == "select":
        return "The answer is no number, where the question asks for one."
    units = {value.unit for value in found.said}
    if "how_many" in question.cues and "PERCENT" in units and not question.cues.keys() & _SHARES:
        return "The answer is a share, where the question asks for a number."
    if question.wh == "yes_no" and kinds and ValueKind.TRUTH not in kinds:
        return "The answer is not yes or no, which the question asks for."
    if question.wh != "yes_no" and ValueKind.TRUTH in kinds:
        return "The answer is yes or no, where the question asks for something else."
    if question.wh == "who" and (
        kinds - set(NAMING) or any(map(_CODE.fullmatch, texts(found.best.denotation)))
    ):
        return "The answer is no name, where the question asks for somebody."
    target = found.target
    if question.wh == "who" and target is not None and not target.personal:
        person = next((view.name for view in found.source.columns if view.personal), "")
        if person and not found.source.link(target).mask & question.focus:
            return f"The question asks for somebody, and {person} was not read."
    return ""


def _rows_under_a_heading(found: Interpretation) -> str:
    """*The largest payment* is looked for among all rows, and some of them stand under "Payments"."""
    chosen = found.question._all(condition.mask for condition in found.best.candidate.conditions)
    read = [view for view in found.source.columns if view.ref in found.read]
    chosen |= found.question._all(found.source.link(view).mask for view in read)
    for condition in found.source.conditions:
        if condition.kind == "group" and condition.quality >= 0.6 and condition.mask & ~chosen:
            return f"The rows under “{condition.text}” may be meant."
    return ""


def _no_place(found: Interpretation) -> str:
    """*Where did the classes go* is not answered by classes."""
    target = found.target
    wrong = found.question.wh == "where" and target is not None and not target.placelike
    wrong = wrong and target is not None and bool(found.source.link(target).mask)
    return "The question asks where." if wrong else ""


def _rows_elsewhere(found: Interpretation) -> str:
    """What never occurs in one table is told of another only where that lists everything that could occur."""
    target = found.target
    if found.op != "never" or target is None:
        return ""
    refers = not found.source.joins and any(target.ref in source.keys for source in found.sources)
    unlisted = not target.label or target.kind not in NAMING or refers
    return "Another table may have rows of which nothing is said here." if unlisted else ""


def _still_so(found: Interpretation) -> str:
    """*Still open* asks for what is so now: a condition has to say it."""
    words = [token.word for token in found.question.tokens]
    if "still" not in words:
        return ""
    place = words.index("still")
    if words[place + 1 :][:1] and words[place + 1] in having_words():
        return ""  # what we have still got is there
    said = Question._all(condition.mask for condition in found.best.candidate.conditions)
    behind = said >> place + 1 & 3
    return "" if behind or said >> place & 1 else "The question asks for what is still so."


def _amount_of_one_table(found: Interpretation) -> str:
    """*How much rent did the costume bring in* is no price of the costume, where another table has its rentals."""
    source, target = found.source, found.target
    asked = found.question.cues.keys() & {"how_much", "how_many"}
    if source.join is None or found.op != "select" or target is None or not target.measure or not asked:
        return ""
    read = {c.column for c in found.best.candidate.conditions if c.column >= 0} | {target.place}
    alone = (
        len({source.part_of(place) for place in read}) == 1
        and source.columns[target.place].ref not in source.keys
    )
    return "The rows of the other table are not read." if alone else ""


def _negation_turned(found: Interpretation) -> str:
    """*Without a guide* is said of rows that name none, and not of those that do."""
    negation = found.question.cues.get("negation", 0)
    once = negation.bit_count() == 1
    turned = any(
        isinstance(c.expression, Not) and isinstance(c.expression.condition, IsMissing) and c.mask & negation
        for c in found.best.candidate.conditions
    )
    return "The question denies what the program asks for." if once and turned else ""


def _negation_across_rows(found: Interpretation) -> str:
    """*Not more than 1,000* of one row of another table may be more in another row of it."""
    negated = found.source.join is not None and found.op != "never" and "negation" in found.question.cues
    return "What one joined row does not say, another may." if negated else ""


def _order_says_nothing(found: Interpretation) -> str:
    """The place of a row stands for *oldest*, which a column would have to say."""
    question = found.question
    said = [
        question.tokens[mask.bit_length() - 1].word
        for adjective, mask in question.adjectives
        if adjective.superlative and adjective.headers
    ]
    words = ", ".join(word for word in said if word.endswith("est"))
    wrong = found.op == "first_last" and words
    return f"The order of the rows does not say what is {words}." if wrong else ""


def _adds_nothing_up(found: Interpretation) -> str:
    """*What did all lots bring in together* asks for a sum, and several cells are shown."""
    question, candidate = found.question, found.best.candidate
    named = found.source.link(found.target).mask if found.target is not None else 0
    named |= question._all(condition.mask for condition in candidate.conditions)
    asked = (question.cues.get("total", 0) | question.cues.get("together", 0)) & ~named
    several = found.op == "select" and len(found.said) > 1
    return f"Not added up, as “{question.words_of(asked)}” asks." if asked and several else ""


def _asks_for_several(found: Interpretation) -> str:
    rows = found.best.denotation.rows
    several = rows and len(rows[0]) == 1 and _AND_NAMES.search(found.question.lower)
    return "The question asks for several things of each row." if several else ""


def _joined_by_row_numbers(found: Interpretation) -> str:
    """Each table numbers or ranks its own rows, and the two numbers have nothing to do with one another."""
    if not found.source.joins:
        return ""
    if len(found.source.joins) > 1:
        return "Three tables are joined."
    ends = [view for view in found.source.columns if view.ref in found.source.keys]
    keys = words_of_type("key")
    own = all(set(view.stems) <= keys and view.distinct == view.filled for view in ends)
    ranks = words_of_type("standing")  # no keys
    ranked = any(view.role is ColumnRole.ORDINAL or not ranks.isdisjoint(view.stems) for view in ends)
    told = found.source.joins[0].features
    apart = told.get("join:numeric") and not told.get("join:same") and not told.get("join:named")
    return "The tables are joined by the numbers of their own rows." if own or ranked or apart else ""


def _offers_two_words(found: Interpretation) -> str:
    """*Is the one above or below the other* is answered by one of these words."""
    question = found.question
    compared = question.cues.get("more_than", 0) | question.cues.get("less_than", 0)
    either = question.cues.get("or", 0)
    offered = either << 1 & compared and either >> 1 & compared
    words = either | (either << 1 | either >> 1) & compared
    return f"The question asks which is so: {question.words_of(words)}." if offered else ""


def _verb_for_a_place(found: Interpretation) -> str:
    """*Which loans end in May* names no last row."""
    cues = found.question.cues
    said = cues.get("first", 0) | cues.get("last", 0)
    words = {token.word for token in found.question.tokens if said >> token.index & 1}
    wrong = found.op == "first_last" and words and words <= _VERBS_OF_TIME
    return (
        f"The question does not ask for the {found.best.candidate.op.rpartition('/')[2]} row."
        if wrong
        else ""
    )


def _since_which(found: Interpretation) -> str:
    """*Since which year* asks for the first from which on something holds, not for the rows of which it does."""
    asked = _SINCE_WHICH.search(found.question.lower)
    return "The question asks since when, which no program says." if asked else ""


def _day_or_month(found: Interpretation) -> str:
    """A row is chosen by a date such as 1/2/2024, and no date of its column tells which of the two is the month."""
    for condition in found.best.candidate.conditions:
        if condition.kind not in ("time", "exact") or condition.column < 0:
            continue
        view = found.source.columns[condition.column]
        parts = [
            _NUMERIC_DATE.fullmatch(text_of(value).strip()) for value in found.source.values_of(view, 400)
        ]
        if any(parts) and all(part and int(part[1]) <= 12 and int(part[2]) <= 12 for part in parts):
            return f"The dates of {view.name} do not tell days from months."
    return ""


def _asks_for_nothing(found: Interpretation) -> str:
    """*Out of stock?* does not say what it asks for."""
    question, target = found.question, found.target
    plain = found.op == "select" and question.wh == "other" and target is not None
    unnamed = plain and target is not None and not found.source.link(target).mask
    named = "list" in question.cues
    return "The question does not say what it asks for." if unnamed and not named else ""


def _verb_with_a_particle(found: Interpretation) -> str:
    """*Came up* is more than *came*: seeds that came up are not those that were sown."""
    tokens, mask = found.question.tokens, found.best.candidate.mask
    for verb, particle in pairwise(tokens):
        if verb.word in light_words() and particle.word in _PARTICLES and not mask >> particle.index & 1:
            return f"The table does not say what {verb.text} {particle.text}."
    return ""


def _supposes(found: Interpretation) -> str:
    """*If every pupil goes, what does it cost* computes with something that no table says."""
    question = found.question
    for said in _SUPPOSING.finditer(question.lower):
        # A film may be called "If", and "if we take only those of 2018" chooses rows.
        if question.mask(*said.span()) & ~Question._all(c.mask for c in found.best.candidate.conditions):
            return f"The question supposes something: {said[0]} …"
    return ""


def _between_two_rows(found: Interpretation) -> str:
    """What was used between two readings is told by both."""
    said = re.search(r"\bbetween the (?:two|first|last)\b", found.question.lower)
    single = found.op in ("select", "sum", "min", "max") and said
    return "What is between two rows is no value of one." if single else ""


def _unsure(found: Interpretation) -> str:
    return "" if found.confidence >= VERIFIED_FROM else "The reading of the question is not sure enough."


_CHECKS: tuple[Callable[[Interpretation], str], ...] = (
    missing_words,
    _cut_off,
    _unused_operators,
    _other_reading,
    _chosen_by_the_answer,
    _name_in_the_answer,
    _alike,
    _other_periods,
    _kind_of_answer,
    _no_place,
    _rows_under_a_heading,
    _rows_elsewhere,
    _still_so,
    _amount_of_one_table,
    _negation_turned,
    _negation_across_rows,
    _order_says_nothing,
    _adds_nothing_up,
    _asks_for_several,
    _offers_two_words,
    _joined_by_row_numbers,
    _verb_for_a_place,
    _since_which,
    _day_or_month,
    *COLUMN_CHECKS,
    *NUMBER_CHECKS,
    *UNIT_CHECKS,
    _asks_for_nothing,
    _verb_with_a_particle,
    _supposes,
    _between_two_rows,
)
