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


def test_tensors_are_read_back_with_type_and_shape() -> None:
    writer = ModelWriter()
    arrays = [
        np.arange(-128, 128, dtype=np.int8).reshape(2, 128),
        np.array([[[1.5, -2.25]]], dtype=np.float32),
        np.array([2**40, -1], dtype=np.int64),
        np.array([True, False]),
    ]
    names = [writer.constant(array) for array in arrays]
    found = read_tensors(writer.model({}, {}))
    assert list(found) == names
    for name, array in zip(names, arrays, strict=True):
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def test_attributes_are_whole_numbers_or_not() -> None:
    for epsilon in (1e-12, 0.5):
        writer = ModelWriter()
        ones, zeros = writer.constant(np.ones(4, np.float32)), writer.constant(np.zeros(4, np.float32))
        writer.node("LayerNormalization", ["x", ones, zeros], output="y", axis=-1, epsilon=epsilon)
        model = writer.model({"x": (np.float32, (1, 4))}, {"y": (1, 4)})
        x = np.array([[1, 2, 3, 4]], dtype=np.float32)
        (found,) = session(model).run(None, {"x": x})
        np.testing.assert_allclose(found, (x - x.mean()) / np.sqrt(x.var() + epsilon), rtol=1e-5)


@pytest.mark.parametrize(
    "data",
    [b"\x3a\xff\xff\x03abc", b"\x3f\x00", b"\xff" * 20, b"\x3a\x02\x2a\x05", b"\x3a\x04\x2a\x02\x10\x63"],
)
def test_damaged_models_are_refused(data: bytes) -> None:
    with pytest.raises(EmbeddingError, match="damaged"):
        read_tensors(data)
