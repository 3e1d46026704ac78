from __future__ import annotations

import pyoxigraph as ox
import pytest

from kgtable.server.sparql_protocol import SD
from tests.server.serving import Running


def described(server: Running, accept: str = "text/turtle") -> list[tuple[str, str]]:
    """What the service at the endpoint says of itself: local name and value."""
    answer = server.client.get("/sparql", headers={"accept": accept})
    assert answer.status_code == 200
    form = ox.RdfFormat.from_media_type(answer.headers["content-type"].partition(";")[0])
    assert form is not None
    service = ox.NamedNode(server.sparql)
    return [
        (quad.predicate.value.removeprefix(SD), str(getattr(quad.object, "value", "")).removeprefix(SD))
        for quad in ox.parse(answer.content, form)
        if quad.subject == service
    ]


def test_languages_features_and_formats(reading: Running, writing: Running) -> None:
    said = described(reading)
    assert ("endpoint", reading.sparql) in said
    assert ("supportedLanguage", "SPARQL11Query") in said
    assert ("supportedLanguage", "SPARQL11Update") not in said
    assert ("feature", "UnionDefaultGraph") in said
    assert not [value for name, value in said if name == "inputFormat"]
    written = described(writing)
    assert ("supportedLanguage", "SPARQL11Update") in written
    assert ("feature", "UnionDefaultGraph") not in written
    assert [value for name, value in written if name == "inputFormat"]


@pytest.mark.parametrize(
    "accept", ["", "text/turtle", "application/n-triples", "application/rdf+xml", "application/ld+json"]
)
def test_every_format_says_the_same(accept: str, reading: Running) -> None:
    assert sorted(described(reading, accept)) == sorted(described(reading))


def test_people_are_shown_the_query_page(reading: Running) -> None:
    answer = reading.client.get("/sparql", headers={"accept": "text/html"}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/query")


def test_what_is_known_is_not_sent_again(reading: Running) -> None:
    answer = reading.client.get("/sparql", headers={"accept": "text/turtle"})
    tag = {"if-none-match": answer.headers["etag"], "accept": "text/turtle"}
    assert reading.client.get("/sparql", headers=tag).status_code == 304
    head = reading.client.head("/sparql", headers={"accept": "text/turtle"})
    assert (head.content, head.headers["content-length"]) == (b"", str(len(answer.content)))
    assert reading.client.get("/sparql", headers={"accept": "image/png"}).status_code == 406
