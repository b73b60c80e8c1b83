"""Tool loop: web search for models that have none of their own."""
