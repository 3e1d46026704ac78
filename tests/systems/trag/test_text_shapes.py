"""The structural feature: counts of tokens, and of parts of speech where a tagger is installed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgtable
from kgtable.systems.trag import hypergraph
from kgtable.systems.trag.hyperedge_graph import stored_hypergraph
from kgtable.systems.trag.table_features import PARTS_OF_SPEECH, installed_tagger, shapes_of
from tests.systems.trag.test_coarse_to_fine import write

TEXTS = ["[Table] [Caption] GDP (net) of 2019 [Header] Total growth [Header] Port", "[Table] [Caption] Rivers", ""]


@pytest.fixture
def tagger() -> Any:
    """A model that knows what part of speech three words are."""
    spacy = pytest.importorskip("spacy")
    language = spacy.blank("en", meta={"name": "tiny", "version": "1.0"})
    ruler = language.add_pipe("attribute_ruler")
    for word, part in (("growth", "NOUN"), ("of", "ADP"), ("total", "ADJ")):
        ruler.add(patterns=[[{"LOWER": word}]], attrs={"POS": part})
    return language


def test_without_spacy_tokens_alone_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    assert installed_tagger.__wrapped__() is None
    rows = shapes_of(TEXTS)
    assert len(rows) == 3
    assert np.expm1(rows[0][:2]) == pytest.approx((9, 6))
    assert np.expm1(rows[:, 8]) == pytest.approx((2, 0, 0))


def test_a_tagger_adds_parts_of_speech(tagger: Any) -> None:
    (row,) = shapes_of(TEXTS[:1], tagger)
    plain = len(shapes_of(TEXTS[:1])[0])
    assert len(row) == plain + len(PARTS_OF_SPEECH)
    noun, _, verb, adjective, _, function, _ = row[plain:] * 9
    assert (noun, verb, adjective, function) == pytest.approx((1, 0, 1, 1))


def test_hyperedges_of_another_tagger_are_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tagger: Any
) -> None:
    monkeypatch.setenv("KGTABLE_CACHE", str(tmp_path / "cache"))
    directory = tmp_path / "kg"
    kgtable.build(write(tmp_path / "tables"), directory, embedding="none").close()
    made = []
    for used in (None, tagger, None):
        monkeypatch.setattr(hypergraph, "installed_tagger", lambda used=used: used)
        with kgtable.write_hypergraph(directory, clusters=2, typical=1) as graph:
            made.append(json.loads(stored_hypergraph(graph.generation).read_text())["embedding"])
    assert made == ["none", "none, tiny, 1.0", "none"]
