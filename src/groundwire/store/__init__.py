"""What outlives a process: agents, sessions, messages, usage."""
