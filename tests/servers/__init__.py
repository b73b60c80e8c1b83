"""Real servers for tests: started on this machine, on loopback, and stopped with the run."""
