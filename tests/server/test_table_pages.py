"""The pages of tables in a real browser and over HTTP: windows, frozen headers, sorting, search, downloads."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import openpyxl
import pandas as pd
import pyoxigraph as ox
import pytest
from selenium.webdriver.support.ui import Select

import kgtable
from kgtable.server.api_routes import TABLE_FILES
from kgtable.server.options import ServerSettings
from kgtable.server.state import GraphFolder
from tests.server.accessibility import violations
from tests.server.browser import Browser, Chromium
from tests.server.serving import Running, running

UUID = "001e29d7-77e9-4434-9a3d-f72ef640fa79"
LONG_ROWS, WIDE_COLUMNS = 1_200, 160
WIDTHS = [(1400, False), (390, True)]
CLUBS = (
    (1, "Rovers", "Hull"), (2, "Harriers", "York"), (3, "Swifts", "Ely"), (4, "Albion", "Hull"),
    (5, "Wanderers", "York"), (6, "Athletic", "Ely"), (7, "Victoria", "Hull"), (8, "Argyle", "Leeds"),
)  # fmt: skip
EU10 = "9,150"
"""Row and column of the cell EU10."""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables that are long, wide, from right to left, and without a name."""
    folder = tmp_path_factory.mktemp("tables")
    (folder / "reports").mkdir()
    rows = [f"Station {row},{row * 37 % 1_000} km,{'north' if row % 3 else 'south'}" for row in range(LONG_ROWS)]
    (folder / "long.csv").write_text("\n".join(["Station,Distance,Side", *rows]), encoding="utf-8")
    names = ",".join(["Name", *(f"Day {column}" for column in range(1, WIDE_COLUMNS))])
    lines = [
        ",".join([f"Row {row}", *(f"{row}.{column}" for column in range(1, WIDE_COLUMNS))]) for row in range(1, 40)
    ]
    (folder / "wide.csv").write_text("\n".join([names, *lines]), encoding="utf-8")
    arabic = "مدينة,سكان\nالقاهرة,9539000\nبيروت,361366\n"
    (folder / "cities.csv").write_text(arabic, encoding="utf-8")
    (folder / "reports" / f"{UUID}.csv").write_text("Item,2023,2024\nShips,1,2\nDocks,3,4\n", encoding="utf-8")
    sidecar = '{"paragraphs": ["7. Ships and docks"]}'
    (folder / "reports" / f"{UUID}.json").write_text(sidecar, encoding="utf-8")
    clubs = [f"C{number},{name},{town}" for number, name, town in CLUBS]
    (folder / "formulas.csv").write_text("Item,Count\n=1+1,2\n@SUM(1),3\n", encoding="utf-8")
    (folder / "clubs.csv").write_text("\n".join(["Club ID,Club,Town", *clubs[:6]]), encoding="utf-8")
    (folder / "table_2.csv").write_text("\n".join(["Column 1,,Unnamed: 2", *clubs[3:]]), encoding="utf-8")
    kgtable.build(folder, folder / "kg", embedding="none").close()
    return folder / "kg"


@pytest.fixture(scope="module")
def server(graph: Path) -> Iterator[Running]:
    with running(ServerSettings(port=0), GraphFolder(graph)) as server:
        yield server


@pytest.fixture(scope="module")
def browser(chromium: Chromium, server: Running) -> Browser:
    return chromium.on(server.url)


# ---- over HTTP ----


@pytest.mark.parametrize(
    ("suffix", "media"), [*TABLE_FILES.items(), ("json", "application/json"), ("ttl", "text/turtle; charset=utf-8")]
)
def test_a_table_comes_in_each_format_at_its_address(server: Running, suffix: str, media: str) -> None:
    # A browser that follows a link accepts XML before Turtle.
    accept = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
    for path in (f"/tables/wide.{suffix}", f"/tables/wide?format={suffix}"):
        answer = server.client.get(path, headers=accept)
        assert (answer.status_code, answer.headers["content-type"]) == (200, media)
        assert f'filename="wide.{suffix}"' in answer.headers["content-disposition"]


def test_the_formats_hold_the_whole_table(server: Running) -> None:
    raw, defused = (server.client.get(f"/tables/formulas.csv{query}").text for query in ("", "?defuse=1"))
    assert ("\n=1+1," in raw, "\n'=1+1," in defused, "'" in raw) == (True, True, False)
    csv = server.client.get("/tables/long.csv").text.splitlines()
    assert len(csv) == LONG_ROWS + 1
    whole = server.client.get("/tables/long.json").json()
    assert len(whole["rows"]) == LONG_ROWS + 1
    assert whole["rows"][2]["values"]["1"] == {"value": "37", "unit": "KiloM", "period": None}
    sheet = openpyxl.load_workbook(io.BytesIO(server.client.get("/tables/long.xlsx").content)).active
    assert (sheet.max_row, sheet["B3"].value) == (LONG_ROWS + 1, "37 km")
    frame = pd.read_parquet(io.BytesIO(server.client.get("/tables/long.parquet").content))
    assert (len(frame), frame["Side"].nunique(), frame["Distance"][1]) == (LONG_ROWS, 2, 37)
    store = ox.Store()
    store.load(server.client.get("/tables/cities.ttl").content, ox.RdfFormat.TURTLE)
    assert len(store) > 10


def test_facets_count_rows_and_conditions_narrow_them(server: Running) -> None:
    get = server.client.get
    known = get("/api/facets", params={"table": "long"}).json()
    (side,), (spread,) = known["facets"], known["spreads"]
    assert (spread["column"], spread["low"], spread["high"], sum(spread["counts"])) == (1, "0", "999", LONG_ROWS)
    assert (side["title"], side["values"]) == (
        "Side",
        [{"value": "north", "rows": 800}, {"value": "south", "rows": 400}],
    )
    found = get("/api/tables/long", params={"where": '[[2, "south"]]', "sort": 1, "order": "descending"}).json()
    assert (found["rows_shown"], found["rows"][1]["cells"]) == (400, ["Station 27", "999 km", "south"])
    (chosen,) = get("/api/facets", params={"table": "long", "where": '[[2, "south"]]', "find": "7 km"}).json()["facets"]
    assert chosen["chosen"] == "south"
    assert sum(value["rows"] for value in chosen["values"]) == LONG_ROWS // 10
    nothing = get("/api/tables/long", params={"where": '[[2, "nowhere"], [0, "Station 1"]]'}).json()
    assert nothing["rows_shown"] == 0
    for where in ("south", '[["2", "south"]]', '[[2, ["south"]]]', "[[-1, 2]]", "[" * 3_000, str([[1, "a"]] * 9)):
        assert get("/api/tables/long", params={"where": where}).status_code == 400, where
    assert get("/api/facets", params={"table": "nowhere"}).status_code == 404


@pytest.mark.parametrize("path", ["nowhere", "nowhere.csv", "nowhere.ttl", "wide.pdf", "wide/row/1", "%22%3E"])
def test_tables_that_are_not_there(server: Running, path: str) -> None:
    answer = server.client.get(f"/tables/{path}", headers={"accept": "text/html"})
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert server.client.get(f"/tables/{path}", headers={"accept": "application/json"}).status_code == 404


# ---- in a browser ----


def texts(browser: Browser, selector: str) -> list[str]:
    """The texts of all elements that match now, read in one go."""
    return list(browser.script(f"[...document.querySelectorAll(`{selector}`)].map((e) => e.textContent)"))


def top_of(browser: Browser, selector: str) -> float:
    return float(browser.script(f"document.querySelector('{selector}').getBoundingClientRect().top"))


def in_sight(browser: Browser, position: str) -> bool:
    """Whether nothing covers the middle of a cell."""
    return bool(
        browser.script(
            f"(() => {{ const cell = document.querySelector('[data-cell=\"{position}\"]');"
            "const at = cell.getBoundingClientRect();"
            "return document.elementFromPoint(at.left + at.width / 2, at.top + at.height / 2) === cell })()"
        )
    )


def test_a_cited_cell_far_right_is_shown_with_its_label(browser: Browser) -> None:
    browser.open(f"/tables/wide?cell={EU10}")
    cell = browser.find(".lit")
    assert (cell.get_attribute("data-cell"), cell.text) == (EU10, "9.150")
    browser.find("#cell dl")
    assert in_sight(browser, EU10)
    assert browser.find('[data-cell="9,0"]').text == "Row 9"
    assert in_sight(browser, "9,0")


def test_header_and_labels_stay_while_one_scrolls(browser: Browser) -> None:
    browser.open("/tables/long")
    browser.find('[data-cell="1,0"]')
    before = top_of(browser, "tbody.head .cell")
    browser.script("document.querySelector('#holder .scroll').scrollTop = 1500")
    browser.wait(lambda: browser.script("document.querySelector('#holder .scroll').scrollTop") == 1500)
    assert abs(top_of(browser, "tbody.head .cell") - before) < 1
    browser.open("/tables/wide")
    browser.find('[data-cell="1,0"]')
    browser.script("document.querySelector('#holder .scroll').scrollLeft = 800")
    browser.wait(lambda: in_sight(browser, "1,0"))


def test_rows_come_as_one_scrolls_and_go_again(browser: Browser) -> None:
    browser.open("/tables/long")
    browser.find('[data-cell="1,0"]')
    assert not browser.all('[data-cell="1100,0"]')
    browser.script("document.querySelector('#holder .scroll').scrollTop = 1e9")
    browser.find(f'[data-cell="{LONG_ROWS},0"]')
    assert len(browser.all("table.sheet tbody tr")) < LONG_ROWS
    browser.find("#row").send_keys("601\n")
    browser.wait(lambda: browser.all('[data-cell="600,0"]') and in_sight(browser, "600,0"))
    assert browser.find('[data-cell="600,0"]').text == "Station 599"


def test_a_link_to_a_late_row_opens_there(browser: Browser) -> None:
    browser.open("/tables/long?cell=777,1")
    assert browser.find(".lit").text == f"{776 * 37 % 1_000} km"
    browser.find("#cell dl")
    assert in_sight(browser, "777,1")


def test_columns_sort_by_value_and_rows_are_found(browser: Browser) -> None:
    browser.open("/tables/long")
    assert browser.find('[data-column="1"] .unit').text == "km"
    browser.find('[data-column="1"] button').click()
    browser.wait(lambda: browser.all('[data-column="1"][aria-sort="ascending"]'))
    first = texts(browser, 'td[data-cell$=",1"]')[:3]
    assert first == ["0 km", "0 km", "1 km"]
    browser.find('[data-column="1"] button').click()
    browser.wait(lambda: browser.all('[data-column="1"][aria-sort="descending"]'))
    assert texts(browser, 'td[data-cell$=",1"]')[0] == "999 km"
    assert "sort=1!" in browser.driver.current_url.replace("%21", "!")
    browser.find("#find").send_keys("station 1199")
    browser.wait(lambda: browser.find("#place").text.startswith(f"1 of {LONG_ROWS:,} rows"))
    assert browser.find(".match").text == "Station 1199"


def test_a_facet_narrows_the_rows_and_stands_in_the_address(browser: Browser) -> None:
    browser.open("/tables/long")
    browser.find('[data-facet="2 south"]').click()
    browser.wait(lambda: browser.find("#place").text.startswith(f"400 of {LONG_ROWS:,} rows"))
    assert set(texts(browser, 'td[data-cell$=",2"]')) == {"south"}
    browser.wait(lambda: texts(browser, '[data-column="1"] .spread title') == ["400 numbers from 0 to 999"])
    browser.wait(lambda: browser.all('[data-facet="2 south"][aria-pressed="true"]'))
    browser.open(browser.driver.current_url.removeprefix(browser.url))
    browser.wait(lambda: browser.find("#place").text.startswith("400 of "))
    browser.find('[data-facet="2 south"][aria-pressed="true"]').click()
    browser.wait(lambda: browser.find("#place").text.startswith(f"{LONG_ROWS:,} rows"))


def test_inferred_names_stand_over_their_columns(browser: Browser) -> None:
    browser.open("/tables/table_2")
    browser.find("thead .inferred")
    assert texts(browser, "thead .inferred") == ["probably Club ID", "probably Club", "probably Town"]
    button = browser.find('[data-column="0"] button')
    assert button.get_attribute("aria-label") == "A. Sort by column A, probably Club ID"
    told = browser.find("thead .inferred").get_attribute("title")
    assert told.startswith("Club ID: inferred from ")
    assert told.endswith(" %")
    assert texts(browser, "h1 .inferred")


def test_a_guess_below_one_half_is_not_shown_as_known(browser: Browser) -> None:
    browser.open("/tables/cities")
    opener = browser.find('[data-column="1"] button:last-child')
    assert opener.text == "…"
    assert not browser.all('[data-column="1"] .meaning')
    opener.click()
    meant = browser.find("#meant").text
    assert "not known" in meant
    assert "perhaps count" in meant
    assert "kgtable decide cities" in browser.find("#cell").text


def test_a_table_of_a_script_from_right_to_left_runs_so(browser: Browser) -> None:
    browser.open("/tables/cities")
    first, second = browser.find('[data-cell="1,0"]'), browser.find('[data-cell="1,1"]')
    assert first.rect["x"] > second.rect["x"]
    ruler = browser.find("tbody .ruler")
    assert ruler.rect["x"] > first.rect["x"]


def test_the_list_is_narrowed_sorted_and_searched_in_cells(browser: Browser) -> None:
    browser.open("/tables")
    browser.find("table.list tbody tr")
    Select(browser.find("#facet-unit")).select_by_value("KiloM")
    browser.wait(lambda: texts(browser, "table.list tbody a") == ["Long"])
    assert "unit=KiloM" in browser.driver.current_url
    Select(browser.find("#facet-unit")).select_by_value("")
    browser.wait(lambda: len(browser.all("table.list tbody tr")) == 7)
    browser.find('[data-sort="rows"]').click()
    browser.wait(lambda: browser.all('th[aria-sort="ascending"]'))
    assert texts(browser, "table.list tbody a")[-1] == "Long"
    browser.find("#search").send_keys("station 1199")
    browser.wait(lambda: texts(browser, ".hits a") == ["A1201"])
    browser.find(".hits a").click()
    assert browser.find(".lit").text == "Station 1199"


@pytest.mark.parametrize(("width", "dark"), WIDTHS)
@pytest.mark.parametrize(
    ("path", "ready"),
    [
        ("/tables", "table.list tbody tr"), ("/tables/long?sort=1", ".facet .chip"),
        (f"/tables/wide?cell={EU10}", "#cell dl"), ("/tables/cities", ".cell.number"),
        ("/tables/table_2", "thead .inferred"), ("/tables/nowhere", "main .note"),
    ],
)  # fmt: skip
def test_pages_of_tables_fit_and_break_no_rule(browser: Browser, path: str, ready: str, width: int, dark: bool) -> None:
    name = path.strip("/").replace("/", "-").partition("?")[0]
    with browser.fitting(name, width, dark=dark, expected="404"):
        browser.open(path)
        browser.find(ready)
        assert violations(browser) == []
