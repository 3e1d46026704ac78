"""The report in headless Chromium: it works, it fits, and what stands in tables and questions stays text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kgtable.config import load_settings
from kgtable.evaluation.report import write_report
from kgtable.evaluation.run import Run
from kgtable.evaluation.run_plan import make_plan, systems
from kgtable.evaluation.session import evaluate
from tests.evaluation.sample import QUESTIONS, TABLES, build, write_benchmark
from tests.server.browser import CHROMIUM, DRIVER, MISSING, Browser

pytestmark = [pytest.mark.browser, pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=MISSING)]

EVIL = "<script>window.seized = 1</script><img src=x onerror='window.seized = 1'></script>"


@pytest.fixture(scope="module", params=["retrieval", "answers"])
def browser(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    folder = tmp_path_factory.mktemp("report")
    evil = {"id": f"e1{EVIL}", "question": f"Which port is {EVIL}?", "answers": [EVIL], "tables": ["ports"]}
    more = tuple(QUESTIONS[1] | {"id": f"m{number}"} for number in range(30))
    benchmark = write_benchmark(folder / f"bench{'mark' * 12}", (evil, *QUESTIONS, *more))
    (benchmark.tables / "ports.csv").write_text(f'{TABLES["ports.csv"]}"{EVIL}",Norway,7\n')
    graph = build(benchmark, folder / "graph")
    chosen = systems(("hybrid", "bm25"), formats=("markdown", "header-first-column"))
    plan = make_plan(graph, benchmark, chosen, answers=request.param == "answers")
    run = evaluate(graph, plan, load_settings(environment={}, file="/dev/null"))
    assert isinstance(run, Run)
    write_report(run, folder / "report.html")
    browser = Browser(folder.as_uri())
    browser.open("/report.html")
    yield browser
    browser.close()


def test_hostile_text_is_shown_and_not_run(browser: Browser) -> None:
    assert EVIL in browser.find("article").text
    assert len(browser.all("article")) == 36
    assert browser.script("window.seized") is None
    assert browser.hosts() <= {""}
    assert browser.complaints() == []


@pytest.mark.parametrize("width", [360, 800, 1600])
def test_nothing_sticks_out_at_any_width(browser: Browser, width: int) -> None:
    browser.resize(width, 900)
    assert browser.script("document.documentElement.scrollWidth") <= width


def test_the_file_stands_alone(browser: Browser) -> None:
    assert browser.script("document.querySelectorAll('[src], link, iframe').length") == 0
    assert Path(browser.url.removeprefix("file://"), "report.html").stat().st_size < 200_000
