"""Prompts from template files: six settings each for triples and for whole tables.

The settings are those of the thesis (sections 5.5.1 and 5.6.1): instructions before or after context
and question; with neither output format nor separators, with both, and with examples besides.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from string import Template
from typing import Any

from kgtable.answering.context import Presentation, PromptContext, one_line
from kgtable.errors import ConfigError
from kgtable.llm.protocol import Message, fence
from kgtable.resources import PACKAGE

_FOLDER = PACKAGE / "answering" / "prompts"


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


def prompt_setting(name: str) -> PromptSetting:
    """The setting with this name. Raises `ConfigError` for another."""
    try:
        return PromptSetting(name)
    except ValueError as error:
        raise ConfigError(
            f"There is no prompt setting {name!r}.", hint=f"Those there are: {', '.join(PromptSetting)}."
        ) from error


def make_prompt(
    question: str, context: PromptContext, presentation: Presentation, setting: PromptSetting
) -> tuple[Message, ...]:
    """The messages that ask the question over the context."""
    kind = presentation.kind
    instructions = Template(_read(f"{kind}/instructions.txt")).substitute(reading=presentation.reading)
    text = Template(_read(f"layouts/{setting}.txt")).substitute(
        instructions=instructions,
        free_form=_read("free_form.txt"),
        output_format=f"{_read('output_format.txt')}\n\n{_read('programs.txt')}",
        examples=_read(f"{kind}/examples.txt"),
        context=context.text,
        question=question,
        fence=fence(context.text, question),
    )
    return ({"role": "system", "content": _read("system.txt")}, {"role": "user", "content": text})


_PROGRAM: Mapping[str, Any] = {"type": ["object", "null"]}
"""Its form stands in the prompt: what is no program goes back to the model with the fault named."""

_CITATIONS: Mapping[str, Any] = {"type": "array", "items": {"type": "string"}}

REPLY_SCHEMA: Mapping[str, Any] = {
    "title": "answer",
    "type": "object",
    "properties": {
        "reasoning": {"type": "string"},
        "program": _PROGRAM,
        "citations": _CITATIONS,
        "found": {"type": "boolean"},
        "answer": {"type": "string"},
        "alternatives": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"program": _PROGRAM, "citations": _CITATIONS, "answer": {"type": "string"}},
                "required": ["program", "citations", "answer"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["reasoning", "program", "citations", "found", "answer", "alternatives"],
    "additionalProperties": False,
}


def repair_message(fault: str) -> Message:
    """What a model is told whose program cannot be executed; the fault may quote names from files."""
    told = one_line(fault)
    text = Template(_read("repair.txt")).substitute(fault=told, fence=fence(told))
    return {"role": "user", "content": text}


@cache
def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8").strip()
