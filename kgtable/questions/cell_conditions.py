"""Conditions by cells: texts that a question says in whole or in part, lists, headings, numbers, yes and no, blanks."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cached_property

from kgtable.programs.algebra import (
    And,
    ColumnRef,
    Compare,
    Constant,
    Expression,
    IsMissing,
    Membership,
    Relator,
    RowChoice,
    ValueKind,
)
from kgtable.programs.dimensions import comparable
from kgtable.programs.relation import NAMING, MemberKind
from kgtable.programs.scalars import normal
from kgtable.questions.column_links import ColumnLinks, inflected
from kgtable.questions.conditions import Condition, run_beside
from kgtable.questions.english import fold, light_words, word_stem
from kgtable.questions.mentions import NumberMention, QuestionToken
from kgtable.questions.reading import Question
from kgtable.questions.relation_index import LONGEST_VALUE, CellIndex, ColumnView, stems_of
from kgtable.tables.model import Role
from kgtable.text.words import is_empty_word

MOST_LISTED = 40
"""Different cells that one condition names."""

_ITEM = re.compile(r"\s*(?:[,;/\n|]|\s[&+]\s|\band\b)\s*")
_QUALIFIED = re.compile(r"(?<=\w)\s*\([^()]*\)$")
_TOWARDS = {"into": "to", "onto": "to", "towards": "to", "toward": "to"}
_ENDS = frozenset({"from", "to"})
"""Prepositions that head columns of where something begins and where it ends."""
_ENDING_SIGNS = frozenset("+-−–#*")
_MINUS = str.maketrans("−–", "--")


class CellConditions(ColumnLinks):
    """What one question names of the cells of one table."""

    @cached_property
    def cells(self) -> CellIndex:
        """The cells by their words, those of long columns among them that the question says."""
        return self.index.cells.said_in([token.word for token in self.question.tokens if not token.empty])

    def of_cells(self) -> Iterator[Condition]:
        """All of them, in no order."""
        yield from self._exact()
        yield from self._partial()
        yield from self._groups()
        yield from self._numbers()
        yield from self._truths()
        yield from self._missing()

    def _exact(self) -> Iterator[Condition]:
        """Runs of tokens that are a whole cell, the longest first; function words only by their capitals."""
        question, cells = self.question, self.cells
        tokens = question.tokens
        stems = [token.stem for token in tokens]
        covered: dict[int, int] = defaultdict(int)
        for size in range(min(LONGEST_VALUE, len(tokens)), 0, -1):
            for start in range(len(tokens) - size + 1):
                key = tuple(stems[start : start + size])
                places = cells.whole.get(key)
                if not places:
                    continue
                mask = ((1 << size) - 1) << start
                run = tokens[start : start + size]
                printed = {place: self._is_printed(run[0], cells.text(place)) for place in places}
                for place in sorted(places, key=lambda place: not printed[place]):
                    column = place[0]
                    if mask & ~covered[column] == 0:
                        continue
                    text = cells.text(place)
                    thing = size == 1 and self._is_thing(run[0])
                    spelt = thing or printed[place] or self._value_by_case(run, text)
                    if all(token.empty for token in run) and not spelt:
                        continue
                    covered[column] |= mask
                    before = _TOWARDS.get(tokens[start - 1].word, tokens[start - 1].stem) if start else ""
                    ends = _ENDS & {before, *self.index.columns[column].stems}
                    said = len(ends) == 1 and before in ends and before in self.index.columns[column].stems
                    same = fold(text) == fold(question.text[run[0].start : run[-1].end])
                    quality = 1.0 if same else 0.93
                    if size == 1 and len(run[0].text) <= 2 and not run[0].text[0].isdigit() and run[0].text.islower():
                        quality = 0.3
                    if said:  # "from Kiel" of a column "From"
                        yield self._equal(place, mask | 1 << start - 1, "exact", quality + 0.15)
                        continue
                    if len(ends) == 2:
                        quality = 0.4
                    yield self._equal(place, mask, "exact", quality)

    def _is_printed(self, first: QuestionToken, text: str) -> bool:
        """Whether a cell of letters and a sign, as the blood group A−, is written as it is from this word on."""
        return text[-1:] in _ENDING_SIGNS and self.question.text.translate(_MINUS).startswith(
            text.translate(_MINUS), first.start
        )

    def _is_thing(self, token: QuestionToken) -> bool:
        """Whether a word that is mostly a verb is in a noun's position: "the plan for travel"."""
        before = self.question.tokens[token.index - 1].word if token.index else ""
        return token.word in light_words() and not is_empty_word(token.word) and before in ("for", "on", "of")

    def _value_by_case(self, run: Sequence[QuestionToken], text: str) -> bool:
        """Whether function words are meant as a cell: written with its capitals within the sentence, or quoted."""
        question = self.question
        first, last = run[0], run[-1]
        said = question.text[first.start : last.end]
        mask = question.mask(first.start, last.end)
        if question.quoted & mask == mask:
            return fold(said) == fold(text)
        plain = normal(text)
        if said.casefold() != plain or not any(map(str.isupper, said)):
            return False
        inner = first.index > 0 or (said.isupper() and len(said) > 1 and not question.text.isupper())
        return inner and said[:1].isupper() and (said == text.strip("*†¹²³ ") or said.isupper())

    def _equal(self, place: tuple[int, int], mask: int, kind: str, quality: float) -> Condition:
        cells, view = self.cells, self.index.columns[place[0]]
        text = cells.text(place)
        rows = cells.rows(place)
        kinds = {int(self.index.relation.kinds[row]) for row in rows}
        choice = RowChoice.MEMBERS if MemberKind.MEMBER in kinds else RowChoice.ALL
        expression = Compare(Relator.EQUAL, view.ref, _constant(text, view))
        return Condition(expression, mask, view.place, kind, quality, choice, len(rows), text)

    def _partial(self) -> Iterator[Condition]:
        """Cells some of whose words are in the question: in each column, those with the most."""
        question, cells = self.question, self.cells
        hits: dict[tuple[int, int], int] = defaultdict(int)
        for token in question.tokens:
            if token.empty or (token.stem.isdigit() and len(token.stem) < 3):
                continue
            bit = 1 << token.index
            for place in cells.words.get(token.stem, ())[:4000]:
                hits[place] |= bit
            if len(token.stem) >= 5 and token.stem.isalpha():
                for place in cells.prefixes.get(token.stem[:4], ())[:500]:
                    if not hits[place] & bit and any(inflected(token.stem, stem) for stem in cells.stems[place]):
                        hits[place] |= bit
        by_column: dict[int, list[tuple[float, int, tuple[int, int]]]] = defaultdict(list)
        for place, mask in hits.items():
            if not mask:
                continue
            stems = [stem for stem in cells.stems[place] if not is_empty_word(stem)] or cells.stems[place]
            share = mask.bit_count() / max(len(stems), mask.bit_count())
            by_column[place[0]].append((share, mask, place))
        for column, found in by_column.items():
            view = self.index.columns[column]
            kind = Question._all(1 << token.index for token in question.tokens if token.stem in view.own)
            best: dict[int, list[tuple[float, tuple[int, int]]]] = defaultdict(list)
            for share, mask, place in found:
                if mask & ~kind:  # "bridge" names the kind of thing, though all names end with "Bridge"
                    best[mask].append((share, place))
            masks = sorted(best, key=lambda mask: (-mask.bit_count(), -max(s for s, _ in best[mask])))[:8]
            for mask in masks:
                inside = any(other & mask == mask and other != mask for other in best)
                places = sorted(best[mask], key=lambda entry: (-entry[0], entry[1]))
                top = places[0][0]
                apart = list(self._containing_all(view, mask, [place for _, place in places], inside))
                if apart:  # not one of these cells, but all of them
                    yield from apart
                    continue
                exact = self._is_exact(places[0][1])
                if top < 1.0 or not exact or len(stems_of(cells.text(places[0][1]))) != mask.bit_count():
                    for share, place in places[: 3 if len(places) > 3 else 4]:
                        if share >= 0.999 and self._is_exact(place):
                            continue
                        quality = 0.25 + 0.5 * share - (0.15 if inside else 0) - (0.1 if len(places) > 1 else 0)
                        yield self._equal(place, mask, "partial", quality)
                if all(self._is_exact(place) for _, place in places):
                    continue
                yield from self._containing(view, mask, [place for _, place in places], inside)

    def _is_exact(self, place: tuple[int, int]) -> bool:
        stems = self.cells.stems[place]
        said = [token.stem for token in self.question.tokens]
        size = len(stems)
        return any(tuple(said[i : i + size]) == stems for i in range(len(said) - size + 1))

    def _containing(
        self, view: ColumnView, mask: int, places: Sequence[tuple[int, int]], inside: bool
    ) -> Iterator[Condition]:
        """A containment whose words are adjacent in the question and in the cells."""
        low = (mask & -mask).bit_length() - 1
        size = mask.bit_length() - low
        if mask != ((1 << size) - 1) << low:
            return
        run = self.question.tokens[low : low + size]
        said = normal(self.question.text[run[0].start : run[-1].end]).removesuffix("'s")
        held = [place for place in places if said in normal(self.cells.text(place))]
        yield from self._listed(view, mask, said, held)
        if not held:
            singular = said.removesuffix("s")
            held = [place for place in places if len(singular) > 3 and singular in normal(self.cells.text(place))]
            said = singular
        if held:
            quality = 0.6 - (0.15 if inside else 0) + (0.1 if len(held) > 1 else 0)
            rows = sum(len(self.cells.rows(place)) for place in held[:50])
            expression = Compare(Relator.CONTAINS, view.ref, Constant(said))
            yield Condition(expression, mask, view.place, "contains", quality, size=rows, text=said)

    def _containing_all(
        self, view: ColumnView, mask: int, places: Sequence[tuple[int, int]], inside: bool
    ) -> Iterator[Condition]:
        """A containment of words that lie apart in the question, in several cells: "deposited from Acme Inc"."""
        runs: list[list[QuestionToken]] = []
        for token in (token for token in self.question.tokens if mask >> token.index & 1):
            if runs and runs[-1][-1].index == token.index - 1:
                runs[-1].append(token)
            else:
                runs.append([token])
        if len(runs) < 2 or len(places) < 2:
            return
        texts = {place: normal(self.cells.text(place)) for place in places}
        said = [normal(self.question.text[run[0].start : run[-1].end]).removesuffix("'s") for run in runs]
        said = [words for words in said if any(words in text for text in texts.values())]
        held = [place for place, text in texts.items() if all(words in text for words in said)]
        if said and len(held) > 1:
            parts = tuple(Compare(Relator.CONTAINS, view.ref, Constant(words)) for words in said)
            rows = sum(len(self.cells.rows(place)) for place in held[:50])
            expression: Expression = parts[0] if len(parts) == 1 else And(parts)
            quality = 0.6 - (0.15 if inside else 0)
            yield Condition(expression, mask, view.place, "contains", quality, size=rows, text=" ".join(said))

    def _listed(self, view: ColumnView, mask: int, said: str, held: Sequence[tuple[int, int]]) -> Iterator[Condition]:
        """The cells that list what the question says among other things: *French* in "French, German"."""
        texts = {place: normal(self.cells.text(place)) for place in held}
        items = [place for place in held if said in _ITEM.split(_QUALIFIED.sub("", texts[place]))]
        if not any(_ITEM.search(texts[place]) for place in items) or len(items) > MOST_LISTED:
            return
        rows = sum(len(self.cells.rows(place)) for place in items)
        expression: Expression = Compare(Relator.CONTAINS, view.ref, Constant(said))
        if len(items) < len(held):
            printed = (" ".join(self.cells.text(place).split()) for place in items)
            expression = Membership(view.ref, tuple(map(Constant, printed)))
        yield Condition(expression, mask, view.place, "listed", 0.98, size=rows, text=said)

    def _groups(self) -> Iterator[Condition]:
        """Headings over rows that the question says."""
        stems = {token.stem: 1 << token.index for token in self.question.tokens if not token.empty}
        for name, text, said in self.index.group_values:
            content = [stem for stem in said if not is_empty_word(stem)] or list(said)
            mask = 0
            for stem in content:
                mask |= stems.get(stem, 0)
            if mask:
                share = mask.bit_count() / max(len(content), mask.bit_count())
                expression = Compare(Relator.EQUAL, ColumnRef(name, self.index.id), Constant(text))
                yield Condition(expression, mask, -1, "group", 0.3 + 0.5 * share, text=text)

    def _numbers(self) -> Iterator[Condition]:
        """Numbers of the question that occur in cells."""
        question, cells = self.question, self.cells
        limits = Question._all(t.number.mask for t in question.thresholds if t.relator is not Relator.EQUAL)
        for number in (*question.numbers, *(NumberMention(Decimal(n), m, str(n)) for n, m in question.ordinals)):
            if number.mask & (limits | question.limit[1]):  # "top 3" limits no number
                continue
            seen: set[int] = set()
            ordinal = any(m == number.mask for _, m in question.ordinals)
            for place in cells.numbers.get(number.value, ()):
                view = self.index.columns[place[0]]
                named = self.columns[place[0]].mask & number.mask << 1  # "the second floor" of a column "Floor"
                if place[0] in seen or (ordinal and view.role is not Role.ORDINAL and not named):
                    continue
                if number.unit and view.units and not any(comparable(number.unit, unit) for unit in view.units):
                    continue
                seen.add(place[0])
                link = self.columns[place[0]]
                near = run_beside(number.mask, link.mask)
                quality = 0.45 + 0.4 * (bool(near) and link.score > 0.5) + (0.1 if view.role in NAMING else 0)
                mask = number.mask | near | number.unit_mask
                found = self._equal(place, mask, "number", min(quality, 0.95))
                if view.numeric and view.role not in NAMING:
                    constant = Constant(number.value, ValueKind.QUANTITY, number.unit, number.scale)
                    found = replace(found, expression=Compare(Relator.EQUAL, view.ref, constant))
                yield found

    def _truths(self) -> Iterator[Condition]:
        """Columns of yes and no that the question names: the rows where it holds."""
        for view, link in zip(self.index.columns, self.columns, strict=True):
            if view.kind is ValueKind.TRUTH and link.score >= 0.5:
                expression = Compare(Relator.EQUAL, view.ref, Constant(True, ValueKind.TRUTH))
                yield Condition(expression, link.mask, view.place, "truth", 0.4 + 0.3 * link.score)
            for token in self.question.tokens if view.kind is ValueKind.TRUTH else ():
                # "Unpaid" is what a column "Paid" denies.
                if token.word.startswith("un") and word_stem(token.word[2:]) in view.own:
                    expression = Compare(Relator.EQUAL, view.ref, Constant(False, ValueKind.TRUTH))
                    yield Condition(expression, 1 << token.index, view.place, "untruth", 0.7)

    def _missing(self) -> Iterator[Condition]:
        """Columns with blank cells, where the question negates or asks for what is not there."""
        words = [token.word for token in self.question.tokens]
        for view, link in zip(self.index.columns, self.columns, strict=True):
            first = (link.mask & -link.mask).bit_length() - 1
            out_of = first >= 2 and words[first - 2 : first] == ["out", "of"]  # out of stock: there is none
            negation = 3 << first - 2 if out_of else self.question.cues.get("negation", 0)
            if view.missing and link.score >= 0.5 and negation:
                yield Condition(IsMissing(view.ref), link.mask | negation, view.place, "missing", 0.5)
            for token in self.question.tokens if view.missing else ():  # "unpaid", of a column "Paid on" with gaps
                if token.word.startswith("un") and word_stem(token.word[2:]) in view.own:
                    yield Condition(IsMissing(view.ref), 1 << token.index, view.place, "missing", 0.6)
            zero = self.cells.numbers.get(Decimal(0), ())
            blank = "nothing_there" in self.question.cues  # "no value" is a blank, not a zero
            if negation and not blank and link.exact and view.numeric and any(place[0] == view.place for place in zero):
                expression = Compare(Relator.EQUAL, view.ref, Constant(Decimal(0), ValueKind.QUANTITY))
                yield Condition(expression, link.mask | negation, view.place, "zero", 0.6)


def _constant(text: str, view: ColumnView) -> Constant:
    return Constant(" ".join(text.split()))
