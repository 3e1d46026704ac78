"""The rules of axe-core, run in a page."""

from __future__ import annotations

from pathlib import Path

import axe_core_python

from tests.server.browser import Browser

AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


def violations(browser: Browser) -> list[str]:
    """What the page as it is now does against WCAG 2.1 A and AA and the good practices, with where."""
    browser.driver.execute_script(AXE)
    found = browser.driver.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "axe.run(document, {resultTypes: ['violations']}).then((r) => done(r.violations));"
    )
    return [f"{rule['id']}: {[node['target'] for node in rule['nodes'][:3]]}" for rule in found]
