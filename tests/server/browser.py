"""A headless Chromium for tests: found where there is one, and watched for what it should not do."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

CHROMIUM = os.environ.get("KGTABLE_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
DRIVER = shutil.which("chromedriver")
MISSING = "no Chromium with its driver here: apt-get install chromium chromium-driver"
WAIT = 60


class Chromium:
    """The browser, whose one window is on one server after another."""

    def __init__(self) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = str(CHROMIUM)
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
            options.add_argument(argument)
        options.add_argument("--force-prefers-reduced-motion")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))

    def on(self, url: str) -> Browser:
        """Its window, as new, on a server."""
        self.driver.get("about:blank")
        self.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
        self.driver.execute_cdp_cmd("Storage.clearDataForOrigin", {"origin": url.rstrip("/"), "storageTypes": "all"})
        browser = Browser(self.driver, url)
        browser.resize(1280, 900)
        browser.complaints(), browser.hosts()
        return browser


class Browser:
    """One window on one server."""

    def __init__(self, driver: webdriver.Chrome, url: str) -> None:
        self.driver, self.url = driver, url.rstrip("/")

    def resize(self, width: int, height: int, *, dark: bool = False) -> None:
        """Sets the size of the window and the reader's colours."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def open(self, path: str) -> None:
        """Opens a page of the server."""
        self.driver.get(self.url + path)

    def find(self, selector: str) -> WebElement:
        """The first element that matches, as soon as there is one."""
        return self.wait(lambda: self.all(selector))[0]

    def all(self, selector: str) -> list[WebElement]:
        """Every element that matches now."""
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def wait(self, found: Callable[[], Any]) -> Any:
        """What a question to the page gives, as soon as it gives something."""
        return WebDriverWait(self.driver, WAIT).until(lambda _: found())

    def script(self, code: str) -> Any:
        """The value of an expression in the page."""
        return self.driver.execute_script(f"return {code}")

    def complaints(self) -> list[str]:
        """What the page complained of since the last call, blocked scripts and styles among it."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    @contextmanager
    def fitting(self, name: str, width: int, *, dark: bool, expected: str = "") -> Iterator[None]:
        """At a size and in the reader's colours, what the block opens fits, and complains of what is expected only.

        A picture of it is kept, under its name, in the folder that ``KGTABLE_SCREENSHOTS`` names.
        """
        self.resize(width, 850, dark=dark)
        self.complaints()
        try:
            yield
            assert self.script("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
            assert [words for words in self.complaints() if not expected or expected not in words] == []
            folder = os.environ.get("KGTABLE_SCREENSHOTS")
            if folder:
                colours = "dark" if dark else "light"
                self.driver.save_screenshot(str(Path(folder) / f"{name}-{width}-{colours}.png"))
        finally:
            self.resize(1280, 900)

    def hosts(self) -> set[str]:
        """The hosts that were asked for anything since the last call."""
        found = set()
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                address = message["params"]["request"]["url"]
                if not address.startswith(("data:", "blob:", "about:", "chrome:")):
                    found.add(address.split("/")[2])
        return found
