"""The page of a graph's evaluation: written with the report, each question leads to its lit cells."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from kgtable.cli.main import main
from kgtable.server.options import ServerSettings
from kgtable.server.state import GraphFolder
from tests.evaluation.sample import build, write_benchmark
from tests.server.accessibility import violations
from tests.server.browser import CHROMIUM, DRIVER, MISSING, Browser
from tests.server.serving import Running, running

browsed = pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason=MISSING)


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    root = tmp_path_factory.mktemp("evaluated")
    benchmark = write_benchmark(root / "small")
    build(benchmark, root / "graph").close()
    command = ["eval", str(benchmark.folder), "--kg", str(root / "graph"), "--method", "bm25"]
    found = CliRunner().invoke(main, [*command, "--report", str(root / "report.html")])
    assert found.exit_code == 0, found.output
    with running(ServerSettings(port=0), GraphFolder(root / "graph")) as server:
        yield server


def test_the_evaluation_is_given_as_data(evaluated: Running, exploring: Running) -> None:
    answer = evaluated.client.get("/api/evaluation")
    report = answer.json()
    assert (report["benchmark"], len(report["questions"])) == ("small", 5)
    assert report["systems"][0]["name"] == "bm25"
    assert {"name": "recall@1", "label": "Recall@1"} in report["metrics"]
    assert report["questions"][0]["cells"] == [["ports", 2, 2]]
    assert "prompt" not in report["questions"][0]["found"][0]
    known = {"if-none-match": answer.headers["etag"]}
    assert evaluated.client.get("/api/evaluation", headers=known).status_code == 304
    assert exploring.client.get("/api/evaluation").status_code == 404
    assert "/evaluation" in evaluated.client.get("/query").text
    assert '"/evaluation"' not in exploring.client.get("/query").text


@pytest.mark.browser
@browsed
def test_questions_lead_to_their_lit_cells(evaluated: Running) -> None:
    browser = Browser(evaluated.url)
    folder = os.environ.get("KGTABLE_SCREENSHOTS")
    try:
        for width, dark in ((1400, False), (390, True)):
            browser.resize(width, 900, dark=dark)
            browser.open("/evaluation")
            browser.find("[data-question] summary").click()
            assert browser.script("document.documentElement.scrollWidth <= innerWidth")
            assert violations(browser) == []
            if folder:
                browser.driver.save_screenshot(str(Path(folder) / f"evaluation-{width}.png"))
        browser.find("#search").send_keys("blows")
        browser.wait(lambda: len(browser.all("[data-question]")) == 1)
        assert browser.find("[data-question] bdi").text == "Which wind blows?"
        browser.open("/evaluation?q=Fjell")
        browser.find('[data-question="q1"] summary').click()
        link = next(one for one in browser.all('[data-question="q1"] a') if one.text == "ports C3")
        link.click()
        assert browser.find(".lit").text == "44"
        assert browser.complaints() == []
    finally:
        browser.close()
