"""Other programs' configuration files, edited so that they search with groundwire."""
