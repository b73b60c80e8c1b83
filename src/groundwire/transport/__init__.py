"""Bytes in and out: the only layer that opens connections and starts processes."""
