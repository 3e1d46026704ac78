"""Prompts and replies: a question with its context, within a budget of tokens, and the model's reply.

Texts of tables are made safe for a prompt; templates are files. Six settings each for triples and for whole tables
(thesis, section 4.5). A reply is the JSON object that was asked for, or free text, whole or still arriving.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from string import Template
from typing import Any, Literal, Protocol

from kgtable.answering.evidence import CELL_ID, Evidence
from kgtable.errors import AnswerError, ConfigError
from kgtable.llm.protocol import Message, Schema, estimate_tokens, fence
from kgtable.llm.request_parts import TEXT, object_schema, prompt_messages
from kgtable.resources import read_packaged
from kgtable.retrieval.result import ScoredTriple
from kgtable.tables.linearize import decoded, introduction
from kgtable.values.text import single_line
from kgtable.values.units import scale_name, units

TokenCounter = Callable[[str], int]

LONGEST_TEXT = 1_000
LONGEST_BESIDE = 300
"""How much of the text right above and right below a table is shown with it."""
_UNNAMED = frozenset({"", "UNITLESS", "NUM"})
_SYMBOLS = {"PERCENT": "%", "YR": "years", "MO": "months", "WK": "weeks", "DAY": "days", "HR": "hours"}
"""Units whose symbol in QUDT says little to a reader: a year is ``a`` there."""


def one_line(text: str) -> str:
    r"""The text on one line, entities decoded and bars escaped, cut at `LONGEST_TEXT` visibly.

    >>> one_line("a\n=== END ===| b")
    'a === END ===\\| b'
    """
    plain = single_line(decoded(text))
    if len(plain) > LONGEST_TEXT:
        plain = f"{plain[:LONGEST_TEXT]}… ({len(plain)} characters)"
    return plain.replace("|", r"\|")


def unit_word(unit: str | None) -> str:
    """The name of a QUDT unit in a text.

    >>> unit_word("CCY_USD"), unit_word("PERCENT"), unit_word("UNITLESS")
    ('USD', '%', '')
    """
    if unit is None or unit in _UNNAMED:
        return ""
    if unit in _SYMBOLS:
        return _SYMBOLS[unit]
    if unit.startswith("CCY_"):
        return unit.removeprefix("CCY_")
    known = units().get(unit)
    return known.symbol or known.label if known else unit


def measure(unit: str | None, scale: str | None, per: str | None = None) -> str:
    """Unit and scale in words, such as ``USD million`` or ``USD per share``; empty if there is neither."""
    return " ".join(filter(None, (unit_word(unit), scale_name(scale, unit), per_word(per))))


def per_word(per: str | None) -> str:
    """The denominator of a unit, as written after it.

    >>> per_word("share"), per_word(None)
    ('per share', '')
    """
    return f"per {per}" if per else ""


def table_line(table: str, evidence: Evidence, longest: int = LONGEST_BESIDE) -> str:
    """The line that introduces a table: short name, title, headings, the text next to it, and the file if it differs.

    `longest` limits each of the texts right above and right below."""
    found = evidence.source.frame(table).table
    title, beside = introduction(found)
    name = one_line(title)
    text = "".join(f"; text: {one_line(part[:longest])}" for part in beside) if longest else ""
    path = found.grid.source.path
    file = "" if path.rpartition(".")[0] == name else f" (file {one_line(path)})"
    return f"{evidence.alias(table)}: {name}{text}{file}"


def local_name(term: str) -> str:
    """The last part of an IRI, or the term itself."""
    return term.rpartition("#")[2].rpartition("/")[2] if "://" in term else term


def subject_text(triple: ScoredTriple) -> str:
    """The label of the triple's row."""
    return one_line(triple.subject)


Kind = Literal["triples", "tables"]


@dataclass(frozen=True, slots=True)
class ContextUnit:
    """Unit of a context, shown or cut as a whole: a triple, a row's triples, or (`row` None) a whole table."""

    table: str
    row: int | None
    triples: tuple[ScoredTriple, ...]
    score: float


def by_row(triples: Iterable[ScoredTriple]) -> list[ContextUnit]:
    """The triples of each row as one unit, scored as its best triple."""
    rows: dict[tuple[str, int], list[ScoredTriple]] = {}
    for triple in triples:
        rows.setdefault((triple.table, triple.row), []).append(triple)
    return [
        ContextUnit(table, row, tuple(sorted(found, key=lambda t: t.column)), max(t.score for t in found))
        for (table, row), found in rows.items()
    ]


def reading_of(name: str) -> str:
    """The instructions for reading a presentation, from its file."""
    return _read(f"presentations/{name}.txt")


class Presentation(Protocol):
    """A layout of retrieved evidence. `kind` says which instructions and examples go with it."""

    name: str
    kind: Kind
    reading: str
    """How to read it and how to cite from it, for the prompt."""

    def units(self, evidence: Evidence) -> Sequence[ContextUnit]:
        """Everything that can be shown, by descending score."""
        ...

    def render(self, units: Sequence[ContextUnit], evidence: Evidence) -> str:
        """The text that shows these units."""
        ...

    @property
    def narrower(self) -> Presentation | None:
        """The same with fewer cells per row, to save space; None if it cannot be shortened."""
        ...


@dataclass(frozen=True, slots=True)
class PromptContext:
    """The text that goes into a prompt, and what was left out of it for lack of space."""

    text: str
    tokens: int
    presentation: str
    shown: tuple[ContextUnit, ...] = field(repr=False)
    cut: tuple[ContextUnit, ...] = field(repr=False)

    def report(self) -> dict[str, Any]:
        """Counts of the shown and the omitted parts, as plain JSON values."""
        shown_tables = {unit.table for unit in self.shown}
        return {
            "presentation": self.presentation,
            "tokens": self.tokens,
            "shown_rows": len({(u.table, u.row) for u in self.shown}),
            "cut_rows": len({(u.table, u.row) for u in self.cut} - {(u.table, u.row) for u in self.shown}),
            "shown_triples": sum(len(unit.triples) for unit in self.shown),
            "cut_triples": sum(len(unit.triples) for unit in self.cut),
            "shown_tables": len(shown_tables),
            "cut_tables": len({unit.table for unit in self.cut} - shown_tables),
        }


def make_context(
    evidence: Evidence, presentation: Presentation, budget: int, count: TokenCounter = estimate_tokens
) -> PromptContext:
    """As many of the best units as fit into `budget` tokens, with fewer cells if even the best one is too long.

    Raises `AnswerError` if it still does not fit.
    """
    units = sorted(presentation.units(evidence), key=lambda unit: -unit.score)
    fitting, beyond = 0, len(units) + 1
    texts = {0: ""}
    attempt = len(units)
    while fitting + 1 < beyond:
        texts[attempt] = presentation.render(units[:attempt], evidence)
        if count(texts[attempt]) <= budget:
            fitting = attempt
        else:
            beyond = attempt
        attempt = (fitting + beyond) // 2
    if units and not fitting and presentation.narrower is not None:
        return make_context(evidence, presentation.narrower, budget, count)
    if units and not fitting:
        raise AnswerError(
            f"A context of {budget} tokens has no room for the best row.",
            hint="Raise KGTABLE_CONTEXT_TOKENS, or KGTABLE_WINDOW where that is set.",
        )
    text = texts[fitting]
    return PromptContext(text, count(text), presentation.name, tuple(units[:fitting]), tuple(units[fitting:]))


class PromptSetting(StrEnum):
    """The order of a prompt's parts; the thesis's numbers are 1 to 6 for tables, 0 to 5 for triples."""

    INSTRUCTIONS_FIRST = "instructions-first"
    CONTEXT_FIRST = "context-first"
    INSTRUCTIONS_FIRST_SEPARATED = "instructions-first-separated"
    CONTEXT_FIRST_SEPARATED = "context-first-separated"
    INSTRUCTIONS_FIRST_EXAMPLES = "instructions-first-examples"
    CONTEXT_FIRST_EXAMPLES = "context-first-examples"

    @property
    def asks_for_json(self) -> bool:
        """Whether the output format is part of the instructions."""
        return self not in (PromptSetting.INSTRUCTIONS_FIRST, PromptSetting.CONTEXT_FIRST)

    @property
    def has_examples(self) -> bool:
        """Whether examples of replies are shown."""
        return self.endswith("-examples")


def prompt_setting(name: str) -> PromptSetting:
    """The setting with this name. Raises `ConfigError` for another."""
    try:
        return PromptSetting(name)
    except ValueError as error:
        raise ConfigError(
            f"There is no prompt setting {name!r}.", hint=f"Available: {', '.join(PromptSetting)}."
        ) from error


def make_prompt(
    question: str, context: PromptContext, presentation: Presentation, setting: PromptSetting
) -> tuple[Message, ...]:
    """The messages that ask the question over the context.

    The parts shared by all questions come first, since servers cache the beginning of a prompt.
    """
    kind = presentation.kind
    instructions = Template(_read(f"{kind}/instructions.txt")).substitute(reading=presentation.reading)
    system = [_read("system.txt")]
    if setting.asks_for_json:
        system += [_read("output_format.txt"), _read("programs.txt")]
    if setting.has_examples:
        system.append(_read(f"{kind}/examples.txt"))
    text = Template(_read(f"layouts/{setting.replace('-examples', '-separated')}.txt")).substitute(
        instructions=instructions,
        free_form=_read("free_form.txt"),
        context=context.text,
        question=question,
        fence=fence(context.text, question),
    )
    return prompt_messages("\n\n".join(system), text)


_PROGRAM: Schema = {"type": ["object", "null"]}
"""Its form is in the prompt: an invalid program goes back to the model with its error."""

_CITATIONS: Schema = {"type": "array", "items": TEXT}
_ALTERNATIVE = object_schema(program=_PROGRAM, citations=_CITATIONS, answer=TEXT)
REPLY_SCHEMA = object_schema(
    "answer",
    reasoning=TEXT,
    program=_PROGRAM,
    citations=_CITATIONS,
    found={"type": "boolean"},
    answer=TEXT,
    alternatives={"type": "array", "items": _ALTERNATIVE},
)


def repair_message(fault: str) -> Message:
    """The message to a model whose program cannot be executed; the error may quote names from files."""
    told = one_line(fault)
    text = Template(_read("repair.txt")).substitute(fault=told, fence=fence(told))
    return {"role": "user", "content": text}


def _read(name: str) -> str:
    return read_packaged(f"answering/prompts/{name}").strip()


_START = re.compile(
    r'\A(?:(?!"(?:answer|alternatives)"\s*:).)*"program"\s*:\s*null\b'
    r'(?:(?!"alternatives"\s*:).)*?"answer"\s*:\s*"',
    re.DOTALL,
)
_UNFINISHED = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?$|\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?$")
_END = re.compile(r'(?<!\\)(?:\\\\)*"')


class AnswerStream:
    r"""Takes the pieces of a JSON reply and passes on the answer of a reply without a program.

    >>> said = []
    >>> stream = AnswerStream(said.append)
    >>> for piece in ('{"program": null, "found": true, "ans', 'wer": "12 ', 'mil', 'lion\\n", "x": 1}'):
    ...     stream(piece)
    >>> said
    ['12 ', 'mil', 'lion\n']
    """

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text = on_text
        self._text = ""
        self._start: int | None = None
        self._told = 0
        self._done = False

    def __call__(self, piece: str) -> None:
        self._text += piece
        if self._done:
            return
        if self._start is None:
            match = _START.search(self._text)
            if match is None:
                return
            self._start = match.end()
        raw = self._text[self._start :]
        end = _END.search(raw)
        if end is not None:
            raw, self._done = raw[: end.end() - 1], True
        else:
            raw = _UNFINISHED.sub("", raw)
        try:
            text = json.loads(f'"{raw}"', strict=False)
        except ValueError:
            return
        if len(text) > self._told:
            self._on_text(text[self._told :])
            self._told = len(text)


_BRACKETED = re.compile(rf"\s*[\[(](?:{CELL_ID.pattern}[\s,;and]*)+[\])]")
_NOT_FOUND = re.compile(r"\bnot\s+found\b", re.IGNORECASE)
_THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)

LONGEST_ANSWER = 4_000
"""Characters of an answer that are kept."""

LONGEST_REASONING = 4_000

MOST_CITED = 200
"""Cells that a reply may cite."""

MOST_ALTERNATIVES = 3


@dataclass(frozen=True, slots=True)
class DraftAlternative:
    """Alternative of a reply, from another table: an answer, and the program or the cells it comes from."""

    text: str
    program: Any = None
    citations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """Content of a reply, unchecked: `program` is what the reply had in its place, `citations` are cell ids."""

    text: str
    citations: tuple[str, ...] = ()
    program: Any = None
    found: bool = True
    reasoning: str = ""
    alternatives: tuple[DraftAlternative, ...] = ()

    @property
    def too_long(self) -> bool:
        """Whether the answer was cut."""
        return len(self.text) > LONGEST_ANSWER


def draft_from_object(data: Mapping[str, Any]) -> Draft:
    """The draft in an object that fits `prompting.REPLY_SCHEMA`."""
    alternatives = tuple(
        DraftAlternative(_cut(item["answer"]), item["program"], _unique(item["citations"]))
        for item in data["alternatives"][:MOST_ALTERNATIVES]
        if item["answer"].strip() or item["program"] or item["citations"]
    )
    text = _cut(data["answer"])
    return Draft(
        text,
        _unique(data["citations"]),
        data["program"],
        bool(data["found"] and (text or data["program"] or data["citations"])),
        _cut(data["reasoning"], LONGEST_REASONING),
        alternatives,
    )


def draft_from_text(text: str) -> Draft:
    """The draft in a free reply: the answer, and the ids of its cells in brackets.

    >>> draft = draft_from_text("Norway [T1.r3.c0, T1.r3.c2]")
    >>> draft.text, draft.citations
    ('Norway', ('T1.r3.c0', 'T1.r3.c2'))
    """
    said = _THOUGHT.sub("", text).strip()
    answer = _BRACKETED.sub("", said)
    answer = " ".join(CELL_ID.sub("", answer).replace("[]", "").split())
    return Draft(
        _cut(answer.strip(" []")),
        _unique(CELL_ID.findall(said)),
        found=bool(answer) and not _NOT_FOUND.search(answer[:60]),
    )


def _cut(text: str, longest: int = LONGEST_ANSWER) -> str:
    plain = text.strip()
    return plain if len(plain) <= longest else f"{plain[:longest]}…"


def _unique(ids: list[str]) -> tuple[str, ...]:
    found = dict.fromkeys(str(id).strip().strip("[]")[:40] for id in ids if str(id).strip())
    return tuple(found)[:MOST_CITED]
