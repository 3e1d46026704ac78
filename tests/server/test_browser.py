"""The pages in a real browser: every page is driven, and nothing leaves the host."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from selenium.webdriver.common.keys import Keys

from tests.server.browser import CHROMIUM, DRIVER, MISSING, Browser
from tests.server.serving import Running

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason=MISSING),
]
ROW = "http://example.org/data/table/halden-segments/row/2"
PAGES = {
    "ask": "/",
    "tables": "/tables",
    "table": "/tables/norrvik-income-statement?cell=3,1",
    "graph": f"/graph?iri={quote(ROW, safe='')}",
    "ontology": "/ontology",
    "query": "/query",
    "resource": f"/resource?iri={quote(ROW, safe='')}",
}
READY = {
    "ask": "#suggestions button",
    "tables": "table.list tbody tr",
    "table": "#cell dl",
    "graph": "#side ul.triples li",
    "ontology": "#predicates details",
    "query": "#editor .CodeMirror",
    "resource": "#resource dl",
}


@pytest.fixture(scope="module")
def browser(exploring: Running) -> Iterator[Browser]:
    browser = Browser(exploring.url)
    yield browser
    browser.close()


@pytest.fixture(autouse=True)
def _stays_here(browser: Browser, exploring: Running) -> Iterator[None]:
    browser.hosts(), browser.complaints()
    yield
    assert browser.hosts() <= {exploring.url.split("/")[2]}


def test_tables_are_searched_and_opened(browser: Browser) -> None:
    browser.open("/tables")
    browser.find("table.list tbody tr")
    browser.find("#search").send_keys("cargo")
    browser.wait(lambda: len(browser.all("table.list tbody tr")) == 1)
    browser.find("table.list a").click()
    assert browser.wait(lambda: browser.all("table.sheet tr.header"))
    assert browser.find("h1").text == "Cargo"
    browser.open("/tables?q=nothing-like-this")
    assert "No table matches" in browser.find("#list .empty").text


def test_a_cell_is_opened_by_mouse_and_by_keyboard(browser: Browser) -> None:
    browser.open("/tables/halden-segments")
    cell = browser.find('[data-cell="2,1"]')
    assert cell.text == "812,400"
    cell.click()
    facts = browser.wait(lambda: browser.find("#cell").text if browser.all("#cell dl") else "")
    assert "Euro (CCY_EUR)" in facts
    assert "thousands" in facts
    assert f"{ROW.rpartition('/row')[0]}/cell/2/1" in facts
    browser.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    browser.wait(lambda: not browser.find("#cell").is_displayed())
    browser.find('[data-cell="2,1"]').click()
    browser.script("document.querySelector('[data-cell=\"2,1\"]').focus()")
    browser.driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ENTER)
    browser.wait(lambda: "Cell C4" in browser.find("#cell").text)
    assert browser.find('[aria-selected="true"]').get_attribute("data-cell") == "3,2"


def test_the_way_back_from_a_citation_lights_the_cell(browser: Browser) -> None:
    browser.open("/tables/norrvik-income-statement?cell=3,1")
    lit = browser.find(".lit")
    assert lit.get_attribute("data-cell") == "3,1"
    assert browser.find("#cell dl").is_displayed()


def test_an_address_without_a_page_leads_back(browser: Browser) -> None:
    browser.open("/nowhere")
    assert "nothing" in browser.find("h1").text
    browser.find('main a[href="/tables"]').click()
    browser.find("table.list tbody tr")
    browser.open("/tables/no-such-table")
    browser.wait(lambda: "cannot be shown" in browser.find("h1").text)


def test_the_graph_is_expanded(browser: Browser) -> None:
    browser.open(PAGES["graph"])
    browser.find("#side ul.triples li")
    before = browser.script("window.kgtableGraph.nodes().length")
    next(button for button in browser.all("#side ul.triples button") if button.text == "Instruments").click()
    browser.find("#expand").click()
    browser.wait(lambda: browser.script("window.kgtableGraph.nodes().length") > before)
    assert browser.script("window.kgtableGraph.nodes('.expanded').length") == 2


def test_the_graph_starts_from_a_label(browser: Browser) -> None:
    browser.open("/graph")
    browser.find("#start").send_keys("total instruments")
    browser.find("#hits button").click()
    browser.wait(lambda: "Total Instruments" in browser.find("#side").text)


def test_the_ontology_is_searched(browser: Browser) -> None:
    browser.open("/ontology")
    browser.find("#search").send_keys("diameter")
    browser.wait(lambda: len(browser.all("#predicates details")) == 1)
    browser.find("#predicates summary").click()
    assert "Kilometre" in browser.find("#predicates details").text
    assert browser.find("#classes table tbody tr")


def test_an_iri_leads_to_its_page_and_its_table(browser: Browser) -> None:
    browser.open("/data/table/halden-segments/cell/2/1")
    browser.find("#resource dl")
    browser.find("#resource .button").click()
    assert browser.wait(lambda: browser.all(".lit"))[0].text == "812,400"


def test_colours_are_chosen_and_remembered(browser: Browser) -> None:
    browser.open("/")
    background = browser.script("getComputedStyle(document.body).backgroundColor")
    browser.find("#theme").click()
    browser.find("#theme").click()
    assert browser.script("document.documentElement.dataset.theme") == "dark"
    assert browser.script("getComputedStyle(document.body).backgroundColor") != background
    browser.open("/tables")
    assert browser.script("document.documentElement.dataset.theme") == "dark"
    browser.find("#theme").click()


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False), (390, True)])
@pytest.mark.parametrize("name", PAGES)
def test_pages_fit_and_complain_of_nothing(browser: Browser, name: str, width: int, dark: bool) -> None:
    browser.resize(width, 850, dark=dark)
    try:
        browser.open(PAGES[name])
        browser.find(READY[name])
        assert browser.script("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        assert browser.complaints() == []
        assert browser.script("document.querySelectorAll('h1').length") == 1
        unnamed = browser.script(
            "[...document.querySelectorAll('main button, main a, main input:not([type=hidden])')]"
            ".filter(e => !e.closest('.editor') && e.offsetParent !== null"
            " && !(e.textContent.trim() || e.ariaLabel || e.labels?.length)).length"
        )
        assert unnamed == 0
        folder = os.environ.get("KGTABLE_SCREENSHOTS")
        if folder:
            colours = "dark" if dark else "light"
            browser.driver.save_screenshot(str(Path(folder) / f"{name}-{width}-{colours}.png"))
    finally:
        browser.resize(1280, 900)


def test_a_question_lights_the_cell_it_is_answered_from(browser: Browser) -> None:
    browser.open("/")
    browser.find("#question").send_keys("What was the revenue of Laboratory in 2024?", Keys.ENTER)
    browser.wait(lambda: browser.find("#answer-text").text == "812,400 (thousand EUR)")
    assert "without a language model" in browser.find("#answer").text
    browser.find('[data-table="halden-segments"] .lit')
    lit = {cell.get_attribute("data-cell"): cell.text for cell in browser.all(".lit")}
    assert lit["2,1"] == "812,400"
    for summary in browser.all("#way summary"):
        summary.click()
    assert "SELECT" in browser.find("#way pre.code").text
    assert browser.all("#way table.results tbody tr")
    folder = os.environ.get("KGTABLE_SCREENSHOTS")
    if folder:
        browser.open("/?q=What+was+the+revenue+of+Laboratory+in+2024%3F")
        browser.find('[data-table="halden-segments"] .lit')
        browser.driver.save_screenshot(str(Path(folder) / "answer.png"))
    browser.open("/?q=qwertz+yxcvb")
    browser.wait(lambda: "Nothing in the tables answers this" in browser.find("#answer").text)


def test_a_verified_answer_says_so_and_how_it_was_computed(browser: Browser) -> None:
    browser.open("/?q=Which+port+had+the+highest+fees+in+2023%3F")
    browser.wait(lambda: browser.find("#answer-text").text == "Norrvik")
    badge = browser.find("#answer .badge")
    assert (badge.text, badge.get_attribute("data-status")) == ("✓ Verified", "verified")
    assert "highest 2023 Fees" in browser.find("#words").text


AMBIGUOUS = "/?q=What+was+the+total+revenue+in+2023%3F"


def test_an_ambiguous_answer_offers_its_readings_as_buttons(browser: Browser) -> None:
    browser.open(AMBIGUOUS)
    browser.wait(lambda: browser.find("#answer-text").text == "1,562.0 (million USD)")
    badge = browser.find("#answer .badge")
    assert (badge.text, badge.get_attribute("data-status")) == ("Ambiguous", "ambiguous")
    assert "Confidence" in browser.find("#answer .status").text
    assert "Another reading fits about as well" in browser.find("#answer .reasons").text
    assert '"Total revenue"' in browser.find("#words").text
    choices = browser.all(".choice")
    assert [choice.get_attribute("aria-pressed") for choice in choices][:2] == ["true", "false"]
    other = next(choice for choice in choices if "halden-segments" in choice.text)
    assert other.text.startswith("1431300 thousand (EUR)")
    other.click()
    browser.wait(lambda: browser.all('[data-table="halden-segments"] .lit'))
    assert browser.find("#answer-text").text == "1431300 thousand (EUR)"
    assert browser.find("#answer .badge").text == "Another reading"
    assert browser.find("#words").text == "sum of 2023"
    assert [cell.text for cell in browser.all(".cited bdi")] == [
        "“760,100”",
        "“330,700”",
        "“224,300”",
        "“116,200”",
    ]
    assert not browser.all('[data-table="norrvik-income-statement"]')
    choices[0].click()
    browser.wait(lambda: browser.all('[data-table="norrvik-income-statement"] .lit'))
    assert browser.find("#answer .badge").text == "Ambiguous"


def test_no_code_of_a_unit_is_shown_to_readers(browser: Browser) -> None:
    for question in ("What+was+the+total+revenue+in+2023%3F", "What+is+the+Height+of+Skarv+Point%3F"):
        browser.open(f"/?q={question}")
        browser.find("#way")
        browser.find("#answer .lit")
        shown = browser.find("#answer .card").text
        assert "CCY_" not in shown
        assert "UNITLESS" not in shown


def test_the_program_is_shown_and_opens_as_sparql_in_the_editor(browser: Browser) -> None:
    browser.open(AMBIGUOUS)
    browser.find("#sparql")
    next(part for part in browser.all("#reading summary") if part.text == "Program").click()
    assert '"table": "norrvik-income-statement"' in browser.find("#reading pre.code").text
    browser.find("#sparql").click()
    browser.find("#editor .CodeMirror")
    assert "table/norrvik-income-statement" in browser.wait(
        lambda: browser.script("window.kgtableEditor?.getValue()")
    )
    browser.find("#run").click()
    browser.wait(lambda: "1,562,000,000" in browser.find("#results").text)


def test_without_an_answer_the_nearest_readings_are_offered(browser: Browser) -> None:
    browser.open("/?q=How+many+moons+of+Jupiter+were+found+by+Galileo+in+1610+in+Norrvik%3F")
    browser.wait(lambda: browser.find("#answer .badge").text == "No answer")
    assert "Nothing in the tables answers this" in browser.find("#answer-text").text
    choice = browser.find(".choice")
    assert choice.get_attribute("aria-pressed") == "false"
    choice.click()
    browser.wait(lambda: browser.find("#answer .badge").text == "Another reading")
    assert browser.find(".choice").get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize(("width", "dark"), [(1400, False), (1400, True), (390, False), (390, True)])
def test_an_answer_with_choices_fits_the_page(browser: Browser, width: int, dark: bool) -> None:
    browser.resize(width, 850, dark=dark)
    try:
        browser.open(AMBIGUOUS)
        browser.find("#answer .lit")
        assert browser.script("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        assert browser.complaints() == []
        folder = os.environ.get("KGTABLE_SCREENSHOTS")
        if folder:
            colours = "dark" if dark else "light"
            browser.driver.save_screenshot(str(Path(folder) / f"choices-{width}-{colours}.png"))
    finally:
        browser.resize(1280, 900)


def test_the_way_to_an_answer_is_edited_and_run_again(browser: Browser) -> None:
    browser.open("/?q=What+was+the+revenue+of+Laboratory+in+2024%3F")
    browser.find("#way")
    next(part for part in browser.all("#way summary") if part.text == "SPARQL").click()
    next(link for link in browser.all("#way a.button") if link.text == "Open in the editor").click()
    browser.find("#editor .CodeMirror")
    assert "halden-segments/cell/2/1" in browser.wait(
        lambda: browser.script("window.kgtableEditor?.getValue()")
    )
    browser.find("#run").click()
    browser.wait(lambda: "812,400" in browser.find("#results").text)
