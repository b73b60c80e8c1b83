"""Oracles for recorded traffic: plain readers that share no code with the dialects.

`catalogue` knows every file of the folder, `frames` reads and writes streams, and one module for each family
of wires reads bodies (`read`) and puts the frames of a stream together into one body (`gather`).
"""
