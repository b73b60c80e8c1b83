"""Commands of the command line: the only layer that puts faces together."""
