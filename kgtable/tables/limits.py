"""Bounds on what a single file may cost, so that a hostile or broken one cannot exhaust the machine."""

from __future__ import annotations

from dataclasses import dataclass

MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """How far reading goes before it streams, or gives up with a clear error.

    `stream_above`: bytes from which a delimited, JSON Lines or columnar file is streamed.
    `max_cells`: cells of one table held in memory (a spreadsheet's used area counts its gaps).
    `max_unpacked`, `max_ratio`: bytes a compressed file may unpack to, and how many times its own
    size once that exceeds `ratio_from` bytes. `max_memory`, `max_seconds`: memory and processor
    time for the library that reads workbooks, which a damaged file can lead astray.
    """

    stream_above: int = 16 * MEBIBYTE
    max_cells: int = 20_000_000
    max_unpacked: int = 512 * MEBIBYTE
    max_ratio: int = 200
    ratio_from: int = 64 * MEBIBYTE
    max_memory: int = 3072 * MEBIBYTE
    max_seconds: int = 120

    def unpacks_too_far(self, packed: int, unpacked: int) -> bool:
        """Whether a file of `packed` bytes that unpacks to `unpacked` bytes is out of bounds.

        >>> Limits().unpacks_too_far(1_000, 500_000)
        False
        >>> Limits().unpacks_too_far(100_000, 500_000_000)
        True
        """
        if unpacked > self.max_unpacked:
            return True
        return unpacked > self.ratio_from and unpacked > packed * self.max_ratio
