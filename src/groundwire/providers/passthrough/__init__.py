"""Passthrough: a response in the client's own dialect is forwarded without being decoded."""
