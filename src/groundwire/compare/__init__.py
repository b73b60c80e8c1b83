"""Comparison of several providers' answers to one question."""
