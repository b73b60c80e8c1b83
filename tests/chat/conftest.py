"""Fixtures of the stores."""

from tests.memory_folders import tmp_path
from tests.servers.fixtures import postgres, postgres_server

__all__ = ["postgres", "postgres_server", "tmp_path"]
