"""Pictures of the server's pages for the documentation, taken with Chromium from a graph of the sample tables."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

import kgtable

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
QUERY = "SELECT ?label ?value { ?row rdfs:label ?label ; ex:hasDiameter/qudt:numericValue ?value } ORDER BY ?value"
PAGES = {
    "An answer": (
        f"/?{urlencode({'q': 'Which port had the highest fees in 2023?'})}",
        ".chart img",
        "An answer with its chart, beside the cells that it cites",
    ),
    "A table": ("/tables/planets?cell=3,2", "#cell dl", "A table as printed, and what is known of a cell"),
    "The graph": ("/graph", "canvas", "The map of the tables and what joins them"),
    "A query": (f"/query?{urlencode({'query': QUERY, 'run': 1})}", "table.results", "The SPARQL page"),
    "The ontology": ("/ontology", "main table, main details", "The generated predicates, their units and meaning"),
}
"""By title: the address, what must be there before the picture is taken, and what it shows."""


def pictures(folder: Path) -> str:
    """A page of the documentation with the pictures, which are written into the folder; it says where none could be."""
    lines = ["# Pictures of the pages", ""]
    if CHROMIUM is None or DRIVER is None:
        return "\n".join([*lines, "`kgtable serve` shows them; this site was built without a browser.", ""])
    with tempfile.TemporaryDirectory() as place:
        kgtable.build(Path(kgtable.__file__).parent / "samples", place, embedding="none").close()
        command = [sys.executable, "-m", "kgtable", "serve", "--kg", place, "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
            try:
                url = next(line for line in server.stdout or () if " at http" in line).split(" at ")[1].split()[0]
                for title, (address, ready, words) in PAGES.items():
                    file = f"{title.lower().replace(' ', '-')}.png"
                    _take(url.rstrip("/") + address, ready, folder / file)
                    lines += [f"## {title}", "", f"{words}.", "", f"![{words}]({file})", ""]
            finally:
                server.terminate()
    return "\n".join(lines)


def _take(url: str, ready: str, file: Path) -> None:
    from selenium import webdriver
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    with webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER)) as driver:
        driver.set_window_size(1280, 900)
        driver.get(url)
        WebDriverWait(driver, 60).until(lambda _: driver.find_elements(By.CSS_SELECTOR, ready))
        time.sleep(0.5)  # until a map or picture is drawn
        driver.save_screenshot(str(file))
