"""The structural feature: by words alone, by spaCy's tokens, by its parts of speech."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import kgtable
from kgtable.errors import MissingExtraError
from kgtable.systems.trag import table_features
from kgtable.systems.trag.hyperedge_graph import stored_hypergraph
from kgtable.systems.trag.table_features import (
    PARTS_OF_SPEECH,
    SHAPE,
    TAGGER,
    LexicalShape,
    installed_shape,
)
from tests.systems.trag.test_coarse_to_fine import write

TEXTS = [
    "[Table] [Caption] GDP (net) of 2019 [Header] Total growth [Header] Port",
    "[Table] [Caption] Rivers",
    "",
]


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cache of its own, and nothing remembered of what is installed."""
    monkeypatch.setenv("KGTABLE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(TAGGER, raising=False)
    table_features._shape.cache_clear()
    yield
    table_features._shape.cache_clear()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder with a model that knows what part of speech three words are."""
    spacy = pytest.importorskip("spacy")
    language = spacy.blank("en", meta={"name": "tiny", "version": "1.0"})
    ruler = language.add_pipe("attribute_ruler")
    for word, part in (("growth", "NOUN"), ("of", "ADP"), ("total", "ADJ")):
        ruler.add(patterns=[[{"LOWER": word}]], attrs={"POS": part})
    language.to_disk(tmp_path / "model")
    return tmp_path / "model"


def test_without_spacy_words_alone_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    shape = installed_shape()
    assert isinstance(shape, LexicalShape)
    assert shape.measure(TEXTS).shape == (3, len(SHAPE))
    with pytest.raises(MissingExtraError, match="en_core_web_sm"):
        installed_shape("en_core_web_sm")


def test_a_model_gives_parts_of_speech(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TAGGER, str(model))
    shape = installed_shape()
    assert shape.name.endswith("en_tiny 1.0")
    (row,) = shape.measure(TEXTS[:1])
    assert len(row) == 4 + len(PARTS_OF_SPEECH)
    count = round(np.expm1(row[0]))
    noun, _, verb, adjective, _, function, _ = row[4:] * count
    assert (noun, verb, adjective, function) == pytest.approx((1, 0, 1, 1))


def test_hyperedges_of_another_shape_are_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("spacy")
    directory = tmp_path / "kg"
    kgtable.build(write(tmp_path / "tables"), directory, embedding="none").close()
    made = []
    for tagger in ("none", "blank", "none"):
        monkeypatch.setenv(TAGGER, tagger)
        with kgtable.write_hypergraph(directory, clusters=2, typical=1) as graph:
            made.append(json.loads(stored_hypergraph(graph.generation).read_text())["embedding"])
    assert made[0] == made[2] == "none, lexical"
    assert "spaCy" in made[1]
