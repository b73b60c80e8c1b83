"""The fixtures under test."""

from tests.servers.fixtures import postgres, postgres_server, redis, redis_server

__all__ = ["postgres", "postgres_server", "redis", "redis_server"]
