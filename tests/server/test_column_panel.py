"""The panel of a column on a table's page: what it means and why, changed by keyboard, and the command instead."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

import kgtable
from kgtable.server.options import ServerSettings
from kgtable.server.state import GraphFolder
from tests.server.accessibility import violations
from tests.server.browser import Browser, Chromium
from tests.server.serving import running

PORTS = "Port,Depth (m),Fee\nHalden,12,300\nNorrvik,9,250\nSula,14,410\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ports.csv").write_text(PORTS, encoding="utf-8")
    kgtable.build(tmp_path / "ports.csv", tmp_path / "kg", embedding="none").close()
    return tmp_path / "kg"


@pytest.fixture
def there(chromium: Chromium, folder: Path, request: pytest.FixtureRequest) -> Iterator[Browser]:
    with running(ServerSettings(port=0, editable=request.param), GraphFolder(folder)) as server:
        yield chromium.on(server.url)


def opened(browser: Browser) -> str:
    """What the panel of the third column says, opened by keyboard."""
    browser.open("/tables/ports")
    browser.find('[data-column="2"] button:last-of-type').send_keys(Keys.ENTER)
    return str(browser.wait(lambda: browser.find("#meant").text))


@pytest.mark.parametrize("there", [True], indirect=True)
def test_role_kind_and_unit_are_changed_by_keyboard_and_taken_back(there: Browser, folder: Path) -> None:
    assert "its values" in opened(there)
    for width, dark in ((1280, False), (1280, True), (390, False)):
        with there.fitting("column", width, dark=dark):
            assert violations(there) == []
    there.find("#cell [name=unit]").send_keys("EUR")
    there.find('#cell [name="measure kind"]').send_keys("Rate")
    there.find("#cell [name=unit]").send_keys(Keys.ENTER)
    there.wait(lambda: "euro" in there.find("#meant").text)
    assert "a person's decision" in there.find("#meant").text
    there.wait(lambda: "€" in there.find('[data-column="2"]').text)
    with kgtable.open(folder) as graph:
        said = {"table": "ports", "column": "Fee", "decided": {"unit": "CCY_EUR", "measure kind": "Rate"}}
        assert graph.decisions() == [said]
    Select(there.find('#cell [name="measure kind"]')).select_by_value("")
    there.find("#cell [name=unit]").send_keys(Keys.CONTROL, "a", Keys.BACKSPACE)
    there.find("#save").click()
    there.wait(lambda: "euro" not in there.find("#meant").text)
    with kgtable.open(folder) as graph:
        assert graph.decisions() == []
    there.find("#cell .close").send_keys(Keys.ENTER)
    assert there.script("document.activeElement.closest('[data-column]').dataset.column") == "2"
    assert there.complaints() == []


@pytest.mark.parametrize("there", [False], indirect=True)
def test_where_pages_may_not_write_the_command_is_shown(there: Browser) -> None:
    opened(there)
    assert "kgtable decide ports --column Fee" in there.find("#cell pre").text
    assert not there.all("#save")
    there.find('tr.header [data-cell="0,1"]').click()
    there.wait(lambda: "Depth (m)" in there.find("#cell pre").text)
    assert there.complaints() == []
