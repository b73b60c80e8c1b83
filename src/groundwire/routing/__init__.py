"""Whom to ask, in what order, and what to do when it goes wrong."""
