"""What the index infers of tables: profiles of columns, joins, unions, and names that are missing."""
