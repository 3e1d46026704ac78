"""Python values as the RDF terms that are bound to the variables of a query."""

from __future__ import annotations

import sys
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias

import pyoxigraph as ox

from kgtable.errors import QueryError

if TYPE_CHECKING:
    import rdflib

Term: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Literal
Bindable: TypeAlias = "Term | rdflib.URIRef | rdflib.Literal | str | bool | int | float | Decimal | date"

_XSD = "http://www.w3.org/2001/XMLSchema#"


def to_term(value: Bindable) -> Term:
    """The term a Python value stands for: a string is a plain literal, an `rdflib.URIRef` an IRI.

    Raises `QueryError` for a value that no term can be made from.

    >>> to_term("Earth")
    <Literal value=Earth datatype=<NamedNode value=http://www.w3.org/2001/XMLSchema#string>>
    """
    # A value can only be one of rdflib's where rdflib, slow to import, has been imported already.
    if "rdflib" in sys.modules and (term := _from_rdflib(value)) is not None:
        return term
    match value:
        case ox.NamedNode() | ox.BlankNode() | ox.Literal():
            return value
        case str() | bool() | int() | float():
            return ox.Literal(value)
        case Decimal():
            return _typed(f"{value:f}", "decimal")
        case datetime():
            return _typed(value.isoformat(), "dateTime")
        case date():
            return _typed(value.isoformat(), "date")
    raise QueryError(
        f"A {type(value).__name__} cannot be bound to a variable.",
        hint="Bind a text, a number, a date, a bool, or a term of rdflib or pyoxigraph.",
    )


def _from_rdflib(value: object) -> Term | None:
    import rdflib

    match value:
        case rdflib.URIRef():
            return ox.NamedNode(str(value))
        case rdflib.Literal(language=str(language)):
            return ox.Literal(str(value), language=language)
        case rdflib.Literal():
            datatype = None if value.datatype is None else ox.NamedNode(str(value.datatype))
            return ox.Literal(str(value), datatype=datatype)
    return None


def _typed(text: str, datatype: str) -> ox.Literal:
    return ox.Literal(text, datatype=ox.NamedNode(_XSD + datatype))
