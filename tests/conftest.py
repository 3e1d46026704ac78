"""Settings of the whole run, and two small tables in a folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import kgtable
from kgtable.resources import PACKAGE
from kgtable.storage import POINTER, exclusive_lock

# No deadlines, since a busy machine is no bug; the same examples each time.
settings.register_profile("kgtable", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kgtable")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the tests of a file in one process, so that its servers and graphs are made once.

    The conformance suites share one process, since a single record is written for all of them. The mark
    ``xdist_group`` of pytest-xdist 3.8 would do, but it has no effect under pytest 9.2.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return "tests/conformance" if file.startswith("tests/conformance/") else file

        def _assign_work_unit(self, node: Any) -> None:
            if not self.assigned_work.get(node):
                for file in reversed(LONGEST):
                    if file in self.workqueue:
                        self.workqueue.move_to_end(file, last=False)
            super()._assign_work_unit(node)

    return Scheduling(config, log)


LONGEST = (
    "tests/test_docs.py", "tests/server/test_uploads.py", "tests/integrations/test_mcp_server.py",
    "tests/server/test_table_pages.py", "tests/server/test_running.py", "tests/index/test_build.py",
    "tests/answering/test_context_windows.py", "tests/answering/test_own_questions.py",
    "tests/building/test_power_cuts.py",
)  # fmt: skip
"""The files that take longest, in that order: begun first, so that no process is left alone with one at the end."""


@pytest.fixture(scope="session")
def samples_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The graph directory of the sample tables, made once for all processes of a run. Nothing may write to it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "samples"
    folder.mkdir(exist_ok=True)
    with exclusive_lock(folder / "building.lock", 300):
        if not (folder / "graph" / POINTER).exists():
            kgtable.build(PACKAGE / "samples", folder / "graph", embedding="none").close()
    return folder / "graph"


PLANETS = """\
Planet,Radius (km),Discovered,Rings
Mercury,"2,440",—,no
Saturn,"58,232",—,yes
Neptune,"24,622",23 Sep. 1846,yes
"""

INCOME = """\
$ millions,2023,2024
Revenue,,
- Cloud,120.5,160.0
- Licences,(7),12%
Total,,172

,,x
"""


@pytest.fixture
def unconfigured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No model and no graph from the environment, in an empty working directory."""
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        *(f"KGTABLE_{n}" for n in ("API_KEY", "BASE_URL", "MODEL", "KG")),
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two small tables in a folder."""
    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / "planets.csv").write_text(PLANETS, encoding="utf-8")
    (tables / "income.csv").write_text(INCOME, encoding="utf-8")
    (tables / "income.json").write_text(
        '{"title": "Income statement", "heading": ["Report", "Results"], "paragraphs": ["1", "2", "1"]}',
        encoding="utf-8",
    )
    return tables


@pytest.fixture
def graph_path(tmp_path: Path) -> Path:
    """Where a test may build a graph."""
    return tmp_path / "graph"
