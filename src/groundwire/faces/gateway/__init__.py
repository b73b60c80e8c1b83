"""The gateway: any client, any provider, each in its own dialect."""
