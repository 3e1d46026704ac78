"""What keeps a number from being verified: what was counted, added up or compared, in which unit and direction.

Each check says, as those of `kgtable.answering.doubts`, in a sentence what speaks against the best program's number.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from kgtable.answering.rivals import Interpretation
from kgtable.programs.algebra import Apply, ValueKind, walk
from kgtable.programs.dimensions import NO_UNIT, comparable
from kgtable.programs.english import linking_verbs, synonyms, words_of_type
from kgtable.programs.reading import Question
from kgtable.programs.relation import ColumnRole
from kgtable.programs.scalars import items, text_of

_SHARE_OF = re.compile(r"\b(?:percent|percentage|per cent|%|share|proportion|fraction|part) of\b")
_RATE = re.compile(r"\bper\b|\w/\w|\b(?:hour|dai|week|month|quarter|year|annual)ly\b", re.IGNORECASE)
_WHAT_DOES = re.compile(r"\W*what (?:does|do|did)\b")
_RATES = frozenset(("rate", "rates", "ratio", "density", "margin", "quota"))
_COUNTED = ("count", "count_distinct", "sum", "mean")
_AMOUNTS = frozenset(("most", "high", "low", "large", "small", "maximum", "minimum", "good", "bad"))
_OF_ONE_COLUMN = ("select", "sum", "min", "max", "mean")
_AGGREGATED = ("sum", "mean", "min", "max", "extreme", "top", "columns")


def _money() -> frozenset[str]:
    return words_of_type("money")


def _units_apart(found: Interpretation) -> str:
    """A column says a unit or currency for each row, and the rows are not chosen by it."""
    said = any(
        view.stems in (("unit",), ("currenc",), ("unit", "of", "measur")) and view.distinct > 1
        for view in found.source.columns
    )
    one_row = any(c.kind == "exact" and c.size == 1 for c in found.best.candidate.conditions)
    computed = found.op in ("sum", "mean", "min", "max")
    measure = found.best.candidate.measure
    if measure is not None and measure.unit_stems:
        return ""  # a header in minutes is of no column of units
    if computed and all(value.unit is not None and value.unit not in NO_UNIT for value in found.said):
        return ""  # amounts of several currencies have no sum: those of these rows are of one
    return "The rows have units of their own." if said and found.op in _AGGREGATED and not one_row else ""


def _same_name_beside_others(found: Interpretation) -> str:
    beside = found.op in _COUNTED and found.best.features.get("c:beside")
    return "Other cells hold the same name beside others." if beside else ""


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


def _goes_back(found: Interpretation) -> str:
    """The question names two periods, the later first."""
    named = [mention.lexical for mention in found.question.times if not mention.lexical.startswith("-")]
    compared = "than" in found.question.cues and any(a.comparative for a, _ in found.question.adjectives)
    back = found.op == "difference" and len(named) == 2 and named[0] > named[1] and not compared
    return "The question goes from the later to the earlier." if back else ""


def _difference_below_zero(found: Interpretation) -> str:
    """*The difference between 2018 and 2019* is a distance for some who ask, and what was added for others."""
    plain = "difference" in found.question.cues and not found.question.cues.keys() & {"change", "up", "down"}
    wrong = found.op == "difference" and plain
    wrong = wrong and any(value.number is not None and value.number < 0 for value in found.said)
    return "The difference is below zero, and may be meant without its sign." if wrong else ""


def _more_of_a_time(found: Interpretation) -> str:
    """*Which team had more* asks for no later date."""
    measure = found.best.candidate.measure
    tokens = found.question.tokens
    behind = [token.word for token in tokens[1:]] + [""]
    counted = any(
        token.stem in words_of_type("more") and after not in ("recently", "recent", "often")
        for token, after in zip(tokens, behind, strict=True)
    )
    wrong = found.op in ("compare", "extreme", "top") and measure is not None and measure.temporal and counted
    return f"The question asks for more, and {measure.name} holds times." if wrong and measure else ""


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
    asked = found.question.cues.keys() & {"how_much", "how_many"} or _WHAT_DOES.match(found.question.lower)
    conditions = found.best.candidate.conditions
    rows = min((condition.size for condition in conditions if condition.size), default=1)
    several = max(len(found.best.denotation.rows), rows if len(conditions) == 1 else 1) > 1
    wrong = found.op == "select" and asked and several and found.target is not None and found.target.measure
    return "Several rows have an amount, and the question asks for one." if wrong else ""


def _spent_below_zero(found: Interpretation) -> str:
    """*How much was spent* asks for a positive number, whatever sign the table gives to costs."""
    spent = {token.stem for token in found.question.tokens} & words_of_type("spending")
    wrong = spent and any(value.number is not None and value.number < 0 for value in found.said)
    return "The amount is below zero in the table." if wrong else ""


def _money_for_a_number(found: Interpretation) -> str:
    """*How many fines* asks for no money, unless it says in which currency."""
    read = found.target or found.best.candidate.measure
    if found.question.wh != "how_many" or read is None or found.op not in _OF_ONE_COLUMN:
        return ""
    money = read.aspects & _money() or any((unit or "").startswith("CCY_") for unit in read.units)
    asked = found.question.unit_asked or any(t.number.unit for t in found.question.thresholds)
    return f"The question asks for a number, and {read.name} is money." if money and not asked else ""


def _rows_are_no_persons(found: Interpretation) -> str:
    """*How many people* counts no days, where the rows are days."""
    people = any(token.word in ("people", "persons") for token in found.question.tokens)
    columns = found.source.columns
    persons = any(view.personal and not view.measure for view in columns)
    given = any(view.measure for view in columns)
    wrong = found.op == "count" and people and given and not persons
    return "Rows are counted, and none of them is said to be a person." if wrong else ""


def _clock_not_named(found: Interpretation) -> str:
    """*Does A get in before B* compares one of several times, and names none; *before* compares no numbers."""
    measure = found.best.candidate.measure
    if measure is None or found.op not in ("compare", "compare_yes"):
        return ""
    timed = measure.clock or measure.temporal
    if not timed and measure.role is ColumnRole.PLAIN and found.question.cues.keys() & {"previous", "next"}:
        return f"The question asks what comes first, and {measure.name} is no time."
    several = sum(view.clock or view.temporal for view in found.source.columns) > 1
    unnamed = timed and several and not found.source.link(measure).mask
    return f"The question does not name {measure.name}." if unnamed else ""


def _compared_below_zero(found: Interpretation) -> str:
    """*Were wages higher than rent* compares costs by their size, and the table shows both below zero."""
    measure, conditions = found.best.candidate.measure, found.best.candidate.conditions
    if measure is None or found.op not in ("compare", "compare_yes") or len(conditions) < 2:
        return ""
    by_size = any(isinstance(node, Apply) for node in walk(found.best.candidate.program.root))
    below = any(
        value.number is not None and value.number < 0 for value in found.source.values_of(measure, 400)
    )
    return f"{measure.name} has amounts below zero, which may be compared by their size." if below and not by_size else ""  # fmt: skip  # noqa: E501


def _best_of_what(found: Interpretation) -> str:
    """The best grade may be the lowest or the highest."""
    measure = found.best.candidate.measure
    if measure is None or found.op not in ("extreme", "top", "min", "max", "extreme_value"):
        return ""
    odd = [
        found.question.words_of(token)
        for adjective, token in found.question.adjectives
        if adjective.superlative and adjective.name in ("good", "bad")
        and measure.role is not ColumnRole.ORDINAL and not measure.aspects & set(adjective.headers)
        and not measure.aspects & _money()
    ]  # fmt: skip
    return f"The table does not say which {measure.name} is {odd[0]}." if odd else ""


def _cost_of_which(found: Interpretation) -> str:
    """*The biggest cost* may be an amount or what it was spent on."""
    measure, question = found.best.candidate.measure, found.question
    if measure is None or found.op not in ("min", "max", "extreme_value") or not measure.period:
        return ""
    for adjective, token in question.adjectives:
        place = token.bit_length()
        noun = next((t for t in question.tokens[place:] if t.empty), None)
        last = (question.tokens[-1].index if noun is None else noun.index - 1) if place else -1
        if adjective.superlative and last >= place and not found.source.link(measure).mask >> last & 1:
            return f"The question may ask for what has the {measure.name}."
    return ""


def _below_zero_long(found: Interpretation) -> str:
    """No journey takes less than no time: it ends on the next day."""
    asked = found.question.cues.keys() & {"how_long", "days_between"} and "than" not in found.question.cues
    below = any(value.number is not None and value.number < 0 for value in found.said)
    return "A length of time below zero: the end may be of another day." if asked and below else ""


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
    given = any(
        view.measure and meant & set(view.stems) and not view.aspects & _money() for view in source.columns
    )
    left_out = given or (named and any(view.quantity for view in source.columns))
    return "The rows have a quantity of their own, which a count leaves out." if left_out else ""


def _rate_of_a_rate(found: Interpretation) -> str:
    """An hourly wage by the hours of a week is neither the wage of a week nor that of an hour."""
    if not found.best.candidate.op.startswith("ratio/per"):
        return ""
    read = [view.name for view in found.source.columns if view.ref in found.read and _RATE.search(view.name)]
    return f"{read[0]} is told per something else already." if read else ""


def _things_alike(found: Interpretation) -> str:
    """Two lost umbrellas are two items, though the column of items says *Umbrella* twice."""
    target, cues = found.target, found.question.cues
    if (
        found.op != "count_distinct"
        or target is None
        or "distinct" in cues
        or target.distinct == target.filled
    ):
        return ""
    columns = found.source.columns
    keys = [view for view in columns if view.role is ColumnRole.IDENTIFIER and view.distinct == view.filled]
    told_apart = found.source.join is None and target.kind is ValueKind.TEXT and keys
    return (
        f"Equal cells of {target.name} are counted once, and {keys[0].name} tells them apart."
        if told_apart
        else ""
    )


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
    if (
        asked is None
        or asked[0] in NO_UNIT
        or read is None
        or found.op not in ("select", "sum", "mean", "difference")
    ):
        return ""
    units = {value.unit for value in found.said if value.number is not None}
    words = {token.stem for token in found.question.tokens if asked[1] >> token.index & 1}
    if units and units <= NO_UNIT and read.unit_hint is None and not words & set(read.stems):
        return f"The table does not say that {read.name} is in the unit asked for."
    other = {unit for unit in units - NO_UNIT if unit != asked[0] and comparable(unit, asked[0])}
    hours = [value.number for value in found.said if value.unit == "SEC" and value.number is not None]
    if asked[0] == "HR" and hours and min(hours) >= 3600:
        return ""  # 19:45 says how many hours
    return "The answer is in another unit than the one asked for." if other and not read.clock else ""


def _adjective_of_no_column(found: Interpretation) -> str:
    """*The heaviest provisions* are not the largest number where nothing is weighed."""
    measure = found.best.candidate.measure
    if found.best.candidate.op.startswith("column_extreme"):
        aspects = {stem for view in found.source.columns for stem in view.aspects}
    elif found.op in ("extreme", "top") and measure is not None and not found.source.link(measure).exact:
        aspects = set(measure.aspects)
    else:
        return ""
    odd = [
        found.question.words_of(token)
        for adjective, token in found.question.adjectives
        if adjective.superlative and adjective.name not in _AMOUNTS and not aspects & set(adjective.headers)
    ]
    return f"The table does not say what is {odd[0]}." if odd else ""


def _superlative_of_something_else(found: Interpretation) -> str:
    """*The rank of the tallest player* is that of the tallest, not the highest rank."""
    measure = found.best.candidate.measure
    if measure is None or found.op not in ("min", "max", "extreme", "top", "extreme_value"):
        return ""
    link = found.source.link(measure)
    known = bool(set(measure.units) - NO_UNIT)  # no weight is long, whatever its header
    odd = [
        found.question.words_of(token)
        for adjective, token in found.question.adjectives
        if adjective.superlative
        and adjective.headers
        and adjective.name not in _AMOUNTS
        and not measure.aspects & set(adjective.headers)
        and (known or not link.mask & (token << 1 | token << 2))
    ]
    return f"{measure.name} does not say what is {odd[0]}." if odd and link.exact else ""


def _length_of_a_time(found: Interpretation) -> str:
    """*Which mission lasted the longest* asks for no distance."""
    measure = found.best.candidate.measure
    lasted = {token.word for token in found.question.tokens} & {
        "lasted",
        "lasts",
        "last",
        "took",
        "takes",
        "take",
    }
    long = any(a.name in ("long", "short") and a.superlative for a, _ in found.question.adjectives)
    if (
        measure is None
        or found.op not in ("min", "max", "extreme", "top", "extreme_value")
        or not (lasted and long)
    ):
        return ""
    timed = measure.kind is ValueKind.DURATION or any(
        unit and comparable(unit, "SEC") for unit in measure.units
    )
    timed = timed or not measure.aspects.isdisjoint({*words_of_type("time"), "durat"})
    return "" if timed else f"The question asks for a length of time, and {measure.name} is none."


def _one_for_a_rank(found: Interpretation) -> str:
    """*Only one medal* is no rank of one."""
    words = Question._all(n.mask for n in found.question.numbers if n.text.isalpha())
    columns, link = found.source.columns, found.source.link
    wrong = [
        columns[c.column].name
        for c in found.best.candidate.conditions
        if c.column >= 0 and c.mask & words and columns[c.column].role is ColumnRole.ORDINAL
        and c.kind in ("number", "exact") and not link(columns[c.column]).mask
    ]  # fmt: skip
    return f"The question does not name {wrong[0]}." if wrong else ""


def _rate_not_computed(found: Interpretation) -> str:
    """*The pass rate* is not the number of those who passed."""
    question, source = found.question, found.source
    read = found.target or found.best.candidate.measure
    if read is None or not read.measure or found.op in ("share", "ratio", "percent_change"):
        return ""
    asked = Question._all(1 << token.index for token in question.tokens if token.word in _RATES)
    told = source.title | Question._all(condition.mask for condition in found.best.candidate.conditions)
    rate = source.link(read).mask & asked or "PERCENT" in read.units or _RATE.search(read.name)
    return f"The question asks for a rate, and {read.name} is none." if asked & ~told and not rate else ""


def _amount_for_a_thing(found: Interpretation) -> str:
    """*The cheapest bottle* asks for the bottle, where its column holds prices."""
    measure = found.best.candidate.measure
    if found.op in ("extreme", "top") and found.target is not None and found.target.measure:
        measure = found.target
    elif found.op not in ("min", "max", "extreme_value"):
        return ""
    if measure is None:
        return ""
    for adjective, _ in found.question.adjectives:
        headers = set(adjective.headers)
        if adjective.name not in _AMOUNTS and headers & measure.aspects and not headers & set(measure.stems):
            return f"The question may ask for what has the {measure.name}."
    return ""


def _compares_without_or(found: Interpretation) -> str:
    """Which of two is the larger answers who names the two as a choice."""
    if found.op != "compare":
        return ""
    compared = "or" in found.question.cues or any(a.comparative for a, _ in found.question.adjectives)
    return "" if compared or "than" in found.question.cues else "The question does not ask which of two."


def _counts_one_list(found: Interpretation) -> str:
    """The one cell that is counted lists several things."""
    target = found.target
    if found.op != "count_distinct" or target is None:
        return ""
    rows = {condition.size for condition in found.best.candidate.conditions if condition.kind == "exact"}
    listed = any(len(items(text_of(value))) > 1 for value in found.source.values_of(target, 20))
    return f"A cell of {target.name} may list several." if rows == {1} and listed else ""


def _most_of_what(found: Interpretation) -> str:
    """*The most towers* counts towers, whatever column measures another superlative of the question."""
    measure, question = found.best.candidate.measure, found.question
    if measure is None or found.op not in ("extreme", "top", "group_extreme"):
        return ""
    link = found.source.link(measure).mask
    # What the columns of periods measure stands in the title.
    titled = found.source.title if measure.period else 0
    for adjective, token in question.adjectives:
        noun = token << 1 & question.content & ~titled
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


def _share_of_itself(found: Interpretation) -> str:
    """A part is less than the whole: else the two were taken the other way round, or for one another."""
    numbers = [value.number for value in found.said] if found.op == "share" else []
    if any(number is not None and number < 0 for number in numbers):
        return "The share is below zero, since one of the amounts is."
    wrong = any(number is not None and number >= 100 for number in numbers)
    return "The part is not less than the whole." if wrong else ""


def _one_of_several_together(found: Interpretation) -> str:
    """*Together* adds up what several have, and one row was read."""
    said = {token.word for token in found.question.tokens} & {"together", "combined", "altogether"}
    wrong = found.op == "select" and said and len(found.best.denotation.rows) == 1
    return "The question asks for several together." if wrong else ""


def _one_of_several_ratios(found: Interpretation) -> str:
    """*Cost per square metre* of a flat may be its rent or its heating costs by its area."""
    measure, source = found.best.candidate.measure, found.source
    if not found.best.candidate.op.endswith("/per") or measure is None or source.link(measure).exact:
        return ""
    others = [
        v.name for v in source.columns if v.measure and v.ref not in found.read and v.units == measure.units
    ]
    return f"The question does not say whether {measure.name} or {others[0]} is meant." if others else ""


def _adds_up_columns(found: Interpretation) -> str:
    """The values of two columns are added up only where the question names both: *boys and girls*."""
    added = found.best.candidate.op in ("columns/sum", "columns/mean")
    apart = added and not found.question.cues.keys() & {"and", "both", "between", "since", "until"}
    periods = all(view.period for view in found.source.columns if view.ref in found.read and view.measure)
    return "The question does not add up columns." if apart and not periods else ""


def _whole_is_a_part(found: Interpretation) -> str:
    """*What percentage of the children in class 5a have lunch* takes the class, not all children, for the whole."""
    question = found.question
    match = _SHARE_OF.search(question.lower) if found.op == "share" else None
    if match is None:
        return ""
    verb = next((t for t in question.tokens if t.start >= match.end() and t.word in linking_verbs()), None)
    if verb is None:
        return ""
    whole = question.mask(match.end(), verb.start)
    inside = any(
        condition.mask and not condition.mask & ~whole for condition in found.best.candidate.conditions
    )
    return "The share may be meant of some of the rows alone." if inside else ""


NUMBER_CHECKS: tuple[Callable[[Interpretation], str], ...] = (
    _units_apart,
    _same_name_beside_others,
    _counts_numbers,
    _goes_back,
    _difference_below_zero,
    _more_of_a_time,
    _counts_repeated,
    _extreme_of_repeated,
    _several_amounts,
    _spent_below_zero,
    _measure_not_named,
    _counts_a_value,
    _counts_one_row,
    _things_alike,
    _rate_of_a_rate,
    _difference_not_asked,
    _limits_what_nobody_named,
    _amount_not_named,
    _another_unit_asked,
    _adjective_of_no_column,
    _superlative_of_something_else,
    _length_of_a_time,
    _one_for_a_rank,
    _rate_not_computed,
    _money_for_a_number,
    _rows_are_no_persons,
    _clock_not_named,
    _compared_below_zero,
    _best_of_what,
    _cost_of_which,
    _below_zero_long,
    _amount_for_a_thing,
    _whole_is_a_part,
    _adds_up_columns,
    _one_of_several_ratios,
    _one_of_several_together,
    _compares_without_or,
    _counts_one_list,
    _of_one_or_of_both,
    _most_of_what,
    _counts_for_an_adjective,
    _worth_of_several,
    _share_of_itself,
)
"""The checks of numbers, in the order in which their reasons are told."""
