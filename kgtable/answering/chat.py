"""Conversations over a graph: a follow-up is asked as the complete question that it stands for.

With a model, the model writes that question from the last questions, their answers and their programs. By rules, a year
or a name takes the place of the one before, or a field of the program does: "by month", "the average".
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from decimal import Decimal
from string import Template

from kgtable.answering.answer import Answer, as_markdown, escaped_markdown
from kgtable.answering.ask import Asker, OnFound, check_question
from kgtable.errors import KgtableError, LLMReplyError
from kgtable.llm.protocol import LLM, OnText, Usage, UsageMeter, fence, measured, reply_data
from kgtable.llm.request_parts import TEXT, object_schema
from kgtable.ontology.column_stats import clean_text
from kgtable.resources import read_packaged

MOST_TURNS = 100
"""Turns that are remembered."""
SHOWN_TURNS = 5
"""Turns that a model is shown."""
LONGEST_SHOWN = 600
"""Characters of a question, an answer or a calculation that a model is shown."""
MOST_WORDS = 8
"""The rules take a longer question as complete."""
MOST_TRIED = 4
"""Number of rewritings that are answered to choose among them."""
STAGE = "follow-up"
NO_FOLLOW_UP = "Without a model, a follow-up can change a year, a name, the measure, the aggregate, or the grouping."

_SCHEMA = object_schema("follow_up", question=TEXT, explain={"type": "boolean"})


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: what was said, the question that it stands for, and the answer; None if that is not known."""

    said: str
    question: str
    explains: bool = False
    answer: Answer | None = None
    by_fields: bool = False
    """Whether the answer is that of the program before with fields changed, and the question says what was computed."""


class Chat:
    """A conversation, made by `KnowledgeGraph.chat`; its `turns` are the last `MOST_TURNS`.

    Each answer stands alone: its `question` is the whole question, and it brings its own citations.

    >>> import tempfile, kgtable
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "harvest.csv").write_text("Fruit,2023 (kg),2024 (kg)\\nPlums,40,52\\nPears,31,36\\n")
    >>> with kgtable.build(folder, folder / "kg", embedding="none") as graph:
    ...     chat = graph.chat(model="none")
    ...     print(chat.ask("What was the harvest of plums in 2023?"), chat.ask("And in 2024?"), sep=", ")
    40 kg, 52 kg
    >>> chat.turns[-1].question
    'What was the harvest of plums in 2024?'
    """

    def __init__(self, asker: Asker, guard: Callable[[], AbstractContextManager[None]]) -> None:
        self._asker, self._guard = asker, guard
        self._meter = UsageMeter()
        self.turns: deque[Turn] = deque(maxlen=MOST_TURNS)

    @property
    def usage(self) -> Usage:
        """The model's usage over the whole conversation."""
        return self._meter.total

    def ask(
        self,
        message: str,
        *,
        on_question: Callable[[str], None] | None = None,
        on_text: OnText | None = None,
        on_found: OnFound | None = None,
    ) -> Answer:
        """The answer to a message; "Why?" returns the last answer again, whose calculation and citations say why.

        `on_question` receives the whole question where it is another one; `on_text` and `on_found` are those of
        `KnowledgeGraph.ask`, and so are the errors, with `LLMCostError` if the conversation would cost more than
        its bound.
        """
        said = check_question(message)
        with self._guard(), measured(UsageMeter(self._left())) as meter:
            try:
                turn = self._resolved(said)
                followed = None if turn.question != said or turn.explains else self._followed(said)
                if followed is not None:
                    turn = replace(turn, question=followed.question, by_fields=True)
                if on_question is not None and turn.question != said:
                    on_question(turn.question)
                last = self.turns[-1].answer if self.turns else None
                if turn.explains and last is not None:
                    answer = replace(last, timings_ms={})
                elif followed is not None:
                    answer = followed
                else:
                    answer = self._asker.ask(
                        turn.question, on_text=on_text, on_found=on_found, meter=meter, in_conversation=True
                    )
                    if self._asker.llm is None and not answer.found and follows(said) is not None:
                        answer = replace(answer, reasons=(NO_FOLLOW_UP, *answer.reasons))
            finally:
                for stage, used in meter.stages.items():
                    self._meter.add(stage, used)
        answer = replace(answer, usage=meter.to_json())
        self.turns.append(replace(turn, answer=answer))
        return answer

    def recall(self, question: str) -> None:
        """Continue a conversation from a complete question that was asked elsewhere."""
        self.turns.append(Turn(question, question))

    def _left(self) -> Decimal | None:
        most, spent = self._asker.max_cost, self.usage.cost
        return None if most is None else most - (spent or 0)

    def _resolved(self, said: str) -> Turn:
        """A message as a turn: the question that it stands for, without an answer."""
        if not self.turns:
            return Turn(said, said)
        if (llm := self._asker.llm) is None:
            if self.turns[-1].by_fields and not _WHY.fullmatch(said):
                return Turn(said, said)
            return Turn(said, *standalone(said, self.turns[-1], self._answered))
        try:
            return Turn(said, *_by_model(llm, said, list(self.turns)[-SHOWN_TURNS:]))
        except LLMReplyError:
            return Turn(said, said)

    def _followed(self, said: str) -> Answer | None:
        """By rules, the answer before with the field changed that is said; a question of its own is not a follow-up."""
        if self._asker.llm is not None or not may_follow(said):
            return None
        answers = (turn.answer for turn in reversed(self.turns) if turn.answer is not None)
        last = next((answer for answer in answers if answer.program is not None), None)
        return None if last is None else self._asker.follow(last, said)

    def _answered(self, question: str) -> Answer | None:
        try:
            return self._asker.ask(question)
        except KgtableError:
            return None

    def to_markdown(self) -> str:
        """The conversation as Markdown: each question, with the whole one where it differs, and its answer."""
        return "\n".join(_section(turn) for turn in self.turns)


def _section(turn: Turn) -> str:
    asked = [] if turn.question == turn.said else [f"*{escaped_markdown(turn.question)}*", ""]
    answer = "" if turn.answer is None else as_markdown(turn.answer)
    return "\n".join([f"## {escaped_markdown(turn.said)}", "", *asked, answer, ""])


def _by_model(llm: LLM, said: str, turns: Sequence[Turn]) -> tuple[str, bool]:
    shown = "\n\n".join(map(_shown, turns))
    prompt = Template(read_packaged("answering/prompts/follow_up.txt"))
    text = prompt.substitute(fence=fence(shown, said), turns=shown, message=said)
    system = read_packaged("answering/prompts/follow_up_system.txt").strip()
    data = reply_data(llm, system, text.strip(), schema=_SCHEMA, stage=STAGE, max_tokens=400)
    question = " ".join(str(data.get("question") or "").split())
    return check_question(question or said), bool(data.get("explain"))


def _shown(turn: Turn) -> str:
    answer = turn.answer
    lines = [f"question: {turn.question}"]
    if answer is not None:
        lines.append(f"answer: {answer}")
        if answer.calculation:
            lines.append(f"computed: {answer.calculation}")
    return "\n".join(line[:LONGEST_SHOWN] for line in lines)


_FOLLOWING = re.compile(
    r"(?:(?:and|or|but|then)\b[\s,]*)?(?:(?:what|how) about\b\s*|(?:the )?same\b\s*)?"
    r"(?P<linked>(?:(?:in|for|of|at|by|from|the)\s+)*)(?P<rest>\S.*?)[\s?.!]*",
    re.IGNORECASE | re.DOTALL,
)
_BEGINS = re.compile(
    r"(?:and|or|but|then|in|for|of|at|by|from|what about|how about|(?:the )?same (?:for|in|of))\b", re.IGNORECASE
)
_ASKS = re.compile(r"\b(?:which|who|whose|when|where|why|is|are|was|were|do|does|did|has|have|had)\b", re.IGNORECASE)
_WHY = re.compile(r"(?:(?:and|but)\s+)?(?:why(?: is (?:that|this|it))?|how so|how come)[\s?.!]*", re.IGNORECASE)
_NAMED_YEAR = re.compile(r"(?<![\w.])(?:FY ?)?(?:19|20)\d\d(?!\w)", re.IGNORECASE)
_UNIT_BEHIND = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\s*$")


def follows(question: str) -> str | None:
    """The part of a question that a follow-up names again; None if it is a question of its own.

    >>> follows("And in 2022?"), follows("what about the Moon?"), follows("Which planet is the largest?")
    ('2022', 'Moon', None)
    >>> follows("The same for Oslo")
    'Oslo'
    """
    plain = " ".join(question.split())
    if not _BEGINS.match(plain) or len(plain.split()) > MOST_WORDS or _ASKS.search(plain):
        return None
    match = _FOLLOWING.fullmatch(plain)
    return match["rest"] if match else None


def may_follow(said: str) -> bool:
    """Whether a text is short and only changes the previous question.

    >>> may_follow("by month"), may_follow("the average instead"), may_follow("Which planet is the largest?")
    (True, True, False)
    """
    plain = " ".join(said.split())
    return len(plain.split()) <= MOST_WORDS and not _ASKS.search(plain)


def standalone(said: str, before: Turn, answered: Callable[[str], Answer | None]) -> tuple[str, bool]:
    """The complete question for a follow-up to a turn, by rules, and whether it asks why.

    A year takes the place of the year before; a name that of a name which the answer before rests on, by
    preference one with which the rules answer with confidence. A complete text, or one that fits nothing, is unchanged.
    """
    if _WHY.fullmatch(said):
        return before.question, True
    named = follows(said)
    if named is None:
        return said, False
    years = set(_NAMED_YEAR.findall(before.question))
    if _NAMED_YEAR.fullmatch(named) and len(years) == 1:
        return _NAMED_YEAR.sub(lambda _: named, before.question), False
    answer = before.answer or answered(before.question)
    if answer is None:
        return said, False
    rewritten = list(dict.fromkeys(_rewritten(before.question, named, answer)))[:MOST_TRIED]
    answers = {one: answered(one) for one in rewritten}
    sure = (one for one, found in answers.items() if found is not None and found.is_sure)
    naming = (one for one, found in answers.items() if found is not None and _rests_on(found, named))
    return next(sure, None) or next(naming, None) or said, False


def _rewritten(before: str, named: str, answer: Answer) -> Iterator[str]:
    """The question before with each name that its answer rests on replaced, the longest first."""
    names: dict[str, None] = {}
    for citation in answer.citations:
        for text in (citation.label, citation.text, citation.header):
            name = _UNIT_BEHIND.sub("", clean_text(text)).lstrip("-–—•· ")
            if any(map(str.isalpha, name)):
                names[name] = None
    for name in sorted(names, key=len, reverse=True):
        found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", before, re.IGNORECASE)
        if found:
            yield before[: found.start()] + named + before[found.end() :]


def _rests_on(answer: Answer, name: str) -> bool:
    """Whether a cell that an answer rests on, or its row or column, has the name."""
    wanted = name.casefold()
    return any(
        wanted in clean_text(text).casefold()
        for citation in answer.citations
        for text in (citation.text, citation.label, citation.header)
    )
