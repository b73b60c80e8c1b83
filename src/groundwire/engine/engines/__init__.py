"""Search engines: the embedded index, and search services on the web."""
