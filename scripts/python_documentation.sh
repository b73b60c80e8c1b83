#!/bin/sh
# Unpack Debian's copy of Python's HTML documentation into an environment, where the embedded engine looks for it.
# Usage: python_documentation.sh ENVIRONMENT VERSION (3.11). Needs apt, but neither root nor an installation.
set -eu
environment=$1
version=$2
target="$environment/share/doc/python$version"
[ ! -e "/usr/share/doc/python$version/html/objects.inv" ] || exit 0
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
download() { (cd "$work" && apt-get download -qq "python$version-doc") >/dev/null 2>&1; }
# A new machine has no package lists yet.
download || { [ "$(id -u)" = 0 ] && timeout 60 apt-get update -qq >/dev/null 2>&1 && download; }
dpkg-deb -x "$work"/*.deb "$work/unpacked"
mkdir -p "$target"
rm -rf "$target/html"
mv "$work/unpacked/usr/share/doc/python$version/html" "$target/html"
