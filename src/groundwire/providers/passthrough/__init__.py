"""Same-dialect passthrough: request body and response bytes are forwarded unchanged."""
