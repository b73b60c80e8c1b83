"""One module for each command: `run(arguments, console)` gives its exit code."""
