"""Explore in a real browser and over HTTP: fields chosen, their result, their address, and hostile tables."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from selenium.webdriver.support.ui import Select

import kgtable
from kgtable.server.options import ServerSettings
from kgtable.server.state import GraphFolder
from tests.server.accessibility import violations
from tests.server.browser import Browser, Chromium
from tests.server.serving import Running, running

NASTY = 'constructor,"a ""quoted"", name: 1",<b>Umsatz</b> (EUR),Day 🐟,__proto__\n' + "".join(
    f'"{kind}, x:{row % 3}",{kind},{row * 10},2024-0{row % 4 + 1}-1{row % 9},{row}\n'
    for row, kind in enumerate(["<i>a</i>", "b & c", "d=1", "🐟", "constructor"] * 6)
)
WIDE = ",".join(f"Column {number}" for number in range(200)) + "\n" + ("1," * 199 + "2\n") * 5


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("nasty")
    tables = {"2024-nasty": NASTY, "wide": WIDE, "empty": "Name,Amount\n"}
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    kgtable.build(folder, folder / "kg", embedding="none").close()
    with running(ServerSettings(port=0), GraphFolder(folder / "kg")) as server:
        yield server


@pytest.fixture(scope="module")
def there(chromium: Chromium, nasty: Running) -> Browser:
    return chromium.on(nasty.url)


def choose(browser: Browser, field: str, words: str) -> None:
    """Chooses in a field and waits for what follows."""
    browser.wait(lambda: any(option.text == words for option in browser.all(f"#{field} option")))
    Select(browser.find(f"#{field}")).select_by_visible_text(words)
    browser.wait(lambda: not browser.all("#results .busy"))


def test_fields_in_the_address_are_computed(exploring: Running) -> None:
    asked = {"table": "planets", "how": "sum", "measure": "Moons", "by": '["Rings"]', "order": '{"by":"@value"}'}
    found = exploring.client.get("/api/explore", params=asked).json()
    assert found["asked"] == {**asked, "by": ["Rings"], "order": {"by": "@value"}}
    assert found["told"] == {"Measure": "Moons", "How": "sum", "By": "Rings", "Order": "value, lowest first"}
    assert found["result"]["names"] == ["Rings", "sum of Moons"]
    assert [[cell["display"] for cell in row] for row in found["result"]["rows"]] == [["no", "3"], ["yes", "285"]]
    assert found["result"]["calculation"].startswith("sum of Moons by Rings, sorted by sum of Moons")
    assert "SELECT" in found["sparql"]
    assert found["sql"].startswith("SELECT")
    again = exploring.client.get(f"/api/explore?{found['address']}").json()
    assert again["result"] == found["result"]
    values = exploring.client.get("/api/values", params={"table": "planets", "column": "Rings"}).json()["values"]
    assert [(one["text"], one["rows"]) for one in values] == [("no", 4), ("yes", 4)]


@pytest.mark.parametrize(
    "asked",
    [{"table": "planets", "by": "[["}, {"table": "planets", "how": "eval"}, {}, {"table": "planets", "by": '["x"]'}],
)
def test_what_are_no_fields_is_refused_or_told(exploring: Running, asked: dict[str, str]) -> None:
    response = exploring.client.get("/api/explore", params=asked)
    assert response.status_code == 400 or response.json()["problem"]


def test_a_table_that_is_not_there_is_not_found(exploring: Running) -> None:
    assert exploring.client.get("/api/explore?table=nowhere").status_code == 404


def test_nasty_names_and_values_are_data(nasty: Running) -> None:
    asked = {"table": "2024-nasty", "how": "sum", "measure": "<b>Umsatz</b> (EUR)", "by": '["constructor"]'}
    found = nasty.client.get("/api/explore", params=asked).json()
    assert found["problem"] is None
    assert found["result"]["row_count"] == 15
    key = found["result"]["rows"][0][0]["display"]
    values = nasty.client.get(
        "/api/values", params={"table": "2024-nasty", "column": "constructor", "find": key}
    ).json()
    assert [one["text"] for one in values["values"]] == [key]
    assert len(nasty.client.get("/api/explore?table=wide&how=count").json()["columns"]) == 200
    assert nasty.client.get("/api/explore?table=empty&how=count").json()["result"]["text"] == "0"


def test_fields_are_chosen_and_kept_in_the_address(there: Browser) -> None:
    there.open("/explore")
    choose(there, "table", "2024 nasty")
    assert there.find("#value").text == "30"
    choose(there, "measure", "<b>Umsatz</b> (EUR)")
    assert Select(there.find("#how")).first_selected_option.text == "Sum"
    choose(there, "by0", 'a "quoted", name: 1')
    there.wait(lambda: len(there.all("#rows tbody tr")) == 5)
    there.find("figure.chart img")
    assert there.find("#words").text.startswith("sum of <b>Umsatz</b> (EUR) by")
    choose(there, "where", 'a "quoted", name: 1')
    boxes = there.wait(lambda: there.all(".values input"))
    boxes[0].click()
    there.find("#add").click()
    there.wait(lambda: len(there.all("#rows tbody tr")) == 1)
    address = there.driver.current_url
    there.driver.refresh()
    there.wait(lambda: len(there.all("#rows tbody tr")) == 1)
    assert there.driver.current_url == address
    there.driver.back()
    there.wait(lambda: len(there.all("#rows tbody tr")) == 5)
    assert there.complaints() == []


@pytest.mark.parametrize(("width", "dark"), [(1400, False), (1400, True), (390, True)])
def test_the_page_fits_and_is_accessible(browser: Browser, width: int, dark: bool) -> None:
    asked = {"table": "planets", "measure": "Moons", "how": "sum", "by": '["Rings"]', "order": '{"by":"@value"}'}
    with browser.fitting("explore", width, dark=dark):
        browser.open(f"/explore?{urlencode(asked)}")
        browser.find("#rows")
        browser.wait(lambda: not browser.all("#results .busy"))
        assert violations(browser) == []
