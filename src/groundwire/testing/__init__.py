"""Scripted upstream servers for tests; see docs/testing.md."""
