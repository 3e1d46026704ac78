"""Content negotiation: choose the response format from the Accept header (RFC 9110, section 12.5.1)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pyoxigraph import QueryResultsFormat, RdfFormat

HTML = "text/html"


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """A format that the server can write: its media types and the engine's name for it."""

    media_type: str
    aliases: tuple[str, ...]
    format: QueryResultsFormat | RdfFormat | None

    @property
    def name(self) -> str:
        """The format's part of an entity tag."""
        return self.media_type.rpartition("/")[2]

    @property
    def content_type(self) -> str:
        """The Content-Type header, with the charset for textual types."""
        return f"{self.media_type}; charset=utf-8" if self.media_type.startswith("text/") else self.media_type


TABULAR: tuple[Offer, ...] = (
    Offer("application/sparql-results+json", ("application/json",), QueryResultsFormat.JSON),
    Offer("application/sparql-results+xml", ("application/xml", "text/xml"), QueryResultsFormat.XML),
    Offer("text/csv", (), QueryResultsFormat.CSV),
    Offer("text/tab-separated-values", ("text/plain",), QueryResultsFormat.TSV),
    Offer(HTML, ("application/xhtml+xml",), None),
)
"""For SELECT and ASK, the most liked first."""

GRAPH: tuple[Offer, ...] = (
    Offer("text/turtle", ("application/x-turtle", "text/n3"), RdfFormat.TURTLE),
    Offer("application/ld+json", ("application/json",), RdfFormat.JSON_LD),
    Offer("application/n-triples", ("text/plain",), RdfFormat.N_TRIPLES),
    Offer("application/rdf+xml", ("application/xml", "text/xml"), RdfFormat.RDF_XML),
    Offer("application/n-quads", (), RdfFormat.N_QUADS),
    Offer("application/trig", (), RdfFormat.TRIG),
    Offer(HTML, ("application/xhtml+xml",), None),
)
"""For CONSTRUCT and DESCRIBE and the graph store."""

DATASET: tuple[Offer, ...] = (
    Offer("application/trig", (), RdfFormat.TRIG),
    Offer("application/n-quads", ("text/plain",), RdfFormat.N_QUADS),
    Offer("application/ld+json", ("application/json",), RdfFormat.JSON_LD),
)
"""For the whole store with its graphs."""

SHORT_NAMES = {
    "csv": "text/csv",
    "html": HTML,
    "json": "application/json",
    "json-ld": "application/ld+json",
    "jsonld": "application/ld+json",
    "n3": "text/n3",
    "n-quads": "application/n-quads",
    "n-triples": "application/n-triples",
    "nq": "application/n-quads",
    "nquads": "application/n-quads",
    "nt": "application/n-triples",
    "ntriples": "application/n-triples",
    "rdf": "application/rdf+xml",
    "rdf+xml": "application/rdf+xml",
    "rdfxml": "application/rdf+xml",
    "srj": "application/sparql-results+json",
    "srx": "application/sparql-results+xml",
    "trig": "application/trig",
    "tsv": "text/tab-separated-values",
    "ttl": "text/turtle",
    "turtle": "text/turtle",
    "xml": "application/xml",
}
"""Media types by the names that ``format=`` and ``output=`` in an address take."""


def named_type(name: str) -> str | None:
    """The media type that a format is asked for by: by a short name, or as it is; None for an unknown one.

    >>> named_type("CSV"), named_type("text/turtle"), named_type("application/ld json"), named_type("docx")
    ('text/csv', 'text/turtle', 'application/ld+json', None)
    """
    wanted = name.strip().lower().replace(" ", "+")
    return SHORT_NAMES.get(wanted, wanted if re.fullmatch(r"[a-z]+/[a-z0-9.+-]+", wanted) else None)


@dataclass(frozen=True, slots=True)
class _Range:
    """One media range of an Accept header."""

    media_type: str
    quality: float
    specificity: int
    place: int


def _ranges(accept: str) -> tuple[_Range, ...]:
    found = []
    for place, part in enumerate(accept.split(",")):
        name, *parameters = (piece.strip().lower() for piece in part.split(";"))
        if not name:
            continue
        name = "*/*" if name == "*" else name
        specificity = 0 if name == "*/*" else 1 if name.endswith("/*") else 2
        found.append(_Range(name, _quality(parameters), specificity, place))
    return tuple(found)


def _quality(parameters: Sequence[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return min(1.0, max(0.0, float(value)))
            except ValueError:
                return 0.0
    return 1.0


def choose(accept: str, offers: tuple[Offer, ...]) -> Offer | None:
    """The offer that the client prefers; the first without an Accept header; None if none is acceptable.

    Ties go to the more specific range, then to the earlier one in the header, then to the earlier offer.

    >>> choose("text/html;q=0.5, text/csv", TABULAR).media_type
    'text/csv'
    >>> choose("image/png", TABULAR) is None
    True
    """
    ranges = _ranges(accept)
    if not ranges:
        return offers[0]
    best: tuple[float, int, int, int] | None = None
    chosen = None
    for place, offer in enumerate(offers):
        match = _match(offer, ranges)
        if match is None or match.quality <= 0:
            continue
        score = (match.quality, match.specificity, -match.place, -place)
        if best is None or score > best:
            best, chosen = score, offer
    return chosen


def _match(offer: Offer, ranges: Sequence[_Range]) -> _Range | None:
    """The most specific range that matches an offer; its main media type wins over its aliases."""
    fitting = [
        entry for entry in ranges if _covers(entry.media_type, offer.media_type) or entry.media_type in offer.aliases
    ]
    exact = [entry for entry in fitting if entry.media_type == offer.media_type]
    if exact:
        return exact[0]
    return max(fitting, key=lambda entry: (entry.specificity, entry.quality, -entry.place), default=None)


def _covers(media_range: str, media_type: str) -> bool:
    if media_range in ("*/*", media_type):
        return True
    return media_range.endswith("/*") and media_type.startswith(media_range[:-1])


def is_known(known: str, tag: str) -> bool:
    """Whether an If-None-Match header names the entity tag (RFC 9110, section 13.1.2; weak comparison).

    >>> is_known('"a", W/"b"', 'W/"b"'), is_known("*", '"c"'), is_known("", '"c"')
    (True, True, False)
    """
    if not known:
        return False
    return known.strip() == "*" or tag.removeprefix("W/") in (
        part.strip().removeprefix("W/") for part in known.split(",")
    )


def accepts_gzip(accept_encoding: str) -> bool:
    """Whether the client accepts gzip.

    >>> accepts_gzip("br, gzip;q=0.8"), accepts_gzip("gzip;q=0"), accepts_gzip("")
    (True, False, False)
    """
    if "gzip" not in accept_encoding and "*" not in accept_encoding:
        return False
    qualities = {entry.media_type: entry.quality for entry in _ranges(accept_encoding)}
    return qualities.get("gzip", qualities.get("*/*", 0.0)) > 0
