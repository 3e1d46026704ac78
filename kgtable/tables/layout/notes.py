"""Notes next to a table, headers that come again, and the marks that point to notes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from kgtable.tables.layout.cell_roles import Look, blank, filled, look
from kgtable.tables.model import Grid, Row

LONGEST_LABEL = 300
LONGEST_NOTE = 4_000
SENTENCE = 80

_SUPERSCRIPTS = "¹²³⁴⁵⁶⁷⁸⁹⁰ᵃᵇᶜᵈᵉᶠ"
_SYMBOL = r"\*{1,4}|[†‡§¶]{1,3}|\#"
_ROUND = rf"\(\s?(?:\d{{1,2}}|[a-z]|[ivx]{{1,4}}|{_SYMBOL})\s?\)"
_SQUARE = r"\[\s?(?:\d{1,3}|[a-z]|note \d+)\s?\]"
_RAISED = rf"(?:{_SYMBOL}|[{_SUPERSCRIPTS}]+)"
_NOTE_START = re.compile(
    rf"\s*(?P<mark>{_ROUND}|{_SQUARE}|{_RAISED}|(?P<plain>(?:\d{{1,2}}|[a-z])(?=[.):]\s|\s[^\W\d_])[.):]?))"
    r"\s*(?P<text>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_NOTE_WORD = re.compile(
    r"\s*(?:(?:data )?sources?|(?:foot)?notes?|n\.?b\.?|remarks?|see also|key|legend|quellen?|anmerkung(?:en)?|hinweise?"  # noqa: E501
    r"|stand|as of|last updated?|fuentes?|notas?|bron|kilde|källa|units?|einheit|unité|unidad|p\.s\.)\s*[:(\d]|\s*(?:sources?|notes?|n\.?b\.?|remarks?"  # noqa: E501
    r"|key|legend)\s*\.|\s*(?:copyright\b|©)",
    re.IGNORECASE,
)
_DEFINITION = re.compile(r"\s*(?P<sign>[^\W\d_]{1,2}|[:.*†‡#–—-]{1,3})\s*=\s*(?P<meaning>\S.*)", re.DOTALL)
_OF_WHICH = re.compile(
    r"\W*(?:of which|of that|thereof|hereof|included above|davon|darunter|dont|di cui|waarvan|de los cuales|heraf)\b",
    re.IGNORECASE,
)
_MARK = re.compile(rf"{_ROUND}|{_SQUARE}|{_RAISED}$|(?<=[^\W\d_])\d{{1,2}}$|(?<=[\w)] )(?:\d{{1,2}}|[a-z])\)$")
_LETTERS_BEHIND = re.compile(r"(?<=\d)[A-Za-z]{1,2}$|(?<=\d )[A-Za-z]{1,2}$")
_CLOSING_WORD = re.compile(
    r"\s*(?:contact|e-?mail|url|licen[cs]e|retrieved|accessed|downloaded|published|prepared by|compiled by|author)s?:",
    re.IGNORECASE,
)
"""The beginnings of a text at the end of a table that states its source."""


def find_repeated_headers(grid: Grid, header: Collection[int], body: Mapping[int, Row]) -> frozenset[int]:
    """The body rows that are a header row again, as where a table goes on after a page break."""
    above = {tuple(map(str.strip, grid.head[row])) for row in header if len(filled(grid.head[row])) > 1}
    texts = {row[0] for row in above if row[0]}
    return frozenset(
        index for index, row in body.items() if row and row[0].strip() in texts and tuple(map(str.strip, row)) in above
    )


def closing_texts(grid: Grid, body: Mapping[int, Row]) -> frozenset[int]:
    """The lines that a blank row parts from the body above, with texts where that has numbers and no number at all.

    Without a blank row, a last line that was merged over the whole width, and the lines of one cell below all others
    where each has the form of a note.
    """
    rows = [row for row in body if filled(body[row])]
    whole = {area.top for area in grid.merged if area.left == 0 and area.right >= grid.width - 1}
    if len(rows) > 1 and rows[-1] in whole:
        return frozenset(rows[-1:])
    last = max((at for at, row in enumerate(rows) if len(filled(body[row])) > 1), default=len(rows))
    ends = rows[last + 1 :]
    if ends and len(ends) <= MOST_CLOSING and all(_is_note(body[row][filled(body[row])[0]]) for row in ends):
        return frozenset(ends)
    rows = list(body)
    gap = next((at for at in range(len(rows) - 1, 0, -1) if not filled(body[rows[at]])), 0)
    closing = [row for row in rows[gap + 1 :] if filled(body[row])]
    above = [body[row] for row in rows[:gap] if filled(body[row])]
    figures = {c for row in above for c in filled(row) if look(row[c]) is Look.NUMBER}
    if len(above) < 2 or not figures or len(closing) > MOST_CLOSING:
        return frozenset()
    sentences = all(" " in body[row][filled(body[row])[0]].strip() for row in closing)
    worded = all(look(body[row][c]) is not Look.NUMBER for row in closing for c in filled(body[row]))
    return frozenset(closing) if sentences and worded else frozenset()


def last_label(body: Mapping[int, Row], notes: Collection[int]) -> frozenset[int]:
    """The last line, taken for a note, if it is right below the rows and is a capitalized word."""
    last = max((row for row in body if filled(body[row])), default=-1)
    if last not in notes or last - 1 in notes or not filled(body.get(last - 1, ())) or len(filled(body[last])) > 1:
        return frozenset()
    text = body[last][filled(body[last])[0]].strip()
    named = len(text.split()) <= MOST_WORDS_OF_A_LABEL and text.replace(" ", "").isalpha()
    return frozenset((last,)) if named and text[:1].isupper() else frozenset()


MOST_CLOSING, MOST_WORDS_OF_A_LABEL = 5, 1


def find_parts(body: Mapping[int, Row], label_column: int) -> frozenset[int]:
    """The rows that say what part of another row's amount is: "of which wages"."""
    return frozenset(
        index
        for index, row in body.items()
        if label_column < len(row) and _OF_WHICH.match(row[label_column]) and len(row[label_column]) <= LONGEST_LABEL
    )


MOST_NOTES = 40
"""A column with more texts than this is one of the table, not of notes next to it."""


def find_notes_beside(grid: Grid, header: Collection[int], body_start: int) -> dict[int, tuple[str, ...]]:
    """The columns at the right that hold notes on the table instead of data, with their texts from the top.

    Such a column has nothing below a header that reads as a note, or no header at all and a blank
    column to its left.
    """
    found: dict[int, tuple[str, ...]] = {}
    for column, (above, below) in _texts_at_right(grid, header, body_start).items():
        apart = column - 1 in found or all(_is_blank_at(row, column - 1) for row in grid.head)
        if above and not ((_is_note(above[0]) and " " in above[0]) or (apart and _is_wordy(above[0]))):
            continue
        if below and not (apart and all(_is_note(text) or _is_wordy(text) for text in below)):
            continue
        found[column] = (*above, *below)
    return found


def _texts_at_right(grid: Grid, header: Collection[int], body_start: int) -> dict[int, tuple[list[str], list[str]]]:
    """The columns with either one text in the header or few in the body, with these."""
    texts: dict[int, tuple[list[str], list[str]]] = {column: ([], []) for column in range(2, grid.width)}
    for index, row in enumerate(grid.head):
        if not texts:
            break
        for column in [column for column in texts if not _is_blank_at(row, column)]:
            above, below = texts[column]
            (below if index >= body_start else above).append(row[column].strip())
            titled = index < body_start and index not in header
            if titled or len(above) > 1 or (above and below) or len(below) > MOST_NOTES:
                del texts[column]
    return {column: (above, below) for column, (above, below) in texts.items() if above or below}


def _is_blank_at(row: Row, column: int) -> bool:
    return column >= len(row) or blank(row[column])


def _is_wordy(text: str) -> bool:
    return len(text.split()) > 2 and look(text) is Look.TEXT


def definitions(texts: Iterable[str]) -> dict[str, str]:
    """The letters and signs that notes define, with what they mean: "p = preliminary".

    >>> definitions(["p = preliminary", ".. = not available", "Prices rose."])
    {'p': 'preliminary', '..': 'not available'}
    >>> definitions(["Amounts in EUR; k = thousand, m = million."])
    {'k': 'thousand', 'm': 'million.'}
    """
    found = (_DEFINITION.fullmatch(part) for text in texts if "=" in text for part in _definition_parts(text))
    return {match["sign"]: match["meaning"].strip() for match in found if match}


def _definition_parts(text: str) -> Iterator[str]:
    """The definitions that a note lists, without the word it begins with: "Note: k = thousand, m = million"."""
    text = text[:LONGEST_NOTE]
    parts = re.split(r"[;,]", text) if text.count("=") > 1 or ";" in text else [text]
    for part in parts:
        name, colon, rest = part.partition(":")
        yield rest if colon and "=" not in name and name.strip() else part


def find_marks(
    grid: Grid,
    header: Iterable[int],
    body: Iterable[Row],
    footnotes: Iterable[int],
    beside: Iterable[str] = (),
) -> Mapping[str, str]:
    """The footnote marks of headers and body cells with their texts, where a note explains them.

    Marks are keyed as printed: ``(1)``, ``[a]``, ``*``, ``†``, or ``1`` where it is glued to a word.
    Notes are looked for in the footnote rows first, then next to (`beside`) and around the table.
    """
    notes: dict[str, str] = {}
    own = [next((cell for cell in grid.head[row] if not blank(cell)), "") for row in sorted(footnotes)]
    texts = (*own, *beside, *grid.context.after, *grid.context.before, *grid.context.paragraphs)
    letters = {sign: meaning for sign, meaning in definitions(texts).items() if sign.isalpha()}
    for text in texts:
        match = _NOTE_START.match(text[:LONGEST_NOTE])
        if match:
            notes.setdefault(_plain(match["mark"]), match["text"].strip())
    if not notes and not letters:
        return {}
    marks: dict[str, str] = {}
    cells = (cell for row in (*(grid.head[row] for row in header), *body) for cell in row)
    for text in cells:
        for match in _MARK.finditer(text[-LONGEST_LABEL:].strip()):
            core = _plain(match[0])
            if core in notes:
                marks.setdefault(match[0], notes[core])
        if letters and (behind := _LETTERS_BEHIND.search(text)) and behind[0] in letters:
            marks.setdefault(behind[0], letters[behind[0]])
    return marks


def _is_note(text: str) -> bool:
    if _NOTE_WORD.match(text) or _CLOSING_WORD.match(text) or _DEFINITION.fullmatch(text):
        return True
    match = _NOTE_START.match(text)
    if match and not match["plain"]:
        return True
    return len(text) > SENTENCE and text.endswith(".")


def _plain(mark: str) -> str:
    return mark.strip("()[].: ").casefold().translate(str.maketrans(_SUPERSCRIPTS, "1234567890abcdef"))
