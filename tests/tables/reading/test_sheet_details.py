from __future__ import annotations

import io

from lxml import etree

from kgtable.tables.readers.workbook_parts import SheetDetails, forget


def test_nothing_is_known_of_a_new_sheet_and_sheets_share_nothing() -> None:
    one, other = SheetDetails(), SheetDetails()
    one.formats[0, 0] = "0%"
    one.merged.append(None)  # type: ignore[arg-type]
    assert other == SheetDetails()
    assert (other.bottom, other.right, other.formats) == (-1, -1, {})


def test_elements_that_were_read_are_freed_and_the_rest_is_still_read() -> None:
    rows = "".join(f'<row n="{n}"><c>{n}</c></row>' for n in range(20_000))
    xml = f"<sheet>{rows}<end/></sheet>"
    seen, most = [], 0
    for _, element in etree.iterparse(io.BytesIO(xml.encode()), tag=("row", "end")):
        parent = element.getparent()
        assert parent is not None
        most = max(most, len(parent))
        seen.append(element.get("n") or element.tag)
        forget(element)
        assert len(element) == 0
        assert parent[0] is element
    assert seen == [*map(str, range(20_000)), "end"]
    assert most < 5_000


def test_an_element_without_a_parent() -> None:
    root = etree.fromstring("<a><b/></a>")
    forget(root)
    assert len(root) == 0
