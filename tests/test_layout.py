"""The layout of the package: names that occur once, imports without circles, rooms in the contract."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
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
    """The modules of the package that a file imports anywhere in it: within functions and for types as well."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} imports by a relative name"
            for name in node.names:
                inner = f"{node.module}.{name.name}"
                if inner in known or node.module in known:
                    yield inner if inner in known else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name in known)


def test_no_file_name_occurs_twice() -> None:
    places = defaultdict(list)
    for name, path in modules().items():
        if path.name != "__init__.py" and SAME_PARTS not in name.split("."):
            places[path.name].append(name)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def declared_types(path: Path) -> Iterator[tuple[str, bool]]:
    """The public classes and aliases of types that a file declares, each with whether it is an alias."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            name, alias = node.name, False
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name, alias = node.target.id, True
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name, alias = node.targets[0].id, True
        else:
            continue
        if re.fullmatch("[A-Z]+[a-z][A-Za-z]*", name):
            yield name, alias


def test_no_public_type_has_the_name_of_another() -> None:
    places = defaultdict(list)
    aliases = defaultdict(list)
    for name, path in modules().items():
        for declared, alias in declared_types(path):
            (aliases if alias else places)[declared].append(name)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
    twice = {name for name in aliases if len(aliases[name]) + len(places.get(name, ())) > 1}
    assert twice == set()


def test_no_modules_import_each_other_not_even_through_others() -> None:
    known = modules()
    graph = {name: set(imports(path, known)) - {name} for name, path in known.items()}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise AssertionError(f"These import each other: {error.args[1]}") from None
    assert set(order) == set(known)


def test_every_room_is_in_the_contract_and_nothing_evades_it() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (contract,) = settings["contracts"]
    listed = {name for layer in contract["layers"] for name in layer.replace("|", " ").split()}
    rooms = {name.split(".")[1] for name in modules() if "." in name} - {"__main__"}
    assert listed == rooms
    assert contract["exhaustive"]
    assert "ignore_imports" not in contract
    # What imports by a text: the names of the package itself, the readers of files, and the commands, each within
    # a folder of its own. The contract sees every other import, also those within functions.
    by_text = {
        name: re.findall(r"import_module\(([^)]*)", path.read_text(encoding="utf-8"))
        for name, path in modules().items()
        if re.search(r"\b(?:import_module|__import__)\(", path.read_text(encoding="utf-8"))
    }
    assert by_text == {
        "kgtable": ["_MODULES[name]"],
        "kgtable.cli.main": ['f"kgtable.cli.{MODULES[cmd_name]}"'],
        "kgtable.tables.loader": ['f"kgtable.tables.readers.{module}"'],
    }


def test_words_are_stemmed_and_stop_words_read_in_one_place() -> None:
    found = {
        name
        for name, path in modules().items()
        if re.search(r"^import Stemmer|^from Stemmer", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert found == {"kgtable.text.words"}


def test_every_folder_of_tests_is_a_package() -> None:
    folders = {path.parent for path in (ROOT / "tests").rglob("test_*.py")}
    assert [folder.name for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


BY_CONTEXT = {"scaleb", "normalize", "quantize", "sqrt", "ln", "log10", "exp", "fma", "remainder_near", "next_plus"}
OF_OTHERS = {"EXACT", "ROUNDED", "_DOLLARS", "math", "np", "unicodedata"}
"""Whose methods of these names take no context of the caller."""


def test_no_decimal_is_computed_in_the_context_of_the_caller() -> None:
    found = [
        f"{name}:{node.lineno}"
        for name, path in modules().items()
        if name not in ("kgtable.values.decimals", "kgtable.integrations.pandas_accessor")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Name) and node.id in ("getcontext", "localcontext", "setcontext"))
        or (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in BY_CONTEXT
            and not (isinstance(node.func.value, ast.Name) and node.func.value.id in OF_OTHERS)
        )
    ]
    assert found == []
