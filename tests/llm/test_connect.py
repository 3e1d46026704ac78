from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kgtable.config import load_settings
from kgtable.errors import ConfigError
from kgtable.llm.client import connect
from kgtable.llm.protocol import Request
from kgtable.llm.scripted_server import ScriptedServer

QUESTION = Request(({"role": "user", "content": "Say hello."},))


def test_no_key_and_no_address_mean_no_model() -> None:
    assert connect(load_settings(environment={})) is None


def test_the_settings_model_is_reached(tmp_path: Path) -> None:
    with ScriptedServer(["Hello"]) as server:
        env = {"KGTABLE_BASE_URL": server.base_url, "KGTABLE_API_KEY": "k", "KGTABLE_MODEL": "tiny"}
        settings = load_settings(environment=env, llm_cache=tmp_path / "c.sqlite", trace=tmp_path / "t.jsonl")
        for _ in range(2):
            model = connect(settings)
            assert model is not None
            assert model.complete(QUESTION).text == "Hello"
            model.close()
    assert [request.body["model"] for request in server.requests] == ["tiny"]
    assert len((tmp_path / "t.jsonl").read_text().splitlines()) == 1


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(ConfigError, match="structured = 'xml'"):
        connect(load_settings(environment={"OPENAI_API_KEY": "k"}, structured="xml"))


def test_nothing_imports_the_openai_package_before_a_request() -> None:
    code = "import sys, kgtable.llm, kgtable.llm.scripted; sys.exit('openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
