"""The grounding check: does each cited cell exist, and does each number come from one of them?

A number is grounded where it stands in a cited cell, with its scale and rounding understood, or is the
result of the stated calculation, which is computed again from the cells' exact values. Words are
grounded where a cited cell, its row's label or its column's header says them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

from kgtable.answering.arithmetic import CalculationFault, Operand, calculate
from kgtable.answering.evidence import Cell, Evidence
from kgtable.answering.reply import Draft
from kgtable.values.numbers import parse_number

_EXACT = Context(prec=34)


def decimal_string(number: Fraction) -> str:
    """The number as a plain decimal, to 34 significant digits.

    >>> decimal_string(Fraction(1, 8)), decimal_string(Fraction(1200))
    ('0.125', '1200')
    """
    found = _EXACT.divide(Decimal(number.numerator), Decimal(number.denominator))
    text = f"{found:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def number_of(cell: Cell) -> Fraction | None:
    """A cell's number, scale applied, from the graph or, failing that, from its text."""
    if cell.value is not None:
        return Fraction(cell.value)
    parsed = parse_number(cell.text.strip())
    return None if parsed is None else Fraction(parsed.value) * Fraction(10) ** parsed.scale


def unit_of(cell: Cell) -> str:
    """The cell's unit, empty for bare counts and where none is known."""
    return cell.unit if cell.unit is not None and cell.unit not in ("UNITLESS", "NUM") else ""


def contains(text: str, part: str) -> bool:
    """Whether `part` stands in `text` as whole words."""
    return f" {part} " in f" {text} "


def plain(text: str) -> str:
    """Letters and digits of the text, without case and accents."""
    folded = unicodedata.normalize("NFKD", text).casefold()
    return " ".join(re.findall(r"\w+", "".join(sign for sign in folded if not unicodedata.combining(sign))))


_NUMBER = re.compile(
    r"(?<![\w.,])(?P<open>\()?(?P<sign>[-+−–])?\s?(?:[$€£¥]\s?)?(?P<digits>\d+(?:,\d+)*(?:\.\d+)?|\.\d+)(?(open)\))"
    r"(?:\s?(?P<percent>%|percent\b|per cent\b)"
    r"|[\s-]?(?P<scale>thousand|million|billion|trillion|bn|mn?|tn|k)s?\b)?",
    re.IGNORECASE,
)
_SCALES = {
    "thousand": 3, "k": 3, "million": 6, "m": 6, "mn": 6, "billion": 9, "bn": 9, "trillion": 12, "tn": 12,
}  # fmt: skip
_FALLING = re.compile(
    r"\b(?:decreas|declin|fell|fall|drop|lower|less|fewer|loss|reduc|negative|down|differ|chang|between)",
    re.IGNORECASE,
)
_ROUNDING = Fraction(1, 20)


@dataclass(frozen=True, slots=True)
class StatedNumber:
    """A number in an answer: its text, its value as printed, and the smallest step of its digits.

    `power` is the power of ten it names, which a lone letter (`doubtful`) may not mean: 5 m are five
    metres or five million. A number in brackets (`bracketed`) is negative, or an aside.
    """

    text: str
    value: Fraction
    step: Fraction
    power: int | None = None
    percent: bool = False
    doubtful: bool = False
    bracketed: bool = False


def stated_numbers(text: str) -> Iterator[StatedNumber]:
    """The numbers in a text; digits inside words, such as A380, are none.

    >>> [(n.text, n.power) for n in stated_numbers("A380: $1.5 million, (3) and 12%")]
    [('$1.5 million', 6), ('(3)', None), ('12%', None)]
    """
    for match in _NUMBER.finditer(text):
        after = text[match.end() : match.end() + 1]
        if after.isalpha() or (after == "." and text[match.end() + 1 : match.end() + 2].isdigit()):
            continue
        digits = match["digits"].replace(",", "")
        negative = match["sign"] in ("-", "−", "–") or bool(match["open"])
        value = Fraction(Decimal(digits))
        decimals = len(digits.partition(".")[2])
        scale = (match["scale"] or "").lower()
        yield StatedNumber(
            match.group().strip(),
            -value if negative else value,
            Fraction(1, 10**decimals),
            _SCALES.get(scale),
            bool(match["percent"]),
            scale in ("k", "m"),
            bool(match["open"]),
        )


def speaks_of_falling(text: str) -> bool:
    """Whether a text words a fall or a difference, so that a number in it may go without its sign."""
    return _FALLING.search(text) is not None


def agrees(stated: StatedNumber, actual: Fraction, *, power: int, unsigned: bool) -> bool:
    """Whether `stated` is `actual` as a person would write it, rounded to the digits it has.

    `actual` has its scale applied; `power` is the scale it is printed with, which may be left out in
    the answer. A fraction may be stated in percent. `unsigned`: the sign may be put in words.
    """
    factors = [] if stated.power is None else [Fraction(10**stated.power)]
    if stated.power is None or stated.doubtful:
        factors += [Fraction(1), Fraction(10**power)]
    if stated.percent:
        factors = [Fraction(1), Fraction(1, 100)]
    return any(
        _close(stated.value * factor, target, stated.step * factor)
        for factor in dict.fromkeys(factors)
        for target in ((actual, -actual) if unsigned or stated.bracketed else (actual,))
    )


def _close(stated: Fraction, actual: Fraction, step: Fraction) -> bool:
    """Equal up to rounding to `step`, where rounding leaves most of the number."""
    gap = abs(stated - actual)
    return gap == 0 or (2 * gap <= step and gap <= _ROUNDING * abs(actual))


_YES_NO = re.compile(r"\W*(yes|no|true|false)\b", re.IGNORECASE)
_SEPARATOR = re.compile(r"\s*(?:;|\n|, and |, | and )\s*")
_CONSTANT = re.compile(r"100?|10{3,}")
_RESULT = re.compile(r"(?<![<>=!])=(?!=)")


@dataclass(frozen=True, slots=True)
class Grounding:
    """What the check found: the cells that exist, whether all holds, why (not), and the answer's number."""

    cells: tuple[Cell, ...]
    verified: bool
    reasons: tuple[str, ...]
    value: str | None = None
    unit: str | None = None
    calculation: str | None = None


def check(question: str, draft: Draft, evidence: Evidence) -> Grounding:
    """Checks a draft against the cells. Never raises for what a model wrote."""
    return _Check(question, draft, evidence).run()


class _Check:
    def __init__(self, question: str, draft: Draft, evidence: Evidence) -> None:
        self._question, self._draft, self._evidence = question, draft, evidence
        self._faults: list[str] = []
        self._cells: dict[str, Cell] = {}
        self._unsigned = speaks_of_falling(f"{question} {draft.text}")

    def run(self) -> Grounding:
        for cell_id in self._draft.citations:
            self._cite(cell_id)
        calculated = self._calculated()
        if not self._cells and not self._faults:
            self._faults.append("no cell is cited")
        cells = tuple(self._cells.values())
        numbers = list(stated_numbers(self._draft.text))
        value, unit = self._number(numbers, calculated, cells)
        if isinstance(calculated, bool):
            self._check_truth(calculated)
        elif not numbers:
            self._check_words(cells)
        shown = self._shown(calculated)
        good = "each cited cell exists"
        if numbers:
            good += (
                ", and each number is in one of them"
                if shown is None
                else ", and the calculation gives the number"
            )
        reasons = tuple(dict.fromkeys(self._faults)) or (good,)
        return Grounding(cells, not self._faults, reasons, value, unit, shown)

    def _cite(self, cell_id: str) -> Cell | None:
        cell = self._evidence.resolve(cell_id)
        if cell is None:
            self._faults.append(f"cell {cell_id[:40]} is cited but does not exist")
        else:
            self._cells.setdefault(cell_id, cell)
        return cell

    def counted(self, cell_id: str) -> Cell | None:
        """A cell that the calculation counts."""
        return self._cite(cell_id)

    def cell(self, cell_id: str) -> Operand:
        """The number in a cell that the calculation uses."""
        cell = self._cite(cell_id)
        number = number_of(cell) if cell else None
        if cell is None or number is None:
            raise CalculationFault(f"{cell_id} holds no number")
        return Operand(number, unit_of(cell))

    def literal(self, number: Decimal) -> Operand:
        """A number written out: a cited cell's as printed, one of the question's, or a bare constant."""
        value = Fraction(number)
        if not _CONSTANT.fullmatch(f"{number:f}"):
            for cell in self._cells.values():
                known = number_of(cell)
                if known is not None and abs(known) in (value, value * 10**cell.power):
                    return Operand(abs(known), unit_of(cell))
            asked = any(
                value in (found.value, found.value * 10 ** (found.power or 0))
                for found in stated_numbers(self._question)
            )
            if not asked and not (number == int(number) and number <= len(self._cells)):
                self._faults.append(f"the calculation uses {number:f}, which is in no cited cell")
        return Operand(value)

    def _calculated(self) -> Operand | bool | None:
        """The stated calculation done again, or None where there is none or it cannot be done."""
        if self._draft.calculation is None:
            return None
        expression, *results = _RESULT.split(self._draft.calculation)
        try:
            found = calculate(expression, self)
        except CalculationFault as fault:
            self._faults.append(f"the calculation cannot be checked: {fault}")
            return None
        said = list(stated_numbers(results[-1])) if results else []
        power = self._power()
        if (
            said
            and isinstance(found, Operand)
            and not agrees(said[-1], found.number, power=power, unsigned=False)
        ):
            self._faults.append(f"the calculation gives {decimal_string(found.number)}, not {said[-1].text}")
        return found

    def _power(self) -> int:
        """The scale that all cited numbers are printed with, or 0."""
        powers = {cell.power for cell in self._cells.values() if number_of(cell) is not None}
        return powers.pop() if len(powers) == 1 else 0

    def _number(
        self, numbers: Sequence[StatedNumber], calculated: Operand | bool | None, cells: Sequence[Cell]
    ) -> tuple[str | None, str | None]:
        """The number the answer gives, with its unit; notes each number that comes from nowhere."""
        main: tuple[str | None, str | None] = (None, None)
        result = calculated if isinstance(calculated, Operand) else None
        met = False
        for stated in numbers:
            if result is not None and agrees(
                stated, result.number, power=self._power(), unsigned=self._unsigned
            ):
                met = True
                percent = stated.percent and not result.unit
                main = decimal_string(result.number), "PERCENT" if percent else result.unit or None
                continue
            cell = self._cell_with(stated, cells)
            if cell is None and not self._is_said(stated, cells):
                self._faults.append(f"{stated.text} is in no cited cell")
            elif cell is not None and main[0] is None and result is None:
                number = number_of(cell)
                assert number is not None
                main = decimal_string(number), cell.unit
        if result is not None and not met and self._stands_beside(result.number, cells):
            return None, None
        if result is not None and not met:
            self._faults.append(
                f"the calculation gives {decimal_string(result.number)}, which the answer does not say"
            )
        return main

    def _stands_beside(self, number: Fraction, cells: Sequence[Cell]) -> bool:
        """Whether a cited cell in the row or column named by the answer holds the number, as the greatest."""
        whole = plain(self._draft.text)
        named = {(cell.table, cell.row) for cell in cells if whole in (plain(cell.text), plain(cell.label))}
        return any(
            number_of(cell) == number
            and ((cell.table, cell.row) in named or contains(plain(cell.header), whole))
            for cell in cells
        )

    def _cell_with(self, stated: StatedNumber, cells: Sequence[Cell]) -> Cell | None:
        for cell in cells:
            number = number_of(cell)
            if number is not None and agrees(stated, number, power=cell.power, unsigned=self._unsigned):
                return cell
        return None

    def _is_said(self, stated: StatedNumber, cells: Sequence[Cell]) -> bool:
        """Whether the number is part of a cited text, such as a date, or repeats the question."""
        digits = re.compile(rf"(?<!\d){re.escape(stated.text)}(?!\d)")
        texts = [text for cell in cells for text in (cell.label, cell.header)]
        texts += [cell.text for cell in cells if number_of(cell) is None]
        if any(digits.search(text) for text in texts):
            return True
        return len(list(stated_numbers(self._draft.text))) > 1 and bool(digits.search(self._question))

    def _check_truth(self, truth: bool) -> None:
        said = _YES_NO.match(self._draft.text)
        if said is None:
            return
        if (said[1].lower() in ("yes", "true")) is not truth:
            self._faults.append(f"the comparison is {str(truth).lower()}, but the answer is {said[1]}")

    def _check_words(self, cells: Sequence[Cell]) -> None:
        """Notes each part of a text answer that no cited cell says."""
        if _YES_NO.match(self._draft.text):
            if any(plain(cell.text) == plain(self._draft.text) for cell in cells):
                return
            self._faults.append("a yes or no without a comparison cannot be checked")
            return
        said = [plain(text) for cell in cells for text in (cell.text, cell.label, cell.header)]
        said = [text for text in said if text]
        whole = plain(self._draft.text)
        if not cells or any(whole == text for text in said):
            return
        for part in filter(None, map(plain, _SEPARATOR.split(self._draft.text))):
            if not any(contains(text, part) or contains(part, text) for text in said):
                self._faults.append(f"{part!r} is in no cited cell")

    def _shown(self, calculated: Operand | bool | None) -> str | None:
        """The calculation as it is told: with its result as computed here."""
        stated = self._draft.calculation
        if stated is None or calculated is None:
            return stated
        expression = _RESULT.split(stated)[0].strip()
        if isinstance(calculated, bool):
            return f"{expression} is {str(calculated).lower()}"
        return f"{expression} = {decimal_string(calculated.number)}"
