"""The text of documents on the pages: cited words lit where they stand, with the tables beside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from selenium.webdriver.common.keys import Keys

import kgtable
from kgtable.server.options import ServerSettings
from kgtable.server.state import GraphFolder
from kgtable.server.views.document_windows import LONGEST_PARAGRAPH
from tests.server.accessibility import violations
from tests.server.browser import Browser, Chromium
from tests.server.serving import Running, running

RENT = "How much rent did the bakery in Oslo pay in 2019?"
WORDS = "In 2019 the bakery in Oslo paid a rent of $3.5 million 🥐 to <b onclick=harmed=1>its</b> landlord."
FILLING = "\n\n".join(f"Paragraph {number} speaks of flour, yeast and ovens." for number in range(60))
SHOPS = (
    f"# Bakeries\n\n{FILLING}\n\n## Rents <script>window.harmed=1</script>\n\nShops are rented. {WORDS}\n\n"
    "| Shop | Sales |\n|---|---|\n| Oslo | 70 |\n| Rome | 50 |\n\nSales are in thousands of kroner.\n"
)


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("reports")
    (folder / "in").mkdir()
    (folder / "in" / "shops.md").write_text(SHOPS, encoding="utf-8")
    (folder / "in" / "long.md").write_text(
        f"| A | B |\n|---|---|\n| a | 1 |\n\n{'long words ' * 5_000}\n", encoding="utf-8"
    )
    kgtable.build(folder / "in", folder / "graph", embedding="none")
    with running(ServerSettings(port=0), GraphFolder(folder / "graph")) as server:
        yield server


def get(server: Running, path: str) -> Any:
    answer = server.client.get(path)
    assert answer.status_code == 200, answer.text[:500]
    return answer.json()


def asked(server: Running) -> Any:
    answer = server.client.post("/api/ask", json={"question": RENT, "method": "documents"})
    assert answer.status_code == 200, answer.text[:500]
    return answer.json()


def test_a_cited_passage_leads_to_its_words_in_the_document(reports: Running) -> None:
    answer = asked(reports)
    cited = answer["passages"][0]
    assert (cited["document"], cited["file"], cited["words"]) == ("shops", "shops.md", WORDS)
    first = cited["paragraph"] - 2
    window = get(reports, f"/api/documents/shops?first={first}&count=5&paragraph={cited['paragraph']}")
    paragraph = next(one for one in window["paragraphs"] if one["number"] == cited["paragraph"])
    assert paragraph["text"][cited["start"] :].startswith(WORDS)
    assert window["headings"] == ["Bakeries"]
    assert [table["id"] for table in window["tables"]] == ["shops"]
    assert [one["number"] for one in window["paragraphs"]] == list(range(first, window["total"]))
    assert reports.client.get("/documents/shops").status_code == 200


def test_documents_are_listed_and_searched(reports: Running) -> None:
    everything = get(reports, "/api/documents")
    assert [(one["id"], one["file"]) for one in everything["documents"]] == [("long", "long.md"), ("shops", "shops.md")]
    assert everything["documents"][1]["paragraphs"] > 60
    assert [one["title"] for one in get(reports, "/api/documents?q=BAKER+shops")["documents"]] == ["Bakeries"]
    assert get(reports, "/api/documents?offset=1&limit=1")["total"] == 2
    assert get(reports, "/api/documents?q=nowhere") == {"total": 0, "documents": []}


def test_an_unknown_document_and_a_wrong_place_are_told(reports: Running) -> None:
    for path in ("/api/documents/none", "/documents/none", "/documents/"):
        assert reports.client.get(path, headers={"accept": "text/html"}).status_code == 404
    assert reports.client.get("/api/documents/shops?first=x").status_code == 400
    behind = get(reports, "/api/documents/shops?first=999999")
    assert [one["number"] for one in behind["paragraphs"]] == [behind["total"] - 1]


def test_of_a_long_paragraph_the_part_with_the_words_is_given(reports: Running) -> None:
    whole = get(reports, "/api/documents/long?paragraph=0&start=40000")["paragraphs"][0]
    assert len(whole["text"]) == LONGEST_PARAGRAPH
    assert whole["offset"] < 40_000 < whole["offset"] + LONGEST_PARAGRAPH
    assert get(reports, "/api/documents/long")["paragraphs"][0]["offset"] == 0


@pytest.fixture(scope="module")
def browser(chromium: Chromium, reports: Running) -> Browser:
    return chromium.on(reports.url)


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_every_page_leads_to_the_list_of_documents(browser: Browser, width: int, dark: bool) -> None:
    with browser.fitting("documents", width, dark=dark):
        browser.open("/tables")
        browser.find('nav a[href="/documents"]').click()
        browser.wait(lambda: len(browser.all("table.list tbody tr")) == 2)
        assert violations(browser) == []
        browser.find("#search").send_keys("shops", Keys.ENTER)
        browser.wait(lambda: [link.text for link in browser.all("table.list a")] == ["Bakeries"])
        browser.find("table.list a").click()
        assert browser.find("article h2").text == "Bakeries"


def test_words_are_lit_beside_the_answer_and_in_the_document(browser: Browser) -> None:
    browser.resize(390, 800, dark=True)
    browser.open(f"/?q={quote(RENT)}&method=documents")
    mark = browser.find(".card.passage mark.lit")
    assert mark.text == WORDS
    assert browser.find("#with-text").is_selected()
    assert browser.script("getComputedStyle(document.querySelector('mark.lit')).backgroundColor") == (
        "rgb(107, 84, 19)"
    )
    assert browser.find(".card.passage .tables-beside a").get_attribute("href").endswith("/tables/shops")
    assert not violations(browser)
    assert browser.script("document.documentElement.scrollWidth <= innerWidth")
    browser.find("ol.passages a").send_keys(Keys.ENTER)
    lit = browser.find("article mark.lit")
    assert lit.text == WORDS
    assert browser.script("document.activeElement.className") == "lit"
    assert browser.script(
        "(b => b.top >= 0 && b.bottom <= innerHeight)(document.activeElement.getBoundingClientRect())"
    )
    assert "Rents <script>" in browser.find("article h2").text
    count = len(browser.all("article [data-paragraph]"))
    browser.script("document.querySelector('[data-way=earlier]').focus()")
    browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
    browser.wait(lambda: len(browser.all("article [data-paragraph]")) > count)
    assert not violations(browser)
    assert browser.script("document.documentElement.scrollWidth <= innerWidth")
    assert browser.script("window.harmed === undefined")
    assert browser.complaints() == []
