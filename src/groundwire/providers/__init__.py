"""Whom we ask: an address, credentials, a dialect and what it can do; one file each."""
