"""Answers out of passages: chosen sentences word for word, or a model's words checked against them."""
