"""Attacks on groundwire that have succeeded against other software."""
