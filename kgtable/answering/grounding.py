"""The grounding check: does each cited cell exist, and does each number come from one of them?

A number is grounded where it stands in a cited cell, with its scale and rounding understood, or is the
result of the stated calculation, which is computed again from the cells' exact values. Words are
grounded where a cited cell, its row's label or its column's header says them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from kgtable.answering.arithmetic import Term, calculate
from kgtable.answering.calculation_tokens import CalculationFault
from kgtable.answering.comparable import contains, decimal_string, number_of, plain, unit_of
from kgtable.answering.evidence import Cell, Evidence
from kgtable.answering.reply import Draft
from kgtable.answering.stated import Stated, agrees, speaks_of_falling, stated_numbers

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

    def cell(self, cell_id: str) -> Term:
        """The number in a cell that the calculation uses."""
        cell = self._cite(cell_id)
        number = number_of(cell) if cell else None
        if cell is None or number is None:
            raise CalculationFault(f"{cell_id} holds no number")
        return Term(number, unit_of(cell))

    def literal(self, number: Decimal) -> Term:
        """A number written out: a cited cell's as printed, one of the question's, or a bare constant."""
        value = Fraction(number)
        if not _CONSTANT.fullmatch(f"{number:f}"):
            for cell in self._cells.values():
                known = number_of(cell)
                if known is not None and abs(known) in (value, value * 10**cell.power):
                    return Term(abs(known), unit_of(cell))
            asked = any(
                value in (found.value, found.value * 10 ** (found.power or 0))
                for found in stated_numbers(self._question)
            )
            if not asked and not (number == int(number) and number <= len(self._cells)):
                self._faults.append(f"the calculation uses {number:f}, which is in no cited cell")
        return Term(value)

    def _calculated(self) -> Term | bool | None:
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
            and isinstance(found, Term)
            and not agrees(said[-1], found.number, power=power, unsigned=False)
        ):
            self._faults.append(f"the calculation gives {decimal_string(found.number)}, not {said[-1].text}")
        return found

    def _power(self) -> int:
        """The scale that all cited numbers are printed with, or 0."""
        powers = {cell.power for cell in self._cells.values() if number_of(cell) is not None}
        return powers.pop() if len(powers) == 1 else 0

    def _number(
        self, numbers: Sequence[Stated], calculated: Term | bool | None, cells: Sequence[Cell]
    ) -> tuple[str | None, str | None]:
        """The number the answer gives, with its unit; notes each number that comes from nowhere."""
        main: tuple[str | None, str | None] = (None, None)
        result = calculated if isinstance(calculated, Term) else None
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

    def _cell_with(self, stated: Stated, cells: Sequence[Cell]) -> Cell | None:
        for cell in cells:
            number = number_of(cell)
            if number is not None and agrees(stated, number, power=cell.power, unsigned=self._unsigned):
                return cell
        return None

    def _is_said(self, stated: Stated, cells: Sequence[Cell]) -> bool:
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

    def _shown(self, calculated: Term | bool | None) -> str | None:
        """The calculation as it is told: with its result as computed here."""
        stated = self._draft.calculation
        if stated is None or calculated is None:
            return stated
        expression = _RESULT.split(stated)[0].strip()
        if isinstance(calculated, bool):
            return f"{expression} is {str(calculated).lower()}"
        return f"{expression} = {decimal_string(calculated.number)}"
