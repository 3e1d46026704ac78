"""Where the store to serve lies right now: a build may put a new one in its place at any time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from kgtable.server.pool import View

COMMON_PREFIXES: dict[str, str] = {
    "csvw": "http://www.w3.org/ns/csvw#",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dcterms": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "kgt": "https://w3id.org/kgtable#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "prov": "http://www.w3.org/ns/prov#",
    "qudt": "http://qudt.org/schema/qudt/",
    "quantitykind": "http://qudt.org/vocab/quantitykind/",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "sd": "http://www.w3.org/ns/sparql-service-description#",
    "sh": "http://www.w3.org/ns/shacl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "unit": "http://qudt.org/vocab/unit/",
    "void": "http://rdfs.org/ns/void#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
"""Prefixes every query may use without declaring them."""


class Source(Protocol):
    """Something with a store that can be served."""

    def view(self) -> View:
        """The store as it is now. Raises `Problem` where there is none. Cheap: asked on every request."""
        ...


class StoreFolder:
    """A bare Oxigraph store, without a graph directory around it."""

    def __init__(self, path: Path, prefixes: Mapping[str, str] | None = None) -> None:
        self._view = View(str(path), "1", {**COMMON_PREFIXES, **(prefixes or {})})

    def view(self) -> View:
        """The store; only the server itself can change it."""
        return self._view
