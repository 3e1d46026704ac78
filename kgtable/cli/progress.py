"""Progress on standard error, where a person is watching."""

from __future__ import annotations

import sys

import click


class ProgressLine:
    """One line that is written over again; silent where standard error is not a terminal."""

    def __init__(self) -> None:
        self._shown = False
        self._watched = sys.stderr.isatty()

    def __call__(self, stage: str, done: int, total: int) -> None:
        if self._watched:
            self._shown = True
            click.echo(f"\r{stage}: {done:,} of {total:,}\x1b[K", nl=False, err=True)

    def close(self) -> None:
        """Removes the line."""
        if self._shown:
            click.echo("\r\x1b[K", nl=False, err=True)

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
