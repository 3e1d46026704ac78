from __future__ import annotations

import math

import numpy as np
import onnxruntime
import pytest

from kgtable.errors import EmbeddingError
from kgtable.index.minilm import FLOAT, FUSED, ModelWriter, read_tensors


def session(model: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def test_a_written_model_runs() -> None:
    writer = ModelWriter()
    matrix = np.arange(6, dtype=np.float32).reshape(2, 3)
    numbers = writer.node("Cast", [writer.constant(matrix.astype(np.int8))], to=FLOAT)
    product = writer.node("MatMul", ["x", numbers])
    bias = np.array([0.5, -1, 300], dtype=np.float32)
    writer.node("BiasGelu", [product, writer.constant(bias)], domain=FUSED, output="y")
    model = writer.model({"x": (np.float32, ("rows", 2))}, {"y": ("rows", 3)})
    given = np.array([[1, 2], [-3, 0.25]], dtype=np.float32)
    (found,) = session(model).run(None, {"x": given})
    inner = given @ matrix + bias
    expected = 0.5 * inner * (1 + np.vectorize(math.erf)(inner / np.sqrt(2)))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(
    "data",
    [b"\x3a\xff\xff\x03abc", b"\x3f\x00", b"\xff" * 20, b"\x3a\x02\x2a\x05", b"\x3a\x04\x2a\x02\x10\x63"],
)
def test_damaged_models_are_refused(data: bytes) -> None:
    with pytest.raises(EmbeddingError, match="damaged"):
        read_tensors(data)
