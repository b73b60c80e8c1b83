"""Faces: how users and programs reach groundwire. Each uses one `SearchClient`; none imports another."""
