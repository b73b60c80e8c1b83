"""Query side of the index: parsing what was typed, building engine queries, filters."""
