"""HTTP/1.1 as a client speaks it: heads and bodies are pure, a line is one connection, a pool keeps them."""
