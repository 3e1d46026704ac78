"""The version of kgtable."""

__version__ = "0.1.0"
