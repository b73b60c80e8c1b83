"""The embedded index: pages kept whole, their passages searchable."""
