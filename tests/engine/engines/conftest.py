"""Fixture: folders in memory."""

from tests.memory_folders import tmp_path

__all__ = ["tmp_path"]
