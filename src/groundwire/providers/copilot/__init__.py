"""GitHub Copilot CLI: command line, sandbox, egress proxy, output parser, provider."""
