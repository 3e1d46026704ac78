"""The page that answers, in a real browser: what it says, its proof in sight, live stages, the way back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from selenium.webdriver.common.keys import Keys

from kgtable.server.options import QueueLimits, ServerSettings
from kgtable.server.state import GraphFolder
from tests.llm.scripted_server import Hang, Say, ScriptedServer
from tests.server.accessibility import violations
from tests.server.browser import Browser
from tests.server.serving import Running, running

LABORATORY = "What was the revenue of Laboratory in 2024?"
AMBIGUOUS = "How much was services in 2023?"
UNKNOWN = "How many moons of Jupiter were found by Galileo in 1610 in Norrvik?"
WIDTHS = [(1400, False), (390, True)]


@pytest.fixture(autouse=True)
def _stays_here(browser: Browser) -> Iterator[None]:
    browser.hosts(), browser.complaints()
    yield
    assert all(host.startswith("127.0.0.1") for host in browser.hosts())


def ask(browser: Browser, question: str, headline: str) -> None:
    """Opens the address of a question and waits for what the page says."""
    browser.open(f"/?q={quote(question)}")
    browser.wait(lambda: said(browser) == headline)


def said(browser: Browser) -> str:
    """The headline with plain spaces."""
    found = browser.all("#answer-text")
    return found[0].text.replace("\u00a0", " ") if found else ""


def test_a_number_is_said_as_people_say_it_with_its_exact_value_and_period(browser: Browser) -> None:
    browser.open("/")
    browser.find("#question").send_keys(LABORATORY, Keys.ENTER)
    browser.wait(lambda: said(browser) == "€812.4 million")
    assert browser.find("#exact").text == "812,400,000 euros"
    assert browser.find("#period").text == "2024"
    assert browser.find("#answer .badge").get_attribute("data-status") == "sure"
    assert "without a language model" in browser.find("#answer").text
    browser.find('[data-table="halden-segments"] .lit')
    lit = {cell.get_attribute("data-cell"): cell.text for cell in browser.all(".lit")}
    assert lit["2,1"] == "812,400"
    browser.find("#way summary")
    for summary in browser.all("#way summary"):
        summary.click()
    assert "SELECT" in browser.find("#way pre.code").text
    assert browser.all("#way table.results tbody tr")


def test_the_numbers_of_a_ranking_are_drawn(browser: Browser) -> None:
    ask(browser, "Which port had the highest fees in 2023?", "Norrvik")
    picture = browser.find(".chart img")
    assert picture.get_attribute("alt") == "Which port had the highest fees in 2023?: 3 numbers as bars"
    browser.wait(lambda: browser.script("document.querySelector('.chart img').naturalWidth") > 300)
    assert browser.find(".chart a").get_attribute("download") == "chart.svg"
    browser.script(
        "HTMLAnchorElement.prototype.click = function () { window.saved = [this.download, this.href.slice(0, 22)]; }"
    )
    browser.find(".chart button").click()
    assert browser.script("window.saved") == ["chart.png", "data:image/png;base64,"]
    assert browser.complaints() == []


def test_a_citation_lights_its_cell_and_a_cell_its_citation(browser: Browser) -> None:
    ask(browser, LABORATORY, "€812.4 million")
    first = browser.find(".cited li")
    assert first.get_attribute("value") == "1"
    browser.find('[data-cell="2,1"][data-cite="1"]')
    browser.find(".cited li a")
    browser.script("document.querySelector('.cited li a').focus()")
    assert browser.find('[data-cell="2,1"].hot')
    browser.script("document.querySelector('.cited li a').blur()")
    assert not browser.all(".cell.hot")
    pointer = "new PointerEvent('pointerover', {bubbles: true})"
    browser.script(f"document.querySelector('[data-cell=\"2,1\"]').dispatchEvent({pointer})")
    assert [line.get_attribute("value") for line in browser.all(".cited li.hot")] == ["1"]


def test_on_a_phone_the_cell_that_answers_is_in_sight(browser: Browser) -> None:
    browser.resize(390, 850)
    try:
        ask(browser, AMBIGUOUS, "$371.8 million")
        cell = browser.find('#tables [data-cell="4,2"][data-cite="1"]')
        assert cell.text == "371.8"
        box = browser.find('[data-table="norrvik-income-statement"] .scroll').rect
        assert cell.rect["x"] >= box["x"]
        assert cell.rect["x"] + cell.rect["width"] <= box["x"] + box["width"]
    finally:
        browser.resize(1280, 900)


def test_the_answer_is_copied_and_shared(browser: Browser) -> None:
    ask(browser, LABORATORY, "€812.4 million")
    copied = "navigator.clipboard.writeText = async (text) => void (window.copied = text)"
    browser.script(copied)
    browser.find("#copy").click()
    text = browser.wait(lambda: browser.script("window.copied"))
    assert text.splitlines()[0] == LABORATORY
    assert "812,400,000 euros · 2024" in text
    assert "[1] 812,400 – halden-segments.csv B3" in text
    browser.find("#share").click()
    address = browser.wait(
        lambda: browser.script("window.copied !== undefined && window.copied.startsWith('http') && window.copied")
    )
    browser.driver.get(address)
    browser.wait(lambda: said(browser) == "€812.4 million")


def test_an_ambiguous_answer_offers_its_readings_as_buttons(browser: Browser) -> None:
    ask(browser, AMBIGUOUS, "$371.8 million")
    assert browser.find("#exact").text == "371,800,000 US dollars"
    assert browser.find("#period").text == "year to 30 Sep 2023"
    assert browser.find("#answer .badge").get_attribute("data-status") == "several"
    reasons = browser.find("#answer .reasons").text
    assert reasons
    assert "halden-segments" not in reasons  # tables are named by their titles
    assert '"Services"' in browser.find("#words").text
    choices = browser.all(".choice")
    assert [choice.get_attribute("aria-pressed") for choice in choices][:2] == ["true", "false"]
    place = next(place for place, choice in enumerate(choices) if "€340.5" in choice.text)
    choices[place].click()
    browser.wait(lambda: browser.all('[data-table="halden-segments"] .lit'))
    assert said(browser) == "€340.5 million"
    assert browser.find("#exact").text == "340,500,000 euros"
    assert browser.find("#answer .badge").text == "Another reading"
    assert browser.find("#words").text.startswith("sum of 2023 where")
    assert [cell.text for cell in browser.all(".cited-text")][:2] == ["224,300", "116,200"]
    assert not browser.all('[data-table="norrvik-income-statement"]')
    assert f"reading={place}" in browser.driver.current_url
    browser.driver.refresh()
    browser.wait(lambda: said(browser) == "€340.5 million")
    browser.driver.back()
    browser.wait(lambda: said(browser) == "$371.8 million")


def test_weak_evidence_leads_with_no_answer_and_the_nearest_tables(browser: Browser) -> None:
    ask(browser, UNKNOWN, "I found no answer; the nearest tables are:")
    assert browser.find("#answer .badge").text == "Not found"
    assert browser.all("#nearest .table-cards a")
    assert not browser.all("#tables .card")
    choice = browser.find(".choice")
    assert choice.get_attribute("aria-pressed") == "false"
    choice.click()
    browser.wait(lambda: browser.find("#answer .badge").text == "Another reading")
    assert browser.find(".choice").get_attribute("aria-pressed") == "true"
    browser.open("/?q=qwertz+yxcvb")
    browser.wait(lambda: "I found no answer" in said(browser))
    assert browser.all("#nearest a")


def test_back_leads_to_the_question_before(browser: Browser) -> None:
    browser.open("/")
    browser.find("#question").send_keys("Which port had the highest fees in 2023?", Keys.ENTER)
    browser.wait(lambda: said(browser) == "Norrvik")
    next_question = browser.find("#next .chip")
    asked = next_question.text
    next_question.click()
    browser.wait(lambda: said(browser) not in ("", "Norrvik"))
    assert browser.find("#question").get_attribute("value") == asked
    browser.driver.back()
    browser.wait(lambda: said(browser) == "Norrvik")
    assert browser.find("#question").get_attribute("value") == "Which port had the highest fees in 2023?"
    browser.driver.back()
    browser.wait(lambda: not browser.all("#answer-text"))
    assert browser.find("#question").get_attribute("value") == ""
    assert browser.find("#suggestions button").is_displayed()


def test_a_question_that_follows_is_asked_whole(browser: Browser) -> None:
    ask(browser, LABORATORY, "€812.4 million")
    browser.find("#question").clear()
    browser.find("#question").send_keys("And in 2023?", Keys.ENTER)
    browser.wait(lambda: said(browser) == "€760.1 million")
    whole = "What was the revenue of Laboratory in 2023?"
    assert browser.find("#question").get_attribute("value") == whole
    assert browser.script("new URLSearchParams(location.search).get('q')") == whole
    browser.driver.back()
    browser.wait(lambda: said(browser) == "€812.4 million")


def test_the_program_is_shown_and_opens_as_sparql(browser: Browser) -> None:
    ask(browser, AMBIGUOUS, "$371.8 million")
    next(part for part in browser.all("#reading summary") if part.text == "Program").click()
    assert '"table": "norrvik-income-statement"' in browser.find("#reading pre.code").text
    address = str(browser.find("#sparql").get_attribute("href"))
    assert "norrvik-income-statement" in address
    assert "/query?query=" in address


MANY = [
    {
        "cell": f"http://example.org/{row}", "table": "planets", "row": row, "column": 1, "text": f"{row}",
        "file": "planets.csv", "title": "Planets", "reference": f"B{row + 1}", "label": f"Row {row}", "header": "Value",
    }
    for row in range(2_000)
]  # fmt: skip


def test_thousands_of_citations_collapse(browser: Browser, exploring: Running) -> None:
    answer = exploring.client.post("/api/ask", json={"question": LABORATORY}).json()
    answer |= {"citations": MANY, "cells_read": 2_345}
    browser.open("/tables")
    script = (
        "const real = window.fetch; window.fetch = async (path, options) => path === '/api/ask'"
        " ? new Response('event: answer\\ndata: ' + %s + '\\n\\n') : real(path, options);"
    )
    source = script % json.dumps(json.dumps(answer))
    added = browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": source})
    try:
        browser.open(f"/?q={quote(LABORATORY)}")
        summary = browser.find("#more-cited summary")
        assert summary.text == "2,339 more cells"
        assert len(browser.all(".cited li")) == 6
        assert browser.script("document.documentElement.scrollHeight") < 4_000
        summary.click()
        browser.wait(lambda: len(browser.all(".cited li")) == 106)
        browser.find("#more-cited button").click()
        browser.wait(lambda: len(browser.all(".cited li")) == 206)
        assert "345 cells were read by the same program" in browser.find("#more-cited").text
    finally:
        browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


@pytest.mark.parametrize(("width", "dark"), WIDTHS)
@pytest.mark.parametrize("question", [LABORATORY, AMBIGUOUS, UNKNOWN])
def test_answers_fit_and_break_no_rule(browser: Browser, question: str, width: int, dark: bool) -> None:
    with browser.fitting(f"answer-{[LABORATORY, AMBIGUOUS, UNKNOWN].index(question)}", width, dark=dark):
        browser.open(f"/?q={quote(question)}")
        browser.find("#way")
        browser.wait(lambda: browser.all("#answer .lit") or browser.all("#nearest a"))
        assert violations(browser) == []


def test_stages_and_tables_appear_while_the_model_works_and_stop_stops_it(
    browser: Browser, graph_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act(request: dict[str, Any]) -> Any:
        form = json.dumps(request.get("response_format", {}))
        if "labels" in form:
            return Say({"labels": ["Laboratory"], "entities": [], "terms": ["revenue"]})
        if '"tables"' in form:
            return Say({"tables": []})
        return Hang(300)

    with ScriptedServer(act) as model:
        monkeypatch.setenv("KGTABLE_BASE_URL", model.base_url)
        monkeypatch.setenv("KGTABLE_API_KEY", "a-test-key")
        monkeypatch.setenv("KGTABLE_MODEL", "scripted")
        settings = ServerSettings(port=0, queue=QueueLimits(processes=1))
        with running(settings, GraphFolder(graph_folder)) as server:
            browser.driver.get(f"{server.url}?q={quote(LABORATORY)}")
            browser.wait(lambda: "Asking scripted for the answer" in browser.find(".stages").text)
            stages = browser.find(".stages").text.splitlines()
            assert stages[0] == "Reading the question"
            assert "Searching 6 tables" in stages
            links = [link.get_attribute("href") for link in browser.all(".found a")]
            assert f"{server.url}tables/halden-segments" in links
            assert browser.find("#ask button").text == "Stop"
            assert violations(browser) == []
            browser.find("#ask button").click()
            browser.find("#stopped")
            assert browser.find("#ask button").text == "Ask"
            browser.wait(lambda: server.state.explorers.running == 0)
