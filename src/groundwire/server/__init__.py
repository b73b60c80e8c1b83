"""HTTP server that the gateway, the web page and the MCP endpoint share: routes, access control, limits,
metrics."""
