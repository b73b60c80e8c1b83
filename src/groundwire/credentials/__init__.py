"""API keys and sessions: stores, lookup, refresh and redaction."""
