from __future__ import annotations

import json

import pytest

from kgtable.server.pages import problem_response
from kgtable.server.workers.messages import KINDS, PROBLEM_TYPE, Problem


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_has_a_status_and_a_body(kind: str) -> None:
    problem = Problem(kind, "What happened.")
    told = json.loads(problem.body())
    assert told == {
        "type": PROBLEM_TYPE + kind, "title": KINDS[kind].title,
        "status": problem.status, "detail": "What happened.",
    }  # fmt: skip
    assert 400 <= problem.status < 600
    response = problem.response()
    assert response.status_code == problem.status
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["cache-control"] == "no-store"


def test_any_text_can_be_told() -> None:
    told = json.loads(Problem("bad-request", '"\u2028\u202e<script>\x00').body())
    assert told["detail"] == '"\u2028\u202e<script>\x00'
    assert json.loads(Problem("bad-request", "a\ud800").body())["detail"]


SCRIPT = "<script>alert(1)</script>"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_people_are_shown_a_page_and_programs_are_told(kind: str) -> None:
    problem = Problem(kind, f"Why {SCRIPT}")
    page = problem_response(problem, "text/html,application/xhtml+xml,*/*;q=0.8")
    assert page.status_code == problem.status
    assert page.headers["content-type"].startswith("text/html")
    text = bytes(page.body).decode()
    assert SCRIPT not in text
    assert "Why &lt;script&gt;" in text
    for accept in ("", "*/*", "application/json", "application/problem+json", "image/png", "garbage"):
        told = problem_response(problem, accept)
        assert told.headers["content-type"] == "application/problem+json"
        assert json.loads(bytes(told.body))["detail"] == f"Why {SCRIPT}"
