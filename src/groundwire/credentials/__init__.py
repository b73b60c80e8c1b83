"""Keys and sessions: where they are found, how they stay fresh, and that nobody sees them."""
