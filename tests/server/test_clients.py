"""Clients as people use them: curl, SPARQLWrapper, rdflib's SPARQL stores, and Comunica where it is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest
from rdflib import Literal, URIRef
from rdflib.plugins.stores.sparqlstore import SPARQLStore, SPARQLUpdateStore
from SPARQLWrapper import CSV, JSON, POST, POSTDIRECTLY, RDFXML, TURTLE, URLENCODED, XML, SPARQLWrapper

from tests.server.serving import TOKEN, Running

PLANETS = """SELECT ?label ?value WHERE {
  ?row rdfs:label ?label ; ex:hasDiameter ?cell .
  ?cell qudt:numericValue ?value .
} ORDER BY DESC(?value)"""
ROW = "http://example.org/data/table/halden-segments/row/2"
COMUNICA = shutil.which(os.environ.get("KGTABLE_COMUNICA", "comunica-sparql"))


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
@pytest.mark.parametrize(
    "options",
    [
        ["--get", "--data-urlencode", f"query={PLANETS}"],
        ["--data-urlencode", f"query={PLANETS}"],
        ["--header", "content-type: application/sparql-query", "--data-binary", PLANETS],
        ["--compressed", "--get", "--data-urlencode", f"query={PLANETS}"],
    ],
)
def test_curl(exploring: Running, options: list[str]) -> None:
    line = ["curl", "--silent", "--fail", *options, "--header", "accept: text/csv", exploring.sparql]
    printed = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    assert printed.splitlines()[1] == "Jupiter,142984"


@pytest.mark.parametrize("sending", [URLENCODED, POSTDIRECTLY])
def test_sparqlwrapper(exploring: Running, sending: str) -> None:
    wrapper = SPARQLWrapper(exploring.sparql)
    wrapper.setMethod(POST)
    wrapper.setRequestMethod(sending)
    wrapper.setQuery("PREFIX ex: <http://example.org/ontology#> " + PLANETS)
    for form in (JSON, XML, CSV):
        wrapper.setReturnFormat(form)
        found = wrapper.query().convert()
        text = found.toxml() if hasattr(found, "toxml") else json.dumps(found, default=bytes.decode)
        assert "142984" in text


def test_sparqlwrapper_graphs(exploring: Running) -> None:
    wrapper = SPARQLWrapper(exploring.sparql)
    wrapper.setQuery(f"DESCRIBE <{ROW}>")
    wrapper.setReturnFormat(RDFXML)
    graph = wrapper.queryAndConvert()
    assert (URIRef(ROW), None, None) in graph
    wrapper.setReturnFormat(TURTLE)
    assert f"<{ROW}>".encode() in wrapper.queryAndConvert()


def test_rdflib_reads(exploring: Running) -> None:
    store = SPARQLStore(exploring.sparql, returnFormat="json")
    values = {str(row[0]) for row in store.query(PLANETS)}
    assert "Jupiter" in values
    assert len(list(store.triples((URIRef(ROW), None, None)))) > 5
    store.close()


def test_rdflib_writes(writing: Running) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    store = SPARQLUpdateStore(writing.sparql, writing.sparql, headers=headers, returnFormat="json")
    triple = (URIRef("http://rdflib.example/s"), URIRef("http://rdflib.example/p"), Literal("o"))
    store.add(triple, None)
    store.commit()
    assert writing.query("ASK { <http://rdflib.example/s> ?p 'o' }").json()["boolean"] is True
    store.close()


@pytest.mark.skipif(COMUNICA is None, reason="comunica-sparql is not installed")
def test_comunica(exploring: Running) -> None:
    query = (
        "PREFIX ex: <http://example.org/ontology#> PREFIX qudt: <http://qudt.org/schema/qudt/> "
        "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> " + PLANETS
    )
    line = [str(COMUNICA), f"sparql@{exploring.sparql}", query]
    printed = subprocess.run(line, capture_output=True, text=True, check=True, timeout=200).stdout
    assert "142984" in printed
