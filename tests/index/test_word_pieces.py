"""Word pieces against the package that made the model's own: the same numbers for any text."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from kgtable.index.minilm import LONGEST, VOCABULARY
from kgtable.index.word_pieces import LONGEST_WORD, WordPieces

PIECES = WordPieces.read(VOCABULARY, LONGEST)
SIGNS = st.characters(codec="utf-8", max_codepoint=0x33FF, exclude_categories=["Cn", "Mn", "Cf"])
"""Characters whose categories are the same in every version of Unicode."""


@pytest.fixture(scope="module")
def reference() -> Tokenizer:
    words = VOCABULARY.read_text(encoding="utf-8").split("\n")
    numbers = {word: number for number, word in enumerate(words) if word}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]", max_input_chars_per_word=LONGEST_WORD))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [(word, numbers[word]) for word in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    tokenizer.enable_truncation(LONGEST)
    return tokenizer


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \t\n",
        "Net income (in millions)",
        "Norrvik | 1,840.5 | −212.25 €m",
        "Électricité d'Été, ÄÖÜ ß ŁÓDŹ İstanbul",
        "東京とソウル 한국어 مدينة ΣΊΣΥΦΟΣ",
        "a\x00b\x1fc\x7fd\x0be\u200bf\ufeffg\ufffdh\u00a0i\u3000j\u2028k",
        "x" * LONGEST_WORD + " " + "x" * (LONGEST_WORD + 1),
        "☃ ² ½ № … “q” $5 + 3 = 8 `~^_",
        "cell " * 400,
        "[SEP] [MASK] x",
    ],
)
def test_texts_become_the_same_numbers(reference: Tokenizer, text: str) -> None:
    assert PIECES.encode(text) == reference.encode(text).ids


@given(st.text(SIGNS, max_size=60))
def test_any_text_becomes_the_same_numbers(reference: Tokenizer, text: str) -> None:
    assert PIECES.encode(text) == reference.encode(text).ids


def test_words_that_are_remembered_no_longer_are_cut_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgtable.index.word_pieces.REMEMBERED", 3)
    pieces = WordPieces.read(VOCABULARY, LONGEST)
    words = random.Random(5).choices(["revenue", "Norrvik", "kilometres", "2,024", "unladen", "café"], k=50)
    assert [pieces.encode(word) for word in words] == [PIECES.encode(word) for word in words]
    assert len(pieces._known) <= 3
