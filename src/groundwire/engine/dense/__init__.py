"""Search by meaning: sentence vectors of passages, computed on this machine, as an optional extra.

numpy is imported by `arrays`, which is only imported when there are vectors, or when they are built.
"""
