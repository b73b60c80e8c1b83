"""What recorded traffic says, read without the dialects: the yardstick their decoders are held against.

`catalogue` knows every file of the folder, `frames` reads and writes streams, and one module for each family
of wires reads bodies (`read`) and puts the frames of a stream together into one body (`gather`).
"""
