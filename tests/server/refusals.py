"""Requests that are refused, told apart by the kind of problem."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kgtable.server.workers.messages import Problem


@contextmanager
def refused(kind: str) -> Iterator[None]:
    """The block raises a problem of this kind."""
    with pytest.raises(Problem) as caught:
        yield
    assert caught.value.kind == kind
