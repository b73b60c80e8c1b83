"""The chat page: HTML rendered here, and small modules of our own in the browser."""
