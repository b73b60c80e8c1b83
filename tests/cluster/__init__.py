"""Several gateways, PostgreSQL, Redis and nginx, as real processes that are one service."""
