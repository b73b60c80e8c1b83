"""Configuration: our own files, the environment, and OpenCode's files."""
