"""Tabular query expansion: a question to queries for columns and queries for cells (paper, section 3.3).

With a language model two calls give them (paper, appendices D and E); without one, or where its reply is
of no use, the labels that the rules find in the question. The question itself is always a query too: that
finds the columns that it asks for without naming them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from string import Template
from typing import Any

from kgtable.errors import LLMReplyError
from kgtable.llm.protocol import LLM, Message, Request, fence
from kgtable.resources import PACKAGE

MOST_QUERIES = 8
LONGEST_QUERY = 200
READ_UP_TO = 2_000
"""Characters of a question that a model is told."""

LONGEST_TITLE = 200

STAGES = {"expand_schema": "schema queries", "expand_cells": "cell queries"}

_SCHEMA: Mapping[str, Any] = {
    "title": "queries",
    "type": "object",
    "properties": {"queries": {"type": "array", "items": {"type": "string"}}},
    "required": ["queries"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class ExpandedQuestion:
    """What columns and what cells are looked for; `refused` says why a model's queries were not used."""

    schema: tuple[str, ...]
    cells: tuple[str, ...]
    refused: str = ""


def expand_question(
    question: str, titles: Sequence[str], llm: LLM | None, by_rule: Callable[[str], Sequence[str]]
) -> ExpandedQuestion:
    """The queries of a question, which is the last of each.

    Args:
        question: as it was asked.
        titles: what the tables are about, told to the model.
        llm: None for the rules alone.
        by_rule: gives the labels of a question.
    """
    if llm is not None:
        about = " / ".join(dict.fromkeys(filter(None, titles)))[:LONGEST_TITLE]
        try:
            schema = _asked(question, about, "expand_schema", llm)
            cells = [query for query in _asked(question, about, "expand_cells", llm) if not _is_number(query)]
            return ExpandedQuestion(_with(schema, question), _with(cells, question))
        except LLMReplyError as error:
            refused = error.message
    else:
        refused = ""
    labels = [label for label in by_rule(question) if label.strip()]
    words = [label for label in labels if not _is_number(label)]
    return ExpandedQuestion(_with(labels, question), _with(words, question), refused)


def _asked(question: str, title: str, prompt: str, llm: LLM) -> list[str]:
    """What the model suggests. Raises `LLMReplyError` where its reply is of no use."""
    put = question[:READ_UP_TO]
    text = Template(_read(prompt)).substitute(
        question=put, title=title or "various subjects", fence=fence(put, title)
    )
    messages = (Message(role="user", content=text),)
    reply = llm.complete(Request(messages, schema=_SCHEMA, stage=STAGES[prompt], max_tokens=400))
    given = (reply.data or {}).get("queries", [])
    return [query.strip()[:LONGEST_QUERY] for query in given if query.strip()][:MOST_QUERIES]


def _with(queries: Sequence[str], question: str) -> tuple[str, ...]:
    found = {query.casefold(): query for query in reversed([*queries[:MOST_QUERIES], question])}
    return tuple(reversed(found.values()))


def _is_number(query: str) -> bool:
    return not any(letter.isalpha() for letter in query)


@cache
def _read(name: str) -> str:
    folder = PACKAGE / "systems" / "tablerag" / "prompts"
    return (folder / f"{name}.txt").read_text(encoding="utf-8").strip()
