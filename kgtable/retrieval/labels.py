"""The labels of a question, by rules or by a model (thesis, 4.4, step 1)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from kgtable.errors import LLMReplyError
from kgtable.index.graph_index import GraphIndex
from kgtable.index.substring import folded
from kgtable.llm.protocol import LLM, reply_data
from kgtable.resources import PACKAGE
from kgtable.text.words import is_empty_word, terms, words

MOST_LABELS = 16
LONGEST_NAME = 6
"""Maximum words of a name that is looked up as a whole."""
SHORTEST_LABEL = 3
"""Minimum characters of a label: shorter ones are substrings of nearly everything. Abbreviations may have two."""
READ_UP_TO = 2_000
"""Characters of a question that are searched for labels."""

_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]{2,80})[\"”»]|(?<!\w)['‘]([^'‘’]{2,80})['’](?!\w)")
_TOKEN = re.compile(r"[^\s\"“”„«»?!,;:()\[\]]+")
_CAPITALISED = re.compile(r"(?<=[a-z,] )[A-Z][\w.&-]*(?: (?:of |the |and )?[A-Z][\w.&-]*)+")
_ABBREVIATION = re.compile(r"(?:[A-Z]\.?){2,6}")

SCHEMA = {
    "type": "object",
    "properties": {"labels": {"type": "array", "items": {"type": "string"}, "maxItems": MOST_LABELS}},
    "required": ["labels"],
    "additionalProperties": False,
}


def extract_labels(question: str, index: GraphIndex) -> tuple[str, ...]:
    """Labels without a language model, folded, at most `MOST_LABELS`.

    Quoted passages; runs of words that are as a whole a subject, predicate, object or group of the
    graph, the longest first; of the remaining words the numbers, the abbreviations, and those that say
    what is asked about. A word no text of the graph contains is shortened to its stem, or left out.
    """
    question = question[:READ_UP_TO]
    found: dict[str, None] = {}
    for quoted in _QUOTED.finditer(question):
        found[folded(quoted[1] or quoted[2])] = None
    tokens = [token.strip(".'’`") for token in _TOKEN.findall(question)]
    place = 0
    while place < len(tokens):
        name = _name_at(tokens, place, index)
        if name:
            found[folded(" ".join(tokens[place : place + name]))] = None
        else:
            found.update(dict.fromkeys(_single(tokens[place], index)))
        place += max(name, 1)
    return tuple(found)[:MOST_LABELS]


def plain_labels(question: str) -> tuple[str, ...]:
    """Labels without a model and without an index: quoted passages, runs of capitals, and telling words."""
    question = question[:READ_UP_TO]
    found = [quoted[1] or quoted[2] for quoted in _QUOTED.finditer(question)]
    found += _CAPITALISED.findall(question)
    tokens = (token.strip(".'’`") for token in _TOKEN.findall(question))
    found += (token for token in tokens if _is_telling(token))
    return tuple(dict.fromkeys(folded(label) for label in found))[:MOST_LABELS]


def question_labels(
    question: str, llm: LLM | None, by_rule: Callable[[str], tuple[str, ...]], trace: dict[str, Any]
) -> tuple[str, ...]:
    """Labels by the model, or by the function `by_rule` without one or if its reply is unusable (noted in `trace`)."""
    if llm is not None:
        try:
            return labels_by_model(question, llm)
        except LLMReplyError as error:
            trace["labels_refused"] = error.message
    return by_rule(question)


def labels_by_model(question: str, llm: LLM) -> tuple[str, ...]:
    """Labels by a language model, folded. Raises a leaf of `LLMError` if it does not give any."""
    prompt = (PACKAGE / "retrieval" / "prompts" / "labels.txt").read_text(encoding="utf-8")
    reply = reply_data(llm, prompt, question[:READ_UP_TO], schema=SCHEMA, stage="labels", max_tokens=400)
    given = reply.get("labels")
    if not isinstance(given, list):
        raise LLMReplyError("The model gave no list of labels.")
    labels = dict.fromkeys(folded(str(label)) for label in given)
    return tuple(label for label in labels if label)[:MOST_LABELS]


def _name_at(tokens: list[str], place: int, index: GraphIndex) -> int:
    """How many words from `place` on are the longest name the graph has; 0 for less than two words."""
    for length in range(min(LONGEST_NAME, len(tokens) - place), 1, -1):
        run = tokens[place : place + length]
        if all(is_empty_word(token.lower()) for token in run):
            continue
        if index.corpus.texts.find(folded(" ".join(run))) is not None:
            return length
    return 0


def _single(token: str, index: GraphIndex) -> Iterator[str]:
    """The label from a single word, if any."""
    if not _is_telling(token):
        return
    label = folded(token)
    candidates = [label, *(word for word in words(token) if len(word) >= SHORTEST_LABEL), *_stems(label)]
    for candidate in dict.fromkeys(candidates):
        if index.lexical.is_known(candidate):
            yield candidate
            return


def _is_telling(token: str) -> bool:
    """Whether a word is an abbreviation, or long enough and no function or asking word."""
    label = folded(token)
    telling = len(label) >= SHORTEST_LABEL and not is_empty_word(label)
    return telling or _ABBREVIATION.fullmatch(token) is not None


def _stems(label: str) -> Iterator[str]:
    for stem in terms(label):
        if len(stem) >= SHORTEST_LABEL and label.startswith(stem):
            yield stem
