"""Finding pages, and answering out of them without a model."""
