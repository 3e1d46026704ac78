"""Facts that the index infers about tables: profiles of columns, joins, unions, and missing names."""
