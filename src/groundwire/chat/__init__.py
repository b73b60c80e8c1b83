"""Chat: agents, sessions and turns, without HTTP and without SQL."""
