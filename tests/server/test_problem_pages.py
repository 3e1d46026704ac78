from __future__ import annotations

import json

import pytest

from kgtable.server.pages import problem_response
from kgtable.server.problems import KINDS, Problem, busy

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


def test_headers_come_with_either_and_nothing_is_stored() -> None:
    for accept in ("text/html", ""):
        response = problem_response(busy("Later.", 7), accept)
        assert response.headers["retry-after"] == "7"
        assert response.headers["cache-control"] == "no-store"
