"""Providers: the services that answer requests, described by data or built by factories."""
