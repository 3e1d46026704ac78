"""Tests lie as the modules do: ``kgtable/a/b.py`` is tested by ``tests/a/test_b.py``."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parent.parent
WITHOUT_TESTS = {
    "__main__.py": "one call",
    "version.py": "one text",
    "graph/progress.py": "a type",
    "index/onnx_export.py": "takes seconds and torch; tests/index/test_minilm.py runs it once",
    "retrieval/weights.py": "numbers alone",
    "server/settings.py": "numbers alone",
}
"""Modules that have no behaviour of their own to test, and why."""


def modules() -> set[str]:
    """Every module of the package by its path in it."""
    folder = ROOT / "kgtable"
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*.py")}
    return {path for path in found if not path.endswith("__init__.py")}


def mirror(module: str) -> Path:
    """The file that tests a module."""
    path = Path(module)
    return ROOT / "tests" / path.with_name(f"test_{path.name}")


def test_every_module_has_a_file_of_tests_of_its_own() -> None:
    missing = sorted(module for module in modules() if not mirror(module).exists())
    assert [module for module in missing if module not in WITHOUT_TESTS] == [], "write their tests"
    assert sorted(set(WITHOUT_TESTS) - set(missing)) == [], "these need no exception any more"


def test_every_folder_of_tests_is_a_package() -> None:
    folders = {path.parent for path in (ROOT / "tests").rglob("test_*.py")}
    assert [folder.name for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []
