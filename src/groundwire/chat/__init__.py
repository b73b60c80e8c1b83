"""Agents, sessions and turns: what a person does who talks. No HTTP and no SQL."""
