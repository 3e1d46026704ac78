"""What keeps an answer by rules from being verified: one check for each way to misread a question.

Each check looks at the best program for a question and says, in a sentence, what it does not account for; it says
nothing where there is nothing to doubt. `doubts_of` runs them all.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from kgtable.answering.coverage import TELLING, Coverage
from kgtable.answering.rivals import Interpretation
from kgtable.programs.algebra import Compare, Constant, ValueKind
from kgtable.programs.batch_execution import texts
from kgtable.programs.dimensions import NO_UNIT, comparable
from kgtable.programs.reading import consumed_cues, number_words, synonyms, words_of_type
from kgtable.programs.relation import ColumnRole
from kgtable.programs.relation_index import stems_of
from kgtable.programs.scalars import Datum, items, text_of

VERIFIED_FROM = 0.70
"""The calibrated confidence from which an answer may be called verified."""

_YEAR = re.compile(r"(?:19|20)\d\d")
_AND_NAMES = re.compile(
    r"\b(?:\w+s? and (?:the |their )?(?:first |last |full )?names?|names? and (?:the |their )?\w+s?)\b"
)
_CODE = re.compile(r"[A-Za-z]{0,3}[-_. ]?\d+")
_SINCE_WHICH = re.compile(r"\bsince (?:which|what|when)\b|\bfrom (?:which|what) \w+ on(?:wards?)?\b")
_NUMERIC_DATE = re.compile(r"(\d{1,2})[/-](\d{1,2})[/-]\d{2,4}")
_WHAT_DOES = re.compile(r"\W*(?:what|how much) (?:does|do|did)\b")
_AGGREGATED = ("sum", "mean", "min", "max", "extreme", "top", "columns")
_COUNTED = ("count", "count_distinct", "sum", "mean")
_SHARES = frozenset(("percent", "share", "points", "rate", "ratio"))
_AMOUNTS = frozenset(("most", "high", "low", "large", "small", "maximum", "minimum", "good", "bad"))
_NAMING = (ValueKind.TEXT, ValueKind.ENTITY)


def doubts_of(found: Interpretation) -> list[str]:
    """Why the best program's answer is not verified; empty where nothing speaks against it."""
    return [doubt for check in _CHECKS if (doubt := check(found))]


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


def _other_reading(found: Interpretation) -> str:
    if not found.rivals:
        return ""
    rival = found.rivals[0]
    said, where = "; ".join(texts(rival.denotation)[:3]), ", ".join(rival.candidate.source.ids)
    return f"Another reading fits about as well and gives {said} ({where})."


def _units_apart(found: Interpretation) -> str:
    """A column says a unit or currency for each row, and the rows are not chosen by it."""
    said = any(
        view.stems in (("unit",), ("currenc",), ("unit", "of", "measur")) and view.distinct > 1
        for view in found.source.columns
    )
    return "The rows have units of their own." if said and found.op in _AGGREGATED else ""


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
    exact = [c for c in found.best.candidate.conditions if c.kind == "exact" and c.column != target.place]
    other = [c for c in found.source.conditions if c.kind == "exact" and c.column == target.place]
    both = any(c.mask & o.mask for c in exact for o in other)
    return "The name in the question stands in the column of the answer, too." if both else ""


def _alike(found: Interpretation) -> str:
    """Another table has every word of the question that the answer's tables have."""
    own = found.source
    words = own.touched & (found.question.content | own.values)
    alike = (
        source.ids[0]
        for source in found.sources
        if len(source.ids) == 1 and not set(source.ids) & set(own.ids) and not words & ~source.touched
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


def _same_name_beside_others(found: Interpretation) -> str:
    beside = found.op in _COUNTED and found.best.features.get("c:beside")
    return "Other cells hold the same name beside others." if beside else ""


def _kind_of_answer(found: Interpretation) -> str:
    """The answer is a date, a truth value or a number, where the question asks for something else."""
    question = found.question
    kinds = {value.kind for value in _said(found)}
    if "how_long" in question.cues and kinds & {ValueKind.DATE, ValueKind.PERIOD}:
        return "The answer is a date, where the question asks for a length."
    moment = found.target is not None and not words_of_type("moment").isdisjoint(found.target.stems)
    if "how_long" in question.cues and found.op == "select" and moment:
        return "The answer is a time of the day, where the question asks for a length."
    read = found.target or found.best.candidate.measure
    if read is not None and read.clock and found.op in ("select", "sum") and question.unit_asked is not None:
        return "The answer is a time of the day, where the question asks for a length."
    asked = question.cues.keys() & {"how_long", "how_many", "how_much"}
    words = (
        kinds and kinds <= set(_NAMING) and not any(map(_starts_with_a_number, texts(found.best.denotation)))
    )
    if asked and words and found.op == "select":
        return "The answer is no number, where the question asks for one."
    units = {value.unit for value in _said(found)}
    if "how_many" in question.cues and "PERCENT" in units and not question.cues.keys() & _SHARES:
        return "The answer is a share, where the question asks for a number."
    if question.wh != "yes_no" and ValueKind.TRUTH in kinds:
        return "The answer is yes or no, where the question asks for something else."
    if question.wh == "who" and (
        kinds - set(_NAMING) or any(map(_CODE.fullmatch, texts(found.best.denotation)))
    ):
        return "The answer is no name, where the question asks for somebody."
    target = found.target
    if question.wh == "who" and target is not None and not target.personal:
        person = next((view.name for view in found.source.columns if view.personal), "")
        if person and not found.source.link(target).mask & question.focus:
            return f"The question asks for somebody, and {person} was not read."
    return ""


def _starts_with_a_number(text: str) -> bool:
    return text[:1].isdigit() or text.partition(" ")[0].casefold() in number_words()


def _said(found: Interpretation) -> list[Datum]:
    return [value for row in found.best.denotation.rows for value in row if value is not None]


def _key_for_a_name(found: Interpretation) -> str:
    target = found.target
    key = target is not None and target.ref in found.source.references and not found.source.link(target).key
    return (
        "The answer is the key of a row in another table, where the question asks for its name."
        if key
        else ""
    )


def _rows_elsewhere(found: Interpretation) -> str:
    """What never occurs in one table is told of another only where that lists everything that could occur."""
    target = found.target
    if found.op != "never" or target is None:
        return ""
    joins = [source.join for source in found.sources if source.join is not None]
    refers = found.source.join is None and any(target.ref in (join.left, join.right) for join in joins)
    unlisted = not target.label or target.kind not in _NAMING or refers
    return "Another table may have rows of which nothing is said here." if unlisted else ""


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


def _another_column_named(found: Interpretation) -> str:
    """What is asked for names a column in full that the program does not read; it shows one that is not named so."""
    source, focus = found.source, found.question.focus
    target = found.target or found.best.candidate.measure
    if target is None or (source.link(target).exact and source.link(target).mask & focus):
        return ""
    unread = [
        view.name
        for view in source.columns
        if view.ref not in found.read and source.link(view).exact and source.link(view).mask & focus
    ]
    if unread:
        return f"The question asks for {unread[0]}."
    measure = found.best.candidate.measure
    if measure is not None and not source.link(measure).exact:
        named = [
            v.name for v in source.columns if v.ref not in found.read and v.measure and source.link(v).exact
        ]
        if named:
            return f"The question names {named[0]}, which was not read."
    head, link = found.question.head, source.link(target)
    measured = link.exact and (target.period or target.measure)
    titled = head & source.title and not target.label and not measured and link.mask and not link.mask & head
    return f"The question asks for {found.question.words_of(head)}." if titled else ""


def _counts_numbers(found: Interpretation) -> str:
    """A count of the different numbers of a column, where the question does not say that they are different."""
    target, question = found.target, found.question
    if found.op != "count_distinct" or target is None or "distinct" in question.cues or target.timelike:
        return ""
    if target.role is not ColumnRole.PLAIN:
        repeated = target.distinct < target.filled and not found.source.link(target).exact
        return (
            f"Different values of {target.name} are counted, which stand in several rows." if repeated else ""
        )
    values = found.source.values_of(target, 50)
    numbers = sum(value.number is not None or text_of(value)[:1].isdigit() for value in values)
    return (
        f"{target.name} holds numbers, of which the different ones are counted."
        if 2 * numbers > len(values)
        else ""
    )


def _verb_of_the_measure(found: Interpretation) -> str:
    """*What does the largest … cost* asks for the price by which the answer was found, not for what has it."""
    question, measure = found.question, found.best.candidate.measure
    if found.op not in ("extreme", "top") or measure is None or not _WHAT_DOES.match(question.lower):
        return ""
    meant = synonyms().get(question.tokens[-1].stem, frozenset()) & measure.aspects
    return f"The question asks for {measure.name}, not for what has it." if meant else ""


def _asks_for_several(found: Interpretation) -> str:
    rows = found.best.denotation.rows
    several = rows and len(rows[0]) == 1 and _AND_NAMES.search(found.question.lower)
    return "The question asks for several things of each row." if several else ""


def _goes_back(found: Interpretation) -> str:
    """The question names two periods, the later first."""
    named = [mention.lexical for mention in found.question.times if not mention.lexical.startswith("-")]
    back = found.op == "difference" and len(named) == 2 and named[0] > named[1]
    return "The question goes from the later to the earlier." if back else ""


def _difference_below_zero(found: Interpretation) -> str:
    """*The difference between 2018 and 2019* is a distance for some who ask, and what was added for others."""
    plain = "difference" in found.question.cues and not found.question.cues.keys() & {"change", "up", "down"}
    wrong = found.op == "difference" and plain
    wrong = wrong and any(value.number is not None and value.number < 0 for value in _said(found))
    return "The difference is below zero, and may be meant without its sign." if wrong else ""


def _more_of_a_time(found: Interpretation) -> str:
    """*Which team had more* asks for no later date."""
    measure = found.best.candidate.measure
    counted = {token.stem for token in found.question.tokens} & words_of_type("more")
    wrong = found.op in ("compare", "extreme", "top") and measure is not None and measure.temporal and counted
    return f"The question asks for more, and {measure.name} holds times." if wrong and measure else ""


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


def _counts_repeated(found: Interpretation) -> str:
    """Rows are counted, and what the question counts stands in several of them."""
    source, focus = found.source, found.question.focus
    repeated = found.op == "count" and any(
        source.link(view).mask & focus
        and not view.numeric
        and not view.temporal
        and view.distinct < view.filled
        for view in source.columns
    )
    return "Rows are counted, and what the question counts stands in several of them." if repeated else ""


def _extreme_of_repeated(found: Interpretation) -> str:
    """*Which genre had the most in total* compares the sums of genres, not single rows."""
    target = found.target
    repeated = target is not None and target.distinct < target.filled and "total" in found.question.cues
    wrong = found.op in ("extreme", "top") and repeated
    return f"Single rows are compared, and {target.name} stands in several." if wrong and target else ""


def _several_amounts(found: Interpretation) -> str:
    """*How much was spent on rent* asks for one amount, and several rows have one."""
    asked = found.question.cues.keys() & {"how_much", "how_many"}
    conditions = found.best.candidate.conditions
    rows = min((condition.size for condition in conditions if condition.size), default=1)
    several = max(len(found.best.denotation.rows), rows if len(conditions) == 1 else 1) > 1
    wrong = found.op == "select" and asked and several and found.target is not None and found.target.measure
    return "Several rows have an amount, and the question asks for one." if wrong else ""


def _several_rows_of_a_name(found: Interpretation) -> str:
    """*When is the book due* asks for one date, and the book stands in several rows with several dates."""
    question, conditions = found.question, found.best.candidate.conditions
    if found.op != "select" or question.wh not in ("when", "what_is") or question.plural:
        return ""
    named = len(conditions) == 1 and conditions[0].kind in ("exact", "partial", "contains")
    several = named and found.target is not None and len(set(texts(found.best.denotation))) > 1
    return "Several rows fit, and the question asks for one." if several else ""


def _spent_below_zero(found: Interpretation) -> str:
    """*How much was spent* asks for a positive number, whatever sign the table gives to costs."""
    spent = {token.stem for token in found.question.tokens} & words_of_type("spending")
    wrong = spent and any(value.number is not None and value.number < 0 for value in _said(found))
    return "The amount is below zero in the table." if wrong else ""


def _measure_not_named(found: Interpretation) -> str:
    """Several columns could tell what is *least*, and the question names none of them."""
    measure, source = found.best.candidate.measure, found.source
    if measure is None or found.op not in ("extreme", "top", "extreme_value"):
        return ""
    hints = {stem for adjective, _ in found.question.adjectives for stem in adjective.headers}
    named = source.link(measure).mask or measure.aspects & hints
    others = any(view.measure and view.ref != measure.ref for view in source.columns)
    return f"The question does not name {measure.name}." if others and not named else ""


def _counts_a_value(found: Interpretation) -> str:
    """A count of what cells name, or of what a column gives for each row: *people*, a population."""
    if found.op != "count":
        return ""
    question, source = found.question, found.source
    named = any(condition.mask & question.focus for condition in found.best.candidate.conditions)
    meant = {stem for asked in question.stems_of(question.focus) for stem in synonyms().get(asked, ())}
    given = any(view.measure and meant & set(view.stems) for view in source.columns)
    left_out = given or (named and any(view.quantity for view in source.columns))
    return "The rows have a quantity of their own, which a count leaves out." if left_out else ""


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


def _counts_one_row(found: Interpretation) -> str:
    """A count of the one row that a name chooses answers nothing that is asked of it."""
    columns = found.source.columns
    unique = any(
        condition.kind == "exact"
        and condition.column >= 0
        and columns[condition.column].distinct == columns[condition.column].filled
        for condition in found.best.candidate.conditions
    )
    return "Only the row that the question names is counted." if found.op == "count" and unique else ""


def _difference_not_asked(found: Interpretation) -> str:
    """Two measures are taken from one another only where the question compares them: *won* says no difference."""
    op = found.best.candidate.op
    wrong = op.startswith("difference/columns") and "/time" not in op
    wrong = wrong and not found.question.cues.keys() & {"difference", "than", "more_than", "less_than"}
    return "The question does not ask for a difference." if wrong else ""


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


def _joined_by_row_numbers(found: Interpretation) -> str:
    """Each table numbers its own rows, and the two numbers have nothing to do with one another."""
    join = found.source.join
    if join is None:
        return ""
    ends = [view for view in found.source.columns if view.ref in (join.left, join.right)]
    keys = words_of_type("key")
    own = all(set(view.stems) <= keys and view.distinct == view.filled for view in ends)
    return "The tables are joined by the numbers of their own rows." if own else ""


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


def _of_one_or_of_both(found: Interpretation) -> str:
    """*Both have 12* is said of each, where nothing asks for the total; *as many as A* may count A or leave it out."""
    cues = found.question.cues.keys()
    if found.op == "sum" and "both" in cues and not cues & {"total", "together", "how_much"}:
        return "The question may ask for what each of them has."
    return (
        "The row that others are like may be counted, too."
        if found.best.candidate.op == "same_as/count"
        else ""
    )


def _limits_what_nobody_named(found: Interpretation) -> str:
    """*More than two entries* limits no stock: the question names the column of a number, or there is only one."""
    source = found.source
    numeric = sum(view.measure for view in source.columns)
    hints = {stem for adjective, _ in found.question.adjectives for stem in adjective.headers}
    for condition in found.best.candidate.conditions:
        if condition.kind == "threshold" and condition.column >= 0 and numeric > 1:
            view = source.columns[condition.column]
            by_unit = any(t.number.unit for t in found.question.thresholds)
            number = next((t.number.mask for t in found.question.thresholds if t.mask & condition.mask), 0)
            behind = number << 1 & ~source.link(view).mask
            rows = any(
                1 << t.index == behind and t.stem in words_of_type("row") for t in found.question.tokens
            )
            unnamed = not source.link(view).mask and not view.aspects & hints and not by_unit
            if unnamed or rows:
                return f"The question does not name {view.name}."
    return ""


def _amount_not_named(found: Interpretation) -> str:
    """*How much is the lamp* asks for its price or its stock, and the question names neither."""
    source, read = found.source, found.target or found.best.candidate.measure
    if found.op not in ("select", "sum") or read is None or not read.measure or source.link(read).mask:
        return ""
    others = any(view.measure and view.ref != read.ref for view in source.columns)
    return f"The question does not name {read.name}." if others and "how_much" in found.question.cues else ""


def _another_unit_asked(found: Interpretation) -> str:
    """*How many grams* is not told by a number whose unit is unknown."""
    asked = found.question.unit_asked
    read = found.target or found.best.candidate.measure
    if asked is None or asked[0] in NO_UNIT or read is None or found.op not in ("select", "sum", "mean"):
        return ""
    units = {value.unit for value in _said(found) if value.number is not None}
    if units and units <= NO_UNIT and read.unit_hint is None:
        return f"The table does not say that {read.name} is in the unit asked for."
    other = {unit for unit in units - NO_UNIT if unit != asked[0] and comparable(unit, asked[0])}
    return "The answer is in another unit than the one asked for." if other and not read.clock else ""


def _adjective_of_no_column(found: Interpretation) -> str:
    """*The heaviest provisions* are not the largest number where nothing is weighed."""
    if not found.best.candidate.op.startswith("column_extreme"):
        return ""
    aspects = {stem for view in found.source.columns for stem in view.aspects}
    odd = [
        found.question.words_of(token)
        for adjective, token in found.question.adjectives
        if adjective.superlative and adjective.name not in _AMOUNTS and not aspects & set(adjective.headers)
    ]
    return f"The table does not say what is {odd[0]}." if odd else ""


def _counts_one_list(found: Interpretation) -> str:
    """The one cell that is counted lists several things."""
    target = found.target
    if found.op != "count_distinct" or target is None:
        return ""
    rows = {condition.size for condition in found.best.candidate.conditions if condition.kind == "exact"}
    listed = any(len(items(text_of(value))) > 1 for value in found.source.values_of(target, 20))
    return f"A cell of {target.name} may list several." if rows == {1} and listed else ""


def _since_which(found: Interpretation) -> str:
    """*Since which year* asks for the first from which on something holds, not for the rows of which it does."""
    asked = _SINCE_WHICH.search(found.question.lower)
    return "The question asks since when, which no program says." if asked else ""


def _most_of_what(found: Interpretation) -> str:
    """*The most towers* counts towers, whatever column measures another superlative of the question."""
    measure, question = found.best.candidate.measure, found.question
    if measure is None or found.op not in ("extreme", "top"):
        return ""
    link = found.source.link(measure).mask
    for adjective, token in question.adjectives:
        noun = token << 1 & question.content
        if adjective.name == "most" and adjective.superlative and noun and not noun & link:
            hinted = any(noun & other for _, other in question.adjectives)
            if not hinted and (link or len(question.adjectives) > 1):
                return f"The question asks for the most {question.words_of(noun)}."
    return ""


def _counts_for_an_adjective(found: Interpretation) -> str:
    """*The strongest* is no question for the number of rows."""
    counted = found.best.candidate.op.startswith("group_extreme/count")
    named = [
        adjective.name
        for adjective, token in found.question.adjectives
        if adjective.headers and adjective.superlative and token & found.best.candidate.mask
    ]
    wrong = counted and named and not found.question.cues.keys() & {"how_many", "most_often", "times"}
    return "Rows are counted, which the question does not ask for." if wrong else ""


def _worth_of_several(found: Interpretation) -> str:
    """*The value of the lamps in stock* is their number times the price of one."""
    target, source = found.target, found.source
    if found.op != "select" or target is None or not target.measure or target.quantity:
        return ""
    said = {token.stem for token in found.question.tokens if token.stem in words_of_type("worth")}
    held = any(view.quantity for view in source.columns)
    return f"{target.name} may be that of one, and the rows have a number of them." if said and held else ""


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
        if view.kind in _NAMING
        and view.place not in taken
        and view.ref != target.ref
        and not view.label
        and (view.personal or 2 * view.distinct > view.filled)
        and not source.link(view).mask & ~asking
    ]
    unnamed = not source.link(target).mask & ~asking
    return f"The question may ask for {others[0]} as well." if unnamed and others else ""


def _share_of_itself(found: Interpretation) -> str:
    """A part is less than the whole: else the two were taken the other way round, or for one another."""
    numbers = [value.number for value in _said(found)] if found.op == "share" else []
    if any(number is not None and number < 0 for number in numbers):
        return "The share is below zero, since one of the amounts is."
    wrong = any(number is not None and number >= 100 for number in numbers)
    return "The part is not less than the whole." if wrong else ""


def _other_words(found: Interpretation) -> str:
    conditions, source = found.best.candidate.conditions, found.source
    for condition in conditions:
        if condition.kind == "contains" and condition.column >= 0:
            view = source.columns[condition.column]
            if not source.link(view).mask:
                return f"{view.name} only contains a word of the question."
    partial = any(c.kind == "partial" and c.quality < 0.6 for c in conditions)
    return "A name of the question stands in the table in other words." if partial else ""


def _unsure(found: Interpretation) -> str:
    return "" if found.confidence >= VERIFIED_FROM else "The reading of the question is not sure enough."


_CHECKS: tuple[Callable[[Interpretation], str], ...] = (
    missing_words,
    _unused_operators,
    _other_reading,
    _units_apart,
    _chosen_by_the_answer,
    _name_in_the_answer,
    _alike,
    _other_periods,
    _same_name_beside_others,
    _kind_of_answer,
    _key_for_a_name,
    _rows_elsewhere,
    _negation_across_rows,
    _order_says_nothing,
    _another_column_named,
    _counts_numbers,
    _verb_of_the_measure,
    _asks_for_several,
    _goes_back,
    _difference_below_zero,
    _more_of_a_time,
    _statistic_not_asked,
    _counts_repeated,
    _extreme_of_repeated,
    _several_amounts,
    _several_rows_of_a_name,
    _spent_below_zero,
    _measure_not_named,
    _counts_a_value,
    _counts_one_row,
    _number_of_things,
    _one_column_twice,
    _difference_not_asked,
    _limits_what_nobody_named,
    _amount_not_named,
    _another_unit_asked,
    _adjective_of_no_column,
    _counts_one_list,
    _names_no_column,
    _joined_by_row_numbers,
    _shown_in_part,
    _of_one_or_of_both,
    _since_which,
    _most_of_what,
    _counts_for_an_adjective,
    _worth_of_several,
    _day_or_month,
    _one_of_several_persons,
    _share_of_itself,
    _other_words,
    _unsure,
)
