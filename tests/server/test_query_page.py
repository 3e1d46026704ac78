"""The SPARQL page in a real browser: its address, results of any length, errors, completion, downloads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import parse_qs, quote, urlsplit

import httpx
import pytest
from selenium.webdriver.common.keys import Keys

from tests.server.accessibility import violations
from tests.server.browser import Browser
from tests.server.serving import Running

DIGITS = "0 1 2 3 4 5 6 7 8 9"
MANY = "SELECT * { " + " ".join(f"VALUES ?v{n} {{ {DIGITS} }}" for n in range(4)) + " VALUES ?v4 { 0 1 } }"
TERMS = """SELECT * {
  VALUES (?cell ?row ?table ?unit ?outside ?whole ?part ?wide ?text ?day) { (
    <http://example.org/data/table/halden-segments/cell/2/1> <http://example.org/data/table/halden-segments/row/2>
    <http://example.org/data/table/halden-segments> unit:KiloGM <https://else.example/x>
    -1234567 1234.50 1.25e7 "word"@en "2024-05-01"^^xsd:date ) }
}"""


@pytest.fixture(autouse=True)
def _complains_of_nothing(browser: Browser, exploring: Running) -> Iterator[None]:
    browser.hosts(), browser.complaints()
    yield
    expected = "the server responded with a status of 400"
    assert [line for line in browser.complaints() if expected not in line] == []
    assert browser.hosts() <= {exploring.url.split("/")[2]}


def write(browser: Browser, query: str) -> None:
    browser.find("#editor .CodeMirror")
    browser.wait(lambda: browser.script("window.kgtableEditor?.getValue()"))
    browser.driver.execute_script("kgtableEditor.setValue(arguments[0])", query)


def opened(browser: Browser, query: str, *, run: bool = True) -> None:
    browser.open(f"/query?query={quote(query)}{'&run=1' if run else ''}")
    browser.find("#examples button")


def in_address(browser: Browser) -> dict[str, list[str]]:
    return parse_qs(urlsplit(browser.driver.current_url).query)


def test_the_address_holds_the_query_and_brings_it_back(browser: Browser) -> None:
    browser.open("/query")
    browser.find("#examples button")
    write(browser, "SELECT (1 AS ?one) {}")
    browser.wait(lambda: in_address(browser) == {"query": ["SELECT (1 AS ?one) {}"]})
    browser.find("#run").click()
    browser.find("table.results td:nth-child(2)")
    assert in_address(browser) == {"query": ["SELECT (1 AS ?one) {}"], "run": ["1"]}
    write(browser, "SELECT (2 AS ?two) {}")
    browser.find("#run").click()
    browser.wait(lambda: browser.find("table.results thead").text.strip().endswith("two"))
    browser.driver.refresh()
    browser.wait(lambda: browser.all("table.results") and "two" in browser.find("table.results thead").text)
    browser.driver.back()
    browser.wait(lambda: "one" in browser.find("table.results thead").text)
    assert browser.script("kgtableEditor.getValue()") == "SELECT (1 AS ?one) {}"


def test_twenty_thousand_rows_are_windowed(browser: Browser) -> None:
    opened(browser, MANY)
    browser.wait(lambda: browser.find("#count").text == "20,000 results")
    assert browser.find("table.results").get_attribute("aria-rowcount") == "20001"
    assert len(browser.all("table.results tr")) < 120
    scroller = "document.querySelector('.scroll.windowed')"
    browser.driver.execute_script(f"{scroller}.scrollTop = {scroller}.scrollHeight")
    browser.wait(lambda: browser.all('table.results tr[aria-rowindex="20001"]'))
    assert len(browser.all("table.results tr")) < 120
    browser.find("table.results thead th:nth-child(2) button").click()
    browser.find("table.results thead th:nth-child(2) button").click()
    assert browser.find("th[aria-sort]").get_attribute("aria-sort") == "descending"
    assert browser.find('tr[aria-rowindex="2"] td:nth-child(2)').text == "9"
    browser.find("input[type=search]").send_keys("no such row")
    browser.wait(lambda: "0 of 20,000" in browser.find("#results").text)


def test_terms_are_readable_and_lead_to_their_pages(browser: Browser, exploring: Running) -> None:
    opened(browser, TERMS)
    cells = {
        head.text: cell
        for head, cell in zip(
            browser.wait(lambda: browser.all("table.results thead th"))[1:],
            browser.wait(lambda: browser.all('tr[aria-rowindex="2"] td'))[1:],
            strict=True,
        )
    }
    shown = {name: cell.get_attribute("textContent") for name, cell in cells.items()}
    assert shown["cell"] == "data:table/halden-segments/cell/2/1"
    assert shown["unit"] == "unit:KiloGM"
    assert (shown["whole"], shown["part"], shown["wide"]) == ("−1,234,567", "1,234.5", "12,500,000")
    assert (shown["text"], shown["day"]) == ("word @en", "2024-05-01")

    def leads(name: str) -> str:
        links = browser.script(
            f"[...document.querySelectorAll('tr[aria-rowindex=\"2\"] td')][{list(cells).index(name) + 1}]"
            ".querySelector('a').getAttribute('href')"
        )
        return str(links)

    assert leads("cell") == "/tables/halden-segments?cell=2,1"
    assert leads("row") == "/tables/halden-segments?cell=2,0"
    assert leads("table") == "/tables/halden-segments"
    assert leads("unit").startswith("/resource?iri=http%3A%2F%2Fqudt.org")
    assert leads("outside").startswith("/resource?iri=")
    browser.find('tr[aria-rowindex="2"] td button').click()
    assert "https://else.example/x" in browser.find(".row-details").text


def test_an_error_is_marked_where_it_is_with_the_missing_prefix(browser: Browser) -> None:
    opened(browser, "SELECT * {\n  ?s a ?t .\n  ?s schema:name ?name\n}")
    note = browser.find(".mistake-note")
    assert "the prefix schema: is not declared" in note.text
    assert "Line 3, column 6" in browser.find("#results .note").text
    assert browser.find(".mistake").text == "schema:name"
    assert browser.script("kgtableEditor.mirror.getCursor().line") == 2
    browser.find(".mistake-note button").click()
    assert str(browser.script("kgtableEditor.getValue()")).startswith("PREFIX schema: <https://schema.org/>\n")
    assert not browser.all(".mistake")
    browser.find("#run").click()
    browser.wait(lambda: "0 results" in browser.find("#results").text)


def test_examples_run_in_view_with_their_prefixes(browser: Browser) -> None:
    browser.resize(390, 800)
    try:
        browser.open("/query")
        browser.find("details summary").click()
        browser.find('[data-example="tables"]').click()
        rows = browser.wait(lambda: browser.all("table.results tbody tr:not(.gap)"))
        assert len(rows) == 6
        assert "PREFIX kgt: <https://w3id.org/kgtable#>" in browser.script("kgtableEditor.getValue()")
        top = browser.wait(lambda: browser.script("document.querySelector('#results').getBoundingClientRect().top"))
        assert -60 < top < 800
    finally:
        browser.resize(1280, 900)


def test_the_editor_completes_what_the_dataset_has(browser: Browser) -> None:
    opened(browser, "SELECT * { ?row ", run=False)
    browser.driver.execute_script("kgtableEditor.mirror.focus(); kgtableEditor.mirror.setCursor({line: 99, ch: 99});")
    keys = browser.driver.switch_to.active_element
    keys.send_keys("diam")
    hint = browser.find(".CodeMirror-hint")
    assert hint.text.startswith("ex:")
    assert "diam" in hint.text.lower()
    keys.send_keys(Keys.ENTER, " ?a . ?a qudt:hasU")
    browser.wait(lambda: browser.all(".CodeMirror-hint") and "qudt:hasUnit" in browser.find(".CodeMirror-hint").text)
    keys.send_keys(Keys.ESCAPE)
    browser.script("kgtableEditor.setValue('')")
    keys.send_keys("qudt:")
    hints = browser.wait(lambda: [hint.text for hint in browser.all(".CodeMirror-hint")])
    assert hints.index("qudt:numericValue") < hints.index("qudt:hasQuantityKind")
    keys.send_keys(Keys.ESCAPE)
    prefixes = set(browser.script("Object.keys(kgtableEditor.prefixes)"))
    assert {"kgt", "ex", "data", "qudt", "unit", "skos", "sh", "foaf"} <= prefixes


def test_downloads_are_files_of_the_query(browser: Browser, exploring: Running) -> None:
    for query, names in (
        ("SELECT (1 AS ?one) {}", {"CSV": "text/csv", "JSON": "application/sparql-results+json"}),
        ("CONSTRUCT { <x:a> <x:b> 1 } {}", {"Turtle": "text/turtle", "JSON-LD": "application/ld+json"}),
    ):
        opened(browser, query)
        browser.find(".downloads a")
        for link in browser.all(".downloads a"):
            if link.text in names:
                answer = httpx.get(str(link.get_attribute("href")))
                assert answer.headers["content-type"].partition(";")[0] == names[link.text]
                assert str(link.get_attribute("download")).startswith("result.")


def test_a_query_is_stopped(browser: Browser) -> None:
    endless = "SELECT (COUNT(*) AS ?n) { " + " ".join(f"VALUES ?v{n} {{ {DIGITS} }}" for n in range(10)) + " }"
    opened(browser, endless, run=False)
    assert not browser.find("#stop").is_displayed()
    browser.find("#run").click()
    browser.wait(lambda: browser.find("#stop").is_displayed())
    browser.find("#stop").click()
    assert browser.find("#stopped").text == "Stopped."
    assert not browser.find("#stop").is_displayed()


@pytest.mark.parametrize(("width", "dark"), [(1400, False), (1400, True), (390, False), (390, True)])
def test_the_page_is_accessible_and_fits(browser: Browser, width: int, dark: bool) -> None:
    wide = "SELECT * { GRAPH ?graph { ?subject ?predicate ?object } } LIMIT 500"
    for name, query, ready in (
        ("result", wide, "table.results td"),
        ("error", "SELECT * {\n  ?s nope:x ?o\n}", ".mistake-note"),
    ):
        with browser.fitting(f"query-{name}", width, dark=dark, expected="status of 400"):
            opened(browser, query)
            browser.find(ready)
            assert violations(browser) == []


SLOWLY = """
  const rows = [...Array(5000).keys()].map((n) => ({ n: { type: "literal", value: String(n).padStart(200, "0") } }));
  const whole = JSON.stringify({ head: { vars: ["n"] }, results: { bindings: rows } });
  const fetched = window.fetch;
  window.fetch = (address, options) => address !== "/sparql" ? fetched(address, options) : Promise.resolve(new Response(
    new ReadableStream({
      start(stream) {
        stream.enqueue(new TextEncoder().encode(whole.slice(0, -1000)));
        options.signal.addEventListener("abort", () => stream.error(new DOMException("", "AbortError")));
      },
    }),
    { headers: { "content-type": "application/sparql-results+json" } },
  ));
"""
"""A response of which nearly all comes at once, and the rest never."""


def test_the_first_rows_stand_there_while_the_rest_is_under_way(browser: Browser) -> None:
    opened(browser, "SELECT * { ?s ?p ?o }", run=False)
    browser.driver.execute_script(SLOWLY)
    browser.find("#run").click()
    browser.find('table.results tr[aria-rowindex="20"]')
    assert browser.find("#stop").is_displayed()
    assert browser.find("#count").text.startswith("The first ")
    browser.find("#stop").click()
    assert browser.find("#stopped").text == "Stopped."
    assert browser.find('table.results tr[aria-rowindex="20"]').is_displayed()
    assert "under way" not in browser.find("#results").text


def test_a_result_is_shown_as_a_chart_that_can_be_saved(browser: Browser) -> None:
    opened(browser, "SELECT ?label ?value { ?row rdfs:label ?label ; ex:hasDiameter/qudt:numericValue ?value }")
    browser.find("table.results")
    browser.find(".views button:last-child").click()
    picture = browser.find("figure.chart img")
    assert picture.get_attribute("alt") == "value: 8 numbers as bars"
    assert not browser.find("table.results").is_displayed()
    assert browser.find("figure.chart a[download='chart.svg']").get_attribute("href").startswith("data:image/svg+xml")
    assert violations(browser) == []
    browser.find(".views button:first-child").click()
    assert browser.find("table.results").is_displayed()


def test_a_select_over_the_tables_is_written_and_run(browser: Browser) -> None:
    browser.open("/query")
    next(link for link in browser.all("nav a") if link.text == "SQL").click()
    browser.find('[data-table="planets"]').click()
    assert browser.find("#count").text == "8 rows"
    assert "FROM planets" in browser.script("kgtableEditor.getValue()")
    assert re.fullmatch(r"\d+\.\d\d s", browser.find(".results-bar .quiet").text)
    browser.find('#tables li:has([data-table="planets"]) [aria-expanded]').click()
    browser.find('[data-column="diameter_km"]').click()
    assert "diameter_km" in browser.script("kgtableEditor.getValue()")
    query = "SELECT Planet, Diameter_km FROM planets WHERE Diameter_km > 60000 ORDER BY 2 DESC"
    browser.script(f"kgtableEditor.setValue({query!r})")
    browser.find("#run").click()
    browser.wait(lambda: browser.all("#count") and browser.find("#count").text == "2 rows")
    assert [cell.text for cell in browser.all("table.results td.number")][1::2] == ["142,984", "120,536"]
    assert "run=1" in browser.driver.current_url
    files = {str(link.text): httpx.get(str(link.get_attribute("href"))) for link in browser.all(".downloads a")}
    assert files["CSV"].text == "planet,diameter_km\nJupiter,142984\nSaturn,120536\n"
    assert files["JSON"].json()[1] == {"planet": "Saturn", "diameter_km": "120536"}
    assert files["TSV"].headers["content-type"].startswith("text/tab-separated-values")
    browser.find("#copy").click()
    browser.wait(lambda: browser.find("#status").text == "Rows copied.")
    browser.find("#share").click()
    browser.wait(lambda: browser.find("#status").text == "Link copied.")
    assert violations(browser) == []
    browser.find(".views button:last-child").click()
    assert browser.find("figure.chart img").get_attribute("alt") == "diameter_km: 2 numbers as bars"
    browser.script("kgtableEditor.setValue('SELECT *\\nFROM planets\\nWHERE nothing = 1')")
    browser.find("#run").click()
    assert browser.find(".mistake").text == "nothing"
    browser.script("kgtableEditor.setValue('DROP TABLE planets')")
    browser.find("#run").click()
    browser.wait(lambda: "One SELECT" in browser.find("#results").text)
    with browser.fitting("sql", 390, dark=True, expected="400"):
        browser.open("/sql?query=SELECT+1+AS+one&run=1")
        browser.wait(lambda: browser.all("#count"))
        assert violations(browser) == []


def test_tabs_and_the_history_outlive_the_page(browser: Browser) -> None:
    browser.open("/query")
    browser.driver.execute_script("localStorage.clear()")
    opened(browser, "SELECT (1 AS ?one) {}")
    browser.find("table.results")
    browser.find("#open-tab").click()
    assert [tab.text for tab in browser.all("#queries [aria-pressed]")] == ["Query 1", "Query 2"]
    write(browser, "SELECT (2 AS ?two) {}")
    browser.find("#run").click()
    browser.wait(lambda: len(browser.all("#history button")) == 2)
    browser.open("/query")
    browser.find("#examples button")
    assert browser.script("kgtableEditor.getValue()") == "SELECT (2 AS ?two) {}"
    browser.find("#queries [aria-pressed=false]").click()
    assert browser.script("kgtableEditor.getValue()") == "SELECT (1 AS ?one) {}"
    browser.find("details:has(#history) summary").click()
    browser.find("#history button").click()
    assert browser.script("kgtableEditor.getValue()") == "SELECT (2 AS ?two) {}"
    assert violations(browser) == []
    browser.find("#close-tab").click()
    assert len(browser.all("#queries [aria-pressed]")) == 1
    for _ in range(2):  # the prefixes that the page adds make no other query of it
        opened(browser, "SELECT * { ?s rdfs:label ?o } LIMIT 1")
        browser.find("table.results")
    assert len(browser.all("#queries [aria-pressed]")) == 2
    for _ in range(30):
        browser.find("#open-tab").click()
    assert len(browser.all("#queries [aria-pressed]")) == 12
    browser.driver.execute_script("localStorage.setItem('kgtable-tabs:/query', '{\"tabs\": 7}')")
    browser.open("/query")
    assert [tab.text for tab in browser.wait(lambda: browser.all("#queries [aria-pressed]"))] == ["Query 1"]
