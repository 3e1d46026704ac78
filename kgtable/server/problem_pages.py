"""What went wrong with a request, for programs as problem details and for people as a page."""

from __future__ import annotations

from html import escape

from starlette.responses import Response

from kgtable.server import negotiation
from kgtable.server.negotiation import HTML, Offer
from kgtable.server.pages import page
from kgtable.server.problems import KINDS, Problem

_OFFERS = (Offer("application/problem+json", ("application/json",), None), Offer(HTML, (), None))


def problem_response(problem: Problem, accept: str) -> Response:
    """The problem as the ``Accept`` header likes it: a page for browsers, else problem details."""
    offer = negotiation.choose(accept, _OFFERS)
    if offer is None or offer.media_type != HTML:
        return problem.response()
    values = {"title": KINDS[problem.kind].title, "detail": problem.detail, "status": str(problem.status)}
    content = page("problem", {name: escape(value) for name, value in values.items()})
    headers = {"cache-control": "no-store", **problem.headers}
    return Response(content, problem.status, headers, offer.content_type)
