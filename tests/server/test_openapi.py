"""The OpenAPI document against the running server: what it promises holds for requests made from it."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings

from kgtable.answering.answer import Status
from kgtable.server.app import make_site
from kgtable.server.openapi import STATUSES, document
from tests.server.serving import Running

PLACE = "http://127.0.0.1"
CHECKS = (
    schemathesis.checks.content_type_conformance,
    schemathesis.checks.response_schema_conformance,
    schemathesis.checks.status_code_conformance,
)


OPERATIONS = {
    operation.label: operation
    for operation in (found.ok() for found in schemathesis.openapi.from_dict(document(PLACE)).get_all_operations())
}


@pytest.mark.parametrize("label", OPERATIONS)
def test_the_server_keeps_what_the_document_promises(label: str, exploring: Running) -> None:
    @settings(max_examples=10, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(case=OPERATIONS[label].as_strategy())
    def holds(case: schemathesis.Case) -> None:
        answer = case.call(base_url=exploring.url.rstrip("/"), timeout=60)
        case.validate_response(answer, checks=CHECKS)

    holds()


def test_every_route_of_the_api_is_described(exploring: Running) -> None:
    site = make_site(exploring.state)
    routes = {route.path.replace(":path", "") for route in site.routes if route.path.startswith("/api/")}  # type: ignore[attr-defined]
    assert routes - {"/api/openapi.json"} == set(document(exploring.url)["paths"])


def test_every_status_of_an_answer_is_described() -> None:
    assert tuple(Status) == STATUSES
