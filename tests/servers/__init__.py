"""Real servers for tests: started on this machine, seen by it alone, gone with the run."""
