"""For clients that would read all certificates of the machine before they talk without encryption."""

from __future__ import annotations

import ssl

TRUSTING_NOBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
CLIENT_ARGS = {"verify": TRUSTING_NOBODY}
ASYNC_CLIENT_ARGS = {"verify": TRUSTING_NOBODY, "ssl": TRUSTING_NOBODY}
"""As Google's library names its settings: it makes three contexts for each client."""
