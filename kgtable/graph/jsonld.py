"""JSON-LD: one object a subject, compact IRIs, the tables' graphs one after another."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from kgtable.graph.blocks import WHOLE, Blocks, Pair, Share
from kgtable.graph.terms import RDF_TYPE, XSD, Namespaces, Term

_LITERAL = re.compile(r'"(.*)"(?:\^\^<([^<>]*)>|@([A-Za-z0-9-]+))?', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9A-F]{4})|(.))")
_PLAIN_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_NATIVE_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,14}")


class JsonLdWriter:
    """Writes one document: the context, then nodes of the default graph and named graphs."""

    between = ",\n"

    def __init__(self, names: Namespaces) -> None:
        self._context = names.prefixes
        self._namespaces = sorted(
            ((iri, prefix) for prefix, iri in names.prefixes.items()), key=lambda item: -len(item[0])
        )

    def start(self) -> str:
        """The context and the opening of the list of graphs."""
        return f'{{"@context": {_dumps(self._context)},\n"@graph": [\n'

    def end(self) -> str:
        """The closing of the list."""
        return "\n]}\n"

    def graph(self, name: Term | None, blocks: Blocks, share: Share = WHOLE) -> Iterator[str]:
        """One piece a block."""
        if name is None:
            before, between = "", self.between
        else:
            before, between = ",\n  ", ",\n  "
            if share.is_first:
                yield f'{{"@id": {_dumps(self._compact(name[1:-1]))}, "@graph": ['
                before = "\n  "
        for subject, pairs in blocks:
            yield before + _dumps(self._node(subject, pairs))
            before = between
        if name is not None and share.is_last:
            yield "]}"

    def _node(self, subject: Term, pairs: Iterable[Pair]) -> dict[str, Any]:
        node: dict[str, Any] = {"@id": self._reference(subject)}
        for predicate, value in pairs:
            if predicate == RDF_TYPE and value[0] != '"':
                key, item = "@type", self._reference(value)
            else:
                key, item = self._compact(predicate[1:-1]), self._value(value)
            if key not in node:
                node[key] = item
            elif isinstance(node[key], list):
                node[key].append(item)
            else:
                node[key] = [node[key], item]
        return node

    def _reference(self, term: Term) -> str:
        return self._compact(term[1:-1]) if term[0] == "<" else term

    def _compact(self, iri: str) -> str:
        for namespace, prefix in self._namespaces:
            if iri.startswith(namespace) and not iri.startswith("//", len(namespace)):
                return f"{prefix}:{iri[len(namespace) :]}"
        return iri

    def _value(self, term: Term) -> Any:
        if term[0] != '"':
            return {"@id": self._reference(term)}
        match = _LITERAL.fullmatch(term)
        assert match is not None, term
        text = _ESCAPE.sub(_unescaped, match[1]) if "\\" in match[1] else match[1]
        datatype, language = match[2], match[3]
        if language is not None:
            return {"@value": text, "@language": language}
        if datatype is None:
            return text
        if datatype == f"{XSD}integer" and _NATIVE_INTEGER.fullmatch(text):
            return int(text)
        if datatype == f"{XSD}boolean" and text in {"true", "false"}:
            return text == "true"
        return {"@value": text, "@type": self._compact(datatype)}


def _unescaped(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    return _PLAIN_ESCAPES.get(match[2], match[2])


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
