"""Persistent storage: agents, sessions, messages, usage."""
