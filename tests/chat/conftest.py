"""The servers that the chat keeps its sessions in."""

from tests.servers.fixtures import postgres, postgres_server

__all__ = ["postgres", "postgres_server"]
