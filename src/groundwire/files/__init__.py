"""Files on disk: bounded reads, atomic writes, locks, and edits of JSON and TOML that keep every other
byte."""
