"""A person's path in a browser: three spreadsheets, five questions, two misread ones mended, a chart, print, share."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from datetime import date
from io import BytesIO
from pathlib import Path
from urllib.parse import quote

import pdfplumber
import pytest
from openpyxl import Workbook
from selenium.webdriver.support.ui import Select

import kgtable
from kgtable.server.options import ServerSettings
from kgtable.server.state import GraphFolder
from tests.server.accessibility import violations
from tests.server.browser import Browser, Chromium
from tests.server.serving import running

EXPENSES = (
    ("2024-01-03", "Rent", "Halden Homes", 900, "yes"), ("2024-01-09", "Food", "Kiosk", 42.5, "yes"),
    ("2024-01-20", "Travel", "Railway", 120, "no"), ("2024-02-03", "Rent", "Halden Homes", 900, "yes"),
    ("2024-02-11", "Food", "Market", 63.2, "no"), ("2024-02-15", "Travel", "Railway", 80, "yes"),
    ("2024-03-03", "Rent", "Halden Homes", 920, "yes"), ("2024-03-12", "Food", "Kiosk", 51.8, "yes"),
    ("2024-03-30", "Books", "Corner Shop", 35, "no"), ("2024-04-03", "Rent", "Halden Homes", 920, "no"),
)  # fmt: skip
MEMBERS = "Member,Joined,Town\nAnna,2019-04-01,Halden\nBo,2021-09-15,Norrvik\nCara,2022-01-10,Halden\n"
ROOMS = "Room,Floor,Seats,Area (m2)\nBlue,1,12,30\nGreen,1,20,44\nRed,2,8,22\nHall,0,120,210\n"
BY_CATEGORY = [["Rent", "€3,640"], ["Travel", "€200"], ["Food", "€157.50"], ["Books", "€35"]]
SIZES = [(1280, False), (1280, True), (390, False)]


@pytest.fixture(scope="module")
def there(chromium: Chromium, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    folder = tmp_path_factory.mktemp("spreadsheets")
    book = Workbook()
    sheet = book.active
    sheet.title = "Expenses"
    sheet.append(["Date", "Category", "Vendor", "Amount (EUR)", "Paid"])
    for day, *rest in EXPENSES:
        sheet.append([date.fromisoformat(day), *rest])
    book.save(folder / "expenses.xlsx")
    (folder / "members.csv").write_text(MEMBERS, encoding="utf-8")
    (folder / "rooms.csv").write_text(ROOMS, encoding="utf-8")
    kgtable.build(folder, folder / "kg", embedding="none").close()
    with running(ServerSettings(port=0), GraphFolder(folder / "kg")) as server:
        yield chromium.on(server.url)


def ask(browser: Browser, question: str) -> str:
    """What the page says in large letters."""
    browser.open(f"/?q={quote(question)}")
    browser.wait(lambda: browser.all("#told") and browser.find("#answer-text").text)
    return browser.find("#answer-text").text.replace("\u00a0", " ")


def rows(browser: Browser) -> list[list[str]]:
    """The rows of a result, the largest number first."""
    cells = [[cell.text for cell in row.find_elements("css selector", "td")] for row in browser.all("#rows tbody tr")]
    return sorted(cells, key=lambda row: -float(row[-1].strip("€ m²").replace(",", "")))


def mend(browser: Browser, field: str, *choices: tuple[str, str]) -> None:
    """One click on a field of the answer, and one for each choice, three in all at most."""
    assert 1 + len(choices) <= 3
    link = next(link for link in browser.all("#told a.field-link") if f"Change {field}:" in link.accessible_name)
    link.click()
    for name, words in choices:
        browser.wait(lambda name=name, words=words: words in [one.text for one in browser.all(f"#{name} option")])
        Select(browser.find(f"#{name}")).select_by_visible_text(words)
        browser.wait(lambda: not browser.all("#results .busy"))


def looked_at(browser: Browser, name: str) -> None:
    """At each size the page fits and is accessible."""
    for width, dark in SIZES:
        with browser.fitting(name, width, dark=dark):
            assert violations(browser) == []


def test_right_answers_are_read_at_a_glance(there: Browser) -> None:
    assert ask(there, "Which room has the most seats?") == "Hall"
    assert ask(there, "How many members are there per town?") == "Count by Town, 2 groups"
    assert rows(there) == [["Halden", "2"], ["Norrvik", "1"]]
    assert ask(there, "Total amount by category") == "Sum of Amount (EUR) by Category, 4 groups"
    assert rows(there) == BY_CATEGORY
    there.find("figure.chart img")
    looked_at(there, "path-groups")


def test_misread_questions_are_mended_in_three_clicks(there: Browser) -> None:
    ask(there, "average area per floor")
    mend(there, "Measure", ("measure", "Area (m2)"), ("by0", "Floor"))
    there.wait(lambda: len(rows(there)) == 3)
    assert rows(there) == [["0", "210 m²"], ["1", "37 m²"], ["2", "22 m²"]]
    assert there.find("#words").text.startswith("average")
    ask(there, "Spending by category excluding rent")
    mend(there, "Measure", ("measure", "Amount (EUR)"), ("by0", "Category"))
    there.wait(lambda: len(rows(there)) == 3)
    assert rows(there) == BY_CATEGORY[1:]
    assert there.complaints() == []


def test_the_chart_by_category_is_printed_and_shared_by_its_address(there: Browser) -> None:
    ask(there, "Total amount by category")
    there.find("#explore").click()
    there.find("figure.chart img")
    there.wait(lambda: there.script("document.querySelector('figure.chart img').naturalWidth > 100"))
    assert rows(there) == BY_CATEGORY
    looked_at(there, "path-explore")
    printed = base64.b64decode(there.driver.execute_cdp_cmd("Page.printToPDF", {})["data"])
    folder = os.environ.get("KGTABLE_SCREENSHOTS")
    if folder:
        (Path(folder) / "path.pdf").write_bytes(printed)
    with pdfplumber.open(BytesIO(printed)) as pages:
        text = " ".join(page.extract_text() for page in pages.pages)
        bars = [bar for page in pages.pages for bar in (*page.rects, *page.curves) if bar["height"] > 50]
    assert all(word in text for row in BY_CATEGORY for word in row)
    assert bars
    address = there.driver.current_url
    there.driver.switch_to.new_window("tab")
    there.driver.get(address)
    there.wait(lambda: there.all("#rows tbody tr"))
    assert rows(there) == BY_CATEGORY
