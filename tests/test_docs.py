"""Checks of the documents: transcripts and examples run, links and paths exist, commands are described."""

from __future__ import annotations

import doctest
import importlib
import importlib.machinery
import importlib.util
import pkgutil
import re
import shutil
import sys
from pathlib import Path

import click
import pytest

import kgtable

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import transcripts  # noqa: E402

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(kgtable.__path__, "kgtable.") if "__main__" not in module.name
)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("document", transcripts.documents(), ids=lambda path: path.name)
def test_transcripts_print_what_the_document_shows(document: Path) -> None:
    for _, steps in transcripts.run_document(document.read_text(encoding="utf-8")):
        for step in steps:
            assert step.agrees, f"$ {step.command}\n{step.printed}"


@pytest.mark.parametrize("document", transcripts.documents(), ids=lambda path: path.name)
def test_python_examples_of_the_document_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (tmp_path / "samples", tmp_path / "kgtable" / "samples"):
        shutil.copytree(ROOT / "kgtable" / "samples", place)
    monkeypatch.chdir(tmp_path)
    text = re.sub(r"^```.*$", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE)
    examples = doctest.DocTestParser().get_doctest(text, {}, document.name, str(document), 0)
    assert doctest.DocTestRunner(optionflags=FLAGS).run(examples).failed == 0


@pytest.fixture(scope="module")
def sample_graph(tmp_path_factory: pytest.TempPathFactory) -> kgtable.KnowledgeGraph:
    return kgtable.build(ROOT / "kgtable" / "samples", tmp_path_factory.mktemp("docs") / "graph", embedding="none")


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample_graph: kgtable.KnowledgeGraph
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        module = importlib.import_module(name)
    except kgtable.errors.MissingExtraError as error:
        pytest.skip(str(error))
    given = {"kg": sample_graph} if name == kgtable.KnowledgeGraph.__module__ else {}
    shutil.copytree(ROOT / "kgtable" / "samples", tmp_path / "samples")
    failed, _ = doctest.testmod(module, optionflags=FLAGS, extraglobs=given)
    assert failed == 0


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "kgtable").rglob("*.py"))
        if path.read_text(encoding="utf-8").strip() and not path.read_text(encoding="utf-8").startswith('"""')
    ]
    assert silent == []


def test_links_between_documents_lead_somewhere() -> None:
    broken = [
        f"{document.name}: {target}"
        for document in transcripts.documents()
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8"))
        if not (document.parent / target).exists()
    ]
    assert broken == []


PLACES = re.compile(r"(?<![\w./])((?:kgtable|queries|tests|scripts|ontologies|triplestore|docs)/[\w./-]+\.\w+)")
NAMES = re.compile(r"`(kgtable(?:\.\w+)+)`")


def is_named(name: str) -> bool:
    """Whether a dotted name is that of a module of the package or of something in one."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except kgtable.errors.MissingExtraError:
            return True
        except ImportError:
            continue
        for part in parts[end:]:
            if not hasattr(found, part):
                return part in getattr(found, "__annotations__", {})
            found = getattr(found, part)
        return True
    return False


def test_files_and_names_that_documents_and_docstrings_mention_exist() -> None:
    texts = [*transcripts.documents(), *sorted((ROOT / "kgtable").rglob("*.py"))]
    broken = []
    for path in texts:
        text = path.read_text(encoding="utf-8")
        absent = [place for place in PLACES.findall(text) if not (ROOT / place).exists()]
        absent += [name for name in NAMES.findall(text) if name != "kgtable.toml" and not is_named(name)]
        broken += [f"{path.relative_to(ROOT)}: {name}" for name in absent]
    assert broken == []


def test_every_command_is_described() -> None:
    from kgtable.cli.main import MODULES, main

    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    commands = {name: main.get_command(click.Context(main), name) for name in MODULES}
    silent = [name for name, command in commands.items() if command is None or not command.help]
    absent = [name for name in commands if f"$ kgtable {name} --help" not in page]
    assert (silent, absent) == ([], [])


def test_the_architecture_page_names_every_room_and_only_existing_paths() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = [path.name for path in (ROOT / "kgtable").iterdir() if (path / "__init__.py").exists()]
    absent = [room for room in sorted(rooms) if f"| `{room}/`" not in page]
    broken = [path for path in re.findall(r"`((?:kgtable|queries)/[^`]+)`", page) if not (ROOT / path).exists()]
    assert (absent, broken) == ([], [])


def test_every_page_is_in_the_site_and_its_links_lead_to_pages(tmp_path: Path) -> None:
    loader = importlib.machinery.SourceFileLoader("build_site", str(ROOT / "scripts" / "build_site"))
    spec = importlib.util.spec_from_loader("build_site", loader)
    assert spec is not None
    site = importlib.util.module_from_spec(spec)
    loader.exec_module(site)
    site.write_pages(tmp_path)
    menu = set(re.findall(r": ([a-z-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    assert menu - {"pictures.md"} == {path.name for path in tmp_path.glob("*.md")}  # which a browser takes
    broken = [
        f"{page.name}: {target}"
        for page in tmp_path.glob("*.md")
        for target, _ in site.LINK.findall(page.read_text(encoding="utf-8"))
        if not (tmp_path / target).exists()
    ]
    assert broken == []


def test_the_citation_names_the_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {kgtable.__version__}\n" in citation
