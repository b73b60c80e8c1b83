"""Verification of citations: facts about each cited address, quote and claim, with their evidence."""
