"""Routing: name resolution, failover, retries, circuit breakers, response cache, search tool loop."""
