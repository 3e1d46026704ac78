"""ONNX models read and written without the package ``onnx``: what MiniLM needs of the format, no more.

A model is a protocol buffer: numbered fields, each a number or a run of bytes. Format: ``onnx.proto`` of
https://github.com/onnx/onnx, IR version 8; the fused operators are those of ONNX Runtime's domain
``com.microsoft``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kgtable.errors import EmbeddingError

Array: TypeAlias = npt.NDArray[Any]

IR_VERSION = 8
OPSET = 17
FUSED = "com.microsoft"
"""The domain of ONNX Runtime's fused operators."""

FLOAT = 1
"""The element type of 32-bit floats."""
_TYPES: Mapping[int, npt.DTypeLike] = {1: np.float32, 3: np.int8, 6: np.int32, 7: np.int64, 9: np.bool_}
"""Element types of tensors by their numbers in ``TensorProto.DataType``."""
_NUMBERS = {np.dtype(kind): number for number, kind in _TYPES.items()}
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5


def read_tensors(model: bytes) -> dict[str, Array]:
    """The constant tensors of a model by name. Raises `EmbeddingError` for what is no such model."""
    view = memoryview(model)
    tensors = {}
    try:
        for number, graph in _fields(view):
            if number == 7:  # ModelProto.graph
                for inner, tensor in _fields(graph):
                    if inner == 5:  # GraphProto.initializer
                        name, array = _tensor(tensor)
                        tensors[name] = array
    except (ValueError, IndexError, KeyError, TypeError, struct.error) as error:
        raise EmbeddingError("The file is no ONNX model, or a damaged one.") from error
    return tensors


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """The fields of a message: number, and an int or the bytes."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, place = _varint(data, place)
            yield number, value
        elif kind == _BYTES:
            size, place = _varint(data, place)
            if place + size > len(data):
                raise ValueError("the message ends early")
            yield number, data[place : place + size]
            place += size
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            place += 8 if kind == _EIGHT_BYTES else 4
        else:
            raise ValueError(f"there are no fields of kind {kind}")


def _varint(data: memoryview, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7


def _tensor(data: memoryview) -> tuple[str, Array]:
    shape: list[int] = []
    name, kind, raw = "", 0, memoryview(b"")
    for number, value in _fields(data):
        if number == 1:  # dims, one by one or packed
            place = 0
            if isinstance(value, int):
                shape.append(value)
            else:
                while place < len(value):
                    size, place = _varint(value, place)
                    shape.append(size)
        elif number == 2:
            kind = value
        elif number == 8:
            name = bytes(value).decode()
        elif number == 9:
            raw = value
    return name, np.frombuffer(raw, dtype=_TYPES[kind]).reshape(shape)


@dataclass
class ModelWriter:
    """A model as it is put together: constants, nodes, inputs and outputs."""

    _parts: list[bytes] = field(default_factory=list)
    _names: int = 0

    def constant(self, array: Array) -> str:
        """Add a constant tensor; gives its name."""
        name = self._name("constant")
        array = np.ascontiguousarray(array)
        dims = b"".join(_number(1, size) for size in array.shape)
        about = dims + _number(2, _NUMBERS[array.dtype]) + _run(8, name.encode())
        self._parts.append(_run(5, about + _run(9, array.tobytes())))
        return name

    def node(
        self, kind: str, inputs: Sequence[str], *, domain: str = "", output: str = "", **options: float
    ) -> str:
        """Add an operator; gives the name of its output. `options` are its attributes."""
        made = output or self._name(kind)
        attributes = b"".join(_run(5, _attribute(name, value)) for name, value in options.items())
        names = b"".join(_run(1, name.encode()) for name in inputs)
        about = names + _run(2, made.encode()) + _run(3, made.encode()) + _run(4, kind.encode()) + attributes
        self._parts.append(_run(1, about + (_run(7, domain.encode()) if domain else b"")))
        return made

    def model(
        self, inputs: Mapping[str, tuple[npt.DTypeLike, Sequence[str]]], outputs: Mapping[str, Sequence[Any]]
    ) -> bytes:
        """The whole model. `inputs` name type and dimensions of each input, `outputs` the dimensions of floats."""
        described = [_run(11, _value(name, kind, shape)) for name, (kind, shape) in inputs.items()]
        described += [_run(12, _value(name, np.float32, shape)) for name, shape in outputs.items()]
        graph = b"".join((*self._parts, _run(2, b"kgtable"), *described))
        opsets = [
            _run(8, _run(1, domain.encode()) + _number(2, version))
            for domain, version in (("", OPSET), (FUSED, 1))
        ]
        return b"".join((_number(1, IR_VERSION), _run(7, graph), *opsets))

    def _name(self, kind: str) -> str:
        self._names += 1
        return f"{kind}_{self._names}"


def _attribute(name: str, value: float) -> bytes:
    """An attribute of a node: FLOAT (field 2, type 1) or INT (field 3, type 2)."""
    if isinstance(value, int):
        return _run(1, name.encode()) + _number(3, value) + _number(20, 2)
    return (
        _run(1, name.encode())
        + _varint_bytes(2 << 3 | _FOUR_BYTES)
        + struct.pack("<f", value)
        + _number(20, 1)
    )


def _value(name: str, kind: npt.DTypeLike, shape: Sequence[Any]) -> bytes:
    """A ``ValueInfoProto``: a tensor of this element type whose dimensions are numbers or names."""
    dims = b"".join(
        _run(1, _number(1, size) if isinstance(size, int) else _run(2, str(size).encode())) for size in shape
    )
    tensor = _number(1, _NUMBERS[np.dtype(kind)]) + _run(2, dims)
    return _run(1, name.encode()) + _run(2, _run(1, tensor))


def _number(field_number: int, value: int) -> bytes:
    return _varint_bytes(field_number << 3 | _VARINT) + _varint_bytes(value & 0xFFFF_FFFF_FFFF_FFFF)


def _run(field_number: int, data: bytes) -> bytes:
    return _varint_bytes(field_number << 3 | _BYTES) + _varint_bytes(len(data)) + data


def _varint_bytes(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
