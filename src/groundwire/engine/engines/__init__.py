"""Who finds pages: the embedded index, and services on the web."""
