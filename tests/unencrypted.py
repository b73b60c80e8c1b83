"""Arguments for Google's client so that it does not load the system's certificates for plain HTTP."""

from __future__ import annotations

import ssl

NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
CLIENT_ARGS = {"verify": NO_CERTIFICATES}
ASYNC_CLIENT_ARGS = {"verify": NO_CERTIFICATES, "ssl": NO_CERTIFICATES}
"""The client creates three TLS contexts; these are the names of its settings."""
