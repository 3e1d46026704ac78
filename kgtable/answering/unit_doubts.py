"""Doubts about units: shares, rates, money, lengths of time, units that a question asks for.

Each check says, as those of `kgtable.answering.doubts`, in a sentence what speaks against the best program's number.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from kgtable.answering.rivals import Interpretation
from kgtable.programs.algebra import ValueKind
from kgtable.programs.dimensions import COUNTS, NO_UNIT, comparable
from kgtable.programs.relation import ColumnRole
from kgtable.semantic_parsing.english import linking_verbs, unit_named, words_of_type
from kgtable.semantic_parsing.reading import Question

_SHARE_OF = re.compile(r"\b(?:percent|percentage|per cent|%|share|proportion|fraction|part) of\b")
_RATE = re.compile(r"\bper\b|\w/\w|\b(?:hour|dai|week|month|quarter|year|annual)ly\b", re.IGNORECASE)
_PRICE_OF_ONE = re.compile(r"\W*how much (?:is|was|are|were) (?:an?|one|the price of)\b")
_WHAT_DOES = re.compile(r"\W*what (?:does|do|did)\b")
_RATES = frozenset(("rate", "rates", "ratio", "density", "margin", "quota"))
_OF_ONE_COLUMN = ("select", "sum", "min", "max", "mean")
_OF_AMOUNTS = (*_OF_ONE_COLUMN, "difference", "columns")
_AGGREGATED = ("sum", "mean", "min", "max", "extreme", "top", "columns")


def _money() -> frozenset[str]:
    return words_of_type("money")


def _one_row(found: Interpretation) -> bool:
    """Whether a condition of the program leaves one row alone."""
    return any(condition.size == 1 for condition in found.best.candidate.conditions)


def _units_apart(found: Interpretation) -> str:
    """A column says a unit or currency for each row, and the rows are not chosen by it."""
    said = any(
        view.stems in (("unit",), ("currenc",), ("unit", "of", "measur")) and view.distinct > 1
        for view in found.source.columns
    )
    computed = found.op in ("sum", "mean", "min", "max")
    measure = found.best.candidate.measure
    if measure is not None and measure.unit_stems:
        return ""  # a header in minutes is of no column of units
    if computed and all(value.unit is not None and value.unit not in NO_UNIT for value in found.said):
        return ""  # amounts of several currencies have no sum: those of these rows are of one
    return (
        "The rows have units of their own."
        if said and found.op in _AGGREGATED and not _one_row(found)
        else ""
    )


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


def _several_amounts(found: Interpretation) -> str:
    """*How much was spent on rent* asks for one amount, and several rows have one."""
    asked = found.question.cues.keys() & {"how_much", "how_many"} or _WHAT_DOES.match(found.question.lower)
    conditions = found.best.candidate.conditions
    rows = min((condition.size for condition in conditions if condition.size), default=1)
    several = max(len(found.best.denotation.rows), rows if len(conditions) == 1 else 1) > 1
    wrong = found.op == "select" and asked and several and found.target is not None and found.target.measure
    return "Several rows have an amount, and the question asks for one." if wrong else ""


def _money_for_a_number(found: Interpretation) -> str:
    """*How many fines* asks for no money, unless it says in which currency."""
    read = found.target or found.best.candidate.measure
    if found.question.wh != "how_many" or read is None or found.op not in _OF_ONE_COLUMN:
        return ""
    shown = {value.unit for value in found.said if value.unit is not None}
    if shown and _one_row(found):
        money = any(unit.startswith("CCY_") for unit in shown)
    else:
        money = bool(read.aspects & _money()) or any((unit or "").startswith("CCY_") for unit in read.units)
    asked = found.question.unit_asked or any(t.number.unit for t in found.question.thresholds)
    return f"The question asks for a number, and {read.name} is money." if money and not asked else ""


def _number_for_money(found: Interpretation) -> str:
    """*How much did we take in fines* asks for money, where the table has some: not for how many fines there were."""
    question, read = found.question, found.target or found.best.candidate.measure
    if question.wh != "how_much" or read is None or found.op not in _OF_AMOUNTS or not read.numeric:
        return ""
    if any(
        adjective.comparative and token & question.cues.get("difference", 0) and adjective.headers
        for adjective, token in question.adjectives
    ):
        return ""  # how much longer
    units = {unit for unit in (*read.units, read.unit_hint) if unit and unit not in COUNTS}
    plain = all(comparable(unit, "SEC") for unit in units) and not read.aspects & _money()
    other = [v for v in found.source.columns if v is not read and v.measure and v.aspects & _money()]
    paid = any(token.stem in words_of_type("paying") for token in question.tokens)
    paid = paid or bool(_PRICE_OF_ONE.match(question.lower))
    meant = paid or not found.source.link(read).exact
    return f"The question asks how much, and {read.name} is no money." if plain and other and meant else ""


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


def _rate_of_a_rate(found: Interpretation) -> str:
    """An hourly wage by the hours of a week is neither the wage of a week nor that of an hour."""
    if not found.best.candidate.op.startswith("ratio/per"):
        return ""
    read = [view.name for view in found.source.columns if view.ref in found.read and _RATE.search(view.name)]
    return f"{read[0]} is told per something else already." if read else ""


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
    named = read.unit_hint is not None or asked[0] in set(map(unit_named, read.unit_stems))
    if units and units <= NO_UNIT and not named and not words & set(read.stems):
        return f"The table does not say that {read.name} is in the unit asked for."
    other = {unit for unit in units - NO_UNIT if unit != asked[0] and comparable(unit, asked[0])}
    hours = [value.number for value in found.said if value.unit == "SEC" and value.number is not None]
    if asked[0] == "HR" and hours and min(hours) >= 3600:
        return ""  # 19:45 says how many hours
    return "The answer is in another unit than the one asked for." if other and not read.clock else ""


def _scale_not_known(found: Interpretation) -> str:
    """*In millions* of a table that states no scale: its numbers may be in millions already."""
    asked = found.question.unit_asked
    small = [value for value in found.said if value.number is not None and 0 < abs(value.number) < 1]
    scaled = asked is not None and asked[0] in ("THOUSAND", "MILLION", "BILLION")
    return "The table does not say the scale of its numbers." if scaled and small else ""


def _days_for_years(found: Interpretation) -> str:
    """*How many years* of months or years asks for no number of days, which is not known to the day."""
    asked = found.question.unit_asked
    days = asked is not None and asked[0] in ("YR", "MO") and any(value.unit == "DAY" for value in found.said)
    return "The question does not ask for days." if days else ""


def _rows_for_days(found: Interpretation) -> str:
    """*How many days lay between two visits* is no number of visits."""
    between = {"days_between", "between"} <= found.question.cues.keys()
    wrong = between and found.op in ("count", "count_distinct")
    return "The question asks for a length of time, and rows are counted." if wrong else ""


def _occasions_added_up(found: Interpretation) -> str:
    """*How many times* is no sum of lengths of time."""
    timed = any(value.kind is ValueKind.DURATION for value in found.said)
    asked = re.search(r"\b(?:amount|number) of times\b|\bhow many times\b", found.question.lower)
    return "The question asks how often." if asked and timed else ""


def _place_for_a_length(found: Interpretation) -> str:
    """*How long did it take her* is not told by her place."""
    read = found.target or found.best.candidate.measure
    asked = {"how_long"} & found.question.cues.keys() and re.search(r"\bhow long\b", found.question.lower)
    ordinal = read is not None and read.role is not ColumnRole.PLAIN and found.op in ("select", "min", "max")
    return (
        f"The question asks for a length of time, and {read.name} is none."
        if asked and ordinal and read
        else ""
    )


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


def _percent_not_computed(found: Interpretation) -> str:
    """*How many percent of the families* is not their number."""
    cues = found.question.cues
    asked = cues.get("percent", 0) | (
        cues.get("share", 0) if found.question.wh in ("what_is", "other") else 0
    )
    read = found.target or found.best.candidate.measure
    points = "points" in found.question.cues
    if (
        not asked
        or points
        or found.op not in ("select", "sum", "count", "count_distinct", "mean", "difference")
    ):
        return ""
    told = Question._all(condition.mask for condition in found.best.candidate.conditions)
    told |= found.source.title | (found.source.link(read).mask if read is not None else 0)
    numbers = [value for value in found.said if value.number is not None]
    plain = any(value.unit != "PERCENT" for value in numbers) or not numbers
    counted = read is None or "PERCENT" not in {read.unit_hint, *read.units}
    return "The question asks for a percentage." if asked & ~told and plain and counted else ""


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


def _one_of_several_ratios(found: Interpretation) -> str:
    """*Cost per square metre* of a flat may be its rent or its heating costs by its area."""
    measure, source = found.best.candidate.measure, found.source
    if not found.best.candidate.op.endswith("/per") or measure is None or source.link(measure).exact:
        return ""
    others = [
        v.name for v in source.columns if v.measure and v.ref not in found.read and v.units == measure.units
    ]
    return f"The question does not say whether {measure.name} or {others[0]} is meant." if others else ""


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


UNIT_CHECKS: tuple[Callable[[Interpretation], str], ...] = (
    _units_apart,
    _more_of_a_time,
    _several_amounts,
    _rate_of_a_rate,
    _another_unit_asked,
    _scale_not_known,
    _days_for_years,
    _rows_for_days,
    _occasions_added_up,
    _place_for_a_length,
    _length_of_a_time,
    _percent_not_computed,
    _rate_not_computed,
    _money_for_a_number,
    _number_for_money,
    _clock_not_named,
    _cost_of_which,
    _below_zero_long,
    _whole_is_a_part,
    _one_of_several_ratios,
    _worth_of_several,
    _share_of_itself,
)
"""The checks of units, in the order in which their reasons are told."""
