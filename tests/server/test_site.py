from __future__ import annotations

import gzip

from tests.server.serving import Running


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


def test_counters_are_in_the_text_format(exploring: Running) -> None:
    answer = exploring.client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "kgtable_workers " in answer.text


def test_problems_are_pages_for_people_and_json_for_programs(exploring: Running) -> None:
    page = exploring.client.get("/nowhere", headers={"accept": "text/html"})
    assert page.status_code == 404
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert exploring.client.get("/nowhere").json()["title"] == "There is nothing here"
    refused = exploring.client.post("/health")
    assert refused.status_code == 405
    assert "GET" in refused.headers["allow"]


def test_long_answers_are_packed(exploring: Running) -> None:
    with exploring.client.stream("GET", "/api/tables", headers={"accept-encoding": "gzip"}) as answer:
        assert answer.headers["content-encoding"] == "gzip"
        assert gzip.decompress(b"".join(answer.iter_raw())).startswith(b"{")
