"""What somebody talks to: each face is a function of one `Groundwire`."""
