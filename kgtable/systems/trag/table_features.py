"""The three features of a table, by which it is clustered: meaning, shape and words (T-RAG, section 3.1).

For the shape, the structural feature, the paper counts tokens, parts of speech and punctuation with spaCy. Where
spaCy and one of its English models are installed, so does kgtable; with spaCy alone its tokens and their lexical
attributes are measured, and without it the words' endings, function words and signs stand in for parts of speech.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp

from kgtable.errors import ConfigError, MissingExtraError, StorageError
from kgtable.index.embedding import Matrix
from kgtable.index.inferred.column_profiles import TableHead
from kgtable.index.postings import FloatArray
from kgtable.resources import cache_folder
from kgtable.storage import whole_file
from kgtable.systems.trag.trag_options import Feature

TAGGER = "KGTABLE_TAGGER"
"""The environment variable that names a model of spaCy, or a folder with one; ``blank`` is spaCy without a model,
``none`` is without spaCy."""


class TextShape(Protocol):
    """Protocol of a measure of the shape of texts."""

    name: str
    """Changes with what is measured: clusters of another shape are made anew."""

    def measure(self, texts: Sequence[str]) -> FloatArray:
        """One row of numbers for each text, always as many."""
        ...


_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+|[^\w\s]|_")
_MARKER = re.compile(r"\[(?:Table|Caption|Header)\]")
_FUNCTION_WORDS = frozenset(
    re.findall("[a-z]+", "a an and as at by for from in into is of off on or over per the to under up with")
)
_NAMING_ENDINGS = ("tion", "sion", "ment", "ness", "ity", "er", "or", "ist", "ship", "ism", "ance", "ence")
_VERB_ENDINGS = ("ing", "ed", "ise", "ize", "ate")
_ADJECTIVE_ENDINGS = ("al", "ic", "ous", "ful", "ive", "able", "ible", "ary", "ish")
_ROLES = (_NAMING_ENDINGS, _VERB_ENDINGS, _ADJECTIVE_ENDINGS)

SHAPE = (
    "tokens",
    "words",
    "mean length of words",
    "distinct words, share",
    "numbers, share",
    "years, share",
    "punctuation, share",
    "brackets, share",
    "capitalised words, share",
    "abbreviations, share",
    "function words, share",
    "words with a noun's ending, share",
    "words with a verb's ending, share",
    "words with an adjective's ending, share",
    "headers",
    "words in a header",
)
"""What `LexicalShape` measures."""


def shape_of(text: str) -> list[float]:
    """The shape of a text, one number for each of `SHAPE`; counts as logarithms."""
    headers = text.count("[Header]")
    plain = without_markers(text)
    tokens = _TOKEN.findall(plain)
    words = [token for token in tokens if token[0].isalpha()]
    lower = [word.lower() for word in words]
    count, named = max(len(tokens), 1), max(len(words), 1)
    numbers = [token for token in tokens if token[0].isdigit()]
    marks = [token for token in tokens if not token[0].isalnum()]
    after_caption = sum(len(_TOKEN.findall(part)) for part in text.split("[Header]")[1:])
    return [
        float(np.log1p(len(tokens))),
        float(np.log1p(len(words))),
        sum(map(len, words)) / named,
        len(set(lower)) / named,
        len(numbers) / count,
        sum(len(number) == 4 and number[:2] in {"18", "19", "20"} for number in numbers) / count,
        len(marks) / count,
        sum(mark in "()[]{}" for mark in marks) / count,
        sum(word[0].isupper() for word in words) / named,
        sum(len(word) > 1 and word.isupper() for word in words) / named,
        sum(word in _FUNCTION_WORDS for word in lower) / named,
        *(sum(len(word) > 4 and word.endswith(endings) for word in lower) / named for endings in _ROLES),
        float(np.log1p(headers)),
        float(np.log1p(after_caption / max(headers, 1))),
    ]


def without_markers(text: str) -> str:
    """A linearised table without its markers."""
    return _MARKER.sub(" ", text)


class LexicalShape:
    """Shapes by words, their endings and signs: needs nothing that is not always there."""

    name = "lexical"

    def measure(self, texts: Sequence[str]) -> FloatArray:
        """One row of `SHAPE` for each text."""
        return np.array([shape_of(text) for text in texts], dtype=np.float32).reshape(-1, len(SHAPE))


PARTS_OF_SPEECH = (
    frozenset({"NOUN"}),
    frozenset({"PROPN"}),
    frozenset({"VERB", "AUX"}),
    frozenset({"ADJ"}),
    frozenset({"NUM"}),
    frozenset({"ADP", "DET", "CCONJ", "SCONJ", "PART", "PRON", "ADV"}),
    frozenset({"PUNCT", "SYM"}),
)
"""Parts of speech whose shares are measured with a tagger."""

FLAGS = ("is_title", "is_upper", "is_lower", "like_num", "is_stop", "is_punct", "is_bracket", "is_currency")
"""Attributes of spaCy's tokens whose shares are measured without a tagger."""


TAGGING = frozenset({"tagger", "morphologizer", "attribute_ruler"})
"""Steps of spaCy that give parts of speech."""

MOST_KEPT = 200_000
"""Texts whose shapes the cache keeps."""


class SpacyShape:
    """Shapes by spaCy: tokens, their length, and shares of parts of speech or, without a tagger, of `FLAGS`.

    What was measured of a text is kept in the user's cache, since a tagger reads some thousand words a second.
    """

    def __init__(self, language: Any, version: str) -> None:
        self._language = language
        self._tags = not TAGGING.isdisjoint(language.pipe_names)
        about = language.meta
        model = f"{about['lang']}_{about['name']} {about['version']}" if self._tags else "no model"
        self.name = f"spaCy {version}, {model}"

    @property
    def width(self) -> int:
        """Numbers measured of a text."""
        return 4 + len(PARTS_OF_SPEECH if self._tags else FLAGS)

    def measure(self, texts: Sequence[str]) -> FloatArray:
        """One row for each text."""
        kept = self._read() if len(texts) > 1 else {}
        keys = [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in kept}
        plain = [without_markers(text).encode("utf-8", "replace").decode() for text in new.values()]
        found = {
            key: self._row(text, tokens)
            for (key, text), tokens in zip(new.items(), self._language.pipe(plain), strict=True)
        }
        if len(found) > 1:
            now = {key: kept[key] for key in keys if key in kept} if len(kept) > MOST_KEPT else kept
            self._write({**now, **found})
        rows = [kept[key] if key in kept else found[key] for key in keys]
        return np.array(rows, dtype=np.float32).reshape(-1, self.width)

    def _row(self, text: str, tokens: Any) -> FloatArray:
        words = [token for token in tokens if not token.is_space]
        count = max(len(words), 1)
        if self._tags:
            shares = [sum(token.pos_ in kinds for token in words) / count for kinds in PARTS_OF_SPEECH]
        else:
            shares = [sum(bool(getattr(token, flag)) for token in words) / count for flag in FLAGS]
        headers = text.count("[Header]")
        within = sum(len(part.split()) for part in text.split("[Header]")[1:])
        row = [
            np.log1p(len(words)),
            sum(map(len, words)) / count,
            np.log1p(headers),
            np.log1p(within / max(headers, 1)),
            *shares,
        ]
        return np.array(row, dtype=np.float32)

    @property
    def _file(self) -> Path:
        digest = hashlib.sha256(f"1\0{self.name}\0{self.width}".encode()).hexdigest()[:32]
        return cache_folder() / "shapes" / f"{digest}.npz"

    def _read(self) -> dict[bytes, FloatArray]:
        with suppress(OSError, ValueError, KeyError), np.load(self._file, allow_pickle=False) as kept:
            keys, rows = kept["keys"], kept["rows"]
            if keys.shape == (len(rows), 16) and rows.shape == (len(keys), self.width):
                return {key.tobytes(): row for key, row in zip(keys, rows, strict=True)}
        return {}

    def _write(self, rows: dict[bytes, FloatArray]) -> None:
        """Keep rows for the next time; what cannot be kept is measured again."""
        made = io.BytesIO()
        keys = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(-1, 16)
        np.savez(made, keys=keys, rows=np.stack(list(rows.values())))
        with suppress(OSError, StorageError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(self._file) as file:
                file.write(made.getvalue())


def installed_shape(wanted: str | None = None) -> TextShape:
    """The shape by what is installed: spaCy with the model that is named or the first English one, or words alone.

    Args:
        wanted: the name or folder of a model, ``blank`` or ``none``; by default what ``KGTABLE_TAGGER`` says.

    Raises `ConfigError` for a model that cannot be loaded, `MissingExtraError` where one is named without spaCy.
    """
    return _shape((os.environ.get(TAGGER, "") if wanted is None else wanted).strip())


@cache
def _shape(wanted: str) -> TextShape:
    if wanted == "none":
        return LexicalShape()
    try:
        import spacy
    except ImportError:
        if wanted:
            raise MissingExtraError(f"The tagger {wanted}", "tagger") from None
        return LexicalShape()
    name = wanted or _first(spacy.util.get_installed_models())
    if name in {"", "blank"}:
        return SpacyShape(spacy.blank("en"), spacy.__version__)
    try:
        language = spacy.load(name, exclude=["parser", "ner", "lemmatizer", "senter"])
    except (OSError, ValueError, ImportError) as error:
        if not wanted:  # a model of another version of spaCy: as if it were not there
            return SpacyShape(spacy.blank("en"), spacy.__version__)
        raise ConfigError(
            f"spaCy cannot load the model {wanted}: {str(error).splitlines()[0]}",
            hint=f"Name an installed model or its folder in {TAGGER}, or blank or none.",
        ) from error
    return SpacyShape(language, spacy.__version__)


def _first(models: Iterable[str]) -> str:
    """The English model that is taken: the smallest by its name, then by the alphabet."""
    sizes = ("sm", "md", "lg", "trf")
    english = [name for name in models if name.startswith("en_")]
    return min(english, key=lambda name: (*(not name.endswith(size) for size in sizes), name), default="")


FeatureRows: TypeAlias = "Matrix | sp.csr_matrix"
"""One row for each table, of length 1 or 0: dense, or sparse for words."""


def linearised(head: TableHead) -> str:
    """The schema of a table as one sequence with markers (T-RAG, equation 2).

    >>> linearised(TableHead("t", "Rivers", (), ("Name", "Length")))
    '[Table] [Caption] Rivers [Header] Name [Header] Length'
    """
    headers = "".join(f" [Header] {' '.join(name.split())}" for name in head.names if name.strip())
    return f"[Table] [Caption] {' '.join(head.whole_title.split())}{headers}"


WORDS_KEPT = 4_096
"""Most frequent words that the heuristic feature counts."""


@dataclass(frozen=True)
class FeatureSpace:
    """The features of all tables, rows in the order of the tables, with the transformation for questions.

    Without vectors of tables there is no semantic feature.
    """

    rows: Mapping[Feature, FeatureRows]
    _mean: FloatArray
    _deviation: FloatArray
    _words: Any
    _shape: TextShape

    @classmethod
    def of(cls, texts: Sequence[str], vectors: Matrix | None, shape: TextShape | None = None) -> FeatureSpace:
        """The features of linearised tables; `vectors` are those of the search index, shape (tables, d).

        The structural feature is what `shape` (by default `LexicalShape`) measures of a text, each component
        standardised over all tables.
        Raises `MissingExtraError` without scikit-learn.
        """
        try:
            from sklearn.feature_extraction.text import TfidfVectorizer
        except ImportError:
            raise MissingExtraError("The method trag", "trag") from None
        shape = shape or LexicalShape()
        known = shape.measure(texts or [""])
        shapes = known[: len(texts)]
        mean, deviation = known.mean(0), np.maximum(known.std(0), 1e-6)
        words = TfidfVectorizer(
            token_pattern=r"(?u)\w+",  # noqa: S106
            max_features=WORDS_KEPT,
            sublinear_tf=True,
            dtype=np.float32,
        )
        plain = list(map(without_markers, texts))
        words.fit([*plain, "table"])
        width = len(words.vocabulary_)
        counted = sp.csr_matrix(words.transform(plain) if plain else np.zeros((0, width), dtype=np.float32))
        rows: dict[Feature, FeatureRows] = {} if vectors is None else {Feature.SEMANTIC: np.asarray(vectors)}
        rows[Feature.STRUCTURAL] = _of_length_one((shapes - mean) / deviation)
        rows[Feature.HEURISTIC] = counted
        return cls(rows, mean, deviation, words, shape)

    def of_question(self, question: str, vector: Matrix | None) -> dict[Feature, FloatArray]:
        """A question's features, made the same way; `vector` is its embedding, shape (d,)."""
        found: dict[Feature, FloatArray] = {}
        if vector is not None and Feature.SEMANTIC in self.rows:
            found[Feature.SEMANTIC] = vector
        shape = self._shape.measure([question])[0]
        found[Feature.STRUCTURAL] = _of_length_one(((shape - self._mean) / self._deviation)[None])[0]
        counted = sp.csr_matrix(self._words.transform([question]))
        found[Feature.HEURISTIC] = np.asarray(counted.todense(), dtype=np.float32)[0]
        return found

    @property
    def nearness(self) -> Feature:
        """The feature that says how near two tables are: meaning, or words where there are no vectors."""
        return Feature.SEMANTIC if Feature.SEMANTIC in self.rows else Feature.HEURISTIC


def _of_length_one(rows: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, 1e-9), dtype=np.float32)


def mean_of(rows: FeatureRows, chosen: Iterable[int]) -> FloatArray:
    """The mean of some rows as a dense vector."""
    return np.asarray(rows[list(chosen)].mean(axis=0), dtype=np.float32).ravel()


def similarities(rows: FeatureRows, vector: FloatArray) -> FloatArray:
    """The dot product of each row with a dense vector, shape (tables,)."""
    if isinstance(rows, np.ndarray):
        # Without the threads of BLAS, which cost more than they save on one vector.
        return np.asarray(np.einsum("ij,j->i", rows, vector), dtype=np.float32)
    return np.asarray(rows @ vector, dtype=np.float32).ravel()
