"""A small graph of the shape kgtable writes, and ways to break it."""

from __future__ import annotations

PREFIXES = """
@prefix csvw: <http://www.w3.org/ns/csvw#> .
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix ex: <http://example.org/ontology#> .
@prefix kgt: <https://w3id.org/kgtable#> .
@prefix qudt: <http://qudt.org/schema/qudt/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix unit: <http://qudt.org/vocab/unit/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@base <http://example.org/data/table/> .
"""

SOUND = (
    PREFIXES
    + """
<t> a kgt:Table ; rdfs:label "T" ; dcterms:identifier "t" ; kgt:source "in/t.csv" ; 
    kgt:width 2 ; kgt:rows 3 ; kgt:headerRow 0 .
<t/column/0> a kgt:Column ; kgt:table <t> ; kgt:column 0 ; kgt:predicate ex:hasName ;
    kgt:role kgt:Text ; kgt:confidence 1.0 .
<t/cell/0/1> a kgt:HeaderCell ; kgt:row 0 ; kgt:column 1 ; kgt:text "Sales" .
<t/row/1> a kgt:Row, kgt:Group ; kgt:table <t> ; kgt:row 1 ; rdfs:label "All" ; ex:hasName "All" .
<t/row/2> a kgt:Row ; kgt:table <t> ; kgt:row 2 ; rdfs:label "A" ; kgt:subject <a> ; kgt:group <t/row/1> ;
    ex:hasSales <t/cell/2/1> ; kgt:printed <t/cell/2/0> .
<t/cell/2/0> a kgt:PrintedCell ; kgt:row 2 ; kgt:column 0 ; kgt:text "31 Dec. 2024" .
<t/cell/2/1> a qudt:QuantityValue ; qudt:numericValue 574.0 ; qudt:hasUnit unit:CCY_USD ;
    kgt:note "POSITIVE" ; kgt:signed_str "+574" ; kgt:text "574" ; kgt:scale "M" .
<t/cell/2/2> a qudt:QuantityValue ; kgt:lowerBound 1.0 ; kgt:upperBound 2.0 ; qudt:hasUnit unit:NUM ;
    kgt:note "POSITIVE" ; kgt:signed_str "+1" ; kgt:text "1–2" .
"""
)

FAULTS = {
    "kgt:width 2": ["kgt:width 2, 3", 'kgt:width "2"', "kgt:width -1", 'kgt:width "x"^^xsd:integer', "kgt:width 2.0"],
    'kgt:source "in/t.csv" ;': ["", 'kgt:source "in/t.csv", "other" ;'],
    "kgt:headerRow 0": ["kgt:headerRow -1", "kgt:headerRow 0, -2"],
    "kgt:predicate ex:hasName": ['kgt:predicate "hasName"', "kgt:predicate ex:hasName, ex:hasOther"],
    "kgt:column 1 ; ": ["", "kgt:column 1, 2 ; "],
    "kgt:table <t> ; kgt:row 2": ["kgt:row 2", "kgt:table <u> ; kgt:row 2"], "kgt:Row, kgt:Group": ["kgt:Row"],
    "kgt:subject <a>": ['kgt:subject "a"'], "a kgt:PrintedCell": ["a kgt:HeaderCell", "a kgt:Unheard"],
    "574.0": ["574", "574.0, 575.0", '"574"', '"x"^^xsd:decimal', '"574"^^xsd:float', "574.0 ; kgt:lowerBound 1.0"],
    "kgt:lowerBound 1.0 ;": ["", "kgt:lowerBound 1 ;"],
    "unit:CCY_USD": ["unit:QUUX", "ex:CCY_USD", "unit:CCY_USD, unit:NUM", '"USD"'],
    '"POSITIVE" ; kgt:signed_str "+574"': ['"positive" ; kgt:signed_str "+574"', '"POSITIVE"'],
    'kgt:scale "M"': ['kgt:scale "MM"', 'kgt:scale "M", "B"', 'qudt:description "x" ; qudt:id 3'],
}  # fmt: skip
"""A text of `SOUND` → what to put in its place to break it."""
