"""Rules that compare: extremes, differences, shares, yes or no."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal, localcontext

from kgtable.answering.offline import question
from kgtable.answering.offline import question as english
from kgtable.answering.offline.linking import HINTED_AT, Linking, RuleFinding, cell_id, cell_ids, printed
from kgtable.answering.offline.lookups import look_up, year_columns
from kgtable.answering.offline.question import QuestionForm, stems
from kgtable.answering.offline.view import KEYS, RuleTable
from kgtable.tables.model import Position

_NEXT_WORDS = 3
_NEXT_TO_IT = 1.0
"""How much it speaks for a column to be named right after the adjective: the highest *attendance*."""

_NAMED_ENOUGH = 0.3
_ROUNDING = Decimal("0.02")
"""How far a total may be from the sum of its parts, some of which are withheld or rounded."""


def value(linking: Linking, row: int, column: int | None) -> Decimal | None:
    """A row's number, time or duration in the column; without a column its place in the table."""
    if column is None:
        return Decimal(row)
    view = linking.view
    time = view.time(row, column)
    if time is not None:
        digits = re.sub(r"\D", "", time)[:8].ljust(8, "0")
        return Decimal(digits) if digits else None
    number = view.number(row, column)
    return view.duration(row, column) if number is None else number


def ranked(linking: Linking, rows: tuple[int, ...], column: int) -> list[tuple[Decimal, int]]:
    """The rows by the column's value, the least first; of equal ones the first in the table wins."""
    found = [(known, row) for row in rows if (known := value(linking, row, column)) is not None]
    return sorted(found, key=lambda item: (item[0], -item[1] * linking.question.direction))


def sums_the_others(numbers: Mapping[int, Decimal], column: int) -> bool:
    """Whether the column's number is about the sum of the others, as a total is that bears no such name."""
    found = numbers[column]
    return abs(sum(numbers.values(), Decimal(0)) - 2 * found) <= abs(found) * _ROUNDING


def order_column(linking: Linking) -> int | None:
    """The column of dates or years, the best named; None where the rows' own order has to do."""
    view, scores = linking.view, linking.column_scores()
    timed = [column for column in view.columns if view.time_share(column) > 0.6]
    return max(timed, key=lambda column: (scores[column], -column), default=None)


def size_column(linking: Linking, exclude: int | None = None) -> int | None:
    """The column of sizes that is meant: named, or hinted at by the adjective, or the only one."""
    named = named_size_column(linking, exclude)
    if named is not None:
        return named
    view = linking.view
    sized = [
        column
        for column in view.columns
        if view.numeric_share(column) > 0.6
        and column != exclude
        and not view.numbers_rows(column)
        and view.time_share(column) < 0.6
    ]
    totals = [column for column in sized if view.is_total(column)]
    return totals[0] if totals else sized[0] if len(sized) == 1 else None


def named_size_column(linking: Linking, exclude: int | None = None) -> int | None:
    """The column of sizes that the question names, best of all right after its adjective, or hints at.

    One whose cells are asked for is taken only where its name follows the adjective.
    """
    view, scores = linking.view, linking.column_scores()
    hints, after = linking.question.hinted, _after_the_adjective(linking)
    asked = linking.asked_columns
    rated = [
        (
            scores[column]
            + HINTED_AT * bool(view.headers[column] & hints)
            + _NEXT_TO_IT * (bool(view.headers[column] & after) - (column in asked)),
            -column,
        )
        for column in view.columns
        if column != exclude and _sizes(linking, column, hints)
    ]
    best = max(rated, default=None)
    return -best[1] if best is not None and best[0] > _NAMED_ENOUGH else None


def _sizes(linking: Linking, column: int, hints: frozenset[str]) -> bool:
    view = linking.view
    if KEYS & view.headers[column] and not KEYS & linking.question.content:
        return False
    if view.numeric_share(column) > 0.6:
        return view.time_share(column) < 0.6 or bool(view.headers[column] & hints)
    return view.duration_share(column) > 0.6


def _after_the_adjective(linking: Linking) -> frozenset[str]:
    """The words that follow the question's superlative."""
    found = english.any_of("most", "least").search(linking.question.text)
    return frozenset(stems(linking.question.text[found.end() :])[:_NEXT_WORDS]) if found else frozenset()


_AND_HOW_OFTEN = re.compile(
    r"\band (?:how (?:many|often)|(?:the |its |their )?(?:number|count))\b", re.IGNORECASE
)


def commonest(linking: Linking, rows: tuple[int, ...]) -> RuleFinding | None:
    """The text that most (or fewest) of the rows have in the column asked for; None where none recurs."""
    asked = linking.asked_columns
    column, surety = (asked[0], 1.0) if asked else linking.answer_column()
    counts = Counter(text for row in rows if (text := linking.view.text(row, column)))
    if not counts or max(counts.values()) == 1:
        return None
    direction = linking.question.direction
    chosen = max(counts, key=lambda text: counts[text] * direction)
    ties = sum(count == counts[chosen] for count in counts.values())
    cells = tuple((row, column) for row in rows if linking.view.text(row, column) == chosen)
    how_often = _AND_HOW_OFTEN.search(linking.question.text)
    said = question.asked("commonest").search(linking.question.text)
    return RuleFinding(
        chosen if how_often is None else f"{chosen}; {counts[chosen]}",
        cells,
        0.5 + surety,
        QuestionForm.EXTREME,
        used=frozenset(stems(said.group())) if said else frozenset(),
        doubts=() if ties == 1 else (f"{ties} stand equally often",),
    )


_YEAR = re.compile(r"(?:19|20)\d\d")
_MOST_NAMESAKES = 3
"""In how many rows a name may stand to name one of them."""

_SIGNED = re.compile(r"increase\s*/?\s*\(?decrease|decrease\s*/?\s*\(?increase|\bchange\b", re.IGNORECASE)
_UNSIGNED = re.compile(r"\b(?:difference|decreas\w*|declin\w*|reduc\w*|more|less)\b", re.IGNORECASE)


def difference_of_columns(linking: Linking) -> RuleFinding | None:
    """One row's later number less its earlier."""
    return None if _between_rows(linking) else _difference(linking, two_columns(linking))


def difference_of_rows(linking: Linking) -> RuleFinding | None:
    """The number of the row named first less that of the second, or the later's less the earlier's."""
    return _difference(linking, _rows_in_time(linking))


def _difference(linking: Linking, pair: tuple[tuple[Position, Position], float] | None) -> RuleFinding | None:
    if pair is None:
        return None
    (old, new), support = pair
    view = linking.view
    first, second = view.number(*old), view.number(*new)
    assert first is not None
    assert second is not None
    if len({cell.unit for place in (old, new) if (cell := view.evidence.cell(view.id, *place))}) > 1:
        return None
    gap = second - first
    unsigned = _UNSIGNED.search(linking.question.text) and not _SIGNED.search(linking.question.text)
    if unsigned and gap < 0:
        old, new, gap = new, old, -gap
    calculation = f"{cell_id(view, *new)} - {cell_id(view, *old)}"
    return RuleFinding(
        printed(view, gap, (old, new)), (old, new), support, QuestionForm.DIFFERENCE, calculation
    )


def change_of_columns(linking: Linking) -> RuleFinding | None:
    """The difference between a row's later and earlier number in percent of the earlier."""
    return None if _between_rows(linking) else _change(linking, two_columns(linking))


def change_of_rows(linking: Linking) -> RuleFinding | None:
    """The difference between the numbers of two rows named in percent of the earlier, or the second."""
    return _change(linking, _rows_in_time(linking))


def _change(linking: Linking, pair: tuple[tuple[Position, Position], float] | None) -> RuleFinding | None:
    if pair is None:
        return None
    (old, new), support = pair
    view = linking.view
    first, second = view.number(*old), view.number(*new)
    if first is None or second is None or not first:
        return None
    calculation = f"({cell_id(view, *new)} - {cell_id(view, *old)}) / {cell_id(view, *old)} * 100"
    doubts = (
        ("both numbers are percentages: their difference may be meant",)
        if percentages(view, old, new)
        else ()
    )
    text = percent((second - first) / first)
    return RuleFinding(text, (old, new), support, QuestionForm.CHANGE, calculation, doubts=doubts)


def percentages(view: RuleTable, *places: Position) -> bool:
    cells = [view.evidence.cell(view.id, *place) for place in places]
    return all(cell is not None and cell.unit == "PERCENT" for cell in cells)


def _between_rows(linking: Linking) -> bool:
    """Whether two rows are named by their labels, and no two years: what is compared are these rows."""
    if len(year_columns(linking)) > 1:
        return False
    labels = [found for found in linking.mentions if found.column == linking.view.label_column]
    rows = {min(found.rows) for found in labels if len(found.rows) == 1}
    return len({row for row in rows if not is_a_total(linking.view, row)}) == 2


def is_a_total(view: RuleTable, row: int) -> bool:
    return view.label_words(row) == frozenset(stems("total"))


def percent(ratio: Decimal) -> str:
    """The ratio in percent, to two decimals and no fewer than three digits that count."""
    with localcontext() as context:
        context.prec = 28
        hundredths = ratio * 100
        finest = min(-2, hundredths.adjusted() - 2) if hundredths else -2
        rounded = hundredths.quantize(Decimal(1).scaleb(finest))
    return f"{rounded.normalize():f}%"


def two_columns(linking: Linking) -> tuple[tuple[Position, Position], float] | None:
    """The cells of one row in two columns, the earlier first: of the years or columns that are named."""
    view, scores = linking.view, linking.column_scores()
    dated = year_columns(linking)
    chosen = sorted(dated, key=lambda column: -scores[column])[:2]
    if len(chosen) < 2:
        named = [column for column in view.columns if scores[column] > 0 and view.numeric_share(column) > 0.3]
        chosen = sorted(named, key=lambda column: -scores[column])[:2]
    if len(chosen) < 2:
        chosen = _with_the_year_before(linking) or list(view.year_columns)[:2]
    if len(chosen) < 2:
        return None
    old, new = sorted(chosen, key=lambda column: (view.year_columns.get(column, ""), column))
    numbered = (row for row in view.rows if None not in (view.number(row, old), view.number(row, new)))
    best = linking.best_row(tuple(numbered))
    return None if best is None else (((best[0], old), (best[0], new)), best[1])


def _with_the_year_before(linking: Linking) -> list[int]:
    """The column of the one year that is named, and that of the year before."""
    columns = {year: column for column, year in reversed(linking.view.year_columns.items())}
    named = [year for year in linking.question.years if year in columns]
    if len(named) != 1 or str(int(named[0]) - 1) not in columns:
        return []
    return [columns[str(int(named[0]) - 1)], columns[named[0]]]


def two_rows(linking: Linking) -> tuple[Position, Position] | None:
    """The cells of the two rows that are named, in the question's order, in the column that is meant."""
    column = number_column(linking)
    if column is None:
        return None
    places: dict[int, int] = {}
    totals = _between_rows(linking)
    for mention in linking.mentions:
        if totals and is_a_total(linking.view, min(mention.rows)):
            continue
        if mention.column != column and len(mention.rows) <= _MOST_NAMESAKES:
            places.setdefault(min(mention.rows), mention.start)
    rows = [
        row
        for row in sorted(places, key=lambda row: places[row])
        if linking.view.number(row, column) is not None
    ]
    return ((rows[0], column), (rows[1], column)) if len(rows) > 1 else None


def _rows_in_time(linking: Linking) -> tuple[tuple[Position, Position], float] | None:
    """The cells of two rows, the earlier first where they have years, else the one named second."""
    named = two_rows(linking)
    if named is None:
        return None
    first, second = named
    years = [re.findall(_YEAR, " ".join(linking.view.row_words(row))) for row, _ in named]
    by_time = all(years) and years[0] != years[1] and min(years) == years[0]
    return ((first, second) if by_time else (second, first)), 1.0


def number_column(linking: Linking) -> int | None:
    """The numeric column that the question names best; the only one where it names none."""
    scores, view = linking.column_scores(), linking.view
    numeric = [column for column in view.columns if view.numeric_share(column) > 0.5]
    taken = {mention.column for mention in linking.mentions}
    free = [column for column in numeric if column not in taken] or numeric
    hinted = linking.question.hinted
    named = {column: scores[column] + 0.8 * bool(view.headers[column] & hinted) for column in free}
    return max(free, key=lambda column: (named[column], column), default=None)


_MORE_OR_LESS = re.compile(r"\b(more|higher|greater|larger) or (less|fewer|lower|smaller)\b", re.IGNORECASE)
_FEWEST_COLUMNS = 3
_OR = re.compile(r"(.*)\bor\b(.*)", re.IGNORECASE)
_COMPARED_YEAR = re.compile(r"\b(?:19|20)\d\d\b")


def when(linking: Linking) -> RuleFinding | None:
    """In which year was it larger: the header of the column in which a row's number is greatest or least."""
    view = linking.view
    best = linking.best_row()
    if best is None:
        return None
    row = best[0]
    years = {
        column: found
        for column in view.columns
        if (found := _COMPARED_YEAR.findall(view.table.columns[column].name))
    }
    sized = sorted((number, column) for column in years if (number := view.number(row, column)) is not None)
    if len(sized) < 2:
        return None
    thresholds = linking.question.size_thresholds
    if thresholds:
        met = [column for number, column in sized if all(one.holds(number) for one in thresholds)]
        text = "; ".join(years[column][-1] for column in sorted(met))
        cells = tuple((row, column) for column in sorted(met))
        return RuleFinding(
            text, cells, best[1] + 1.0, QuestionForm.WHEN, used=linking.question.threshold_words
        )
    least = english.any_of("smaller", "least").search(linking.question.text)
    chosen = sized[0] if least else sized[-1]
    cells = tuple((row, column) for _, column in sorted(sized, key=lambda item: item[1]))
    calculation = f"{'min' if least else 'max'}({cell_ids(view, cells)})"
    ordered = ((row, chosen[1]), *(place for place in cells if place[1] != chosen[1]))
    return RuleFinding(years[chosen[1]][-1], ordered, best[1] + 1.0, QuestionForm.WHEN, calculation)


def column_of_extreme(linking: Linking) -> RuleFinding | None:
    """Which country had the largest area of wheat: the header of the column in which one row is greatest.

    Where the largest area itself is asked for it is the number there.
    """
    view, question = linking.view, linking.question
    best = linking.best_row()
    heads = frozenset().union(*view.headers)
    if best is None or question.ordered or question.place > 1 or question.focus & heads:
        return None
    row, support = best
    numbers = _other_numbers(linking, row) if view.label_words(row) & question.content else {}
    if not numbers:
        return None
    size = max(numbers.values()) if question.direction > 0 else min(numbers.values())
    chosen = next(column for column, number in numbers.items() if number == size)
    cells = tuple((row, column) for column in numbers)
    calculation = f"{'max' if question.direction > 0 else 'min'}({cell_ids(view, cells)})"
    ordered = ((row, chosen), *(place for place in cells if place[1] != chosen))
    itself = english.asked("the_most_itself").search(question.text)
    text = view.text(row, chosen) if itself else view.called((row, chosen))
    return RuleFinding(text, ordered, support, QuestionForm.EXTREME, calculation)


def _other_numbers(linking: Linking, row: int) -> dict[int, Decimal]:
    """A row's numbers by column, without totals; nothing where it holds few, or other things."""
    view = linking.view
    filled = [column for column in view.columns if column != view.label_column and view.text(row, column)]
    numbers = {column: found for column in filled if (found := view.number(row, column)) is not None}
    if len(numbers) < max(_FEWEST_COLUMNS, len(filled)) or any(view.time_share(c) > 0.5 for c in numbers):
        return {}
    return {
        column: found
        for column, found in numbers.items()
        if not view.is_total(column) and not sums_the_others(numbers, column)
    }


def compare_columns(linking: Linking) -> RuleFinding | None:
    """Had East or West more garlic: of two columns that are named that in which the row's number is more."""
    view, scores = linking.view, linking.column_scores()
    named = [column for column in view.columns if scores[column] > 0 and view.numeric_share(column) > 0.3]
    best = [column for column in named if scores[column] == max(map(scores.__getitem__, named))]
    pair = best if len(best) == 2 else named
    if len(pair) != 2 or not _on_both_sides(linking, pair[0], pair[1]):
        return None
    rows = tuple(row for row in view.rows if all(view.number(row, column) is not None for column in pair))
    row = linking.best_row(rows) if rows else None
    if row is None or not view.label_words(row[0]) & linking.question.content:
        return None
    sizes = {column: view.number(row[0], column) for column in pair}
    ranked = sorted(pair, key=lambda column: sizes[column] or Decimal(0))
    if sizes[ranked[0]] == sizes[ranked[1]]:
        return None
    less = english.any_of("smaller", "least").search(linking.question.text)
    chosen, other = ranked if less else ranked[::-1]
    calculation = f"{'min' if less else 'max'}({cell_ids(view, ((row[0], pair[0]), (row[0], pair[1])))})"
    cells = ((row[0], chosen), (row[0], other))
    return RuleFinding(view.called((row[0], chosen)), cells, row[1], QuestionForm.COMPARE, calculation)


def _on_both_sides(linking: Linking, one: int, other: int) -> bool:
    """Whether what tells two columns from one another stands on either side of the question's last *or*."""
    match = _OR.search(linking.question.text)
    if match is None:
        return False
    before, after = frozenset(stems(match[1])), frozenset(stems(match[2]))
    headers = linking.view.headers
    mine, its = headers[one] - headers[other], headers[other] - headers[one]
    return bool((mine & before and its & after) or (its & before and mine & after))


def compare(linking: Linking) -> RuleFinding | None:
    """Which of two named things has more, or came first."""
    view, question = linking.view, linking.question
    tail = question.text.rstrip("?. ")
    either = _MORE_OR_LESS.search(tail)
    if either is not None:
        return _more_or_less(linking, either[1].lower(), either[2].lower())
    match = re.search(r"(.*?)\bor\b(?!.*\bor\b)(.*)$", tail, re.IGNORECASE)
    if match is None:
        return None
    split = len(stems(match[1]))
    left = [m for m in linking.mentions if m.end <= split]
    right = [m for m in linking.mentions if m.start >= split]
    pairs = [(a, b) for a in left for b in right if a.column == b.column and a.rows != b.rows]
    if not pairs:
        return None
    one, other = max(pairs, key=lambda pair: (pair[0].start, pair[0].end - pair[0].start))
    direction = -1 if english.any_of("earlier").search(tail) else 1
    timed = english.any_of("timed").search(tail)
    measure = order_column(linking) if timed else size_column(linking, exclude=one.column)
    sides = []
    for mention in (one, other):
        values = [
            known for row in sorted(mention.rows) if (known := value(linking, row, measure)) is not None
        ]
        if measure is None and not timed:
            sides.append((Decimal(len(mention.rows)), mention))
        elif values:
            sides.append((max(values) if direction > 0 else min(values), mention))
    if len(sides) < 2 or sides[0][0] == sides[1][0]:
        return None
    chosen = max(sides, key=lambda side: side[0] * direction)[1]
    cells = [(min(m.rows), m.column) for m in (chosen, one if chosen is other else other)]
    calculation = None
    if measure is not None:
        measured = tuple((min(m.rows), measure) for m in (one, other))
        cells += measured
        if all(len(m.rows) == 1 and view.number(min(m.rows), measure) is not None for m in (one, other)):
            calculation = f"{'max' if direction > 0 else 'min'}({cell_ids(view, measured)})"
    text = view.text(min(chosen.rows), chosen.column)
    return RuleFinding(text, tuple(dict.fromkeys(cells)), 2.0, QuestionForm.COMPARE, calculation)


def _more_or_less(linking: Linking, more: str, less: str) -> RuleFinding | None:
    """Whether the row that is named first has more or less than the second."""
    named = two_rows(linking)
    if named is None:
        return None
    one, other = (linking.view.number(*place) for place in named)
    if one is None or other is None or one == other:
        return None
    ids = [cell_id(linking.view, *place) for place in named]
    said, sign = (more, ">") if one > other else (less, "<")
    return RuleFinding(
        said,
        named,
        2.0,
        QuestionForm.COMPARE,
        f"{ids[0]} {sign} {ids[1]}",
        frozenset(stems(f"{more} {less}")),
    )


_NO_SIZES = frozenset({"person", "place"})
_PLACES = ("", "second 2nd", "third 3rd", "fourth 4th", "fifth 5th")
_OF_THE_LIST = re.compile(
    r"\b(top|bottom|first|last|end)\b.*\b(?:of|in|on) the (?:list|table|chart)\b", re.IGNORECASE
)


def extreme(linking: Linking) -> RuleFinding | None:
    """What stands in the row with the greatest or least number, or first or last in order."""
    question = linking.question
    measure = order_column(linking) if question.ordered else named_size_column(linking)
    rows, told = _rows(linking, measure)
    if not rows:
        return None
    placed = _OF_THE_LIST.search(question.text)
    if placed is not None:
        return _in_order(linking, rows if placed[1].lower() in ("bottom", "last", "end") else rows[:1])
    if measure is None and not question.ordered:
        found = commonest(linking, rows)
        measure = size_column(linking) if found is None else None
        if measure is None:
            return found
    if measure is None:
        return _in_order(linking, rows)
    return _extreme_of(linking, rows, measure, told)


def _rows(linking: Linking, measure: int | None) -> tuple[tuple[int, ...], frozenset[str]]:
    """The rows among which the extreme is looked for, and the words of conditions applied to them."""
    view, question = linking.view, linking.question
    named = linking.named_rows(frozenset([measure] if measure is not None else []))
    rows = view.ranked_rows if named is None or len(named) < 2 else named
    rows, applied = linking.conditioned(tuple(row for row in rows if row in view.plain_rows) or rows)
    return rows, question.threshold_words if applied else frozenset()


def _extreme_of(
    linking: Linking, rows: tuple[int, ...], measure: int, told: frozenset[str]
) -> RuleFinding | None:
    view, question = linking.view, linking.question
    sized = ranked(linking, rows, measure)
    if len(sized) < max(question.place, question.first_several):
        return None
    upwards = (question.direction > 0) is not (not question.ordered and _counts_down(linking, measure))
    columns, surety = _columns(linking, measure)
    best = sized[-question.place] if upwards else sized[question.place - 1]
    if question.first_several > 1:
        chosen = sized[::-1][: question.first_several] if upwards else sized[: question.first_several]
        return _several(linking, tuple(row for _, row in chosen), columns, measure)
    texts = [view.text(best[1], column) for column in columns]
    text = "; ".join(filter(None, texts)) or view.text(best[1], view.label_column)
    cells = tuple(dict.fromkeys([*((best[1], column) for column in columns), (best[1], measure)]))
    calculation = None
    exact = all(view.number(row, measure) is not None for _, row in sized)
    if not question.ordered and question.place == 1 and exact:
        measured = tuple((row, measure) for _, row in sorted(sized, key=lambda item: item[1]))
        calculation = f"{'max' if upwards else 'min'}({cell_ids(view, measured)})"
        cells = tuple(dict.fromkeys([*cells, *measured]))
    ties = {tuple(view.text(row, column) for column in columns) for size, row in sized if size == best[0]}
    shared = sum(size == best[0] for size, _ in sized)
    doubts = [] if len(ties) == 1 else [f"{shared} rows share the extreme"]
    doubts += linking.threshold_doubts
    used = frozenset(stems(_PLACES[question.place - 1])) | told
    support = 1.0 + surety + 0.5 * (len(rows) < len(view.plain_rows))
    return RuleFinding(text, cells, support, QuestionForm.EXTREME, calculation, used, doubts=tuple(doubts))


def _columns(linking: Linking, measure: int) -> tuple[tuple[int, ...], float]:
    """The columns of which the extreme row's cells are told, and how sure that is."""
    view, question = linking.view, linking.question
    if linking.asked_columns:
        return linking.asked_columns, 1.0
    if question.wants == "number" and not english.asked("how_many").search(question.text):
        return (measure,), 1.0
    column, surety = linking.answer_column()
    named = bool(view.headers[column] & question.focus) and question.wants not in _NO_SIZES
    if column == measure and question.wants != "number" and not named:
        column = view.label_column
    return (column,), surety


def _several(
    linking: Linking, rows: tuple[int, ...], columns: tuple[int, ...], measure: int
) -> RuleFinding | None:
    """The first few of an extreme: their cells, or the sum of these where a number is asked for."""
    view = linking.view
    cells = tuple((row, column) for row in rows for column in columns if view.text(row, column))
    numbers = [view.number(*place) for place in cells]
    if linking.question.wants == "number" and len(columns) == 1 and None not in numbers:
        total = sum((number for number in numbers if number is not None), Decimal(0))
        return RuleFinding(
            printed(view, total, cells), cells, 1.0, QuestionForm.SUM, f"sum({cell_ids(view, cells)})"
        )
    text = "; ".join(dict.fromkeys(view.text(*place) for place in cells))
    cited = tuple(dict.fromkeys([*cells, *((row, measure) for row in rows)]))
    return RuleFinding(text, cited, 1.0, QuestionForm.EXTREME, used=linking.question.several_words)


def _counts_down(linking: Linking, measure: int) -> bool:
    """Whether the most has the least number: the best of ranks, the oldest of dates."""
    ranks = not linking.view.headers[measure].isdisjoint(stems(english.section("words")["ranks"]))
    if ranks:
        return english.any_of("rated").search(linking.question.text) is not None
    born = linking.view.time_share(measure) > 0.6
    return born and english.any_of("aged").search(linking.question.text) is not None


def _in_order(linking: Linking, rows: tuple[int, ...]) -> RuleFinding | None:
    """The first or last row, or the first or last few, as the table has them."""
    asked = linking.asked_columns
    columns, surety = (asked, 1.0) if asked else ((found := linking.answer_column())[:1], found[1])
    several = min(linking.question.first_several, len(rows))
    chosen = rows[-several:] if linking.question.direction > 0 else rows[:several]
    cells = tuple((row, column) for row in chosen for column in columns if linking.view.text(row, column))
    text = "; ".join(linking.view.text(*place) for place in cells)
    used = linking.question.several_words
    return RuleFinding(text, cells, 0.5 + surety, QuestionForm.EXTREME, used=used) if text else None


_OPENING = re.compile(
    r"^.*?\b(?:percent\w*|%|portion|share|proportion|fraction|ratio)\s+(?:of|does|do|did)\b", re.IGNORECASE
)
_RATIO = re.compile(r"\bratio\b", re.IGNORECASE)
_PART_BEFORE = re.compile(
    r"\b(?:(?:as|in) an? (?:\w+ )?|(?:is|was|are|were|represents?|represented) what )"
    r"(?:percent\w*|%|portion|share|proportion|fraction) of\b",
    re.IGNORECASE,
)
_IN_A_TOTAL = re.compile(
    r"\b(?:in|over|out of|within)\s+(?:the\s+)?((?:\w+\s+){0,2}total\b.*|(?!FY|F?\d)\S+(?:\s+in\s+\S+)?)$",
    re.IGNORECASE,
)
_FEWEST_SUMMED = 4


def share_of_columns(linking: Linking) -> RuleFinding | None:
    """One row's number in percent of that under another year, or of that in a column of totals."""
    view, scores = linking.view, linking.column_scores()
    dated = year_columns(linking)
    if len(dated) == 2 and _RATIO.search(linking.question.text):
        part, whole = sorted(dated, key=lambda column: linking.question.years.index(dated[column]))
    else:
        numeric = [
            column for column in view.columns if scores[column] > 0 and view.numeric_share(column) > 0.5
        ]
        totals = [column for column in numeric if view.is_total(column)]
        totals = totals if len(totals) == 1 else _summing(linking)
        parts = [column for column in numeric if column not in totals]
        if len(totals) != 1 or not parts:
            return None
        part, whole = max(parts, key=lambda column: scores[column]), totals[0]
    numbered = (row for row in view.rows if None not in (view.number(row, part), view.number(row, whole)))
    best = linking.best_row(tuple(numbered))
    return None if best is None else _share(linking, (best[0], part), (best[0], whole), best[1])


def _summing(linking: Linking) -> list[int]:
    """The column that in the best row is about the sum of its other numbers: an unnamed total."""
    view, best = linking.view, linking.best_row()
    if best is None:
        return []
    numbers = {c: found for c in view.columns if (found := view.number(best[0], c)) is not None}
    total = sum(numbers.values(), Decimal(0))
    if len(numbers) < _FEWEST_SUMMED:
        return []
    nearest = min(numbers, key=lambda column: (abs(total - 2 * numbers[column]), column))
    return [nearest] if sums_the_others(numbers, nearest) else []


def share_of_rows(linking: Linking) -> RuleFinding | None:
    """One row's number in percent of another's, both in the column that the question names."""
    view, column = linking.view, number_column(linking)
    if column is None:
        return None
    pairs = [
        (one[1] + other[1], one[0], other[0])
        for first, second in _parts_and_wholes(linking.question.text)
        if (one := _row_for(linking, first)) and (other := _row_for(linking, second)) and one[0] != other[0]
    ]
    if not pairs:
        return None
    _, part, whole = max(pairs)
    total = frozenset(stems("total"))
    text = linking.question.text
    if (total & view.label_words(part) - view.label_words(whole) and not _RATIO.search(text)) or (
        not _RATIO.search(text) and not _PART_BEFORE.search(text) and _exceeds(view, part, whole, column)
    ):
        part, whole = whole, part
    return _share(linking, (part, column), (whole, column), 1.0)


def _exceeds(view: RuleTable, part: int, whole: int, column: int) -> bool:
    """Whether the part would be more than its whole: then the two were taken for one another."""
    one, other = view.number(part, column), view.number(whole, column)
    return one is not None and other is not None and abs(one) > abs(other) > 0


def _parts_and_wholes(text: str) -> Iterator[tuple[str, str]]:
    """The words that may name a part, with those that may name its whole."""
    split = _PART_BEFORE.search(text)
    if split is not None:
        yield text[: split.start()], text[split.end() :]
        return
    bare = _OPENING.sub("", text).strip(" ?")
    inside = _IN_A_TOTAL.search(bare)
    if inside is not None and not _RATIO.search(text):
        yield bare[: inside.start()], inside[1]
    words = bare.split()
    for at in range(1, len(words)):
        first, second = " ".join(words[:at]), " ".join(words[at:])
        yield (first, second) if _RATIO.search(text) else (second, first)


def _share(linking: Linking, part: Position, whole: Position, support: float) -> RuleFinding | None:
    view = linking.view
    top, bottom = view.number(*part), view.number(*whole)
    if top is None or not bottom or percentages(view, part) is not percentages(view, whole):
        return None
    quotient = f"{cell_id(view, *part)} / {cell_id(view, *whole)}"
    if _RATIO.search(linking.question.text):
        return RuleFinding(_ratio(top / bottom), (part, whole), support, QuestionForm.SHARE, quotient)
    ratio = top / bottom
    if ratio < 0:
        # costs stand in brackets: what share of a whole they are is told without their sign
        ratio, quotient = -ratio, f"abs({quotient})"
    return RuleFinding(percent(ratio), (part, whole), support, QuestionForm.SHARE, f"{quotient} * 100")


def _ratio(ratio: Decimal) -> str:
    with localcontext() as context:
        context.prec = 28
        rounded = ratio.quantize(Decimal("0.0001"))
    return f"{rounded.normalize():f}"


def _row_for(linking: Linking, text: str) -> tuple[int, float] | None:
    """The row whose label the text names best, and how well; None where it names none."""
    view = linking.view
    asked = frozenset(stems(text))
    best: tuple[int, float] | None = None
    for row in view.rows:
        label = view.label_words(row)
        met = sum(view.row_weights.get(word, 0.0) for word in label & asked)
        lost = sum(view.row_weights.get(word, 0.0) for word in label - asked)
        if met - lost / 2 > (best[1] if best else 0.0):
            best = row, met - lost / 2
    return best


def more_than_another(linking: Linking) -> RuleFinding | None:
    """Does one of two named things have more (or less) than the other."""
    question = linking.question
    words = english.asked("more_or_less").search(question.text)
    named = two_rows(linking) if words and re.search(r"\bthan\b", question.text, re.IGNORECASE) else None
    if words is None or named is None:
        return None
    first, second = named
    return _compared(linking, first, second, ">" if words["more"] else "<")


def risen_or_fallen(linking: Linking) -> RuleFinding | None:
    """Did something increase (or decrease) between two periods."""
    words = english.asked("rise_or_fall").search(linking.question.text)
    pair = two_columns(linking) if words else None
    if words is None or pair is None:
        return None
    (old, new), _ = pair
    return _compared(linking, new, old, ">" if words["rise"] else "<")


def beyond_a_number(linking: Linking) -> RuleFinding | None:
    """Is a number that the question names more (or less) than one it gives."""
    thresholds = linking.question.size_thresholds
    found = look_up(linking.without_thresholds()) if len(thresholds) == 1 else None
    if found is None or len(found.cells) != 1:
        return None
    number = linking.view.number(*found.cells[0])
    if number is None:
        return None
    (threshold,) = thresholds
    holds = threshold.holds(number)
    calculation = f"{cell_id(linking.view, *found.cells[0])} {threshold.sign} {threshold.number:f}"
    return RuleFinding(
        _said(holds), found.cells, 2.0, QuestionForm.YES_NO, calculation, linking.question.threshold_words
    )


def cell_says(linking: Linking) -> RuleFinding | None:
    """A cell of yes or no in the row and column that are named."""
    found = look_up(linking)
    if found is None or len(found.cells) != 1:
        return None
    truth = linking.view.truth(*found.cells[0])
    if truth is None:
        return None
    return RuleFinding(found.text, found.cells, found.support, QuestionForm.LOOKUP)


def row_holds(linking: Linking) -> RuleFinding | None:
    """Whether one row holds everything that the question names."""
    spans = {(mention.start, mention.end) for mention in linking.mentions}
    if len(spans) < 2:
        return None
    together: dict[int, set[tuple[int, int]]] = {}
    for mention in linking.mentions:
        for row in mention.rows:
            together.setdefault(row, set()).add((mention.start, mention.end))
    row = max(sorted(together), key=lambda found: len(together[found]))
    cells = tuple((row, mention.column) for mention in linking.mentions if row in mention.rows)
    said = "yes" if len(together[row]) == len(spans) else "no"
    return RuleFinding(said, tuple(dict.fromkeys(cells)), float(len(together[row])), QuestionForm.YES_NO)


def _compared(linking: Linking, one: Position, other: Position, sign: str) -> RuleFinding | None:
    view = linking.view
    first, second = view.number(*one), view.number(*other)
    if first is None or second is None:
        return None
    holds = _holds(first, second, sign)
    calculation = f"{cell_id(view, *one)} {sign} {cell_id(view, *other)}"
    return RuleFinding(_said(holds), (one, other), 2.0, QuestionForm.YES_NO, calculation)


def _holds(first: Decimal, second: Decimal, sign: str) -> bool:
    return first > second if sign == ">" else first < second


def _said(holds: bool) -> str:
    return "yes" if holds else "no"
