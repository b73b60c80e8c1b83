"""Tools for tests of providers and of programs that use groundwire. Nothing here is needed to run it."""
