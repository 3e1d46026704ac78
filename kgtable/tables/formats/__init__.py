"""Tables as text for retrieval and prompts: seven linearisations and seven with their context.

Thesis, sections 4.1 and 4.2.
"""

from kgtable.tables.formats.catalogue import CONTEXT_FORMATS, TABLE_FORMATS, TableFormat, format_table

__all__ = ["CONTEXT_FORMATS", "TABLE_FORMATS", "TableFormat", "format_table"]
