"""What the user wants: our own files, the environment, and OpenCode's files."""
