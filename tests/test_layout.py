"""The layout of the package: names that occur once, imports without circles, tests in packages."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "kgtable"
SAME_PARTS = "systems"
"""The folder in which several systems may have parts of the same name."""


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: Path, known: dict[str, Path]) -> Iterator[str]:
    """The modules of the package that a file imports anywhere in it, for types as well."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module in known:
            for name in node.names:
                inner = f"{node.module}.{name.name}"
                yield inner if inner in known else node.module


def test_no_file_name_occurs_twice() -> None:
    places = defaultdict(list)
    for name, path in modules().items():
        if path.name != "__init__.py" and SAME_PARTS not in name.split("."):
            places[path.name].append(name)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_no_public_type_has_the_name_of_another() -> None:
    places = defaultdict(list)
    for name, path in modules().items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_no_two_modules_import_each_other() -> None:
    known = modules()
    edges = {name: set(imports(path, known)) for name, path in known.items()}
    circles = [(one, other) for one in edges for other in edges[one] if one < other and one in edges[other]]
    assert circles == []


def test_every_folder_of_tests_is_a_package() -> None:
    folders = {path.parent for path in (ROOT / "tests").rglob("test_*.py")}
    assert [folder.name for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []
