"""An extension of griffe for the reference of the site: the examples of a docstring become blocks of code."""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"(?:^>>> .*\n?(?:^(?!>>> |\s*$).*\n?)*)+", re.MULTILINE)


class DoctestBlocks(griffe.Extension):
    """Fences each run of examples and what they print, up to the next blank line."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """See `griffe.Extension`."""
        if obj.docstring is not None:
            obj.docstring.value = _EXAMPLE.sub(
                lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", obj.docstring.value
            )
