"""Programs as JSON: read, write, and the JSON Schema for models that write them.

Every node is an object whose ``op`` names it; the other keys are its fields, and those with a
default may be left out. Short forms keep programs readable:

* ``{"column": "Amount"}``, ``{"column": 3, "table": "orders"}`` are columns;
* a number, a text or a truth value alone is a constant: ``5``, ``"paid"``, ``true``; others are
  ``{"value": "12.5", "unit": "PERCENT"}``, ``{"value": "2024-03", "type": "period"}``;
* ``{"op": ">", …}``, ``{"op": "sum", …}``, ``{"op": "add", …}``, ``{"op": "year", …}`` are comparisons,
  aggregates, arithmetic and functions; ``{"op": "union", …}`` combines relations;
* a table is ``{"op": "table", "tables": ["orders"]}``, or ``"table": "orders"`` for one.

>>> parse_program('{"op": "sum", "argument": {"column": "Amount"}, "rows": {"op": "table", "table": "t"}}')
Program(root=Aggregate(function=<AggregateFunction.SUM: 'sum'>, argument=ColumnRef(name='Amount', \
table=''), rows=TableRows(tables=('t',), alias='', choice=<RowChoice.MEMBERS: 'members'>)))
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from typing import Any, TypeAlias, cast

from kgtable.errors import ProgramSyntaxError
from kgtable.programs.algebra import (
    Aggregate,
    AggregateFunction,
    And,
    Apply,
    Arithmetic,
    ColumnRef,
    Compare,
    Constant,
    Convert,
    Expression,
    Filter,
    Function,
    GroupBy,
    IsMissing,
    Join,
    KeyPair,
    Limit,
    Lookup,
    Membership,
    Named,
    Neighbours,
    Node,
    Not,
    Operator,
    Or,
    Program,
    Project,
    Relator,
    RowChoice,
    Rows,
    SetOperation,
    SetOperator,
    Sort,
    SortKey,
    TableRows,
    Unnest,
    Unpivot,
    ValueKind,
)
from kgtable.programs.scalars import SCALES
from kgtable.programs.types import DEEPEST, MOST_NODES

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

LONGEST_JSON = 200_000
"""How many characters the JSON of a program may have."""

LONGEST_TEXT = 2_000
"""How many characters a text in a program may have."""

_RELATIONS: dict[str, type[Rows]] = {
    "table": TableRows,
    "filter": Filter,
    "join": Join,
    "group": GroupBy,
    "sort": Sort,
    "limit": Limit,
    "neighbours": Neighbours,
    "project": Project,
    "unpivot": Unpivot,
    "unnest": Unnest,
}
_EXPRESSIONS: dict[str, type[Expression]] = {
    "convert": Convert,
    "in": Membership,
    "is_missing": IsMissing,
    "and": And,
    "or": Or,
    "not": Not,
    "lookup": Lookup,
}
_FAMILIES: tuple[tuple[type[Any], type[Node], str], ...] = (
    (Operator, Arithmetic, "operator"),
    (Relator, Compare, "relator"),
    (AggregateFunction, Aggregate, "function"),
    (Function, Apply, "function"),
    (SetOperator, SetOperation, "operator"),
)
"""Enumerations whose members are operators by themselves: (enumeration, node, its field)."""

_NAMES = [*_RELATIONS, *_EXPRESSIONS, *(member.value for family, _, _ in _FAMILIES for member in family)]


def operators() -> dict[str, tuple[str, ...]]:
    """The fields of every operator, by its name in JSON; those that may be left out end with ``?``.

    >>> operators()["limit"], operators()["sum"]
    (('source', 'count?', 'offset?', 'ties?'), ('argument?', 'rows?'))
    """
    kinds: list[tuple[str, type[Node], str]] = [
        *((name, kind, "") for name, kind in (_RELATIONS | _EXPRESSIONS).items()),
        *((member.value, kind, field) for family, kind, field in _FAMILIES for member in family),
    ]
    return {
        name: tuple(
            f"{found.name}{'' if found.default is MISSING else '?'}"
            for found in fields(kind)  # type: ignore[arg-type]
            if found.name != field
        )
        for name, kind, field in kinds
    }


def parse_program(source: str | Mapping[str, Any]) -> Program:
    """Read a program from JSON text or decoded JSON.

    Raises `ProgramSyntaxError`, with the place as `path`, for anything that is not a program.
    """
    if isinstance(source, str):
        if len(source) > LONGEST_JSON:
            raise ProgramSyntaxError(f"The program is longer than {LONGEST_JSON} characters.")
        try:
            decoded = json.loads(source, parse_float=Decimal, parse_constant=_no_constant)
        except RecursionError as error:
            raise ProgramSyntaxError("The program nests too deep.") from error
        except ValueError as error:
            raise ProgramSyntaxError(f"The program is not JSON: {error}.") from error
    else:
        decoded = dict(source)
    return Program(_Reader().node(decoded, "root", 1))


def program_to_json(program: Program) -> dict[str, Json]:
    """A program as plain data that `json.dumps` writes and `parse_program` reads back as an equal one."""
    return cast(dict[str, Json], _write_node(program.root, whole=True))


class _Reader:
    """Reads nodes, counting them."""

    def __init__(self) -> None:
        self._count = 0

    def node(self, data: Any, path: str, depth: int) -> Node:
        """A relation or an expression."""
        if isinstance(data, Mapping) and isinstance(data.get("op"), str) and _is_relation(data["op"]):
            return self.rows(data, path, depth)
        return self.expression(data, path, depth)

    def rows(self, data: Any, path: str, depth: int) -> Rows:
        """A relation."""
        if isinstance(data, str):
            return TableRows((_text(data, path),))
        name = self._operator(data, path, depth)
        if not _is_relation(name):
            raise ProgramSyntaxError(f"{name!r} gives a value where rows are needed.", path=path)
        if name == "table":
            return self._table(data, path)
        if name in _RELATIONS:
            return cast(Rows, self._fields(_RELATIONS[name], data, path, depth, {}))
        return cast(Rows, self._fields(SetOperation, data, path, depth, {"operator": SetOperator(name)}))

    def expression(self, data: Any, path: str, depth: int) -> Expression:
        """An expression."""
        if isinstance(data, bool | str | int | float | Decimal):
            self._counted(path, depth)
            return _short_constant(data, path)
        if isinstance(data, Mapping) and "op" not in data:
            self._counted(path, depth)
            if "column" in data:
                return _column(data, path)
            if "value" in data:
                return _constant(data, path)
        name = self._operator(data, path, depth)
        if _is_relation(name):
            raise ProgramSyntaxError(
                f"{name!r} gives rows where a value is needed.",
                path=path,
                hint="'lookup' takes a value from a row, 'count' counts rows.",
            )
        if name in _EXPRESSIONS:
            return cast(Expression, self._fields(_EXPRESSIONS[name], data, path, depth, {}))
        family, kind, field = next(found for found in _FAMILIES if name in _members(found[0]))
        return cast(Expression, self._fields(kind, data, path, depth, {field: family(name)}))

    def _counted(self, path: str, depth: int) -> None:
        self._count += 1
        if self._count > MOST_NODES or depth > DEEPEST:
            raise ProgramSyntaxError(f"The program is beyond {MOST_NODES} nodes or {DEEPEST} levels.", path=path[:200])

    def _operator(self, data: Any, path: str, depth: int) -> str:
        self._counted(path, depth)
        if not isinstance(data, Mapping):
            raise ProgramSyntaxError(f"An object is needed, not {_kind(data)}.", path=path)
        name = data.get("op")
        if not isinstance(name, str):
            raise ProgramSyntaxError("The object has no 'op', 'column' or 'value'.", path=path)
        if name not in _NAMES:
            near = get_close_matches(name, _NAMES, 3)
            hint = f"Near are: {', '.join(near)}." if near else ""
            raise ProgramSyntaxError(f"There is no operator {name[:40]!r}.", path=path, hint=hint)
        return name

    def _table(self, data: Mapping[str, Any], path: str) -> TableRows:
        _only(data, {"op", "table", "tables", "alias", "choice"}, path)
        ids = data.get("tables", data.get("table"))
        listed = [ids] if isinstance(ids, str) else ids
        if not isinstance(listed, list | tuple) or not listed:
            raise ProgramSyntaxError("A table needs its id.", path=f"{path}.tables")
        if len(listed) > 1000:
            raise ProgramSyntaxError("More than 1000 tables are named.", path=f"{path}.tables")
        return TableRows(
            tuple(_text(id, f"{path}.tables") for id in listed),
            _text(data.get("alias", ""), f"{path}.alias"),
            _member(RowChoice, data.get("choice", "members"), f"{path}.choice"),
        )

    def _fields(self, kind: type[Any], data: Mapping[str, Any], path: str, depth: int, known: dict[str, Any]) -> object:
        """A node from its fields, each read as its declared type says."""
        found = dict(known)
        named = [field for field in fields(kind) if field.name not in known]
        _only(data, {"op", *(field.name for field in named)}, path)
        for field in named:
            if field.name in data:
                read = _READERS[str(field.type)]
                found[field.name] = read(self, data[field.name], f"{path}.{field.name}", depth + 1)
            elif field.default is MISSING:
                raise ProgramSyntaxError(f"The field {field.name!r} is missing.", path=path)
        return kind(**found)

    def listed(self, read: Callable[[Any, str, int], Any]) -> Callable[[Any, str, int], tuple[Any, ...]]:
        """A reader of lists whose items `read` reads."""

        def read_list(data: Any, path: str, depth: int) -> tuple[Any, ...]:
            if not isinstance(data, list | tuple):
                raise ProgramSyntaxError(f"A list is needed, not {_kind(data)}.", path=path)
            return tuple(read(item, f"{path}[{index}]", depth) for index, item in enumerate(data))

        return read_list

    def named(self, data: Any, path: str, depth: int) -> Named:
        """An output column: an expression, or an expression with a name."""
        if isinstance(data, Mapping) and "expression" in data:
            _only(data, {"expression", "name"}, path)
            name = _text(data.get("name", ""), f"{path}.name")
            return Named(self.expression(data["expression"], f"{path}.expression", depth), name)
        return Named(self.expression(data, path, depth))

    def sort_key(self, data: Any, path: str, depth: int) -> SortKey:
        """A sort key: an expression, or an expression with its direction."""
        if isinstance(data, Mapping) and "expression" in data:
            _only(data, {"expression", "descending"}, path)
            descending = _truth(data.get("descending", False), f"{path}.descending")
            return SortKey(self.expression(data["expression"], f"{path}.expression", depth), descending)
        return SortKey(self.expression(data, path, depth))

    def key_pair(self, data: Any, path: str, depth: int) -> KeyPair:
        """A pair of keys of a join."""
        if not isinstance(data, Mapping) or set(data) != {"left", "right"}:
            raise ProgramSyntaxError("A pair of keys has 'left' and 'right'.", path=path)
        return KeyPair(
            self.expression(data["left"], f"{path}.left", depth), self.expression(data["right"], f"{path}.right", depth)
        )

    def column(self, data: Any, path: str, depth: int) -> ColumnRef:
        """A column, not any other expression."""
        found = self.expression(data, path, depth)
        if not isinstance(found, ColumnRef):
            raise ProgramSyntaxError("A column is needed.", path=path)
        return found

    def choices(self, data: Any, path: str, depth: int) -> Any:
        """Listed values or a relation."""
        if isinstance(data, list | tuple):
            return self.listed(self.expression)(data, path, depth)
        return self.rows(data, path, depth)


_FieldReader: TypeAlias = Callable[[_Reader, Any, str, int], Any]
_READERS: dict[str, _FieldReader] = {
    "Rows": _Reader.rows,
    "Rows | None": lambda reader, data, path, depth: None if data is None else reader.rows(data, path, depth),
    "Expression": _Reader.expression,
    "Expression | None": lambda reader, data, path, depth: (
        None if data is None else reader.expression(data, path, depth)
    ),
    "tuple[Expression, ...]": lambda reader, data, path, depth: reader.listed(reader.expression)(data, path, depth),
    "tuple[Expression, ...] | Rows": _Reader.choices,
    "tuple[KeyPair, ...]": lambda reader, data, path, depth: reader.listed(reader.key_pair)(data, path, depth),
    "tuple[Named, ...]": lambda reader, data, path, depth: reader.listed(reader.named)(data, path, depth),
    "tuple[SortKey, ...]": lambda reader, data, path, depth: reader.listed(reader.sort_key)(data, path, depth),
    "tuple[ColumnRef, ...]": lambda reader, data, path, depth: reader.listed(reader.column)(data, path, depth),
    "int": lambda reader, data, path, depth: _integer(data, path),
    "bool": lambda reader, data, path, depth: _truth(data, path),
    "str": lambda reader, data, path, depth: _text(data, path),
}


def _write_node(node: Node, *, whole: bool = False) -> Json:
    match node:
        case ColumnRef(name, table):
            return {"column": name, **({"table": table} if table else {})}
        case Constant():
            return _write_constant(node, whole)
        case TableRows(tables, alias, choice):
            ids: dict[str, Json] = {"table": tables[0]} if len(tables) == 1 else {"tables": list(tables)}
            extra: dict[str, Json] = {"alias": alias} if alias else {}
            if choice is not RowChoice.MEMBERS:
                extra["choice"] = choice.value
            return {"op": "table", **ids, **extra}
    name = next((name for name, kind in (_RELATIONS | _EXPRESSIONS).items() if type(node) is kind), "")
    found: dict[str, Json] = {"op": name}
    for field in fields(node):  # type: ignore[arg-type]
        value = getattr(node, field.name)
        if not name and isinstance(value, Operator | Relator | AggregateFunction | Function | SetOperator):
            found["op"] = value.value
        elif field.default is MISSING or value != field.default:
            found[field.name] = _write(value)
    return found


def _write(value: Any) -> Json:
    match value:
        case Rows() | Expression():
            return _write_node(value)
        case tuple():
            return [_write(item) for item in value]
        case Named(expression, ""):
            return _write_node(expression)
        case Named(expression, name):
            return {"expression": _write_node(expression), "name": name}
        case SortKey(expression, descending):
            return {"expression": _write_node(expression), "descending": descending}
        case KeyPair(left, right):
            return {"left": _write_node(left), "right": _write_node(right)}
    return cast(Json, value)


def _write_constant(node: Constant, whole: bool) -> Json:
    plain = node.unit is None and node.scale is None and not whole
    if plain and node.kind is ValueKind.TEXT:
        return str(node.value)
    if plain and node.kind is ValueKind.TRUTH:
        return bool(node.value)
    value: Json = str(node.value) if isinstance(node.value, Decimal) else node.value
    if plain and node.kind is ValueKind.QUANTITY and _is_short(node.value):
        return int(node.value)
    found: dict[str, Json] = {"value": value, "type": node.kind.value}
    if node.unit is not None:
        found["unit"] = node.unit
    if node.scale is not None:
        found["scale"] = node.scale
    return found


def _is_short(value: Decimal | str | bool) -> bool:
    """Whether a number is a whole one that JSON readers keep, printed as such."""
    return (
        isinstance(value, Decimal)
        and value.as_tuple().exponent == 0
        and abs(value) < 2**53
        and not (not value and value.is_signed())
    )


def _short_constant(data: Any, path: str) -> Constant:
    if isinstance(data, bool):
        return Constant(data, ValueKind.TRUTH)
    if isinstance(data, str):
        return Constant(_text(data, path), ValueKind.TEXT)
    return Constant(_number(data, path), ValueKind.QUANTITY)


def _column(data: Mapping[str, Any], path: str) -> ColumnRef:
    _only(data, {"column", "table"}, path)
    name = data["column"]
    if not isinstance(name, int) or isinstance(name, bool):
        name = _text(name, f"{path}.column")
    elif not 0 <= name < 100_000:
        raise ProgramSyntaxError("The index of a column counts from 0.", path=f"{path}.column")
    return ColumnRef(name, _text(data.get("table") or "", f"{path}.table"))


def _constant(data: Mapping[str, Any], path: str) -> Constant:
    _only(data, {"value", "type", "unit", "scale"}, path)
    value = data["value"]
    given = [data.get(key) for key in ("unit", "scale")]
    unit, scale = (None if text is None else _text(text, path) for text in given)
    if "type" in data:
        kind = _member(ValueKind, data["type"], f"{path}.type")
    elif isinstance(value, bool):
        kind = ValueKind.TRUTH
    else:
        number = not isinstance(value, str) or unit is not None or scale is not None
        kind = ValueKind.QUANTITY if number else ValueKind.TEXT
    if kind in (ValueKind.QUANTITY, ValueKind.DURATION):
        return Constant(_number(value, f"{path}.value"), kind, unit, scale)
    if kind is ValueKind.TRUTH:
        return Constant(_truth(value, f"{path}.value"), kind, unit, scale)
    if isinstance(value, int) and not isinstance(value, bool) and kind is ValueKind.PERIOD:
        value = str(value)
    return Constant(_text(value, f"{path}.value"), kind, unit, scale)


def _number(data: Any, path: str) -> Decimal:
    if isinstance(data, bool) or not isinstance(data, int | float | str | Decimal):
        raise ProgramSyntaxError(f"A number is needed, not {_kind(data)}.", path=path)
    try:
        found = Decimal(str(data)) if len(str(data)) <= LONGEST_TEXT else Decimal("NaN")
    except (InvalidOperation, ValueError):
        found = Decimal("NaN")
    if not found.is_finite() or (found and abs(found.adjusted()) > 400):
        raise ProgramSyntaxError(f"{str(data)[:40]!r} is not a number that can be calculated with.", path=path)
    return found


def _text(data: Any, path: str) -> str:
    if not isinstance(data, str):
        raise ProgramSyntaxError(f"A text is needed, not {_kind(data)}.", path=path)
    if len(data) > LONGEST_TEXT:
        raise ProgramSyntaxError(f"A text is longer than {LONGEST_TEXT} characters.", path=path)
    return data


def _truth(data: Any, path: str) -> bool:
    if not isinstance(data, bool):
        raise ProgramSyntaxError(f"true or false is needed, not {_kind(data)}.", path=path)
    return data


def _integer(data: Any, path: str) -> int:
    if isinstance(data, bool) or not isinstance(data, int) or abs(data) > 10**9:
        raise ProgramSyntaxError(f"A whole number is needed, not {_kind(data)}.", path=path)
    return data


def _member(kind: type[Any], data: Any, path: str) -> Any:
    if data not in _members(kind):
        raise ProgramSyntaxError(f"One of {', '.join(_members(kind))} is needed.", path=path)
    return kind(data)


def _only(data: Mapping[str, Any], known: set[str], path: str) -> None:
    unknown = next((str(key) for key in data if key not in known), None)
    if unknown is not None:
        near = get_close_matches(unknown, known, 1)
        hint = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(sorted(known - {'op'}))}."
        raise ProgramSyntaxError(f"There is no field {unknown[:40]!r} here.", path=path, hint=hint)


def _members(kind: type[Any]) -> list[str]:
    return [member.value for member in kind]


def _is_relation(name: str) -> bool:
    return name in _RELATIONS or name in _members(SetOperator)


def _kind(data: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    return names.get(type(data), "a number")


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def program_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of programs, for structured output.

    Each operator is an object of its own; fields with a default need not be given.
    """
    definitions: dict[str, Any] = {
        "rows": {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in (*_RELATIONS, "combine")]},
        "expression": {
            "anyOf": [
                {"type": ["string", "number", "boolean"]},
                *({"$ref": f"#/$defs/{name}"} for name in ("column", "constant", *_EXPRESSIONS)),
                *({"$ref": f"#/$defs/{name}"} for name in ("arithmetic", "compare", "aggregate", "apply")),
            ]
        },
        "column": _object({"column": {"type": ["string", "integer"]}, "table": _STRING}, ["column"]),
        "constant": _object(
            {
                "value": {"type": ["string", "number", "boolean"]},
                "type": {"enum": _members(ValueKind)},
                "unit": {"type": "string", "description": "QUDT local name, such as CCY_EUR, KiloGM, PERCENT"},
                "scale": {"enum": list(SCALES)},
            },
            ["value"],
        ),
        "named": {"anyOf": [_EXPRESSION, _object({"expression": _EXPRESSION, "name": _STRING}, ["expression"])]},
        "sort_key": _object({"expression": _EXPRESSION, "descending": {"type": "boolean"}}, ["expression"]),
        "key_pair": _object({"left": _EXPRESSION, "right": _EXPRESSION}, ["left", "right"]),
        "table": _object(
            {
                "op": {"const": "table"},
                "table": _STRING,
                "tables": {"type": "array", "items": _STRING},
                "alias": _STRING,
                "choice": {"enum": _members(RowChoice)},
            },
            ["op"],
        ),
    }
    for name, kind in (_RELATIONS | _EXPRESSIONS).items():
        if kind is not TableRows:
            definitions[name] = _node_schema(kind, {"const": name}, "")
    for (family, kind, field), name in zip(
        _FAMILIES, ("arithmetic", "compare", "aggregate", "apply", "combine"), strict=True
    ):
        definitions[name] = _node_schema(kind, {"enum": _members(family)}, field)
    return {"$defs": definitions, "anyOf": [{"$ref": "#/$defs/rows"}, _EXPRESSION]}


_STRING = {"type": "string"}
_EXPRESSION = {"$ref": "#/$defs/expression"}
_ROWS = {"$ref": "#/$defs/rows"}
_TYPES: dict[str, Any] = {
    "Rows": _ROWS,
    "Rows | None": _ROWS,
    "Expression": _EXPRESSION,
    "Expression | None": _EXPRESSION,
    "tuple[Expression, ...]": {"type": "array", "items": _EXPRESSION},
    "tuple[Expression, ...] | Rows": {"anyOf": [{"type": "array", "items": _EXPRESSION}, _ROWS]},
    "tuple[KeyPair, ...]": {"type": "array", "items": {"$ref": "#/$defs/key_pair"}},
    "tuple[Named, ...]": {"type": "array", "items": {"$ref": "#/$defs/named"}},
    "tuple[SortKey, ...]": {"type": "array", "items": {"$ref": "#/$defs/sort_key"}},
    "tuple[ColumnRef, ...]": {"type": "array", "items": {"$ref": "#/$defs/column"}},
    "int": {"type": "integer"},
    "bool": {"type": "boolean"},
    "str": _STRING,
}


def _node_schema(kind: type[Any], op: dict[str, Any], field: str) -> dict[str, Any]:
    named = [found for found in fields(kind) if found.name != field]
    properties = {"op": op} | {found.name: _TYPES[str(found.type)] for found in named}
    return _object(properties, ["op", *(found.name for found in named if found.default is MISSING)])


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
