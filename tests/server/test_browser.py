"""The pages in a real browser: every page is driven, and nothing leaves the host."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from selenium.webdriver.common.keys import Keys

from tests.server.browser import Browser
from tests.server.serving import Running

ROW = "http://example.org/data/table/halden-segments/row/2"
PAGES = {
    "ask": "/", "tables": "/tables", "table": "/tables/norrvik-income-statement?cell=3,1",
    "graph": f"/graph?iri={quote(ROW, safe='')}", "ontology": "/ontology", "query": "/query",
    "resource": f"/resource?iri={quote(ROW, safe='')}",
}  # fmt: skip
READY = {
    "ask": "#suggestions button", "tables": "table.list tbody tr", "table": "#cell dl", "graph": "#side ul.triples li",
    "ontology": "#predicates details", "query": "#editor .CodeMirror", "resource": "#resource dl",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _stays_here(browser: Browser, exploring: Running) -> Iterator[None]:
    browser.hosts(), browser.complaints()
    yield
    assert browser.hosts() <= {exploring.url.split("/")[2]}


def test_a_cell_is_opened_by_mouse_and_by_keyboard(browser: Browser) -> None:
    browser.open("/tables/halden-segments")
    cell = browser.find('[data-cell="2,1"]')
    assert cell.text == "812,400"
    cell.click()
    facts = browser.wait(lambda: browser.find("#cell").text if browser.all("#cell dl") else "")
    assert "euro (€)" in facts
    assert "CCY_" not in facts
    assert "thousands" in facts
    assert f"{ROW.rpartition('/row')[0]}/cell/2/1" in facts
    browser.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    browser.wait(lambda: not browser.find("#cell").is_displayed())
    browser.find('[data-cell="2,1"]').click()
    browser.script("document.querySelector('[data-cell=\"2,1\"]').focus()")
    browser.driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ENTER)
    browser.wait(lambda: "Cell C4" in browser.find("#cell").text)
    assert browser.find('[aria-selected="true"]').get_attribute("data-cell") == "3,2"


def test_a_row_over_years_is_drawn_in_the_panel_of_its_cell(browser: Browser) -> None:
    browser.open("/tables/norrvik-income-statement?cell=5,2")
    assert browser.find("#cell .chart img").get_attribute("alt") == "Total revenue: 3 numbers over time"


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
    assert "nothing" in browser.find("h1").text
    assert "no table 'no-such-table'" in browser.find("main .note").text
    browser.complaints()  # the two 404s


def test_the_graph_is_expanded(browser: Browser) -> None:
    browser.open(PAGES["graph"])
    browser.find("#side ul.triples li")
    before = browser.script("window.kgtableGraph.nodes().length")
    next(button for button in browser.all("#side ul.triples button") if button.text == "Instruments").click()
    browser.find("#expand").click()
    browser.wait(lambda: browser.script("window.kgtableGraph.nodes().length") > before)
    assert browser.script("window.kgtableGraph.nodes('.expanded').length") == 2


def test_an_iri_leads_to_its_page_and_its_table(browser: Browser) -> None:
    browser.open("/data/table/halden-segments/cell/2/1")
    browser.find("#resource dl")
    browser.find("#resource .button").click()
    assert browser.wait(lambda: browser.all(".lit"))[0].text == "812,400"


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False), (390, True)])
@pytest.mark.parametrize("name", PAGES)
def test_pages_fit_and_complain_of_nothing(browser: Browser, name: str, width: int, dark: bool) -> None:
    with browser.fitting(name, width, dark=dark):
        browser.open(PAGES[name])
        browser.find(READY[name])
        assert browser.script("document.querySelectorAll('h1').length") == 1
        unnamed = browser.script(
            "[...document.querySelectorAll('main button, main a, main input:not([type=hidden])')]"
            ".filter(e => !e.closest('.editor') && e.offsetParent !== null"
            " && !(e.textContent.trim() || e.ariaLabel || e.labels?.length)).length"
        )
        assert unnamed == 0


def test_the_way_to_an_answer_is_edited_and_run_again(browser: Browser) -> None:
    browser.open("/?q=What+was+the+revenue+of+Laboratory+in+2024%3F")
    browser.find("#way")
    next(part for part in browser.all("#way summary") if part.text == "SPARQL").click()
    next(link for link in browser.all("#way a.button") if link.text == "Open in the editor").click()
    browser.find("#editor .CodeMirror")
    assert "halden-segments/cell/2/1" in browser.wait(lambda: browser.script("window.kgtableEditor?.getValue()"))
    browser.find("#run").click()
    browser.wait(lambda: "812,400" in browser.find("#results").text)
