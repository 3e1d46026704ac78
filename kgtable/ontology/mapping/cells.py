"""What the cells of a mapping may say, in the words people use, and the error that says what else."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from typing import Final

from kgtable.errors import MappingError
from kgtable.ontology.naming import is_local_name, predicate_name
from kgtable.tables.units import find_unit, units

SCALES: Final = {"none": 0, "T": 3, "M": 6, "B": 9, "TN": 12}
"""How a mapping, and the graph, write a scale → its power of ten."""

DATATYPES: Final = ("number", "text", "date", "year", "boolean", "period")

_SCALE_WORDS: Final = {
    "none": "none", "1": "none", "one": "none", "units": "none",
    "t": "T", "k": "T", "thousand": "T", "thousands": "T", "1000": "T", "000": "T", "000s": "T",
    "m": "M", "mn": "M", "mm": "M", "million": "M", "millions": "M", "1000000": "M",
    "b": "B", "bn": "B", "billion": "B", "billions": "B", "1000000000": "B",
    "tn": "TN", "trillion": "TN", "trillions": "TN", "1000000000000": "TN",
}  # fmt: skip
_DATATYPE_WORDS: Final = {
    **{name: name for name in DATATYPES},
    "numeric": "number", "quantity": "number", "decimal": "number", "integer": "number", "float": "number",
    "double": "number", "int": "number", "string": "text", "str": "text", "identifier": "text", "id": "text",
    "gyear": "year", "datetime": "date", "bool": "boolean",
}  # fmt: skip
_IRI = re.compile(r"https?://[^\s<>\"{}|^`\\]+")
_UNIT_NAMESPACE: Final = "http://qudt.org/vocab/unit/"


def parse_predicate(text: str, place: str) -> str:
    """A local name, with or without ``ex:``, or a full IRI. Raises `MappingError`."""
    name = text.removeprefix("ex:")
    if is_local_name(name) or _IRI.fullmatch(text):
        return name
    raise MappingError(
        f"{place}: {text!r} cannot be the name of a predicate.",
        hint=f"Use letters, digits and underscores, such as {predicate_name([text], 0)}, or a full http IRI.",
    )


def parse_unit(text: str, place: str) -> str:
    """The QUDT local name of a unit given by name, IRI, symbol, code or label. Raises `MappingError`."""
    if text.casefold() in ("none", "unitless"):
        return "UNITLESS"
    name = text.removeprefix("unit:").removeprefix(_UNIT_NAMESPACE)
    if name in units():
        return name
    unit = find_unit(name)
    if unit is not None:
        return unit.name
    raise MappingError(f"{place}: {text!r} is not a unit of QUDT 3.5.", hint=_unit_hint(name))


def parse_scale(text: str, place: str) -> str:
    """One of `SCALES`, by its mark, its word or its number. Raises `MappingError`."""
    try:
        return _SCALE_WORDS[re.sub(r"(?<=\d)[, ](?=\d{3})", "", text.casefold()).strip("'’ ")]
    except KeyError:
        raise MappingError(
            f"{place}: {text!r} is not a scale.",
            hint="Use none, T (thousand), M (million), B (billion) or TN (trillion).",
        ) from None


def parse_datatype(text: str, place: str) -> str:
    """One of `DATATYPES`, by its name or that of an XML Schema datatype. Raises `MappingError`."""
    word = text.removeprefix("xsd:").rsplit("#", 1)[-1].casefold()
    try:
        return _DATATYPE_WORDS[word]
    except KeyError:
        raise MappingError(
            f"{place}: {text!r} is not a datatype.", hint=f"Use one of: {', '.join(DATATYPES)}."
        ) from None


PARSERS: Final[Mapping[str, Callable[[str, str], str]]] = {
    "predicate": parse_predicate,
    "unit": parse_unit,
    "scale": parse_scale,
    "datatype": parse_datatype,
}
"""The reader of each column of a mapping that says what to do: cell text and place → canonical text."""


def _unit_hint(name: str) -> str:
    folded: dict[str, str] = {}
    for unit in units().values():
        folded.setdefault(unit.name.casefold(), unit.name)
        folded.setdefault(unit.label.casefold(), unit.name)
    near = difflib.get_close_matches(name.casefold(), folded, n=6, cutoff=0.6)
    close = list(dict.fromkeys(folded[match] for match in near))[:3]
    if close:
        return f"Did you mean {' or '.join(close)}?"
    return "Use a QUDT unit name such as CCY_USD, PERCENT or KiloGM; https://qudt.org lists them all."
