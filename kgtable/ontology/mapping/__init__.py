"""The editable mapping: how a user overrules the generator, column name by column name."""

from kgtable.ontology.mapping.folder import EditedMapping, load_edits, save_mapping
from kgtable.ontology.mapping.model import ColumnMapping, Mapping

__all__ = ["ColumnMapping", "EditedMapping", "Mapping", "load_edits", "save_mapping"]
