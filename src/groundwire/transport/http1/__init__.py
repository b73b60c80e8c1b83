"""HTTP/1.1 client: URLs and origins, message parser, connections, connection pool."""
