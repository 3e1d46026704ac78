"""A worker of the server that waits a moment for the lock of a graph, instead of twenty seconds."""

from __future__ import annotations

import sys

from kgtable.building import generations
from kgtable.server.workers.worker import main

generations.LOCK_WAIT = 0.5
main(sys.argv[1:])
