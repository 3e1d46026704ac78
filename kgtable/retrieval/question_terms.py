"""The terms of a question: labels, entities, weighted words, and a vector (thesis, 4.4, step 1)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgtable.errors import LLMReplyError
from kgtable.index.corpus import Corpus
from kgtable.index.embedding import Matrix
from kgtable.index.graph_index import GraphIndex
from kgtable.index.postings import BoolArray, FloatArray, IntArray
from kgtable.index.substring import folded
from kgtable.llm.protocol import LLM, reply_data
from kgtable.resources import PACKAGE
from kgtable.text.words import is_empty_word, terms, terms_asked, words

MOST_LABELS = 16
LONGEST_NAME = 6
"""Words of a name that is looked up as a whole."""
SHORTEST_LABEL = 3
"""Characters of a label: shorter ones are substrings of nearly everything. Abbreviations may have two."""
READ_UP_TO = 2_000
"""Characters of a question that labels are looked for in."""

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
    """Labels by a language model, folded. Raises a leaf of `LLMError` where it does not give any."""
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
    """The label a single word gives, if any."""
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


ASKING = 0.3
"""How much a word that only asks ("total", "list") counts within a table; it does not tell which table."""

_NUMBER_ASKED = re.compile(
    r"\b(how (many|much)|number of|total|difference|average|percent\w*|amount|sum|ratio|change|count"
    r"|value|rate)\b",
    re.IGNORECASE,
)
_DATE_ASKED = re.compile(
    r"\b(when|(which|what)\b[^?.,;]{0,24}?\b(years?|dates?|months?|quarters?|periods?|seasons?))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Query:
    """The terms of a question that the graph knows: ids, weights by rarity, and whether they are question words.

    `whole` marks the texts made up of these terms alone, shape (texts,). `vector` is the question's,
    shape (dimension,); None where there is no embedding.
    """

    text: str
    terms: IntArray
    weights: FloatArray
    asking: BoolArray
    whole: BoolArray
    vector: Matrix | None

    @classmethod
    def of(
        cls, text: str, corpus: Corpus, vector: Matrix | None = None, labels: Sequence[str] = (), added: float = 0.0
    ) -> Query:
        """The query for a question. The terms of `labels` that it lacks join with the share `added` of their weight."""
        known: dict[int, bool] = {}
        for term, asks in terms_asked(text):
            number = corpus.terms.find(term)
            if number is not None:
                known[number] = asks
        asked = len(known)
        for term in (term for label in labels for term in terms(label)) if added else ():
            number = corpus.terms.find(term)
            if number is not None:
                known.setdefault(number, False)
        ids = np.fromiter(known, dtype=np.int64, count=len(known))
        asking = np.fromiter(known.values(), dtype=np.bool_, count=len(known))
        weights = corpus.statistics.term_weight[ids] * np.where(asking, ASKING, 1.0)
        weights[asked:] *= added
        return cls(text, ids, weights.astype(np.float32), asking, _made_of(ids, corpus), vector)

    @property
    def asks_for_date(self) -> bool:
        """Whether the question's form asks for a year or date."""
        return _DATE_ASKED.search(self.text) is not None

    @property
    def asks_for_number(self) -> bool:
        """Whether the question's form asks for a number."""
        return _NUMBER_ASKED.search(self.text) is not None


def cosines(vectors: Matrix, vector: Matrix) -> FloatArray:
    """The cosine of each row of `vectors`, shape (n, dimension), with `vector`; both of length 1."""
    # Without the threads of BLAS, which cost more than they save on one vector.
    return np.asarray(np.einsum("ij,j->i", vectors, vector), dtype=np.float32)


def _made_of(terms: IntArray, corpus: Corpus) -> BoolArray:
    sizes = corpus.statistics.text_size
    having = corpus.term_texts.of(terms)
    found = np.bincount(having, minlength=len(sizes))
    whole = np.zeros(len(sizes), dtype=np.bool_)
    # Most texts have none of the terms: they are not looked at.
    whole[having] = found[having] >= sizes[having]
    return whole
