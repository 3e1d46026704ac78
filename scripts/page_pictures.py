"""Pictures of the server's pages for the documentation, taken with Chromium from a graph of the sample tables."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import kgtable

QUERY = "SELECT ?label ?value { ?row rdfs:label ?label ; ex:hasDiameter/qudt:numericValue ?value } ORDER BY ?value"
ASKED = "Which port had the highest fees in 2023?"


class Picture(NamedTuple):
    """A page: its address, what is pressed, what must be there before the picture is taken, and what it shows."""

    title: str
    address: str
    pressed: str
    ready: str
    words: str


PICTURES = (
    Picture(
        "An answer", f"/?{urlencode({'q': ASKED})}", "", ".chart img", "The cells that an answer cites, and its chart"
    ),
    Picture("A table", "/tables/planets?cell=3,2", "", "#cell dl", "A table as printed, and what is known of a cell"),
    Picture("The graph", "/graph", "", "canvas", "The map of the tables and what joins them"),
    Picture(
        "A query",
        f"/query?{urlencode({'query': QUERY, 'run': 1})}",
        ".views button:last-child",
        "figure.chart img",
        "The result of a query as a chart",
    ),
    Picture("The ontology", "/ontology", "", "main details", "The generated predicates"),
)


def pictures(folder: Path) -> str:
    """A page of the documentation with the pictures, which are written into the folder.

    Where there is no browser that works, the page says so, and so does standard error.
    """
    lines = ["# Pictures of the pages", ""]
    try:
        from selenium.common.exceptions import WebDriverException
    except ImportError:
        return "\n".join([*lines, "This site was built without a browser; `kgtable serve` shows the pages.", ""])
    try:
        with tempfile.TemporaryDirectory() as place, _browser() as driver, _server(place) as url:
            for picture in PICTURES:
                file = f"{picture.title.lower().replace(' ', '-')}.png"
                driver.get(url + picture.address)
                if picture.pressed:
                    _first(driver, picture.pressed).click()
                _first(driver, picture.ready)
                time.sleep(0.5)  # until a map or chart is drawn
                driver.save_screenshot(str(folder / file))
                lines += [f"## {picture.title}", "", f"{picture.words}.", "", f"![{picture.words}]({file})", ""]
    except (WebDriverException, OSError) as error:
        sys.stderr.write(f"No pictures of the pages: {type(error).__name__}: {str(error).splitlines()[0]}\n")
        return "\n".join([*lines[:2], "This site was built without a browser; `kgtable serve` shows the pages.", ""])
    return "\n".join(lines)


def _first(driver: Any, selector: str) -> Any:
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(driver, 60).until(lambda _: driver.find_elements("css selector", selector))[0]


@contextmanager
def _server(place: str) -> Iterator[str]:
    """The address of a server of the sample tables."""
    kgtable.build(Path(kgtable.__file__).parent / "samples", place, embedding="none").close()
    command = [sys.executable, "-m", "kgtable", "serve", "--kg", place, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            told = next((line for line in server.stdout or () if " at http" in line), None)
            if told is None:
                raise OSError("the server ended before it listened")
            yield told.split(" at ")[1].split()[0].rstrip("/")
        finally:
            server.terminate()


@contextmanager
def _browser() -> Iterator[Any]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    chosen = shutil.which("chromedriver")
    if not options.binary_location or chosen is None:
        raise OSError("there is no Chromium with its driver")
    with webdriver.Chrome(options=options, service=webdriver.ChromeService(chosen)) as driver:
        driver.set_window_size(1280, 900)
        yield driver
