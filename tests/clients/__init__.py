"""Real clients against a real gateway: run by `make test-clients`, never by `make test`."""
