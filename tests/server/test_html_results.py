from __future__ import annotations

import json
import re
from typing import Any

from kgtable.server.execution import results_page

HOSTILE = '"><script>alert(1)</script>{query}\u202e'


def page(
    bindings: list[dict[str, Any]], query: str = "SELECT * {}", variables: tuple[str, ...] = ("x",)
) -> str:
    results = {"head": {"vars": list(variables)}, "results": {"bindings": bindings}}
    return results_page(query, json.dumps(results).encode(), graph=False).decode()


def test_terms_are_shown_as_what_they_are() -> None:
    shown = page(
        [
            {"x": {"type": "uri", "value": "http://e/a b?c&d"}},
            {"x": {"type": "bnode", "value": "b0"}},
            {"x": {"type": "literal", "value": "Wert", "xml:lang": "de"}},
            {},
        ]
    )
    assert '<a href="/resource?iri=http%3A%2F%2Fe%2Fa%20b%3Fc%26d">http://e/a b?c&amp;d</a>' in shown
    assert "_:b0" in shown
    assert '<bdi dir="auto">Wert</bdi> <small>@de</small>' in shown
    assert "4 results" in shown
    assert "<td></td>" in shown


def test_triples_in_terms_are_shown() -> None:
    node = {"type": "uri", "value": "http://e/s"}
    triple = {
        "type": "triple",
        "value": {"subject": node, "predicate": node, "object": {"type": "literal", "value": "<o>"}},
    }
    assert "&lt;o&gt;" in page([{"x": triple}])


def test_markup_is_never_of_the_page() -> None:
    for shown in (
        page([{HOSTILE: {"type": "literal", "value": HOSTILE, "xml:lang": HOSTILE}}], HOSTILE, (HOSTILE,)),
        page(
            [
                {"x": {"type": "uri", "value": f"javascript:{HOSTILE}"}},
                {"x": {"type": "bnode", "value": HOSTILE}},
            ]
        ),
        results_page(HOSTILE, HOSTILE.encode(), graph=True).decode(),
    ):
        assert "<script>" not in shown
        assert not re.search(r'href="javascript', shown)
        assert "&lt;script&gt;" in shown


def test_answers_without_rows() -> None:
    assert "matches nothing" in page([])
    assert "1 result<" in page([{}])
    for value, word in ((True, "Yes"), (False, "No")):
        shown = results_page("ASK {}", json.dumps({"head": {}, "boolean": value}).encode(), graph=False)
        assert f"<strong>{word}</strong>" in shown.decode()
