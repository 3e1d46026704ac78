"""The record of the conformance tests, written when all suites have run to their end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.evaluation import QUERY_FOLDERS, UPDATE_FOLDERS, names
from tests.conformance.manifests import REPOSITORY, Manifest, find_suite
from tests.conformance.record import Record

FOLDERS = ("protocol", "service-description", "http-rdf-update")


@pytest.hookimpl(tryfirst=True)
@pytest.fixture(scope="session")
def conformance() -> Iterator[Record]:
    record = Record()
    yield record
    suite = find_suite()
    if suite is None:
        return
    expected = sum(len(Manifest(suite / folder / "manifest.ttl").entries()) for folder in FOLDERS)
    expected += sum(len(names(folder)) for folder in (*QUERY_FOLDERS, *UPDATE_FOLDERS))
    if sum(run for _, run in record.counts().values()) == expected:
        record.write(REPOSITORY / "CONFORMANCE.md")
