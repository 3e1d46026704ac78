from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from kgtable.config import OPENAI_URL, ModelEndpoint, Secret, Settings, load_settings, same_url
from kgtable.errors import ConfigError

LOCAL = "http://localhost:8000/v1"


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    return tmp_path / "kgtable.toml"


def test_each_source_wins_over_the_one_before(toml: Path) -> None:
    toml.write_text('model = "from-file"\nk = 7\ntimeout = 3\n')
    env = {"KGTABLE_K": "8", "KGTABLE_RERANK": "no"}
    found = load_settings(file=toml, environment=env, timeout=4.5, model=None)
    assert (found.model, found.k, found.rerank, found.timeout) == ("from-file", 8, False, 4.5)
    assert found.concurrency == Settings().concurrency


def test_the_file_of_the_working_folder_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_settings(environment={}) == Settings()
    (tmp_path / "kgtable.toml").write_text('presentation = "sequential"\n')
    assert load_settings(environment={}).presentation == "sequential"


@pytest.mark.parametrize(
    ("file", "env", "options", "url", "key"),
    [
        ("", {"OPENAI_API_KEY": "a"}, {}, OPENAI_URL, "a"),
        ("", {"OPENAI_API_KEY": "a", "OPENAI_BASE_URL": LOCAL}, {}, LOCAL, "a"),
        ("", {"OPENAI_API_KEY": "a", "OPENAI_BASE_URL": LOCAL + "/"}, {}, LOCAL, "a"),
        # a key meets only the base URL of its own source
        (f'base_url = "{LOCAL}"', {"OPENAI_API_KEY": "a"}, {}, LOCAL, None),
        (f'base_url = "{LOCAL}"\napi_key = "f"', {"OPENAI_API_KEY": "a"}, {}, LOCAL, "f"),
        ("", {"OPENAI_API_KEY": "a"}, {"base_url": LOCAL}, LOCAL, None),
        ("", {"OPENAI_API_KEY": "a", "OPENAI_BASE_URL": LOCAL}, {"base_url": OPENAI_URL}, OPENAI_URL, None),
        ("", {"OPENAI_API_KEY": "a", "KGTABLE_BASE_URL": LOCAL}, {}, LOCAL, None),
        ("", {"KGTABLE_API_KEY": "b", "KGTABLE_BASE_URL": LOCAL, "OPENAI_API_KEY": "a"}, {}, LOCAL, "b"),
        ("", {"KGTABLE_API_KEY": "b", "OPENAI_BASE_URL": LOCAL}, {}, LOCAL, None),
        (f'base_url = "{LOCAL}"', {}, {"api_key": "o"}, LOCAL, None),
        ('api_key = "f"', {}, {"base_url": LOCAL}, LOCAL, None),
        ("", {"OPENAI_API_KEY": "a"}, {"base_url": LOCAL, "api_key": "o"}, LOCAL, "o"),
        ("", {"OPENAI_API_KEY": "a"}, {"base_url": "https://api.openai.com:443/v1/"}, OPENAI_URL, "a"),
        ("", {"OPENAI_API_KEY": "a"}, {"base_url": "https://api.openai.com.evil.example/v1"}, None, None),
        ("", {"OPENAI_API_KEY": "a"}, {"base_url": "http://api.openai.com/v1"}, None, None),
    ],
)
def test_a_key_goes_only_where_it_was_given_for(
    toml: Path, file: str, env: dict[str, str], options: dict[str, str], url: str | None, key: str | None
) -> None:
    toml.write_text(file)
    endpoint = load_settings(file=toml, environment=env, **options).endpoint
    assert url is None or same_url(endpoint.base_url, url)
    assert endpoint.key == (None if key is None else Secret(key))


def test_a_key_does_not_show_itself() -> None:
    endpoint = ModelEndpoint(LOCAL, Secret("sk-very-secret"))
    settings = Settings(endpoint=endpoint)
    for text in (repr(endpoint), str(settings), f"{endpoint.key}", f"{settings!r}"):
        assert "very-secret" not in text
    with pytest.raises(TypeError):
        pickle.dumps(endpoint.key)
    assert Secret("sk-1").scrub("wrong key sk-1!") == "wrong key ***!"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("modell = 1", "no setting 'modell'"), ("endpoint_given = true", "no setting"),
        ("k = 'many'", "not a whole number"), ("k = 1.5", "not a whole number"), ("timeout = -1", "negative"),
        ("rerank = 'perhaps'", "not true or false"), ("model = 3", "not text"), ("k = ", "not readable as TOML"),
        ("base_url = 'ftp://host/'", "not an http"), ("base_url = 'http://me:pw@host/'", "holds a password"),
    ],
)  # fmt: skip
def test_a_bad_setting_names_its_source(toml: Path, text: str, says: str) -> None:
    toml.write_text(text)
    with pytest.raises(ConfigError, match=says):
        load_settings(file=toml, environment={})


def test_a_file_that_was_named_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"missing\.toml"):
        load_settings(environment={"KGTABLE_CONFIG": str(tmp_path / "missing.toml")})


def test_a_model_is_used_only_where_it_can_be_reached() -> None:
    assert not load_settings(environment={}).uses_llm
    assert load_settings(environment={"OPENAI_API_KEY": "a"}).uses_llm
    assert load_settings(environment={}, base_url=LOCAL).uses_llm
    assert not load_settings(environment={"OPENAI_API_KEY": "a", "KGTABLE_MODEL": "none"}).uses_llm
