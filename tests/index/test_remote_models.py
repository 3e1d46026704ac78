from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import numpy as np
import pytest

from kgtable.errors import EmbeddingError
from kgtable.index.embedding import Embedder, load_embedder

KEY = "sk-secret-of-this-test"


class Endpoint(BaseHTTPRequestHandler):
    asked: ClassVar[list[list[str]]] = []
    status: ClassVar[int] = 200

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts: list[str] = body["input"]
        type(self).asked.append(texts)
        data = [
            {"object": "embedding", "index": index, "embedding": [float(len(text)), 1.0, 0.0]}
            for index, text in enumerate(texts)
        ]
        reply: dict[str, Any] = {"object": "list", "data": data[::-1], "model": body["model"]}
        reply["usage"] = {"prompt_tokens": 1, "total_tokens": 1}
        if self.status != 200:
            reply = {"error": {"message": "no such model", "type": "x", "code": None, "param": None}}
        text = json.dumps(reply).encode()
        self.send_response(self.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Embedder]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    monkeypatch.setenv("KGTABLE_CACHE", str(tmp_path))
    Endpoint.asked, Endpoint.status = [], 200
    model = load_embedder("openai:text-embedding-3-large")
    assert model is not None
    yield model
    model._embedder._client.close()  # type: ignore[attr-defined]
    server.shutdown()
    server.server_close()


def test_vectors_are_unit_rows_in_order_and_asked_for_once(model: Embedder) -> None:
    texts = ["aaa", "b", "aaa", ""]
    first = model.embed(texts)
    assert first.shape == (4, 3)
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(first[0], np.array([3, 1, 0]) / 10**0.5, atol=1e-6)
    np.testing.assert_array_equal(model.embed(texts), first)
    assert Endpoint.asked == [["aaa", "b", " "]]


def test_the_cache_outlives_the_process_and_holds_no_key(model: Embedder, tmp_path: Path) -> None:
    model.embed(["aaa"])
    again = load_embedder("openai:text-embedding-3-large")
    assert again is not None
    again.embed(["aaa"])
    again._embedder._client.close()  # type: ignore[attr-defined]
    assert len(Endpoint.asked) == 1
    stored = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert stored
    assert not any(KEY.encode() in content for content in stored)


def test_a_refusal_is_an_embedding_error(model: Embedder) -> None:
    Endpoint.status = 404
    with pytest.raises(EmbeddingError, match=r"gave no vectors.*no such model"):
        model.embed(["x"])


def test_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(EmbeddingError, match="Set OPENAI_API_KEY"):
        load_embedder("openai:any")
