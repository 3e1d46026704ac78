from __future__ import annotations

import json

import pytest

from tests.server.serving import Running

HOSTILE = ["/%3Cscript%3E", "/..%2f..%2fetc/passwd", "/store%00", "/a" * 2_000, "/%ff%fe", "/%E2%80%AE"]


@pytest.mark.parametrize("path", ["/sparql?query=ASK%7B%7D", "/", "/api/tables", "/health", "/nowhere"])
def test_every_answer_has_the_headers_that_keep_pages_safe(path: str, reading: Running) -> None:
    headers = reading.client.get(path).headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", HOSTILE)
def test_addresses_where_nothing_is(path: str, reading: Running) -> None:
    answer = reading.client.get(path, headers={"accept": "application/json"})
    assert answer.status_code in (400, 404)
    assert json.loads(answer.content)["status"] == answer.status_code
    page = reading.client.get(path, headers={"accept": "text/html"})
    assert "<script>" not in page.text.replace('<script type="module"', "")


def test_names_of_others_are_not_answered_to(reading: Running) -> None:
    assert reading.client.get("/health", headers={"host": "evil.example"}).status_code == 421
    assert reading.client.get("/health", headers={"host": "localhost:1"}).status_code == 200


def test_browsers_may_ask_whether_they_may(reading: Running) -> None:
    asked = {"access-control-request-method": "POST", "origin": "https://app.example"}
    answer = reading.client.options("/sparql", headers=asked)
    assert (answer.status_code, answer.content) == (204, b"")
    assert "POST" in answer.headers["access-control-allow-methods"]
    refused = reading.client.options("/sparql", headers=asked | {"origin": "https://evil.example"})
    assert "access-control-allow-methods" not in refused.headers


def test_a_mistake_of_ours_is_told_as_one_and_the_server_goes_on(
    reading: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise ZeroDivisionError("our secret")

    with monkeypatch.context() as patch:
        patch.setattr(reading.state.source, "view", broken)
        answer = reading.client.get("/sparql?query=ASK%7B%7D")
    assert answer.status_code == 500
    assert "our secret" not in answer.text
    assert "ZeroDivisionError" in caplog.text
    assert reading.query("ASK {}").status_code == 200


def test_health_names_the_version_of_the_graph(exploring: Running) -> None:
    answer = exploring.client.get("/health")
    assert answer.json() == {"status": "ok", "version": exploring.state.view().version}
    assert answer.headers["cache-control"] == "no-store"


def test_a_server_whose_store_cannot_be_read_is_not_healthy(exploring: Running) -> None:
    source = exploring.state.source
    view = source.view()

    class Broken:
        def view(self) -> object:
            return type(view)(view.path + "-gone", "other", view.prefixes, None)

    exploring.state.source = Broken()  # type: ignore[assignment]
    try:
        answer = exploring.client.get("/health")
    finally:
        exploring.state.source = source
    assert answer.status_code == 503
    assert answer.headers["content-type"] == "application/problem+json"
    assert exploring.client.get("/health").status_code == 200


def test_problems_are_pages_for_people_and_json_for_programs(exploring: Running) -> None:
    page = exploring.client.get("/nowhere", headers={"accept": "text/html"})
    assert page.status_code == 404
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert exploring.client.get("/nowhere").json()["title"] == "There is nothing here"
    refused = exploring.client.post("/health")
    assert refused.status_code == 405
    assert "GET" in refused.headers["allow"]


def test_requests_are_counted_and_logged_without_tokens(reading: Running) -> None:
    reading.client.get("/nowhere?token=a-secret&x=1")
    reading.client.get("/nowhere?x=1&%74OKen=a-secret")
    reading.client.get("/metrics")
    text = reading.client.get("/metrics").text
    assert 'kgtable_requests_total{route="site",status="404"}' in text
    assert 'route="metrics",status="200"' in text
    assert "a-secret" not in reading.log.getvalue()
