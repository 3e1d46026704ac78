"""Doubts about numbers: what was counted, added up or compared, and in which direction.

Each check says, as those of `kgtable.answering.doubts`, in a sentence what speaks against the best program's number.
"""

from __future__ import annotations

from collections.abc import Callable

from kgtable.answering.rivals import Interpretation
from kgtable.programs.algebra import Apply, ValueKind, walk
from kgtable.programs.dimensions import NO_UNIT
from kgtable.programs.relation import ColumnRole
from kgtable.programs.scalars import items, text_of
from kgtable.semantic_parsing.candidates import before_per
from kgtable.semantic_parsing.english import is_verb_form, synonyms, word_stem, words_of_type
from kgtable.semantic_parsing.reading import Question

_COUNTED = ("count", "count_distinct", "sum", "mean")
_OF_TWO = ("compare", "compare_yes")
_COMPARING = ("extreme", "top", *_OF_TWO)
_AMOUNTS = frozenset(("most", "high", "low", "large", "small", "maximum", "minimum", "good", "bad"))


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
    cues = found.question.cues
    compared = "than" in cues and any(a.comparative for a, _ in found.question.adjectives)
    compared = compared or {"difference", "more_than"} <= cues.keys()  # "by how much did A exceed B"
    back = found.op == "difference" and len(named) == 2 and named[0] > named[1] and not compared
    return "The question goes from the later to the earlier." if back else ""


def _difference_below_zero(found: Interpretation) -> str:
    """*The difference between 2018 and 2019* is a distance for some who ask, and what was added for others."""
    plain = "difference" in found.question.cues and not found.question.cues.keys() & {"change", "up", "down"}
    wrong = found.op == "difference" and plain
    wrong = wrong and any(value.number is not None and value.number < 0 for value in found.said)
    return "The difference is below zero, and may be meant without its sign." if wrong else ""


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


def _spent_below_zero(found: Interpretation) -> str:
    """*How much was spent* asks for a positive number, whatever sign the table gives to costs."""
    spent = {token.stem for token in found.question.tokens} & words_of_type("spending")
    wrong = spent and any(value.number is not None and value.number < 0 for value in found.said)
    return "The amount is below zero in the table." if wrong else ""


def _rows_are_no_persons(found: Interpretation) -> str:
    """*How many people* counts no days, where the rows are days."""
    people = any(token.word in ("people", "persons") for token in found.question.tokens)
    columns = found.source.columns
    persons = any(view.personal and not view.measure for view in columns)
    given = any(view.measure for view in columns)
    wrong = found.op == "count" and people and given and not persons
    return "Rows are counted, and none of them is said to be a person." if wrong else ""


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
        and not measure.aspects & words_of_type("money")
    ]  # fmt: skip
    return f"The table does not say which {measure.name} is {odd[0]}." if odd else ""


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
        view.measure and meant & set(view.stems) and not view.aspects & words_of_type("money")
        for view in source.columns
    )
    left_out = given or (named and any(view.quantity for view in source.columns))
    return "The rows have a quantity of their own, which a count leaves out." if left_out else ""


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
    hints = {  # "at least" says nothing of what is limited
        stem
        for adjective, token in found.question.adjectives
        if found.question.tokens[token.bit_length() - 1].word not in ("least", "most")
        for stem in adjective.headers
    }
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


def _total_for_a_member(found: Interpretation) -> str:
    """A row of a total that the table does not mark as one is no member: "Total (1-12)" is no volume."""
    if found.best.candidate.op.startswith("members") or found.question.cues.keys() & {"total", "average"}:
        return ""
    for value in found.said[:20]:
        words = text_of(value).casefold().split()
        if value.number is None and words and word_stem(words[0].strip(":.")) in words_of_type("whole"):
            return f"{text_of(value)} is a total of others."
    return ""


def _counts_another_table(found: Interpretation) -> str:
    """*How many of the donations* asks for no number of donors."""
    target = found.best.candidate.target
    wrong = found.op == "count_distinct" and target is not None and found.source.is_of_other_table(target)
    return "The question asks for another table's rows." if wrong else ""


def _mean_of_one(found: Interpretation) -> str:
    """*The average price of the lamp*, which has one row, may be meant of several years or columns."""
    one = any(c.kind == "exact" and c.size == 1 for c in found.best.candidate.conditions)
    measure = found.best.candidate.measure
    named = measure is not None and "averag" in measure.stems
    return "The average is of one number." if found.op == "mean" and one and not named else ""


def _growth_in_percent(found: Interpretation) -> str:
    """*The growth from 2010 to 2015* may be meant in percent; *by how much* it grew is not."""
    words = {token.word for token in found.question.tokens}
    by = found.question.cues.keys() & {"how_much", "how_many", "points"} or "by" in words
    return (
        "The growth may be meant in percent."
        if found.op == "difference" and "growth" in words and not by
        else ""
    )


def _amount_not_named(found: Interpretation) -> str:
    """*How much is the lamp* asks for its price or its stock, and the question names neither."""
    source, read = found.source, found.target or found.best.candidate.measure
    if found.op not in ("select", "sum") or read is None or not read.measure or source.link(read).mask:
        return ""
    others = any(view.measure and view.ref != read.ref for view in source.columns)
    return f"The question does not name {read.name}." if others and "how_much" in found.question.cues else ""


def _adjective_of_no_column(found: Interpretation) -> str:
    """*The heaviest provisions* are not the largest number where nothing is weighed."""
    measure = found.best.candidate.measure
    if found.best.candidate.op.startswith("column_extreme"):
        aspects = {stem for view in found.source.columns for stem in view.aspects}
    elif found.op in _COMPARING and measure is not None and not found.source.link(measure).exact:
        aspects = set(measure.aspects)
        aspects -= set(measure.stems) - set(before_per(measure))
    else:
        return ""
    odd = [
        found.question.words_of(token)
        for adjective, token in found.question.adjectives
        if (adjective.superlative or found.op in _OF_TWO)
        and adjective.name not in _AMOUNTS
        and not aspects & set(adjective.headers)
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
        behind = noun << 1 & link  # "the most calls abandoned"
        if noun & found.source.title and noun << 1 & found.source.title:
            continue  # "the most power cuts" of a table of power cuts
        if behind and is_verb_form(question.words_of(behind).lower()):
            continue
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


def _one_of_several_together(found: Interpretation) -> str:
    """*Together* adds up what several have, and one row was read."""
    said = {token.word for token in found.question.tokens} & {"together", "combined", "altogether"}
    wrong = found.op == "select" and said and len(found.best.denotation.rows) == 1
    return "The question asks for several together." if wrong else ""


def _adds_up_columns(found: Interpretation) -> str:
    """The values of two columns are added up only where the question names both: *boys and girls*."""
    added = found.best.candidate.op in ("columns/sum", "columns/mean")
    apart = added and not found.question.cues.keys() & {"and", "both", "between", "since", "until"}
    periods = all(view.period for view in found.source.columns if view.ref in found.read and view.measure)
    return "The question does not add up columns." if apart and not periods else ""


def _leaves_blank_rows_out(found: Interpretation) -> str:
    """*How many plots* of a table that names tenants: plots without one are not among the names."""
    target = found.best.candidate.target
    if found.op != "count_distinct" or target is None or not target.missing:
        return ""
    named = found.source.link(target).exact
    return "" if named else f"Rows without {target.name} are not counted."


def _distinct_for_how_often(found: Interpretation) -> str:
    """*Most often* counts how often, and not how many different things there are."""
    op, cues = found.best.candidate.op, found.question.cues
    counted = found.op == "group_extreme" and "distinct" in op
    return (
        "The question asks how often." if counted and "most_often" in cues and "distinct" not in cues else ""
    )


def _number_of_something_else(found: Interpretation) -> str:
    """*How many telescope nights* is a number of nights, and no number of telescopes."""
    read = found.target or found.best.candidate.measure
    head = found.question.head
    if found.question.wh != "how_many" or read is None or not read.measure or not head:
        return ""
    mask, cues = found.source.link(read).mask, found.question.cues
    head &= ~(cues.get("times", 0) | cues.get("points", 0) | cues.get("ratio", 0))
    head &= found.question.content
    behind = mask & head >> 1 and not mask & head
    return f"The question asks for a number of {found.question.words_of(head)}." if behind else ""


NUMBER_CHECKS: tuple[Callable[[Interpretation], str], ...] = (
    _same_name_beside_others,
    _counts_numbers,
    _goes_back,
    _difference_below_zero,
    _counts_repeated,
    _extreme_of_repeated,
    _spent_below_zero,
    _measure_not_named,
    _counts_a_value,
    _counts_one_row,
    _things_alike,
    _difference_not_asked,
    _limits_what_nobody_named,
    _amount_not_named,
    _total_for_a_member,
    _mean_of_one,
    _counts_another_table,
    _growth_in_percent,
    _adjective_of_no_column,
    _superlative_of_something_else,
    _one_for_a_rank,
    _rows_are_no_persons,
    _compared_below_zero,
    _best_of_what,
    _amount_for_a_thing,
    _adds_up_columns,
    _distinct_for_how_often,
    _one_of_several_together,
    _compares_without_or,
    _counts_one_list,
    _of_one_or_of_both,
    _most_of_what,
    _counts_for_an_adjective,
    _leaves_blank_rows_out,
    _number_of_something_else,
)
"""The checks of numbers, in the order in which their reasons are told."""
