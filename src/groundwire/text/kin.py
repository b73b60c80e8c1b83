"""Words that ask for the same: a table and nothing else."""

from __future__ import annotations

KIN: tuple[tuple[str, ...], ...] = tuple(
    tuple(line.split())
    for line in """
    remove delete rm unlink erase discard del
    largest biggest greatest maximum max highest
    smallest least minimum min lowest
    create make mk generate construct build
    directory folder dir
    current now today
    start begin launch
    email mail
    download fetch retrieve
    string str text
    integer int
    dictionary dict mapping
    error exception
    concatenate join combine merge
    find search locate
    copy cp duplicate
    quit exit terminate
    length len size
    average mean
    rename move mv
    parse deserialize decode
    serialize encode dump
    environment env
    argument args arg
    pick choose choice select
    run execute
    print display show
    loop iterate iteration
    random pseudorandom
    big large
    small little
    fast quick
    """.strip().splitlines()
)
"""Words that ask for the same. Only queries are read so: whether two pages agree is not told by them."""
