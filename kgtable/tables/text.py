"""Text that every output can hold, and values as the text a person would type."""

from __future__ import annotations

import re

_SURROGATE = re.compile("[\ud800-\udfff]")


def sound_text(text: str) -> str:
    """The text with each lone surrogate, which no encoding can hold, replaced by U+FFFD.

    >>> sound_text("a\\udc80b")
    'a\ufffdb'
    """
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)
